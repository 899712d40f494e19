//go:build !windows

package main

import (
	"os"
	"syscall"
)

// askToEnd asks a process to end by itself.
func askToEnd(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// exitCode is that of a command, or 128 and the signal, as in shells.
func exitCode(ended *os.ProcessState) int {
	if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return ended.ExitCode()
}

// keepFromChildren closes a file descriptor in the processes that this one starts.
func keepFromChildren(fd int) { syscall.CloseOnExec(fd) }
