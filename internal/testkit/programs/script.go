package programs

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// Script returns parameters that run the scripts of a folder. It adds these commands to the
// commands of testscript:
//
//	serve FLAGS   starts a server on a free port, writes its output to banner and its
//	              ready file to ready.json, and sets the environment of its clients
//	end           ends the server with SIGTERM and writes its log to log
//	crash         kills the server
func Script(dir string) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": scriptServe,
			"end":   scriptEnd,
			"crash": scriptCrash,
		},
		Setup: func(e *testscript.Env) error {
			e.Values[serverKey] = &running{}
			e.Vars = append(e.Vars, freePort)
			return nil
		},
	}
}

// serverKey is the key of the server in the values of a script.
const serverKey = "server"

// running is the server of a script.
type running struct {
	cmd *exec.Cmd
	log strings.Builder // of the current or last server
}

func scriptServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("! serve: use `! exec understudy serve`")
	}
	server, _ := ts.Value(serverKey).(*running)
	binary, err := lookPath(ts.Getenv("PATH"), "understudy")
	ts.Check(err)
	cmd := exec.Command(binary, append([]string{"serve", "--ready-file", "ready.json"}, args...)...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = os.Environ()
	for _, name := range []string{"PATH", "UNDERSTUDY_ADDR", "UNDERSTUDY_CLOCK", "UNDERSTUDY_CONFIG"} {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	server.log.Reset()
	cmd.Stderr = &server.log
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	server.cmd = cmd
	ts.Defer(func() {
		if server.cmd != nil {
			_ = cmd.Process.Kill() // only a script that failed leaves it running
			_ = cmd.Wait()
		}
	})
	// The server prints the banner in one write, after the ready file.
	reader := bufio.NewReaderSize(out, 1<<16)
	first, err := reader.ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		ts.Fatalf("serve: %v: %s", err, server.log.String())
	}
	rest, err := reader.Peek(reader.Buffered())
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("banner"), []byte(first+string(rest)), 0o600))
	var ready struct{ Env map[string]string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("ready.json")), &ready))
	for name, value := range ready.Env {
		ts.Setenv(name, value)
	}
}

func scriptEnd(ts *testscript.TestScript, _ bool, _ []string) {
	server, _ := ts.Value(serverKey).(*running)
	ts.Check(server.cmd.Process.Signal(syscall.SIGTERM))
	late := hurry(server.cmd.Process)
	err := server.cmd.Wait()
	late()
	server.cmd = nil
	ts.Check(os.WriteFile(ts.MkAbs("log"), []byte(server.log.String()), 0o600))
	if err != nil {
		ts.Fatalf("serve ended with %v: %s", err, server.log.String())
	}
}

// scriptCrash ends the server as a crash does.
func scriptCrash(ts *testscript.TestScript, _ bool, _ []string) {
	server, _ := ts.Value(serverKey).(*running)
	ts.Check(server.cmd.Process.Kill())
	_ = server.cmd.Wait() // it reports the kill
	server.cmd = nil
}

// lookPath finds a command in another PATH than that of this process.
func lookPath(list, name string) (string, error) {
	for _, dir := range filepath.SplitList(list) {
		file := filepath.Join(dir, name)
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}
