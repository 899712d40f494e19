package listener

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// A connection without a request does not delay a shutdown, while net/http alone would wait 5 s
// for it. A request in progress is completed.
func TestShutdownWithConnectionsThatWereNeverUsed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	begun, finish := make(chan struct{}), make(chan struct{})
	server := DefaultPace.Server(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-finish
		_, _ = io.WriteString(w, "answer")
	}))
	served := make(chan error, 1)
	go func() { served <- server.Serve(DefaultPace.Listener(l, nil, slog.New(slog.DiscardHandler))) }()
	for range 3 {
		c, err := net.Dial("tcp", l.Addr().String())
		expect.NoError(t, err)
		defer c.Close()
	}
	answered := make(chan string, 1)
	go func() {
		response, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			answered <- err.Error()
			return
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body) // compared below, even if incomplete
		answered <- string(text)
	}()
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // less than net/http waits
	defer cancel()
	time.AfterFunc(2*freshGrace, func() { close(finish) })
	if err := server.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	expect.Equal(t, "the request in progress", <-answered, "answer")
	<-served
}
