package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// become runs the other program as a child, because Windows cannot replace a process. An
// interrupt of the console reaches both; this process waits for the child.
func become(path string, args, env []string) error {
	child := &exec.Cmd{Path: path, Args: args, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := child.Run()
	if child.ProcessState == nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	if code := child.ProcessState.ExitCode(); code != ExitFine {
		return Fail(code, errors.New("")) // the child has printed the reason
	}
	return nil
}
