//go:build unix

package receiver

import (
	"context"
	"os/exec"
	"syscall"
)

// shell runs a command line in a separate process group, so that endTree also ends its children.
func shell(ctx context.Context, command string) *exec.Cmd {
	c := exec.CommandContext(ctx, "sh", "-c", command)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

// endTree asks a command and its children to end.
func endTree(c *exec.Cmd) {
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM) // it may have ended
}
