package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/mockserver/ui"
)

// progressAfter is how long a command takes before it says how far it is.
const progressAfter = time.Second

// progress prints how far a command is, after progressAfter, until the returned function is
// called, which waits for its end. On a terminal it repaints one line with the text of bar. Elsewhere
// it prints a line per second with the text of line, which may be nil.
func (e *env) progress(line, bar func(context.Context) string) (stop func()) {
	terminal := command.IsTerminal(e.err)
	if !terminal && line == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(e.ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		every := progressAfter
		for clock.Pause(ctx, every) == nil {
			switch {
			case terminal:
				_, _ = fmt.Fprint(e.err, "\r\x1b[K"+bar(ctx))
				every = progressAfter / 5
			default:
				if text := line(ctx); text != "" {
					_, _ = fmt.Fprintln(e.err, "understudy: "+text)
				}
			}
		}
		if terminal {
			_, _ = fmt.Fprint(e.err, "\r\x1b[K")
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// barOf is a bar with the part that is done, "" if the whole is not known.
func barOf(done, whole int64) string {
	if whole <= 0 {
		return ""
	}
	const width = 24
	full := int(min(max(done, 0), whole) * width / whole)
	return fmt.Sprintf("[%s%s] %3d %%  ", strings.Repeat("#", full), strings.Repeat("-", width-full), min(max(done, 0), whole)*100/whole)
}

// counter counts the bytes that pass, and drops the last line end, because replaceFile writes one.
type counter struct {
	to    io.Writer
	from  io.Reader
	whole int64 // bytes in all; 0 if it is not known
	size  atomic.Int64
	held  bool
}

// Write holds back a line end until more data follows.
func (w *counter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	text := p
	if w.held {
		text = append([]byte{'\n'}, p...)
	}
	w.size.Add(int64(len(p)))
	if w.held = text[len(text)-1] == '\n'; w.held {
		text = text[:len(text)-1]
	}
	if _, err := w.to.Write(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Read counts what is read.
func (w *counter) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	w.size.Add(int64(n))
	return n, err
}

// bar says how many bytes have passed.
func (w *counter) bar(context.Context) string {
	return barOf(w.size.Load(), w.whole) + ui.SizeText(w.size.Load())
}
