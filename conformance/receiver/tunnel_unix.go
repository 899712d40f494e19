//go:build unix

package receiver

import (
	"context"
	"os/exec"
	"syscall"
)

// shell is a command line in a process group of its own, so that what it starts
// can be ended with it.
func shell(ctx context.Context, command string) *exec.Cmd {
	c := exec.CommandContext(ctx, "sh", "-c", command)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

// endTree asks a command and all that it has started to end.
func endTree(c *exec.Cmd) {
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM) // it may be gone
}
