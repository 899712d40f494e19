package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec"
)

// A server on a folder in which one bit was flipped, or one file cut, has all of its
// messages, or ends with exit code 2 and one line. With --data-accept-loss it serves the
// messages up to the damage, and reports in one line what is missing.
func TestDamagedFolder(t *testing.T) {
	if effort.Raced {
		t.Skip("separate processes in real time")
	}
	binary, whole, killed := build(t), t.TempDir(), t.TempDir()
	h := dataServer(t, binary, whole)
	for n := range 40 {
		h.publish(fmt.Sprintf("message %d", n), "1h")
	}
	copyFiles(t, whole, killed)
	want := h.messages()
	expect.Equal(expect.Now(t), "number of messages", len(want), 40)
	h.end()
	random := rand.New(rand.NewPCG(5, 6))
	refused := 0
	folders := effort.Amount(t, "FOLDERS", 12, 50)
	for i := range folders {
		dir := t.TempDir()
		copyFiles(t, []string{killed, whole}[i%4/3], dir) // most data is in the write-ahead log
		what := damageFile(t, random, dir, i%2 == 0)
		if got, line, ok := served(t, binary, dir); ok {
			if !slices.Equal(got, want) {
				t.Errorf("%s: serves %d messages, want %d: %s", what, len(got), len(want), line)
			}
			continue
		} else if !strings.Contains(line, dir) || !strings.Contains(line, "damaged") || strings.Count(line, "\n") != 1 {
			t.Errorf("%s: refused with %q, want one line about the damage", what, line)
		}
		refused++
		got, line, ok := served(t, binary, dir, "--data-accept-loss")
		if !ok {
			t.Errorf("%s: refused even with --data-accept-loss: %s", what, line)
			continue
		}
		if !slices.Equal(got, want[:min(len(got), len(want))]) {
			t.Errorf("%s: serves %v, want the first of %v", what, got, want)
		}
		if !strings.Contains(line, "left out") || strings.Count(line, "\n") != 1 {
			t.Errorf("%s: %d of %d messages are left, and the line is %q", what, len(got), len(want), line)
		}
		if kept, _ := filepath.Glob(filepath.Join(dir, "*.damaged-1*")); len(kept) == 0 {
			t.Errorf("%s: no damaged file was kept", what)
		}
		if again, line, ok := served(t, binary, dir); !ok || !slices.Equal(again, got) {
			t.Errorf("%s: the next start serves %d messages, want %d: %s", what, len(again), len(got), line)
		}
	}
	t.Logf("%d of %d folders were refused", refused, folders)
}

// dataServer starts a server with a manual clock on a folder.
func dataServer(t *testing.T, binary, dir string, flags ...string) *mortal {
	t.Helper()
	h := &mortal{t: t, binary: binary, address: freeAddress(t), flags: append([]string{"--clock", "manual", "--data", dir}, flags...)}
	h.start()
	return h
}

// served starts a server on a folder. It returns the server's messages, or false and the text
// on standard error if it has ended with exit code 2.
func served(t *testing.T, binary, dir string, flags ...string) (messages []string, line string, ok bool) {
	t.Helper()
	h := &mortal{t: t, binary: binary, address: freeAddress(t), flags: append([]string{"--clock", "manual", "--data", dir, "--log-level", "error"}, flags...)}
	h.spawn()
	if !h.serves() {
		expect.Equal(t, "exit code", h.process.ProcessState.ExitCode(), 2)
		return nil, h.errors.String(), false
	}
	messages = h.messages()
	h.end()
	return messages, h.errors.String(), true
}

// publish publishes a message with a delay, and returns the status.
func (h *mortal) publish(body, delay string) int {
	h.t.Helper()
	status, _ := h.call(http.MethodPost, "/v2/publish/https://app.test/hook", body, "Svc-Delay", delay)
	return status
}

// call makes a request.
func (h *mortal) call(method, path, body string, headers ...string) (int, string) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, "http://"+h.address+path, strings.NewReader(body))
	expect.NoError(h.t, err)
	r.Header.Set("Authorization", "Bearer "+spec.BuiltInDialects()[0].Token)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	expect.NoError(h.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	expect.NoError(h.t, err)
	return response.StatusCode, string(text)
}

// messages returns the ids of the waiting messages, in the order of publishing.
func (h *mortal) messages() []string {
	h.t.Helper()
	status, text := h.call(http.MethodGet, "/v2/logs?count=100", "")
	var page struct {
		Logs []struct{ MessageID string }
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil || status != http.StatusOK {
		h.t.Fatalf("status %d: %v: %s", status, err, text)
	}
	var list []string
	for _, e := range page.Logs {
		list = append(list, e.MessageID)
	}
	slices.Reverse(list)
	return list
}

func copyFiles(t *testing.T, from, to string) {
	t.Helper()
	expect.NoError(t, os.CopyFS(to, os.DirFS(from)))
}

// damageFile flips a bit in one file of a folder, or cuts the file.
func damageFile(t *testing.T, random *rand.Rand, dir string, flip bool) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "understudy.db*"))
	expect.NoError(t, err)
	name := names[random.IntN(len(names))]
	text, err := os.ReadFile(name)
	expect.NoError(t, err)
	at := random.IntN(len(text))
	what := fmt.Sprintf("%s flipped at %d of %d", filepath.Base(name), at, len(text))
	if flip {
		text[at] ^= 1 << random.IntN(8)
	} else {
		what, text = fmt.Sprintf("%s cut at %d of %d", filepath.Base(name), at, len(text)), text[:at]
	}
	expect.NoError(t, os.WriteFile(name, text, 0o600))
	return what
}

// A folder that cannot be used gives one line and exit code 2.
func TestFolderThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	binary, used := build(t), t.TempDir()
	file := filepath.Join(t.TempDir(), "file")
	expect.NoError(t, os.WriteFile(file, nil, 0o600))
	dataServer(t, binary, used)
	for _, c := range []struct{ name, dir, want string }{
		{"a file", file, "is a file: must be a folder, or missing"},
		{"below a file", filepath.Join(file, "below"), "cannot be created: not a directory"},
		{"in use", used, "in use by another process: stop it, or name another folder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := refusedFolder(t, exec.Command(binary, "serve", "--addr", "127.0.0.1:0", "--data", c.dir))
			if !strings.Contains(line, c.want) || !strings.Contains(line, c.dir) {
				t.Errorf("got the line %q, want %q", line, c.want)
			}
		})
	}
}

// refusedFolder runs a server that must end with exit code 2, and returns its only line.
func refusedFolder(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	_ = cmd.Run()
	expect.Equal(t, "exit code", cmd.ProcessState.ExitCode(), 2)
	line := errs.String()
	if strings.Count(line, "\n") != 1 {
		t.Errorf("got %q, want one line", line)
	}
	return line
}
