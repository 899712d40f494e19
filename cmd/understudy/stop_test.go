package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// A script that never ends must not prevent the server from stopping and saving its state.
func TestStopDuringAScript(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state.json")
	server := start(t, build(t), "--snapshot", file)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ask := func(ctx context.Context, command string) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.env["UNDERSTUDY_KV_URL"], strings.NewReader(command))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+server.env["UNDERSTUDY_KV_TOKEN"])
		answer, err := client.Do(r)
		if err == nil {
			err = answer.Body.Close()
		}
		return err
	}
	var scripts sync.WaitGroup
	for range 3 { // the second and third wait for the first
		scripts.Go(func() { _ = ask(t.Context(), `["EVAL","while true do end",0]`) }) // canceled by the stop
	}
	for running := false; !running; { // until another command must wait
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		running = errors.Is(ask(ctx, `["PING"]`), context.DeadlineExceeded)
		cancel()
	}
	expect.NoError(t, server.cmd.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	scripts.Go(func() { ended <- server.cmd.Wait() })
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("stop: %v\n%s", err, server.log.String())
		}
	case <-time.After(stopLimit):
		t.Errorf("still running %s after SIGTERM", stopLimit)
		_ = server.cmd.Process.Kill()
	}
	scripts.Wait()
	if saved, err := os.ReadFile(file); err != nil || !json.Valid(saved) {
		t.Errorf("the snapshot was not saved: %v", err)
	}
}
