//go:build unix

package client

import (
	"os/exec"
	"syscall"
)

// ownGroup lets a process and its children be ended together.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends a process and its children.
func killGroup(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
