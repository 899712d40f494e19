package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/internal/jsonsyntax"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// OneOf returns an error if value is neither empty nor in accepted.
func OneOf(name, value string, accepted []string) error {
	if value == "" || slices.Contains(accepted, value) {
		return nil
	}
	return response.RefusedValue("body", "/"+name, value, response.Unfit("", "one of "+strings.Join(accepted, ", ")))
}

// OneOrMany reads one object, or a list of them.
func OneOrMany[T any](body []byte) ([]T, error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		var items []*T
		err := Unmarshal(body, &items)
		list := make([]T, len(items))
		for i, item := range items {
			if item == nil {
				return nil, response.Invalid(fmt.Sprintf("body /%d: invalid value null: must be an object", i))
			}
			list[i] = *item
		}
		return list, err
	}
	var one T
	err := Unmarshal(body, &one)
	return []T{one}, err
}

// Unmarshal reads JSON. Its error says where the body is wrong.
func Unmarshal(body []byte, to any) error {
	if bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		return response.Invalid("body: invalid value null: must be an object, or what else the operation takes")
	}
	err := json.Unmarshal(body, to)
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return response.Invalid("body /" + strings.ReplaceAll(wrong.Field, ".", "/") + ": received " + wrong.Value + ": must be " + jsonKinds[wrong.Type.Kind()])
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return response.Invalid("body: invalid JSON at " + jsonsyntax.Explain(body, err))
	}
	return response.Invalid("body: " + err.Error())
}

// jsonKinds is the JSON that each kind of Go value accepts, for errors.
var jsonKinds = map[reflect.Kind]string{
	reflect.Bool:    "true or false",
	reflect.Float32: "a finite number of 32 bits",
	reflect.Int:     "an integer",
	reflect.Int32:   "an integer of 32 bits",
	reflect.Map:     "an object",
	reflect.Slice:   "a list",
	reflect.String:  "a string",
	reflect.Struct:  "an object",
}

// SmallBody is the largest size, in bytes, of bodies that are not counted against
// the memory for incoming requests or responses.
const SmallBody = 64 << 10

// ReadAll reads to the end. If the length is known, it allocates once; -1 means
// that it is unknown.
func ReadAll(r io.Reader, length int64) ([]byte, error) {
	switch length {
	case -1:
		return io.ReadAll(r)
	case 0:
		return nil, nil
	}
	body := make([]byte, length+1) // the extra byte detects the end, or more than length
	n, err := io.ReadFull(r, body)
	switch {
	case err == nil:
		rest, err := io.ReadAll(r)
		return slices.Concat(body, rest), err
	case errors.Is(err, io.ErrUnexpectedEOF) && int64(n) == length:
		return body[:n:n], nil
	}
	return body[:n:n], err
}
