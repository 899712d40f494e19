package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/spec"
)

// smallDisk mounts a disk of 1 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=755"); err != nil {
		programs.SkipHere(t, "a full disk: a small one cannot be mounted here: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func remount(t *testing.T, dir, options string, flags uintptr) {
	t.Helper()
	expect.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, options))
}

// On a full disk, a publish is refused with 503 and a line that says what to do, and reads
// continue. When there is room again, publishes continue too, without a restart. No
// acknowledged message is lost.
func TestFullDisk(t *testing.T) {
	if effort.Raced {
		t.Skip("separate processes in real time")
	}
	disk := smallDisk(t)
	data := filepath.Join(disk, "data")
	h := dataServer(t, build(t), data)
	large := strings.Repeat("x", 20_000)
	accepted := 0
	for h.publish(large, "1h") < 300 {
		if accepted++; accepted > 1000 {
			t.Fatal("the disk is never full")
		}
	}
	refused := func(when string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.address+"/v2/publish/https://app.test/hook", strings.NewReader(large))
		expect.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+spec.BuiltInDialects()[0].Token)
		response, err := http.DefaultClient.Do(r)
		expect.NoError(t, err)
		var text bytes.Buffer
		_, _ = text.ReadFrom(response.Body) // an incomplete text is enough
		_ = response.Body.Close()
		if response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: status %d, want %d", when, response.StatusCode, http.StatusServiceUnavailable)
		}
		if response.Header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", when)
		}
		if !strings.Contains(text.String(), "the disk is full: free some space") {
			t.Errorf("%s: got the text %q", when, text.String())
		}
	}
	refused("on a full disk")
	waiting := len(h.messages())
	if waiting < accepted {
		t.Errorf("%d messages can be read, want at least %d", waiting, accepted)
	}
	h.kill()
	h.start()
	expect.Equal(t, "after a crash on the full disk", len(h.messages()), accepted)
	for h.publish(large, "1h") < 300 { // a restart may have made a little room
		accepted++
	}
	refused("after the crash")
	remount(t, disk, "size=16m", 0)
	for deadline := time.Now().Add(effort.Wait(time.Minute)); h.publish(large, "1h") >= 300; h.liveFor(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("publishes still fail after the disk has room")
		}
	}
	recovered := h.messages()
	if len(recovered) < accepted+1 {
		t.Errorf("%d messages, want at least %d", len(recovered), accepted+1)
	}
	h.kill()
	h.start()
	if got := h.messages(); !slices.Equal(got, recovered) {
		t.Errorf("after recovery and a crash there are %d messages, want %d", len(got), len(recovered))
	}
	h.end()
	remount(t, disk, "size=16m", syscall.MS_RDONLY)
	line := refusedFolder(t, exec.Command(h.binary, "serve", "--addr", "127.0.0.1:0", "--data", data))
	expect.Contains(t, "on a read-only disk", line, "cannot be written")
}

// A server that is idle notices that its disk is full, and that it has room again.
func TestReadinessOnAFullDisk(t *testing.T) {
	if effort.Raced {
		t.Skip("separate processes in real time")
	}
	t.Parallel()
	disk := smallDisk(t)
	h := dataServer(t, build(t), filepath.Join(disk, "data"))
	ready := func() (int, string) {
		response, err := http.Get("http://" + h.address + "/_understudy/readyz")
		expect.NoError(t, err)
		defer response.Body.Close()
		var text bytes.Buffer
		_, _ = text.ReadFrom(response.Body) // an incomplete text is enough
		return response.StatusCode, text.String()
	}
	until := func(want int) (text string) {
		t.Helper()
		got := 0
		for deadline := time.Now().Add(effort.Wait(time.Minute)); got != want; h.liveFor(20 * time.Millisecond) {
			if got, text = ready(); time.Now().After(deadline) {
				t.Fatalf("readiness: got %d %s, want %d", got, text, want)
			}
		}
		return text
	}
	until(http.StatusOK)
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 2<<20), 0o600); err == nil {
		t.Fatal("the disk is never full")
	}
	expect.Contains(t, "text", until(http.StatusServiceUnavailable), "the disk is full: free some space")
	expect.NoError(t, os.Remove(filler))
	until(http.StatusOK)
	h.end()
}

// A folder of another user gives one line and exit code 2.
func TestFolderOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		programs.SkipHere(t, "a folder of another user: only root can start a process of one")
	}
	t.Parallel()
	binary, dir := build(t), t.TempDir()
	if err := os.Chmod(filepath.Dir(binary), 0o755); err != nil { // so that the other user can run it
		t.Fatal(err)
	}
	for _, data := range []string{dir, filepath.Join(dir, "new")} {
		cmd := exec.Command(binary, "serve", "--addr", "127.0.0.1:0", "--data", data)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if line := refusedFolder(t, cmd); !strings.Contains(line, data) || !strings.Contains(line, "permission denied") {
			t.Errorf("got the line %q", line)
		}
	}
}

// traced returns the path of strace, or skips the test.
func traced(t *testing.T) string {
	t.Helper()
	const strace = "strace"
	programs.Need(t, "system calls are NOT traced", "strace")
	if text, err := exec.Command(strace, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		programs.SkipHere(t, fmt.Sprintf("system calls: not allowed here: %s", text))
	}
	return strace
}

// A file system without locks, such as some network file systems, is refused.
func TestFolderWithoutLocks(t *testing.T) {
	t.Parallel()
	strace := traced(t)
	cmd := exec.Command(strace, "-f", "-o", os.DevNull, "-e", "trace=flock", "-e", "inject=flock:error=ENOLCK", build(t), "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir())
	expect.Contains(t, "line", refusedFolder(t, cmd), "its file system has no locks")
}

// The record of a publish is written to the write-ahead log and synced before the answer and
// before the delivery, as system calls show.
func TestSyncComesFirst(t *testing.T) {
	if effort.Raced {
		t.Skip("separate processes in real time")
	}
	strace, binary := traced(t), build(t)
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(sink.Close)
	trace := filepath.Join(t.TempDir(), "trace")
	h := &mortal{t: t, binary: strace, address: freeAddress(t)}
	h.before = []string{"-f", "-y", "-s", "20000", "-o", trace, "-e", "trace=read,write,pwrite64,fsync,fdatasync", binary}
	h.flags = []string{"--data", t.TempDir()}
	h.start()
	server := childOf(t, h.process.Process.Pid)
	const messages = 10
	for n := range messages {
		if status, text := h.call(http.MethodPost, fmt.Sprintf("/v2/publish/%s/mark-%d-", sink.URL, n), "body"); status >= 300 {
			t.Fatalf("status %d: %s", status, text)
		}
		h.call(http.MethodPost, "/_understudy/settle", `{"timeout":"60s"}`, "Content-Type", "application/json")
	}
	if err := syscall.Kill(server, syscall.SIGTERM); err != nil { // strace ends with it
		t.Error(err)
	}
	h.gone()
	text, err := os.ReadFile(trace)
	expect.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	for n := range messages {
		mark := fmt.Sprintf("/mark-%d-", n)
		arrival := lineOf(lines, 0, `read.*OST /v2/publish/.*`+mark) // net/http reads the first byte separately
		written := lineOf(lines, arrival, `pwrite64\(\d+<[^>]*understudy\.db-wal>.*`+mark)
		synced := endOfSync(lines, written)
		answered := lineOf(lines, arrival, `write\(.*"HTTP/1\.1 20`)
		delivered := lineOf(lines, 0, `write\(.*"POST `+mark)
		if arrival < 0 || written < arrival || synced < written || answered < synced || delivered < synced {
			t.Errorf("message %d: arrives in line %d, is written in line %d, synced in %d, answered in %d, delivered in %d: must be in this order",
				n, arrival, written, synced, answered, delivered)
		}
	}
}

// When the disk hangs, a publish gets 503 and a line within the time limit of a commit, also
// while an account is created. A clean stop with many open accounts ends with one line.
func TestHangingDisk(t *testing.T) {
	if effort.Raced {
		t.Skip("separate processes in real time")
	}
	t.Parallel()
	strace, binary := traced(t), build(t)
	h := &mortal{t: t, binary: strace, address: freeAddress(t)}
	h.before = []string{"-f", "-o", os.DevNull, "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_enter=15s:when=40+", binary}
	h.flags = []string{"--data", t.TempDir(), "--accounts", "any"}
	h.start()
	server := childOf(t, h.process.Process.Pid)
	status, text := 0, ""
	for n := 0; n < 1000 && status < 300; n++ { // strace counts the syncs of each thread: a busy machine uses more threads
		status, text = h.call(http.MethodPost, "/v2/publish/https://app.test/hook", "body", "Authorization", fmt.Sprintf("Bearer token-%d", n), "Svc-Delay", "1h")
	}
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "the disk has not answered for 10s") {
		t.Errorf("status %d, want %d: %s", status, http.StatusServiceUnavailable, text)
	}
	if err := syscall.Kill(server, syscall.SIGTERM); err != nil { // strace ends with it
		t.Error(err)
	}
	h.gone()
	lines := regexp.MustCompile(`(?m)^understudy: .*`).FindAllString(h.errors.String(), -1)
	if len(lines) != 1 || !strings.Contains(lines[0], `closing it: `) || !strings.Contains(lines[0], "the disk has not answered") {
		t.Errorf("a clean stop prints %q, want one line", lines)
	}
}

// childOf is the id of the only child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	expect.NoError(t, err)
	child := 0
	if _, err := fmt.Sscan(string(text), &child); err != nil {
		t.Fatalf("children %q: %v", text, err)
	}
	return child
}

// lineOf is the index of the first matching line at or after from, -1 for none.
func lineOf(lines []string, from int, pattern string) int {
	matcher := regexp.MustCompile(pattern)
	if from < 0 {
		return -1
	}
	if i := slices.IndexFunc(lines[from:], matcher.MatchString); i >= 0 {
		return from + i
	}
	return -1
}

// endOfSync is the index of the line in which the next sync of the write-ahead log after from
// has ended.
func endOfSync(lines []string, from int) int {
	began := lineOf(lines, from, `f(data)?sync\(\d+<[^>]*understudy\.db-wal>`)
	if began < 0 || !strings.Contains(lines[began], "unfinished") {
		return began
	}
	thread, _, _ := strings.Cut(lines[began], " ")
	return lineOf(lines, began, "^"+thread+` +<\.\.\. f(data)?sync resumed`)
}
