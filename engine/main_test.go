package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The type testing.T and property tests share these helpers.
type tester interface {
	Helper()
	Cleanup(func())
	Fatalf(string, ...any)
}

// epoch is a whole minute, a Friday, 08:00 UTC.
var epoch = time.UnixMilli(1_800_000_000_000)

const sink = "https://app.test/hook"

// world is an account under a manual clock, with destinations in memory.
type world struct {
	*engine.Account
	t      tester
	answer func(engine.Attempt) engine.Outcome // nil: 200

	mu       sync.Mutex
	attempts []engine.Attempt // in order of their beginning
}

// setup changes the configuration before the account starts.
func setup(t tester, change ...func(*engine.Config)) *world {
	w := &world{t: t}
	cfg := engine.Config{ID: "t", Clock: clock.NewManual(epoch), Deliver: w.Deliver, Wire: wire.Format{}, Strict: true}
	for _, c := range change {
		c(&cfg)
	}
	w.Account = engine.New(cfg)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func auto(c *engine.Config) { c.Auto = true }

func (w *world) Deliver(_ context.Context, at engine.Attempt) engine.Outcome {
	w.mu.Lock()
	w.attempts = append(w.attempts, at)
	w.mu.Unlock()
	if w.answer == nil {
		return engine.Outcome{Status: 200}
	}
	return w.answer(at)
}

// publish publishes to the sink and gives the message id.
func (w *world) publish(opts engine.Options) string {
	w.t.Helper()
	return w.send(engine.PublishRequest{URL: sink, Options: opts}).One.MessageID
}

func (w *world) send(r engine.PublishRequest) engine.Receipts {
	w.t.Helper()
	receipts, err := w.Publish(r)
	w.must(err)
	return receipts
}

// upsert stores vectors.
func (w *world) upsert(index, namespace string, vectors []vector.Vector) error {
	_, err := engine.ChangeVectors(w.Account, index, vector.UpsertCommand{Namespace: namespace, Vectors: vectors})
	return err
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
}

func (w *world) advance(d time.Duration) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), effort.Wait(time.Minute))
	defer cancel()
	_, err := w.Advance(ctx, w.Now().Add(d))
	w.must(err)
}

func (w *world) settle() { w.t.Helper(); w.advance(0) }

// made is the attempts so far, in order of their beginning.
func (w *world) made() []engine.Attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]engine.Attempt(nil), w.attempts...)
}

// events is the log that the filter selects, oldest first.
func (w *world) events(f engine.Filter) []engine.Event {
	w.t.Helper()
	events := walk(w.t, f, w.Events)
	for i, j := 0, len(events)-1; i < j; i, j = i+1, j-1 {
		events[i], events[j] = events[j], events[i]
	}
	return events
}

// states is the log of one message.
func (w *world) states(id string) []string {
	w.t.Helper()
	var states []string
	for _, e := range w.events(engine.Filter{IDs: []string{id}}) {
		states = append(states, e.State)
	}
	return states
}

func (w *world) dlq() []engine.DLQEntry { w.t.Helper(); return walk(w.t, engine.Filter{}, w.DLQ) }

// walk reads a list to its end.
func walk[T any](t tester, f engine.Filter, list func(engine.Filter) (engine.Page[T], error)) []T {
	t.Helper()
	var all []T
	for {
		p, err := list(f)
		if err != nil {
			t.Fatalf("the page at cursor %q: got %v, want no error", f.Cursor, err)
		}
		all = append(all, p.Items...)
		if f.Cursor = p.Cursor; p.Cursor == "" {
			return all
		}
	}
}

func always(status int) func(engine.Attempt) engine.Outcome {
	return func(engine.Attempt) engine.Outcome { return engine.Outcome{Status: status} }
}
