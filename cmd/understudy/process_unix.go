//go:build !windows

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// askToEnd asks a process to end by itself.
func askToEnd(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// exitCode is the exit code of a command, or 128 plus the signal that ended it, as in shells.
func exitCode(ended *os.ProcessState) int {
	if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return ended.ExitCode()
}

// newGroup makes a child the first of a group of processes.
func newGroup(c *exec.Cmd) {
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Setpgid = true
}

// endGroup ends a group of processes: it asks, or kills.
func endGroup(p *os.Process, kill bool) error {
	if kill {
		return syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
	return syscall.Kill(-p.Pid, syscall.SIGTERM)
}

// keepFromChildren prevents child processes from inheriting a file descriptor.
func keepFromChildren(fd int) { syscall.CloseOnExec(fd) }
