//go:build !linux

package main

import "os/exec"

// endWithParent does nothing: only Linux signals the end of a parent to its child.
func endWithParent(*exec.Cmd) {}
