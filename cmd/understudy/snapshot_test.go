package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// crashing is a server process that can be killed at any time.
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
	expect.NoError(t, err)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		_ = c.cmd.Wait()
		t.Fatalf("serve printed %q: %v: %s", line, err, c.log.String())
	}
	text, err := os.ReadFile(ready)
	var state struct {
		URL, Token string
		Env        map[string]string
	}
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	expect.NoError(t, err)
	c.env = state.Env
	c.url, c.auth = state.URL, http.Header{"Authorization": {"Bearer " + state.Token}}
	return c
}

// kill ends the process as a power failure does.
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

// The server is killed during traffic and restarted from the last snapshot, three times. It
// starts, reports the time of its state, and has everything that was accepted before the
// snapshot.
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
	expect.Nil(t, "reading the time of saving", err)
	expect.True(t, "a time of saving after the start of the test", !saved.Before(began.Truncate(time.Second)))
	expect.True(t, "a time of saving in the past", !saved.After(time.Now()))
	expect.True(t, "an account that is not empty", line.Account != "")
	expect.True(t, "a time of the clock that is not empty", line.At != "")
}

// saves waits until the snapshot was replaced a number of times, and returns the number of
// log events in the latest one.
func saves(t *testing.T, file string, times int) (events int) {
	t.Helper()
	last := time.Time{}
	for deadline := time.Now().Add(effort.Wait(time.Minute)); times > 0; {
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
			State struct{ Events []json.RawMessage }
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &saved)
	}
	if err != nil || len(saved.Accounts) != 1 {
		t.Fatalf("snapshot of %d accounts: %v", len(saved.Accounts), err)
	}
	return len(saved.Accounts[0].State.Events)
}

// events is the number of log events of a server.
func (c *crashing) events(t *testing.T) (n int) {
	t.Helper()
	for cursor := ""; ; {
		r, err := http.NewRequest(http.MethodGet, c.url+"/v2/logs?cursor="+cursor, http.NoBody)
		expect.NoError(t, err)
		r.Header = c.auth
		answer, err := http.DefaultClient.Do(r)
		expect.NoError(t, err)
		var page struct {
			Cursor string
			Logs   []json.RawMessage
		}
		err = json.NewDecoder(answer.Body).Decode(&page)
		_ = answer.Body.Close()
		expect.NoError(t, err)
		n += len(page.Logs)
		if cursor = page.Cursor; cursor == "" {
			return n
		}
	}
}

// TestSnapshotFileHasOneOwner: the second of two servers with one file does not start. A
// killed server does not block the next one.
func TestSnapshotFileHasOneOwner(t *testing.T) {
	t.Parallel()
	binary, file := build(t), filepath.Join(t.TempDir(), "state.json")
	link := filepath.Join(t.TempDir(), "link.json")
	expect.NoError(t, os.Symlink(file, link))
	first := start(t, binary, "--snapshot", file, "--snapshot-every", "20ms")
	saves(t, file, 1)
	second := func(name string) (int, string) {
		var errs strings.Builder
		cmd := exec.Command(binary, "serve", "--addr", "127.0.0.1:0", "--snapshot", name)
		cmd.Stderr = &errs
		_ = cmd.Run() // the exit code is returned
		return cmd.ProcessState.ExitCode(), errs.String()
	}
	for _, name := range []string{file, link, filepath.Join(filepath.Dir(file), ".", "..", filepath.Base(filepath.Dir(file)), "state.json")} {
		code, text := second(name)
		expect.Equal(t, fmt.Sprintf("%s: exit code", name), code, 2)
		expect.Contains(t, fmt.Sprintf("%s: text", name), text, "in use by another server")
		expect.Equal(t, fmt.Sprintf("%s: lines of text", name), strings.Count(text, "\n"), 1)
	}
	first.kill()
	expect.NoError(t, os.WriteFile(file+".part", []byte(`{"version"`), 0o600))
	third := start(t, binary, "--snapshot", file, "--snapshot-every", "1h")
	if _, err := os.Stat(file + ".part"); !os.IsNotExist(err) {
		t.Errorf("the partial file still exists: %v", err)
	}
	t.Run("a damaged file", func(t *testing.T) {
		text, err := os.ReadFile(file)
		expect.NoError(t, err)
		text[len(text)/2] ^= 1
		broken := filepath.Join(t.TempDir(), "broken.json")
		expect.NoError(t, os.WriteFile(broken, text, 0o600))
		code, said := second(broken)
		expect.Equal(t, "exit code", code, 2)
		expect.Contains(t, "the error", said, "damaged")
		expect.Equal(t, "lines of text", strings.Count(said, "\n"), 1)
	})
	_ = third.cmd.Process.Signal(os.Interrupt)
	if err := third.cmd.Wait(); err != nil {
		t.Errorf("clean stop: %v", err)
	}
	if code, text := second(filepath.Join(filepath.Dir(file), "missing", "state.json")); code != 2 || strings.Count(text, "\n") != 1 {
		t.Errorf("exit %d: %s", code, text)
	}
}

// TestAFailedSaveShows: readiness and the log report it until a save succeeds.
func TestAFailedSaveShows(t *testing.T) {
	t.Parallel()
	binary, file := build(t), filepath.Join(t.TempDir(), "state.json")
	server := start(t, binary, "--snapshot", file, "--snapshot-every", "20ms")
	saves(t, file, 1)
	ready := func(want int) string {
		t.Helper()
		for ended := time.Now().Add(effort.Wait(time.Minute)); ; {
			answer, err := http.Get(server.url + "/_understudy/readyz")
			expect.NoError(t, err)
			text, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if answer.StatusCode == want || time.Now().After(ended) {
				if answer.StatusCode != want {
					t.Errorf("%d, want %d: %s", answer.StatusCode, want, text)
				}
				return string(text)
			}
		}
	}
	if err := os.Mkdir(file+".part", 0o700); err != nil && !os.IsExist(err) { // no user, not even root, can write a file with the name of a folder
		t.Fatal(err)
	}
	for os.MkdirAll(filepath.Join(file+".part", "full"), 0o700) != nil { // a save may be about to succeed
	}
	expect.Contains(t, "the answer of readyz", ready(http.StatusServiceUnavailable), "snapshot not saved")
	expect.NoError(t, os.RemoveAll(file+".part"))
	ready(http.StatusOK)
	_ = server.cmd.Process.Signal(os.Interrupt)
	_ = server.cmd.Wait()
	expect.Contains(t, "the log", server.log.String(), "snapshot not saved")
	expect.Contains(t, "the log", server.log.String(), "snapshot saved again")
}
