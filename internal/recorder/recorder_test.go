package recorder_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/understudy-mock/understudy/internal/recorder"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func TestServe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		status  int
		body    string
	}{
		"a handler that writes nothing":        {func(http.ResponseWriter, *http.Request) {}, 200, ""},
		"a body without a status":              {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }, 200, "x"},
		"the first status counts":              {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); w.WriteHeader(500) }, 404, ""},
		"an informational status is not final": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(201) }, 201, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := recorder.Serve(c.handler, &http.Request{})
			expect.Equal(t, "status", r.Status, c.status)
			expect.Equal(t, "body", r.Body.String(), c.body)
		})
	}
}
