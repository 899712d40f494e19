package engine_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// stuck is something outside of the account that takes its time.
type stuck struct {
	reached, release chan struct{}
}

func newStuck() *stuck { return &stuck{make(chan struct{}, 100), make(chan struct{})} }

func (s *stuck) wait() {
	s.reached <- struct{}{}
	<-s.release
}

// Now, Alarm: a clock whose alarm is slow to set.
func (s *stuck) Now() time.Time               { return epoch }
func (s *stuck) Alarm(at time.Time, _ func()) { s.wait() }

// Enabled and the others: a log whose writer is stuck.
func (s *stuck) Enabled(context.Context, slog.Level) bool  { return true }
func (s *stuck) Handle(context.Context, slog.Record) error { s.wait(); return nil }
func (s *stuck) WithAttrs([]slog.Attr) slog.Handler        { return s }
func (s *stuck) WithGroup(string) slog.Handler             { return s }

func TestNothingWaitsUnderTheLock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config func(*engine.Config, *stuck)
		cause  func(*world) // what leads to the wait
	}{
		"for the log": {
			func(c *engine.Config, s *stuck) { c.Log = slog.New(s) },
			func(w *world) {
				_, err := w.AddEndpoints("g", []engine.Endpoint{{URL: sink}})
				w.must(err)
				_, err = w.PutSchedule("s", "* * * * *", engine.PublishRequest{Group: "g"})
				w.must(err)
				w.DeleteGroup("g")
				_, _ = w.Advance(context.Background(), epoch.Add(time.Minute)) // the schedule could not publish
			},
		},
		"for the report of a failed attempt": {
			func(c *engine.Config, s *stuck) { c.Failed = func(engine.FailedAttempt) { s.wait() } },
			func(w *world) { w.publish(engine.Options{Retries: new(0)}) },
		},
		"for the alarm": {
			func(c *engine.Config, s *stuck) { c.Clock = s },
			func(w *world) { w.publish(engine.Options{Delay: time.Hour}) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStuck()
			w := setup(t, func(cfg *engine.Config) { c.config(cfg, s) })
			w.answer = always(500)
			caused, went := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(caused)
				c.cause(w)
			}()
			<-s.reached
			go func() {
				defer close(went)
				w.Overview()
				w.publish(engine.Options{Delay: 2 * time.Hour})
				w.Now()
			}()
			select {
			case <-went:
			case <-time.After(effort.Wait(time.Minute)):
				t.Error("commands wait")
			}
			close(s.release)
			<-caused
			<-went
		})
	}
}

func TestAnAlarmMayRingAtOnce(t *testing.T) {
	t.Parallel()
	clock := &hasty{}
	w := setup(t, func(c *engine.Config) { c.Clock = clock })
	id := w.publish(engine.Options{Delay: time.Hour})
	w.wait(id, "DELIVERED")
}

// hasty is a clock that is at the time of each alarm.
type hasty struct{ settable }

func (h *hasty) Alarm(at time.Time, ring func()) {
	if !at.IsZero() {
		h.set(at)
		ring()
	}
}

func TestFailuresAreReported(t *testing.T) {
	t.Parallel()
	// reports of ten messages that fail one after another.
	var urls []string
	w := setup(t, stored, func(c *engine.Config) {
		c.Failed = func(f engine.FailedAttempt) { urls = append(urls, f.Message.URL[len("https://app.test/"):]) }
	})
	w.answer = always(500)
	for name := range strings.FieldsSeq("a b c d e f g h i j") {
		w.send(engine.PublishRequest{URL: "https://app.test/" + name, Options: engine.Options{Retries: new(0)}})
	}
	w.settle()
	expect.Equal(t, "in order, before an advance returns", strings.Join(urls, " "), "a b c d e f g h i j")
}

func TestNotesThatWaitForTheLogAreBounded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s, lines := newStuck(), 0
	w := setup(t, func(c *engine.Config) {
		c.Log = slog.New(slog.NewTextHandler(&out, nil))
		c.Failed = func(engine.FailedAttempt) {
			if lines++; lines == 1 {
				s.wait()
			}
		}
	})
	w.answer = always(500)
	w.publish(engine.Options{Retries: new(0)})
	<-s.reached
	for range 2000 {
		w.publish(engine.Options{Retries: new(0)})
	}
	for {
		o, more := w.Overview()
		if o.Messages[engine.Failed] == 2001 {
			break
		}
		<-more
	}
	close(s.release)
	w.settle()
	if lines != 1025 || !strings.Contains(out.String(), "lines=976") {
		t.Errorf("%d reports and the log %q, want 1025 and 976 left out", lines, out.String())
	}
}
