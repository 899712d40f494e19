package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A follower continues when a stream ends, as it does when the account moves to another server
// of a fleet, and ends without an error when the server is gone.
func TestFollowContinues(t *testing.T) {
	t.Parallel()
	streams := 0
	s := httptest.NewUnstartedServer(nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if streams++; streams == 3 {
			_ = s.Listener.Close()
			w.Header().Set("Connection", "close")
		}
		_, _ = fmt.Fprintf(w, "event: entry\ndata: {\"n\":%d}\n\n", streams)
	})
	s.Start()
	defer s.Close()
	var out, errs bytes.Buffer
	if code := runProgram(t.Context(), []string{"ctl", "deliveries", "--follow", "--url", s.URL}, &out, &errs); code != 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if got, want := out.String(), "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
