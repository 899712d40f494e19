package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// One request creates a bounded number of messages, and none when it asks for
// more.
func TestOneRequestCreatesABoundedNumber(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(w *world) error{
		"a batch of URLs": func(w *world) error {
			_, err := w.PublishBatch(make11(engine.PublishRequest{URL: sink}))
			return err
		},
		"a batch to a group": func(w *world) error {
			_, err := w.PublishBatch([]engine.PublishRequest{{Group: "four"}, {Group: "four"}, {Group: "four"}})
			return err
		},
		"a publish to a large group": func(w *world) error {
			_, err := w.Publish(engine.PublishRequest{Group: "eleven"})
			return err
		},
		"a schedule for a large group": func(w *world) error {
			_, err := w.PutSchedule("s", "* * * * *", engine.PublishRequest{Group: "eleven"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			larger := setup(t, func(c *engine.Config) { c.MaxCreated = 11 })
			for group, n := range map[string]int{"four": 4, "eleven": 11} {
				var list []engine.Endpoint
				for i := range n {
					list = append(list, engine.Endpoint{URL: fmt.Sprint(sink, i)})
				}
				_, err := larger.AddEndpoints(group, list)
				larger.must(err)
			}
			w := setup(t, func(c *engine.Config) { c.MaxCreated = 10 })
			w.load(larger.document())
			err := send(w)
			if err == nil || !strings.Contains(err.Error(), "must be at most 10") {
				t.Errorf("error %v, want one that names the limit", err)
			}
			w.advance(2 * time.Minute)
			expect.Equal(t, "number of deliveries", len(w.made()), 0)
		})
	}
}

func make11(r engine.PublishRequest) (list []engine.PublishRequest) {
	for range 11 {
		list = append(list, r)
	}
	return list
}

// Two attempts of a message are at least a millisecond apart, whatever the
// destination or the publisher asks for.
func TestAttemptsAreApart(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.answer = func(engine.Attempt) engine.Outcome {
		return engine.Outcome{Status: 500, Header: engine.Header{"Retry-After": {"0"}}}
	}
	w.publish(engine.Options{Retries: new(5)})
	w.settle()
	expect.Equal(expect.Now(t), "number of attempts at one instant", len(w.made()), 1)
	w.advance(5 * time.Millisecond)
	expect.Equal(t, "number of attempts after 5 ms", len(w.made()), 6)
}
