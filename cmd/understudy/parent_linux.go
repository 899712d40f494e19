package main

import (
	"os/exec"
	"syscall"
)

// endWithParent has the kernel ask a command to end when the thread that starts
// it does, however this process ends.
func endWithParent(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
