package response

import (
	"encoding/json"
	"net/http"
)

// Response is the result of a handler. Status 0 means the documented success of the
// operation. Body is encoded as JSON, except that []byte is written as is.
type Response struct {
	Status int
	Header http.Header
	Body   any
	JSON   []byte                                   // the body, already encoded; nil: Body is used
	Stream func(http.ResponseWriter, *http.Request) // writes the body instead; nil: none

	Scripted bool // made by a fault: not checked against the document
	Executed bool // made by a fault: it replaces the response of a call that takes effect
}

// Empty is the response of operations without a result: an empty JSON object.
var Empty = Response{Body: struct{}{}}

// Of is the response for what a handler returns: a Response, or only its body.
func Of(body any) Response {
	if r, ok := body.(Response); ok {
		return r
	}
	return Response{Body: body}
}

// Encode returns the body as JSON, or as is when it is []byte; nil for none.
func (r *Response) Encode() ([]byte, error) {
	if r.JSON != nil {
		return r.JSON, nil
	}
	switch b := r.Body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return b, nil
	}
	return json.Marshal(r.Body)
}
