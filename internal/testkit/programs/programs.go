// Package programs builds the commands and starts a server, for tests that use
// them as processes:
//
//	server := programs.Serve(t, programs.Build(t), "--clock", "manual")
package programs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
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

// folder is the folder of the programs, "" before the first build.
var folder string

// built builds the commands once for all tests of a package.
var built = sync.OnceValue(func() (err error) {
	if folder, err = os.MkdirTemp("", "understudy-programs-"); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", folder, "github.com/understudy-mock/understudy/cmd/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as published, also for a test with the race detector
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return touchSources()
})

// touchSources looks at everything that the programs are built from, so that go test does not
// take a result from its cache after one of these files has changed.
func touchSources() error {
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return err
	}
	root := filepath.Dir(string(module))
	for _, folder := range []string{"go.mod", "go.sum", "cmd", "conformance", "docs", "engine", "features", "fixtures", "internal", "mockserver", "spec"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "clients": // with node_modules
				return fs.SkipDir
			}
			_, err = os.Stat(path)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Build builds the programs and returns the path of understudy. The others are in the same
// folder.
func Build(t TB) string {
	t.Helper()
	if err := built(); err != nil {
		t.Fatalf("go build: %v", err)
	}
	return filepath.Join(folder, "understudy")
}

// Main runs the tests of a package and removes what Build has made. Use it instead of
// testing.M in TestMain.
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

// skipped are the reasons that were printed already.
var skipped sync.Map

// SkipLoud skips a test that needs a missing tool. It prints the reason once for all tests of
// a package; in continuous integration, it fails the test.
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

// Need skips a test in its short form, and when one of the tools that it needs is not
// installed. The consequence completes the line, such as "the page is NOT tested".
func Need(t TB, consequence string, tools ...string) {
	t.Helper()
	effort.Long(t, "needs "+strings.Join(tools, ", "))
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			SkipLoud(t, tool+" is not installed: "+consequence)
		}
	}
}

// SkipHere skips a test that this machine does not allow, also in continuous integration:
// installing a tool would not help.
func SkipHere(t TB, why string) {
	t.Helper()
	fmt.Fprintln(os.Stderr, "SKIPPED: "+why)
	t.Skip(why)
}

// Served is a running server process.
type Served struct {
	URL, ListensAt string   // they differ with --advertise
	Env            []string // NAME=VALUE
	PID            int
}

// freePort is the address of a server whose flags give none.
const freePort = "UNDERSTUDY_ADDR=127.0.0.1:0"

// Serve starts a server on a free port and returns when it is ready. At the end of the test,
// it receives SIGTERM and must stop without an error.
func Serve(t TB, binary string, flags ...string) *Served {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	cmd := exec.Command(binary, append([]string{"serve", "--ready-file", ready}, flags...)...)
	cmd.Env = append(os.Environ(), freePort)
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
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself, which Wait reports
		late := hurry(cmd.Process)
		if err := cmd.Wait(); err != nil || late() {
			t.Errorf("serve: %v\n%s", err, log.String())
		}
		if t.Failed() {
			t.Logf("log of the server:\n%s", log.String())
		}
	})
	// The server prints the banner after it has written the ready file. The banner fits the
	// pipe.
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("serve said %q: %v", line, err)
	}
	text, err := os.ReadFile(ready)
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		URL, ListensAt string
		Env            map[string]string
	}
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	s := &Served{URL: state.URL, ListensAt: state.ListensAt, PID: cmd.Process.Pid}
	for name, value := range state.Env {
		s.Env = append(s.Env, name+"="+value)
	}
	return s
}

// Variable is the value of a variable of the server's environment, "" when it is not set.
func (s *Served) Variable(name string) string {
	for _, v := range s.Env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
