// Package programs builds the commands and starts a server, for tests that use
// them as processes:
//
//	server := programs.Serve(t, programs.Build(t), "--clock", "manual")
package programs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// TB is the part of testing.TB that is needed here.
type TB interface {
	Cleanup(f func())
	Errorf(format string, args ...any)
	Failed() bool
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Helper()
	Logf(format string, args ...any)
	Skip(args ...any)
	TempDir() string
}

// folder is where the programs are; "" until a test has asked for them.
var folder string

// built builds them once for all tests of a package.
var built = sync.OnceValue(func() (err error) {
	if folder, err = os.MkdirTemp("", "understudy-programs-"); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-o", folder, "github.com/understudy-mock/understudy/cmd/...")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
})

// Build makes the programs and returns the path of understudy; the others are
// beside it.
func Build(t TB) string {
	t.Helper()
	if err := built(); err != nil {
		t.Fatalf("go build: %v", err)
	}
	return filepath.Join(folder, "understudy")
}

// Main runs the tests of a package and removes what Build has made. It takes the
// place of testing.M in TestMain.
type Main struct {
	M interface{ Run() int }
}

// Run returns the exit code.
func (m Main) Run() int {
	code := m.M.Run()
	if folder != "" {
		_ = os.RemoveAll(folder) // it is in the folder for temporary files
	}
	return code
}

// skipped are the reasons that were printed.
var skipped sync.Map

// SkipLoud skips what a missing tool makes impossible, with one line for all tests
// of a package; in continuous integration that is a failure.
func SkipLoud(t TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	if _, told := skipped.LoadOrStore(why, true); !told {
		fmt.Fprintln(os.Stderr, "SKIPPED: "+why)
	}
	t.Skip(why)
}

// Served is a running server process.
type Served struct {
	URL string
	Env []string // NAME=VALUE
	PID int
}

// Serve starts a server on a free port, and returns when it is ready. It gets a
// signal to stop at the end of the test, and has to do so without an error.
func Serve(t TB, binary string, flags ...string) *Served {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	cmd := exec.Command(binary, append([]string{"serve", "--addr", "127.0.0.1:0", "--ready-file", ready}, flags...)...)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself, which Wait tells
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve: %v\n%s", err, log.String())
		}
		if t.Failed() {
			t.Logf("log of the server:\n%s", log.String())
		}
	})
	// The banner, which fits the pipe, is the sign that the ready file is there.
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("serve said %q: %v", line, err)
	}
	text, err := os.ReadFile(ready)
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		URL string
		Env map[string]string
	}
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	s := &Served{URL: state.URL, PID: cmd.Process.Pid}
	for name, value := range state.Env {
		s.Env = append(s.Env, name+"="+value)
	}
	return s
}

// Variable is a variable of the server's environment.
func (s *Served) Variable(name string) string {
	for _, v := range s.Env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
