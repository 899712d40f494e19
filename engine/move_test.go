package engine

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/internal/state"
)

func TestAnIllegalTransition(t *testing.T) {
	t.Parallel()
	// wrong delivers a message that has never been active.
	wrong := func(cfg Config) (panicked any) {
		cfg.Clock = clock.NewManual(time.UnixMilli(0))
		cfg.Deliver = func(context.Context, Attempt) Outcome { return Outcome{Status: 200} }
		a := New(cfg)
		defer func() { _ = a.Close() }()
		a.lock()
		defer a.unlock()
		m := a.create(Message{URL: "https://app.test/", Options: &Options{Delay: time.Hour}}, state.Origin{Role: RoleMessage})
		defer func() { panicked = recover() }()
		a.move(m, Delivered, state.LogEntry{})
		return nil
	}
	t.Run("panics in tests", func(t *testing.T) {
		t.Parallel()
		if got, _ := wrong(Config{Strict: true}).(string); !strings.Contains(got, "illegal transition") {
			t.Errorf("panic %q, want one that names the transition", got)
		}
	})
	t.Run("is logged in production", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		if got := wrong(Config{Log: slog.New(slog.NewTextHandler(&out, nil))}); got != nil {
			t.Errorf("panic %v, want none", got)
		}
		if line := out.String(); !strings.Contains(line, "illegal transition") || !strings.Contains(line, "from=CREATED to=DELIVERED") {
			t.Errorf("log %q, want the transition", line)
		}
	})
}

// An account holds a million messages in 800 MiB, so a message and its first event must
// stay within a size class of the allocator.
func TestAMessageIsSmall(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(created{}); size > 256 && strconv.IntSize == 64 {
		t.Errorf("a message and its first event: got %d bytes, want at most 256", size)
	}
}
