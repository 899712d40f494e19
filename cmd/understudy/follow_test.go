package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
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

// A follower prints the latest of what had happened, and continues after the last event that it has.
func TestFollowBeginsWithTheLatest(t *testing.T) {
	t.Parallel()
	var asked []string
	s := httptest.NewUnstartedServer(nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if asked = append(asked, r.Header.Get("Last-Event-ID")); len(asked) == 2 {
			_ = s.Listener.Close()
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, ": now\n\nid: 6\nevent: log\ndata: {\"n\":6}\n\n")
			return
		}
		for n := range 4 {
			_, _ = fmt.Fprintf(w, "id: %d\nevent: log\ndata: {\"n\":%d}\n\n", n+1, n+1)
		}
		_, _ = io.WriteString(w, ": now\n\nid: 5\nevent: log\ndata: {\"n\":5}\n\n")
	})
	s.Start()
	defer s.Close()
	var out, errs bytes.Buffer
	if code := runProgram(t.Context(), []string{"ctl", "tail", "--count", "2", "--url", s.URL}, &out, &errs); code != 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	expect.Equal(t, "printed", out.String(), "{\"n\":3}\n{\"n\":4}\n{\"n\":5}\n{\"n\":6}\n")
	expect.Equal(t, "continued after", asked, []string{"", "5"})
}
