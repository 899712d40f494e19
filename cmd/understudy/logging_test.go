package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func TestLogOnATerminal(t *testing.T) {
	line := func(terminal bool) string {
		var out bytes.Buffer
		slog.New(logHandler(&out, terminal, terminal && wantsColours(), slog.LevelInfo, "text")).Warn("delivery failed", "reason", "\x1b[2Jbad")
		return out.String()
	}
	t.Setenv("TERM", "xterm")
	t.Run("has colours", func(t *testing.T) {
		t.Setenv("NO_COLOR", "")
		text := line(true)
		expect.Contains(t, "the line", text, "\x1b[")
		expect.Lacks(t, "the line", text, "\x1b[2J")
	})
	t.Run("has none with NO_COLOR", func(t *testing.T) {
		t.Setenv("NO_COLOR", "1")
		expect.Lacks(t, "the line", line(true), "\x1b")
	})
	t.Run("has none on a dumb terminal", func(t *testing.T) {
		t.Setenv("TERM", "dumb")
		expect.Lacks(t, "the line", line(true), "\x1b")
	})
	t.Run("has none elsewhere", func(t *testing.T) {
		expect.Lacks(t, "the line", line(false), "\x1b")
	})
}

// TestLinesFitTerminals checks the lines about failures, with texts of destinations: a line has
// fewer than 160 characters, also if texts are quoted.
func TestLinesFitTerminals(t *testing.T) {
	t.Parallel()
	const id = "msg_01KDVDNA000HREDP6S4KA38D38"
	for _, text := range []string{strings.Repeat("long ", 100), strings.Repeat(`{"a":"b"}`, 50), strings.Repeat("\x1b[2J", 50), strings.Repeat("\\u00e9 ", 50)} {
		var out bytes.Buffer
		log := slog.New(logHandler(&out, true, false, slog.LevelInfo, "text"))
		url := "https://app.test/" + strings.Repeat("a=b&", 20)
		log.Info("attempt failed", "why", text, "url", url, "message", id, "in", 149*time.Second, "page", url)
		log.Warn("message failed, in the DLQ", "why", text, "url", url, "message", id, "dlq", id, "page", url)
		log.Warn("request refused", "reason", text, "status", 400, "path", url, "page", url)
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(line); n > 160 { // with its end
				t.Errorf("a line has %d characters, want fewer than 160: %s", n-1, line)
			}
		}
	}
}

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	e := &env{err: &out}
	log, err := e.logger("info", "json")
	expect.NoError(t, err)
	const many = 10_000
	for range many {
		if log.Enabled(t.Context(), slog.LevelInfo) {
			log.Info("delivery failed", "reason", strings.Repeat("x", many), "error", errors.New(strings.Repeat("y", many)))
		}
	}
	for _, end := range e.atEnd {
		end()
	}
	lines, written, leftOut := strings.Split(strings.TrimSpace(out.String()), "\n"), 0, 0
	for _, text := range lines {
		var line struct {
			Msg   string
			Lines int
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if len(text) > 1000 {
			t.Errorf("a line of %d bytes", len(text))
		}
		if line.Lines > 0 {
			leftOut += line.Lines
		} else {
			written++
		}
	}
	if written+leftOut != many {
		t.Errorf("%d lines written and %d left out, want %d together", written, leftOut, many)
	}
	if written > many/10 {
		t.Errorf("%d lines written", written)
	}
}

// blocked is a paused terminal.
type blocked chan struct{}

func (b blocked) Write(p []byte) (int, error) { <-b; return len(p), nil }

// A log without a reader does not block the program.
func TestLogOfABlockedTerminal(t *testing.T) {
	t.Parallel()
	terminal := make(blocked)
	defer close(terminal)
	q := &logQueue{lines: make(chan []byte, linesQueued), ended: make(chan struct{})}
	go q.writeTo(terminal)
	for range 10 * linesQueued {
		if n, err := q.Write([]byte("line\n")); n != 5 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	q.close()
	if _, err := q.Write([]byte("late")); err != nil {
		t.Error(err)
	}
}
