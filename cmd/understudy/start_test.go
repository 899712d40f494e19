package main

import (
	"bufio"
	"cmp"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec/route"
)

// first is what a server needs from its start to its first answer.
type first struct {
	elapsed time.Duration
	work    time.Duration // CPU time until the process was ended
	memory  int64         // resident, in bytes; 0: unknown
}

// startFlags start a server that delivers only to stubs. It ends with its standard input,
// also when the killed process is a program around it.
var startFlags = []string{"serve", "--until-eof", "--addr", "127.0.0.1:0", "--dialect", "svc", "--account", "start:start-token", "--stub", "*=200"}

// The measured requests: that of a probe, and that of a client.
const (
	health  = http.MethodGet
	publish = http.MethodPost
)

// answered starts a server, sends one request to it, and ends it.
func answered(t testing.TB, method, program string, args ...string) first {
	t.Helper()
	begin := time.Now()
	c := exec.Command(program, args...)
	out, err := c.StdoutPipe()
	if err == nil {
		_, err = c.StdinPipe() // Wait closes it
	}
	if err == nil {
		err = c.Start()
	}
	expect.NoError(t, err)
	defer func() { _ = c.Process.Kill() }() // after a failure it still runs
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %q: %v", program, line, err)
	}
	address := line[strings.LastIndex(line, " ")+1 : len(line)-1]
	path := "/_understudy/readyz"
	if method == publish {
		path = route.PublishMessage.Path("https://example.test/hook")
	}
	request, err := http.NewRequestWithContext(t.Context(), method, address+path, strings.NewReader(`{"hello":"world"}`))
	expect.NoError(t, err)
	request.Header.Set("Authorization", "Bearer start-token")
	request.Header.Set("Content-Type", "application/json")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	expect.NoError(t, err)
	_, _ = io.Copy(io.Discard, response.Body) // only the status matters
	_ = response.Body.Close()
	took := first{elapsed: time.Since(begin), memory: memoryOf(c.Process.Pid, "VmRSS")}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s", method, path, response.Status)
	}
	_ = c.Process.Kill()
	_ = c.Wait() // it was killed
	took.work = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	return took
}

// bareServer builds the server that is the baseline.
func bareServer(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bare")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", file, "./testdata/bare").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// A start takes a small multiple of the CPU time of a bare server: 7 when this was written,
// and 36 when the documents were parsed at the start.
func TestStartIsCheap(t *testing.T) {
	t.Parallel()
	const times, most = 5, 18
	binary, bare := build(t), bareServer(t)
	least := map[string]time.Duration{}
	for range times {
		for name, took := range map[string]first{
			"bare":    answered(t, health, bare),
			"health":  answered(t, health, binary, startFlags...),
			"publish": answered(t, publish, binary, startFlags...),
		} {
			if had, ok := least[name]; !ok || took.work < had {
				least[name] = took.work
			}
		}
	}
	for _, name := range []string{"health", "publish"} {
		ratio := float64(least[name]) / float64(max(least["bare"], time.Millisecond))
		if t.Logf("%s: %s of work, %.1f times that of a bare server", name, least[name], ratio); ratio > most {
			t.Errorf("until the first answer (%s): %s of work, want at most %d times the %s of a bare server", name, least[name], most, least["bare"])
		}
	}
}

// A server executes no other program at its start, such as the go command of the PATH.
func TestStartRunsNoOtherProgram(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\necho \"$0 $*\" >>"+ran+"\n"), 0o700))
	binary := build(t)
	t.Run("the go command of the PATH", func(t *testing.T) {
		t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		answered(t, publish, binary, startFlags...)
		if text, err := os.ReadFile(ran); err == nil {
			t.Errorf("the server ran %s", text)
		}
	})
	t.Run("any program", func(t *testing.T) {
		trace := filepath.Join(dir, "trace")
		answered(t, publish, traced(t), append([]string{"-f", "-qq", "-e", "trace=execve,execveat", "-o", trace, binary}, startFlags...)...)
		text, err := os.ReadFile(trace)
		expect.NoError(t, err)
		if n := strings.Count(string(text), "execve"); n != 1 {
			t.Errorf("%d programs were executed, want only the server:\n%s", n, text)
		}
	})
}

// BenchmarkStart measures server processes alternately, from the start to the first answer.
// BEFORE is the path of another build of understudy to compare with.
func BenchmarkStart(b *testing.B) {
	programs := map[string]string{"now": build(b), "bare": bareServer(b)}
	if before := os.Getenv("BEFORE"); before != "" {
		programs["before"] = before
	}
	taken := map[string][]first{}
	for b.Loop() {
		for name, program := range programs {
			flags := startFlags
			if name == "bare" {
				flags = nil
			}
			for _, method := range []string{health, publish} {
				taken[name+" "+method] = append(taken[name+" "+method], answered(b, method, program, flags...))
			}
		}
	}
	for name, all := range taken {
		unit := strings.ReplaceAll(name, " ", "-")
		b.ReportMetric(median(all, func(f first) float64 { return float64(f.elapsed.Microseconds()) / 1000 }), unit+"-ms")
		b.ReportMetric(median(all, func(f first) float64 { return float64(f.work.Microseconds()) / 1000 }), unit+"-cpu-ms")
		b.ReportMetric(median(all, func(f first) float64 { return float64(f.memory) / (1 << 20) }), unit+"-MiB")
	}
}

// median is the middle value.
func median(all []first, of func(first) float64) float64 {
	slices.SortFunc(all, func(x, y first) int { return cmp.Compare(of(x), of(y)) })
	return of(all[len(all)/2])
}
