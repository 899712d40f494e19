package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"github.com/understudy-mock/understudy/internal/command"
)

// stopLimit is the time limit for the command to stop after a signal.
const stopLimit = 10 * time.Second

// nodeCA is the environment variable with a file of CAs that Node.js also trusts.
const nodeCA = "NODE_EXTRA_CA_CERTS"

// RunCmd starts a stand-in, runs a command with its environment, and stops. It has the flags
// of serve. With --until-eof, the end of standard input stops the command as SIGTERM does,
// and then the stand-in; the standard input of the command is empty.
type RunCmd struct {
	ServeCmd `embed:""`

	Command []string `arg:"" optional:"" passthrough:"" help:"The command and its arguments, after --."`
}

// Run returns the exit code of the command.
func (c *RunCmd) Run(e *env, at *kong.Context) error {
	words := withoutDashes(c.Command)
	if len(words) == 0 {
		return usageError("run: no command; usage: understudy run [FLAGS] -- COMMAND")
	}
	if err := addOwnFolder(); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return notStarted(err)
	}
	s, cfg, err := c.start(e, "run", at.Selected()) // replaces e.ctx by one that ends with standard input
	if err != nil {
		return err
	}
	child := exec.CommandContext(e.ctx, words[0], words[1:]...)
	child.Stdout, child.Stderr = e.out, e.err
	if !c.UntilEOF { // --until-eof reads standard input
		child.Stdin = os.Stdin
	}
	endWithParent(child)
	child.Cancel = func() error { return askToEnd(child.Process) }
	child.WaitDelay = stopLimit
	child.Env = os.Environ()
	for _, v := range s.Env() {
		child.Env = append(child.Env, v.Name+"="+v.Value)
	}
	if c.ControlToken != "" {
		child.Env = append(child.Env, "UNDERSTUDY_CONTROL_TOKEN="+c.ControlToken)
	}
	if _, set := os.LookupEnv(nodeCA); c.ca != "" && !set { // Node.js adds it to the CAs of the system; variables of other clients replace these
		child.Env = append(child.Env, nodeCA+"="+c.ca)
	}
	ended, end := context.WithCancel(context.WithoutCancel(e.ctx)) // a command may need time to stop
	var waiting sync.WaitGroup
	waiting.Go(func() {
		defer end()
		runtime.LockOSThread() // endWithParent regards this thread as the parent
		defer runtime.UnlockOSThread()
		err = child.Run()
	})
	c.saveUntil(ended, s, cfg.Log)
	waiting.Wait()
	closed := c.stop(s)
	switch {
	case child.ProcessState == nil:
		return notStarted(err)
	case !child.ProcessState.Success():
		return command.Fail(exitCode(child.ProcessState), errors.New("")) // the command has printed the reason
	case closed != nil:
		return fmt.Errorf("stop: %w", closed)
	}
	return nil
}

// Exit codes for a command that cannot be started, as those of shells.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// notStarted is the error for a command that cannot be started.
func notStarted(err error) error {
	code := exitNotExecutable
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		code = exitNotFound
	}
	return command.Fail(code, fmt.Errorf("run: %w", err))
}

// addOwnFolder puts the folder of this program at the end of PATH, so that the command can call
// it. At the start, it would come before the programs that the user has chosen.
func addOwnFolder() error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	folder, path := filepath.Dir(own), os.Getenv("PATH")
	if slices.Contains(filepath.SplitList(path), folder) {
		return nil
	}
	if path != "" {
		path += string(os.PathListSeparator)
	}
	return os.Setenv("PATH", path+folder)
}
