package main

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lmittmann/tint"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/internal/command"
)

// The limits of the log: many failures must neither flood the terminal nor wait for it.
const (
	linesPerSecond = 20  // of each level; the number of lines left out is logged afterwards
	maxLogText     = 300 // bytes of one attribute
	maxLogStack    = 8 << 10
	linesQueued    = 256         // lines that wait for a blocked terminal or pipe; more are dropped
	flushLimit     = time.Second // how long the process waits for these lines at its end
)

// logger returns a logger that writes to stderr, in colour on a terminal only. The end of the
// command writes the lines that are still queued.
func (e *env) logger(level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usageError("--log-level: invalid value %q: must be one of debug, info, warn, error", level)
	}
	out := &logQueue{lines: make(chan []byte, linesQueued), ended: make(chan struct{})}
	go out.writeTo(e.err)
	p := &pace{clock: clock.NewReal(), spent: map[slog.Level]int{}}
	p.handler = logHandler(out, command.IsTerminal(e.err), e.hasColours(e.err), l, format)
	e.atEnd = append(e.atEnd, p.stop, out.close)
	return slog.New(paced{p.handler, p}), nil
}

// logHandler formats log lines.
func logHandler(w io.Writer, terminal, colours bool, level slog.Level, format string) slog.Handler {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: clipAttr}
	switch {
	case format == "json":
		return slog.NewJSONHandler(w, options)
	case terminal || colours:
		return tint.NewTextHandler(w, &tint.Options{Level: level, ReplaceAttr: terminalAttr, TimeFormat: time.TimeOnly, NoColor: !colours})
	}
	return slog.NewTextHandler(w, options)
}

// clipAttr shortens texts, which may come from clients or destinations.
func clipAttr(_ []string, a slog.Attr) slog.Attr {
	var text string
	switch a.Value.Kind() {
	case slog.KindString:
		text = a.Value.String()
	case slog.KindAny:
		err, ok := a.Value.Any().(error)
		if !ok {
			return a
		}
		text = err.Error()
		a = slog.String(a.Key, text)
	default:
		return a
	}
	most := maxLogText
	if a.Key == "stack" {
		most = maxLogStack
	}
	if len(text) > most {
		return slog.String(a.Key, clip.Marked(text, most, "..."))
	}
	return a
}

// terminalAttr leaves out what `understudy why ID` and the page say, so that a line fits, and escapes
// control characters: with them, a text of a client or a destination could write anywhere on
// the terminal.
func terminalAttr(groups []string, a slog.Attr) slog.Attr {
	a = clipAttr(groups, a)
	text := a.Value.String()
	if strings.ContainsFunc(text, unicode.IsControl) {
		text = strings.Trim(strconv.QuoteToGraphic(text), `"`)
	}
	switch a.Key {
	case "page", "dlq", "method", "status":
		return slog.Attr{}
	case "url", "path":
		text = cutAddress(text, 20)
	case "reason":
		text = cutQuoted(text, 90)
	case "why":
		text = cutQuoted(text, 46)
	}
	if text != a.Value.String() {
		a = slog.String(a.Key, text)
	}
	return a
}

// cutQuoted shortens a text to a number of characters, with the backslashes of its quoted form.
func cutQuoted(text string, most int) string {
	short := cut(text, most)
	for n := most; utf8.RuneCountInString(strconv.Quote(short)) > most+2; n-- {
		short = cut(text, n)
	}
	return short
}

// paced is a handler that passes linesPerSecond of each level. For a caller that asks Enabled
// first, a line above the rate costs only a counter.
type paced struct {
	slog.Handler
	pace *pace
}

// Enabled is also false for lines above the rate.
func (h paced) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(ctx, level) && h.pace.room(level)
}

// Handle counts a line and passes it on.
func (h paced) Handle(ctx context.Context, r slog.Record) error {
	h.pace.take(r.Level)
	return h.Handler.Handle(ctx, r)
}

// WithAttrs shares the pace.
func (h paced) WithAttrs(attrs []slog.Attr) slog.Handler {
	return paced{h.Handler.WithAttrs(attrs), h.pace}
}

// WithGroup shares the pace.
func (h paced) WithGroup(name string) slog.Handler { return paced{h.Handler.WithGroup(name), h.pace} }

// pace counts the lines of the current second.
type pace struct {
	clock   *clock.Real
	handler slog.Handler // for the line about lines left out

	mu      sync.Mutex
	until   time.Time // when the second ends
	spent   map[slog.Level]int
	leftOut int
}

// room reports whether another line fits into the current second. It counts the lines that do
// not fit.
func (p *pace) room(level slog.Level) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spent[level] < linesPerSecond {
		return true
	}
	if now := p.clock.Now(); !now.Before(p.until) {
		p.begin(now)
		return true
	}
	p.leftOut++
	return false
}

func (p *pace) take(level slog.Level) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.clock.Now(); !now.Before(p.until) {
		p.begin(now)
	}
	p.spent[level]++
	if p.spent[level] == linesPerSecond {
		p.clock.Alarm(p.until, p.ring)
	}
}

// begin starts a new second.
func (p *pace) begin(now time.Time) {
	p.until = now.Add(time.Second)
	clear(p.spent)
	p.say()
}

// ring ends a second in which lines may have been left out.
func (p *pace) ring() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.say()
}

// say logs how many lines were left out.
func (p *pace) say() {
	if p.leftOut == 0 {
		return
	}
	r := slog.NewRecord(p.clock.Now(), slog.LevelWarn, "log lines left out: too many in one second", 0)
	r.AddAttrs(slog.Int("lines", p.leftOut))
	p.leftOut = 0
	_ = p.handler.Handle(context.Background(), r) // only queued: never fails
}

func (p *pace) stop() {
	p.clock.Alarm(time.Time{}, nil)
	p.ring()
}

// logQueue decouples the callers from a paused terminal or an unread pipe: lines that do not
// fit into the queue are dropped.
type logQueue struct {
	ended chan struct{}

	mu     sync.Mutex // guards closed
	closed bool
	lines  chan []byte
}

// Write queues a line.
func (q *logQueue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		select {
		case q.lines <- slices.Clone(line):
		default:
		}
	}
	return len(line), nil
}

// writeTo is the body of the queue's goroutine.
func (q *logQueue) writeTo(w io.Writer) {
	defer close(q.ended)
	for line := range q.lines {
		_, _ = w.Write(line) // there may be no reader
	}
}

// close waits until the queue is written, at most flushLimit.
func (q *logQueue) close() {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.lines)
	}
	q.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
	defer cancel()
	select {
	case <-q.ended:
	case <-ctx.Done():
	}
}
