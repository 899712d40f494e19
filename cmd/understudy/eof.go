package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
)

// untilEOF ends the command, as SIGTERM does, when standard input ends: a killed parent
// cannot end its children, but its pipes are closed. The input itself is ignored.
func (e *env) untilEOF(log *slog.Logger) error {
	given, err := os.Stdin.Stat()
	empty, nowhere := os.Stat(os.DevNull)
	if err != nil || nowhere == nil && os.SameFile(given, empty) { // Go opens it for a closed standard input
		return usageError("--until-eof: standard input is closed or %s: must be a pipe that the parent process keeps open", os.DevNull)
	}
	e.endWith(os.Stdin, func() { log.Info("standard input ended: stopping (--until-eof)") })
	return nil
}

// untilEOFOf does the same with another file descriptor: the command of `run` may need the
// terminal as its standard input.
func (e *env) untilEOFOf(fd int, log *slog.Logger) error {
	held := os.NewFile(uintptr(fd), fmt.Sprintf("file descriptor %d", fd))
	if held == nil || fd <= 2 {
		return usageError("--until-eof-of: invalid value %d: must be a file descriptor of 3 or more", fd)
	}
	given, err := held.Stat()
	if err != nil || given.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return usageError("--until-eof-of: invalid value %d: must be a pipe that the parent process keeps open", fd)
	}
	keepFromChildren(fd)
	e.endWith(held, func() { log.Info("file descriptor ended: stopping (--until-eof-of)", "fd", fd) })
	return nil
}

// endWith ends the command when held ends. It calls say before.
func (e *env) endWith(held io.Reader, say func()) {
	ctx, end := context.WithCancel(e.ctx)
	e.ctx = ctx
	go func() { // ends with the file or with the process: a read of a file cannot be interrupted
		defer end()
		_, _ = io.Copy(io.Discard, held) // an error counts as the end
		say()
	}()
}
