package response

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/spec/api"
)

// Millis converts a time to Unix ms; nil for the zero time.
func Millis(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	v := t.UnixMilli()
	return &v
}

// Optional returns a pointer to v; nil for the zero value, so that JSON omits it.
func Optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// CopyFields copies the fields of one response body into another by name, so
// that the common fields of messages, DLQ entries and logs are mapped once. A field
// may be optional in one of the two. Fields that only one has are left alone.
func CopyFields(to, from any) {
	source, target := reflect.ValueOf(from), reflect.ValueOf(to).Elem()
	for i := range source.NumField() {
		value := source.Field(i)
		optional := value.Kind() == reflect.Pointer
		if optional && value.IsNil() {
			continue
		}
		field := target.FieldByName(source.Type().Field(i).Name)
		switch {
		case !field.IsValid():
		case value.CanConvert(field.Type()):
			field.Set(value.Convert(field.Type()))
		case optional:
			field.Set(value.Elem().Convert(field.Type()))
		default:
			pointer := reflect.New(field.Type().Elem())
			pointer.Elem().Set(value.Convert(field.Type().Elem()))
			field.Set(pointer)
		}
	}
}

// List shows the items of a list.
func List[T, R any](items []T, show func(*T) R) []R {
	list := make([]R, len(items))
	for i := range items {
		list[i] = show(&items[i])
	}
	return list
}

// Page shows the items of a page under a name; the last page has no cursor.
func Page[T, R any](name string, items []T, cursor string, show func(*T) R) map[string]any {
	body := map[string]any{name: List(items, show)}
	if cursor != "" {
		body["cursor"] = cursor
	}
	return body
}

// BodyText returns a body as text, or as base64 when it is not UTF-8; nil for empty.
func BodyText(b []byte) (text, encoded *string) {
	if len(b) == 0 {
		return nil, nil
	}
	if utf8.Valid(b) {
		return Optional(string(b)), nil
	}
	return nil, Optional(base64.StdEncoding.EncodeToString(b))
}

// HeaderMap converts headers; nil for none.
func HeaderMap(h map[string][]string) *api.HeaderMap {
	if len(h) == 0 {
		return nil
	}
	m := api.HeaderMap(h)
	return &m
}

// BodyBytes returns the body of a batch item: the text of a JSON string, otherwise
// the JSON itself; nil for null or no JSON.
func BodyBytes(raw json.RawMessage) []byte {
	var one string
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	if json.Unmarshal(raw, &one) == nil {
		return []byte(one)
	}
	return raw
}
