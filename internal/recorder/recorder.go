// Package recorder keeps what a handler writes, for callers in the same process:
//
//	r := recorder.New()
//	handler.ServeHTTP(r, request)
//	fmt.Println(r.Status, r.Body.Len())
package recorder

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
)

// Recorder is an http.ResponseWriter that keeps the response in memory.
type Recorder struct {
	Status int // 0 until the handler sets one or writes; Serve sets 200 if it does neither
	Body   bytes.Buffer
	header http.Header
}

// New returns a Recorder for one response.
func New() *Recorder { return &Recorder{header: http.Header{}} }

// Header returns the header of the response.
func (r *Recorder) Header() http.Header { return r.header }

// WriteHeader keeps the first final status. It ignores informational ones, except 101.
func (r *Recorder) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		r.Status = cmp.Or(r.Status, status)
	}
}

// Write adds to the body.
func (r *Recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.Body.Write(p)
}

// Refusal is the error of a call that was refused, with the text of the answer.
type Refusal struct {
	Status int
	Text   string
}

// Error is the text of the refusal.
func (r *Refusal) Error() string { return r.Text }

// Call calls a handler of the control API for a request that was admitted, with its credential. An
// answer with a status of 400 or more is a *Refusal.
func Call(h http.Handler, q *http.Request, credential string) (*Recorder, error) {
	q.Header.Set("Authorization", credential)
	q.Host, q.RemoteAddr = "localhost", "127.0.0.1:0"
	r := Serve(h, q)
	if r.Status < http.StatusBadRequest {
		return r, nil
	}
	var said struct{ Error string }
	if json.Unmarshal(r.Body.Bytes(), &said) != nil || said.Error == "" {
		said.Error = fmt.Sprintf("%d %s", r.Status, http.StatusText(r.Status))
	}
	return r, &Refusal{r.Status, said.Error}
}

// Serve runs a handler and returns its response.
func Serve(h http.Handler, q *http.Request) *Recorder {
	r := New()
	h.ServeHTTP(r, q)
	r.WriteHeader(http.StatusOK)
	return r
}
