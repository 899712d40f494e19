package main

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel send SIGTERM to a command when the thread that started it
// ends, however this process ends.
func endWithParent(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
