package response

import (
	"encoding/json"
	"net/http"
)

// Response is what a handler returns. Status 0 is the operation's documented
// success; body is marshalled, bytes are written as they are.
type Response struct {
	Status int
	Header http.Header
	Body   any
	Stream func(http.ResponseWriter, *http.Request) // instead of a body

	Scripted bool // a fault's: not held to the document
}

// Empty is what an operation returns that has nothing to say: an empty object.
var Empty = Response{Body: struct{}{}}

// Encode is the body of an answer as JSON; raw bytes stay as they are.
func Encode(body any) ([]byte, error) {
	switch b := body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return b, nil
	}
	return json.Marshal(body)
}
