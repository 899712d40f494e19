package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-faster/jx"
	"golang.org/x/net/http/httpguts"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/wire"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// hopHeaders are the headers that belong to one connection or to the request as
// a whole: they are never forwarded.
var hopHeaders = []string{
	"Connection", "Content-Length", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
	wire.HopsHeader,
}

// ForwardableHeader returns the headers of a request that may be forwarded to the destination:
// PlainHeaders without Authorization, which is for this server.
func ForwardableHeader(h http.Header) engine.Header {
	out := PlainHeaders(h)
	delete(out, "Authorization")
	return out
}

// PlainHeaders returns the headers without configuration and without hop-by-hop headers.
func PlainHeaders(h http.Header) engine.Header {
	hop := splitAll(h["Connection"])
	out := make(engine.Header, len(h))
	for name, values := range h {
		named := slices.ContainsFunc(hop, func(n string) bool { return strings.EqualFold(n, name) })
		if !named && !strings.HasPrefix(name, header.Prefix) && !slices.Contains(hopHeaders, name) {
			out[name] = values
		}
	}
	return out
}

// usualContent has shared headers of requests for the most common content types, to save
// allocations. They must not be changed.
var usualContent = func() map[string]*engine.PublishRequest {
	usual := map[string]*engine.PublishRequest{}
	for _, content := range []string{"application/json", "application/json; charset=utf-8", "application/x-www-form-urlencoded", "text/plain", "text/plain;charset=UTF-8"} {
		r := &engine.PublishRequest{Forward: engine.Header{contentType: {content}}}
		r.Keep(r.Forward, []string{contentType})
		usual[content] = r
	}
	return usual
}()

const contentType = "Content-Type"

// KeepHeaders sets two parts of the headers of a publish. Header is stored with the message:
// configuration and Content-Type, never credentials. Forward is always forwarded: Content-Type.
// It may be shared, and must not be changed.
func KeepHeaders(r *engine.PublishRequest, h http.Header) {
	const most = 16 // names, without a larger list
	var few [most]string
	names := few[:0]
	for name := range h {
		if isKept(name) {
			names = append(names, name)
		}
	}
	types := h[contentType]
	var usual *engine.PublishRequest
	if len(types) == 1 {
		usual = usualContent[types[0]]
	}
	switch {
	case len(types) == 0:
	case usual != nil:
		r.Forward = usual.Forward
	default:
		r.Forward = engine.Header{contentType: types}
	}
	if usual != nil && len(names) == 0 {
		r.Header = usual.Header
		return
	}
	if len(types) > 0 {
		names = append(names, contentType)
	}
	r.Keep(engine.Header(h), names)
}

// isKept reports whether a header is configuration of a message.
func isKept(name string) bool {
	return strings.HasPrefix(name, header.Prefix) && !strings.HasPrefix(name, "Svc-Telemetry-")
}

// ReadHeaders reads headers from JSON. It refuses what HTTP cannot carry.
func ReadHeaders(fields map[string]json.RawMessage) (http.Header, error) {
	var problems []spec.Problem
	h := make(http.Header, len(fields))
	for name, raw := range fields {
		values, err := stringOrList(raw)
		switch {
		case err != nil:
			problems = append(problems, response.Problem("body", "/headers/"+name, response.Shorten(string(raw)), "", "a string or a list of strings"))
		case !httpguts.ValidHeaderFieldName(name):
			problems = append(problems, response.Problem("body", "/headers", strconv.Quote(response.Shorten(name)), "", "a header name: letters, digits, - and the other signs of HTTP"))
		case slices.ContainsFunc(values, func(v string) bool { return !httpguts.ValidHeaderFieldValue(v) }):
			problems = append(problems, response.Problem("body", "/headers/"+name, "", "control character", "text on one line"))
		}
		if len(values) == 0 {
			continue
		}
		if key := http.CanonicalHeaderKey(name); h[key] == nil { // a name has one value, nearly always
			h[key] = values
		} else {
			h[key] = append(h[key], values...)
		}
	}
	if len(problems) > 0 {
		slices.SortFunc(problems, func(a, b spec.Problem) int { return strings.Compare(a.String(), b.String()) })
		return nil, response.Refused(problems)
	}
	return h, nil
}

// errUnusual makes the caller of DecodeHeaders use ReadHeaders.
var errUnusual = errors.New("unusual headers")

// DecodeHeaders is ReadHeaders for an object whose values are strings. It fails for what
// ReadHeaders may read differently or refuse. All names and values are in one text, and all
// lists of values in another: they live equally long.
func DecodeHeaders(d *jx.Decoder) (http.Header, error) {
	type ends struct{ name, value int } // in text
	const usual = 12
	text, list := make([]byte, 0, 512), make([]ends, 0, usual)
	err := d.ObjBytes(func(d *jx.Decoder, name []byte) error {
		begin := len(text)
		text = append(text, name...)
		e := ends{name: len(text)}
		if !canonicalName(text[begin:]) {
			return errUnusual
		}
		var err error
		text, err = d.StrAppend(text)
		e.value = len(text)
		list = append(list, e)
		return err
	})
	whole := string(text)
	if err != nil || !httpguts.ValidHeaderFieldValue(whole) {
		return nil, errUnusual
	}
	h, values, begin := make(http.Header, len(list)), make([]string, len(list)), 0
	for i, e := range list {
		name := whole[begin:e.name]
		values[i], begin = whole[e.name:e.value], e.value
		h[name] = values[i : i+1 : i+1]
	}
	if len(h) < len(list) { // a name is there twice
		return nil, errUnusual
	}
	return h, nil
}

// canonicalName brings the name of a header to the form of http.CanonicalHeaderKey. It reports
// false for a text that is not a name.
func canonicalName(name []byte) bool {
	upper := true
	for i, b := range name {
		switch letter := b | 0x20; {
		case !httpguts.IsTokenRune(rune(b)):
			return false
		case letter < 'a' || letter > 'z':
		case upper:
			name[i] = letter - 0x20
		default:
			name[i] = letter
		}
		upper = b == '-'
	}
	return len(name) > 0
}

// stringOrList reads a header value: a string, or a list of strings.
func stringOrList(raw json.RawMessage) ([]string, error) {
	if n := len(raw); n >= 2 && raw[0] == '"' && !slices.ContainsFunc(raw[1:n-1], func(b byte) bool { return b == '\\' || b >= utf8.RuneSelf }) {
		return []string{string(raw[1 : n-1])}, nil // no escapes
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var many []string
	if json.Unmarshal(raw, &many) == nil {
		return many, nil
	}
	return nil, fmt.Errorf("%.80s: must be a string or a list of strings", raw)
}
