package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// runner is a command of the tests: it starts a command, keeps the other end of its standard
// input open, and never ends by itself.
func runner() {
	child := exec.Command(os.Args[1], os.Args[2:]...)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	held, err := child.StdinPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		panic(err)
	}
	_ = child.Wait()
	_ = held.Close()
	<-time.After(time.Hour) // killed before
}

// When a parent process is killed, neither the server that it has started nor the command of
// `understudy run` survives.
func TestNothingSurvivesItsParent(t *testing.T) {
	t.Parallel()
	const sleeper = `echo "running at $UNDERSTUDY_URL"; exec sleep 1000`
	for name, test := range map[string]struct {
		args []string
		only string // the only system on which it applies; "": all
	}{
		"serve":          {args: []string{"runner", "understudy", "serve", "--addr", "127.0.0.1:0", "--until-eof"}},
		"run":            {args: []string{"runner", "understudy", "run", "--until-eof", "--", "sh", "-c", sleeper}},
		"run, killed":    {args: []string{"understudy", "run", "--", "sh", "-c", sleeper}, only: "linux"},
		"a line of text": {args: []string{"sh", "-c", "(echo text; sleep 1) | understudy serve --addr 127.0.0.1:0 --until-eof"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.only != "" && test.only != runtime.GOOS {
				t.Skip("only on " + test.only)
			}
			ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(time.Minute))
			defer cancel()
			parent := exec.CommandContext(ctx, test.args[0], test.args[1:]...)
			read, write, err := os.Pipe()
			expect.NoError(t, err)
			defer func() { _ = read.Close() }()
			parent.Stdout = write
			expect.NoError(t, parent.Start())
			_ = write.Close() // reads end when no other process can write
			if deadline, ok := ctx.Deadline(); ok {
				expect.NoError(t, read.SetReadDeadline(deadline))
			}
			out := bufio.NewReader(read)
			line, err := out.ReadString('\n')
			expect.NoError(t, err)
			_, address, _ := strings.Cut(strings.TrimSpace(line), "running at http://")
			if name != "a line of text" {
				expect.NoError(t, parent.Process.Kill())
			}
			if _, err := io.Copy(io.Discard, out); err != nil {
				t.Errorf("a process still has the standard output: %v", err)
			}
			_ = parent.Wait() // it was killed
			if conn, err := net.Dial("tcp", address); err == nil {
				_ = conn.Close()
				t.Errorf("the server at %s still listens", address)
			}
		})
	}
}

// The end of standard input causes a clean stop: exit code 0, and the state is saved.
func TestUntilEOFStopsCleanly(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state.json")
	server := exec.CommandContext(t.Context(), "understudy", "serve", "--addr", "127.0.0.1:0", "--until-eof", "--snapshot", state)
	held, err := server.StdinPipe()
	expect.NoError(t, err)
	out, err := server.StdoutPipe()
	expect.NoError(t, err)
	var log strings.Builder
	server.Stderr = &log
	expect.NoError(t, server.Start())
	expect.NoError(t, expect.ErrorOf(bufio.NewReader(out).ReadString('\n')))
	expect.NoError(t, held.Close())
	if err := server.Wait(); err != nil {
		t.Errorf("ended with %v: %s", err, log.String())
	}
	expect.Contains(t, "log", log.String(), "standard input ended")
	if _, err := os.Stat(state); err != nil {
		t.Errorf("the state is not saved: %v", err)
	}
}

// The end of another file descriptor stops the command and the server. The command keeps its
// standard input.
func TestUntilEOFOfAnotherDescriptor(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("processes inherit only the three streams")
	}
	read, held, err := os.Pipe()
	expect.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(time.Minute))
	defer cancel()
	run := exec.CommandContext(ctx, "understudy", "run", "--until-eof-of", "3", "--", "sh", "-c", `read line; test -e /dev/fd/3 && line=inherited; trap 'exit 5' TERM; echo "$line"; while :; do :; done`)
	run.Stdin, run.ExtraFiles = strings.NewReader("text\n"), []*os.File{read}
	out, err := run.StdoutPipe()
	expect.NoError(t, err)
	expect.NoError(t, run.Start())
	_ = read.Close() // the process has its own copy
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "text\n" {
		t.Errorf("the command read %q: %v", line, err)
	}
	expect.NoError(t, held.Close())
	_ = run.Wait() // it returns the exit code of the command as an error
	expect.Equal(t, "exit code", run.ProcessState.ExitCode(), 5)
}
