//go:build !windows

package main

import (
	"os"
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

// keepFromChildren prevents child processes from inheriting a file descriptor.
func keepFromChildren(fd int) { syscall.CloseOnExec(fd) }
