package main

import "os"

// askToEnd ends a process at once: Windows has no signal for a clean end.
func askToEnd(p *os.Process) error { return p.Kill() }

// exitCode is the exit code of a command.
func exitCode(ended *os.ProcessState) int { return ended.ExitCode() }

// keepFromChildren has nothing to do: handles are not inherited.
func keepFromChildren(int) {}
