package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// crashing is a server process that may be killed at any time.
type crashing struct {
	cmd  *exec.Cmd
	url  string
	log  strings.Builder
	auth http.Header
	env  map[string]string
}

func start(t *testing.T, binary string, flags ...string) *crashing {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	c := &crashing{cmd: exec.Command(binary, append([]string{"serve", "--addr", "127.0.0.1:0", "--ready-file", ready}, flags...)...)}
	c.cmd.Stderr = &c.log
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		_ = c.cmd.Wait()
		t.Fatalf("serve said %q: %v: %s", line, err, c.log.String())
	}
	text, err := os.ReadFile(ready)
	var state struct {
		URL, Token string
		Env        map[string]string
	}
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.env = state.Env
	c.url, c.auth = state.URL, http.Header{"Authorization": {"Bearer " + state.Token}}
	return c
}

// kill ends the process as a power cut does.
func (c *crashing) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// publish reports whether a message was accepted.
func (c *crashing) publish(client *http.Client, n int) bool {
	r, err := http.NewRequest(http.MethodPost, c.url+"/v2/publish/"+c.url+"/_understudy/sink/flaky/1", strings.NewReader(fmt.Sprint("body ", n)))
	if err != nil {
		return false
	}
	r.Header = c.auth.Clone()
	r.Header.Set("Svc-Label", fmt.Sprint("n", n))
	answer, err := client.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// kill -9 during traffic, and a restart from the last snapshot, three times
// over: the server starts, says from when its state is, and has what was
// accepted before the snapshot.
func TestKillAndRestart(t *testing.T) {
	t.Parallel()
	began := time.Now()
	binary, file := build(t), filepath.Join(t.TempDir(), "state.json")
	flags := []string{"--snapshot", file, "--snapshot-every", "20ms", "--log-format", "json"}
	server := start(t, binary, flags...)
	for round := range 3 {
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for worker := range 4 {
			wg.Go(func() {
				client := &http.Client{Transport: &http.Transport{}}
				defer client.CloseIdleConnections()
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
						server.publish(client, worker*1000+n)
					}
				}
			})
		}
		seen := saves(t, file, 5)
		server.kill()
		close(stop)
		wg.Wait()
		before := time.Now()
		server = start(t, binary, flags...)
		events := server.events(t)
		if events < seen {
			t.Errorf("round %d: %d log events after the restart, the snapshot before the crash had %d", round, events, seen)
		}
		if text, err := os.ReadFile(file); err != nil || !json.Valid(text) {
			t.Errorf("round %d: the snapshot is damaged: %v", round, err)
		}
		t.Logf("round %d: up again in %s with %d events", round, time.Since(before).Round(time.Millisecond), events)
	}
	_ = server.cmd.Process.Signal(os.Interrupt)
	if err := server.cmd.Wait(); err != nil {
		t.Errorf("clean stop: %v", err)
	}
	var line struct{ Msg, Account, At, Saved string }
	for text := range strings.Lines(server.log.String()) {
		if json.Unmarshal([]byte(text), &line) == nil && line.Msg == "state restored" {
			break
		}
	}
	saved, err := time.Parse(time.RFC3339, line.Saved)
	if err != nil || saved.Before(began.Truncate(time.Second)) || saved.After(time.Now()) || line.Account == "" || line.At == "" {
		t.Errorf("the log does not say from when the state is: %+v, %v\n%s", line, err, server.log.String())
	}
}

// saves waits until the snapshot was replaced so many times, and gives the
// number of log events in the latest.
func saves(t *testing.T, file string, times int) (events int) {
	t.Helper()
	last := time.Time{}
	for deadline := time.Now().Add(time.Minute); times > 0; {
		if time.Now().After(deadline) {
			t.Fatal("the snapshot is not written")
		}
		if info, err := os.Stat(file); err == nil && !info.ModTime().Equal(last) {
			last = info.ModTime()
			times--
		}
	}
	text, err := os.ReadFile(file)
	var saved struct {
		Accounts []struct {
			State struct {
				Log struct{ Events []json.RawMessage }
			}
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &saved)
	}
	if err != nil || len(saved.Accounts) != 1 {
		t.Fatalf("snapshot of %d accounts: %v", len(saved.Accounts), err)
	}
	return len(saved.Accounts[0].State.Log.Events)
}

// events is how many log events there are.
func (c *crashing) events(t *testing.T) (n int) {
	t.Helper()
	for cursor := ""; ; {
		r, err := http.NewRequest(http.MethodGet, c.url+"/v2/logs?cursor="+cursor, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = c.auth
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var page struct {
			Cursor string
			Logs   []json.RawMessage
		}
		err = json.NewDecoder(answer.Body).Decode(&page)
		_ = answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		n += len(page.Logs)
		if cursor = page.Cursor; cursor == "" {
			return n
		}
	}
}
