package receiver

import (
	"context"
	"os/exec"
	"strconv"
)

// shell is a command line for the command interpreter.
func shell(ctx context.Context, command string) *exec.Cmd {
	return exec.CommandContext(ctx, "cmd", "/C", command)
}

// endTree ends a command and all that it has started.
func endTree(c *exec.Cmd) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(c.Process.Pid)).Run() // it may be gone
}
