package engine

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The standard library's JSON would write every body as base64, and other
// characters in place of bytes that are not UTF-8; here nothing is lost and
// what can be read stays readable.

// binary stands for what is not UTF-8.
type binary struct {
	Base64 []byte `json:"base64"`
}

var saving = json.JoinOptions(
	json.OmitZeroStructFields(true),
	json.Deterministic(true),
	json.WithMarshalers(json.JoinMarshalers(
		json.MarshalToFunc(func(out *jsontext.Encoder, s string) error {
			if utf8.ValidString(s) {
				return errors.ErrUnsupported
			}
			return json.MarshalEncode(out, binary{[]byte(s)}, plainBytes)
		}),
		json.MarshalToFunc(saveBytes),
		json.MarshalToFunc(func(out *jsontext.Encoder, raw stdjson.RawMessage) error { return saveBytes(out, raw) }),
		json.MarshalToFunc(func(out *jsontext.Encoder, t time.Time) error {
			return out.WriteValue(jsontext.Value(milliseconds(t)))
		}),
		json.MarshalToFunc(func(out *jsontext.Encoder, d time.Duration) error {
			return out.WriteToken(jsontext.String(d.String()))
		}),
	)),
)

// plainBytes writes bytes as base64, the usual way.
var plainBytes = json.WithMarshalers(nil)

func saveBytes(out *jsontext.Encoder, b []byte) error {
	if utf8.Valid(b) {
		return out.WriteToken(jsontext.String(string(b)))
	}
	return json.MarshalEncode(out, binary{b}, plainBytes)
}

// milliseconds is a time as Unix ms, with a fraction where there is one.
func milliseconds(t time.Time) string {
	text := strconv.FormatInt(t.UnixMilli(), 10)
	if rest := t.Nanosecond() % 1e6; rest != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%06d", rest), "0")
	}
	return text
}

var loading = json.JoinOptions(
	json.RejectUnknownMembers(true),
	json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(func(in *jsontext.Decoder, s *string) error {
			if in.PeekKind() != '{' {
				return errors.ErrUnsupported
			}
			b, err := loadBytes(in)
			*s = string(b)
			return err
		}),
		json.UnmarshalFromFunc(func(in *jsontext.Decoder, v *[]byte) (err error) {
			*v, err = loadBytes(in)
			return err
		}),
		json.UnmarshalFromFunc(func(in *jsontext.Decoder, v *stdjson.RawMessage) (err error) {
			*v, err = loadBytes(in)
			return err
		}),
		json.UnmarshalFromFunc(loadTime),
		json.UnmarshalFromFunc(func(in *jsontext.Decoder, d *time.Duration) error {
			token, err := in.ReadToken()
			if err != nil {
				return err
			}
			*d, err = time.ParseDuration(token.String())
			return err
		}),
	)),
)

func loadBytes(in *jsontext.Decoder) ([]byte, error) {
	if in.PeekKind() != '{' {
		token, err := in.ReadToken()
		if err == nil && token.Kind() != '"' {
			err = fmt.Errorf("%s: accepted is a text or {\"base64\": ...}", token.Kind())
		}
		return []byte(token.String()), err
	}
	var b binary
	err := json.UnmarshalDecode(in, &b, json.WithUnmarshalers(nil))
	return b.Base64, err
}

func loadTime(in *jsontext.Decoder, t *time.Time) error {
	token, err := in.ReadToken()
	if err != nil {
		return err
	}
	whole, fraction, _ := strings.Cut(token.String(), ".")
	ms, err := strconv.ParseInt(whole, 10, 64)
	rest := int64(0)
	if err == nil && fraction != "" {
		rest, err = strconv.ParseInt((fraction + "000000")[:6], 10, 32)
	}
	if err != nil || token.Kind() != '0' || len(fraction) > 6 {
		return fmt.Errorf("time %.40s: accepted are Unix ms", token.String())
	}
	*t = time.UnixMilli(ms).Add(time.Duration(rest))
	return nil
}
