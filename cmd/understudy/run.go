package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// stopLimit is how long the command may take to stop once it is told to.
const stopLimit = 10 * time.Second

// RunCmd starts a stand-in, runs a command with its environment, and stops.
type RunCmd struct {
	Dialect string   `default:"svc" help:"Naming of the interface: svc, upstash, or a YAML file."`
	Clock   string   `default:"real" enum:"real,manual,auto" help:"real, manual or auto."`
	Seed    uint64   `default:"0" help:"Repeat ids, signatures and logs; 0 for random."`
	Command []string `arg:"" passthrough:"" help:"The command and its arguments, behind --."`
}

// Run returns the exit code of the command.
func (c *RunCmd) Run(e *env) error {
	command := c.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return usage("run: no command; accepted is `understudy run -- COMMAND`")
	}
	dialect, err := spec.LoadDialect(c.Dialect)
	if err != nil {
		return usage("--dialect: %w", err)
	}
	log, err := logger(e.err, "warn", "text")
	if err != nil {
		return err
	}
	s, err := mockserver.Run(mockserver.Config{Dialect: dialect, Clock: c.Clock, Seed: c.Seed, Log: log})
	if err != nil {
		return usage("run: %w", err)
	}
	child := exec.CommandContext(e.ctx, command[0], command[1:]...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, e.out, e.err
	child.Cancel = func() error { return child.Process.Signal(syscall.SIGTERM) }
	child.WaitDelay = stopLimit
	child.Env = os.Environ()
	for _, v := range s.Env() {
		child.Env = append(child.Env, v.Name+"="+v.Value)
	}
	err = child.Run()
	closed := s.Close()
	switch {
	case child.ProcessState == nil:
		return usage("run: %w", err)
	case !child.ProcessState.Success():
		return &exit{exitCode(child.ProcessState), errors.New("")} // the command has said why
	case closed != nil:
		return fmt.Errorf("stop: %w", closed)
	}
	return nil
}

// exitCode is that of a command, or 128 and the signal, as shells say it.
func exitCode(ended *os.ProcessState) int {
	if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return ended.ExitCode()
}
