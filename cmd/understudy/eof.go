package main

import (
	"context"
	"io"
	"log/slog"
	"os"
)

// untilEOF ends the command, as SIGTERM does, when standard input ends: a parent
// that is killed has no time to end its children, but its pipes are closed.
// What comes before is ignored.
func (e *env) untilEOF(log *slog.Logger) error {
	given, err := os.Stdin.Stat()
	empty, nowhere := os.Stat(os.DevNull)
	if err != nil || nowhere == nil && os.SameFile(given, empty) { // what Go opens in place of a closed one
		return usage("--until-eof: standard input is closed or %s: must be a pipe that the parent process keeps open", os.DevNull)
	}
	ctx, end := context.WithCancel(e.ctx)
	e.ctx = ctx
	go func() { // ends with standard input or with the process: a read of a file cannot be cut off
		defer end()
		_, _ = io.Copy(io.Discard, os.Stdin) // an error is an end as well
		log.Info("standard input ended: stopping (--until-eof)")
	}()
	return nil
}
