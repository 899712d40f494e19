package engine_test

import (
	"context"
	"testing"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// Each attempt has its own context: the end of one never cancels another.
func TestACancelledAttemptCancelsNoLaterOne(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	w := setup(t, func(c *engine.Config) {
		c.Deliver = func(ctx context.Context, at engine.Attempt) engine.Outcome {
			if string(at.Body) == "waits" {
				begun <- struct{}{}
				<-ctx.Done()
			}
			if err := ctx.Err(); err != nil {
				return engine.Outcome{Err: err.Error()}
			}
			return engine.Outcome{Status: 200}
		}
	})
	never := 0
	for range 100 {
		waits := w.send(engine.PublishRequest{URL: sink, Body: []byte("waits"), Options: engine.Options{Retries: &never}}).One.MessageID
		<-begun
		expect.NoError(t, w.Cancel(waits))
		w.settle()
		sent := w.publish(engine.Options{Retries: &never})
		w.settle()
		if states := w.states(waits); states[len(states)-1] != string(engine.Canceled) {
			t.Fatalf("the cancelled message: got %v, want CANCELED at the end", states)
		}
		if states := w.states(sent); states[len(states)-1] != string(engine.Delivered) {
			t.Fatalf("the message after it: got %v, want DELIVERED at the end", states)
		}
	}
}
