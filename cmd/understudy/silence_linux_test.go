package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// outsideCall matches a system call that connects or sends to an internet address.
var outsideCall = regexp.MustCompile(`(?:connect|sendto|sendmsg)\(.*sa_family=AF_INET6?,.*`)

// loopbackAddress matches an address of this machine in the output of strace.
var loopbackAddress = regexp.MustCompile(`inet_addr\("127\.[0-9.]+"\)|"::1"|"::ffff:127\.[0-9.]+"`)

// Nothing phones home (docs/install.md): a server opens only connections that a user has
// requested.
func TestNothingPhonesHome(t *testing.T) {
	t.Parallel()
	programs.Need(t, "that nothing phones home is NOT tested", "strace")
	dir := t.TempDir()
	trace, ready := filepath.Join(dir, "trace"), filepath.Join(dir, "ready.json")
	if out, err := exec.CommandContext(t.Context(), "strace", "-f", "-qq", "-o", trace, "true").CombinedOutput(); err != nil {
		skipLoud(t, "strace cannot trace here: that nothing phones home is NOT tested: "+string(out))
	}
	server := exec.CommandContext(t.Context(), "strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg,execve", "-s", "200", "-o", trace,
		build(t), "serve", "--addr", "127.0.0.1:0", "--ready-file", ready, "--snapshot", filepath.Join(dir, "state.json"))
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := server.StdoutPipe()
	expect.NoError(t, err)
	expect.NoError(t, server.Start())
	end := func() { _ = syscall.Kill(-server.Process.Pid, syscall.SIGTERM) }
	defer func() { end(); _ = server.Wait() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("serve printed %q: %v", line, err)
	}
	atStart := outsideCalls(t, trace)
	if len(atStart) > 0 {
		t.Errorf("the start connects:\n%s", strings.Join(atStart, "\n"))
	}
	text, err := os.ReadFile(ready)
	expect.NoError(t, err)
	url := regexp.MustCompile(`"url":"([^"]+)"`).FindStringSubmatch(string(text))[1]
	for _, args := range [][]string{
		{"ctl", "--url", url, "publish", url + "/_understudy/sink/status/200"},
		{"ctl", "--url", url, "settle"},
		{"env", "--url", url},
	} {
		if out, err := exec.CommandContext(t.Context(), "understudy", args...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	end()
	_ = server.Wait() // strace ends with the same signal
	asked := false
	for _, call := range outsideCalls(t, trace) {
		if !loopbackAddress.MatchString(call) {
			t.Errorf("an unexpected connection: %s", call)
		}
		asked = true
	}
	if !asked {
		t.Error("the delivery is not in the trace: the test does not see connections")
	}
	if whole, err := os.ReadFile(trace); err != nil || strings.Count(string(whole), "execve(") != 1 {
		t.Errorf("the server starts programs: %v\n%s", err, regexp.MustCompile(`.*execve\(.*`).FindAllString(string(whole), -1))
	}
}

// outsideCalls returns the lines of a trace that match outsideCall.
func outsideCalls(t *testing.T, trace string) []string {
	t.Helper()
	text, err := os.ReadFile(trace)
	expect.NoError(t, err)
	return outsideCall.FindAllString(string(text), -1)
}
