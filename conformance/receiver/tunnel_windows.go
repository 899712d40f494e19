package receiver

import (
	"context"
	"os/exec"
	"strconv"
)

// shell runs a command line in the command interpreter.
func shell(ctx context.Context, command string) *exec.Cmd {
	return exec.CommandContext(ctx, "cmd", "/C", command)
}

// endTree ends a command and its children.
func endTree(c *exec.Cmd) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(c.Process.Pid)).Run() // it may have ended
}
