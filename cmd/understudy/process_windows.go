package main

import (
	"os"
	"os/exec"
)

// askToEnd ends a process at once: Windows has no signal for a clean end.
func askToEnd(p *os.Process) error { return p.Kill() }

// exitCode is the exit code of a command.
func exitCode(ended *os.ProcessState) int { return ended.ExitCode() }

// keepFromChildren has nothing to do: handles are not inherited.
func keepFromChildren(int) {}

// newGroup does nothing: the processes of an application have no group.
func newGroup(*exec.Cmd) {}

// endGroup ends a process.
func endGroup(p *os.Process, _ bool) error { return p.Kill() }
