package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// stopLimit is how long the command may take to stop after a signal.
const stopLimit = 10 * time.Second

// RunCmd starts a stand-in, runs a command with its environment, and stops. Its
// flags are those of serve. With --until-eof, the end of standard input stops
// the command as SIGTERM does, and then the stand-in; the command's own standard
// input is empty.
type RunCmd struct {
	ServeCmd `embed:""`

	Command []string `arg:"" optional:"" passthrough:"" help:"The command and its arguments, after --."`
}

// Run returns the exit code of the command.
func (c *RunCmd) Run(e *env) error {
	command := c.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return usage("run: no command; usage: understudy run [FLAGS] -- COMMAND")
	}
	s, cfg, err := c.start(e, "run")
	if err != nil {
		return err
	}
	child := exec.CommandContext(e.ctx, command[0], command[1:]...)
	child.Stdout, child.Stderr = e.out, e.err
	if !c.UntilEOF { // which reads it
		child.Stdin = os.Stdin
	}
	endWithParent(child)
	child.Cancel = func() error { return askToEnd(child.Process) }
	child.WaitDelay = stopLimit
	child.Env = os.Environ()
	for _, v := range s.Env() {
		child.Env = append(child.Env, v.Name+"="+v.Value)
	}
	ended, end := context.WithCancel(context.WithoutCancel(e.ctx)) // a command may take its time to stop
	var waiting sync.WaitGroup
	waiting.Add(1)
	go func() {
		defer waiting.Done()
		defer end()
		runtime.LockOSThread() // endWithParent takes the thread for the parent
		defer runtime.UnlockOSThread()
		err = child.Run()
	}()
	c.saveUntil(ended, s, cfg.Log)
	waiting.Wait()
	closed := c.stop(s)
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

// serveOnLoopback serves a handler on a free port until stop is called.
func serveOnLoopback(h http.Handler) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: stopLimit}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) }) // ends with stop
	return "http://" + l.Addr().String(), func() { _ = server.Close(); serving.Wait() }, nil
}
