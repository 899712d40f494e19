package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
)

// TestEveryReasonOfWhyHolds removes the reasons of random messages. All but one are removed, one
// after the other: the message must wait. Then the last one is removed: the message must move, or
// wait for something else.
func TestEveryReasonOfWhyHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &reasons{world: setup(t), t: t}
		w.answer = func(at engine.Attempt) engine.Outcome {
			return engine.Outcome{Status: 200 + 300*(len(at.Message.URL)%2), After: time.Duration(len(at.Message.URL)%5) * time.Hour}
		}
		for range rapid.IntRange(4, 25).Draw(t, "acts") {
			w.act()
		}
		var saved bytes.Buffer
		w.must(w.WriteSnapshot(&saved))
		p, err := w.Messages(engine.Filter{})
		w.must(err)
		for _, m := range p.Items {
			if m.Why == nil {
				continue
			}
			why, err := w.Explain(m.ID)
			w.must(err)
			for i := range why.Reasons {
				w.only(m.ID, i)
				from, err := engine.ReadSnapshot(bytes.NewReader(saved.Bytes()))
				w.must(err)
				w.must(w.Restore(from))
				w.settle()
			}
		}
	})
}

// reasons is an account whose reasons are removed.
type reasons struct {
	*world
	t *rapid.T
}

// act does one of the things that make messages wait, or lets time pass.
func (w *reasons) act() {
	key, queue := rapid.SampledFrom([]string{"k1", "k2"}).Draw(w.t, "key"), rapid.SampledFrom([]string{"q1", "q2"}).Draw(w.t, "queue")
	switch rapid.IntRange(0, 11).Draw(w.t, "act") {
	case 0:
		w.must(w.SetFlowPaused(key, true))
	case 1:
		_, err := w.UpsertQueue(queue, new(rapid.IntRange(1, 2).Draw(w.t, "parallelism")), new(rapid.Bool().Draw(w.t, "paused")))
		w.must(err)
	case 2:
		w.pass(rapid.SampledFrom([]time.Duration{time.Second, 30 * time.Second, 2 * time.Minute, 4 * time.Hour}).Draw(w.t, "time"))
	case 3:
		w.must(w.PinFlow(key, engine.FlowControl{Rate: rapid.IntRange(1, 2).Draw(w.t, "rate"), Period: time.Minute}))
	default:
		o := engine.Options{Delay: rapid.SampledFrom([]time.Duration{0, 0, 0, time.Minute, time.Hour}).Draw(w.t, "delay")}
		if rapid.IntRange(0, 3).Draw(w.t, "keyed") > 0 {
			limits := rapid.SampledFrom([][2]int{{1, 0}, {2, 0}, {0, 1}, {0, 2}, {2, 1}, {1, 2}}).Draw(w.t, "rate and parallelism")
			o.Flow = &engine.FlowControl{Key: key, Period: time.Minute, Rate: limits[0], Parallelism: limits[1]}
		}
		if rapid.IntRange(0, 3).Draw(w.t, "queued") == 0 {
			o.Queue = queue
		}
		_, err := w.Publish(engine.PublishRequest{URL: "https://app.test/" + strings.Repeat("x", rapid.IntRange(0, 9).Draw(w.t, "path")), Options: o})
		w.must(err)
	}
	w.settle()
}

func (w *reasons) pass(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), effort.Wait(time.Minute))
	defer cancel()
	_, err := w.Advance(ctx, w.Now().Add(d))
	w.must(err)
}

// only removes all reasons of a message but one, and then this one.
func (w *reasons) only(id string, keep int) {
	began := w.progress(id)
	why, err := w.Explain(id)
	w.must(err)
	kept := why.Reasons[keep]
	if kept.Kind == engine.Running {
		return
	}
	for i, r := range why.Reasons {
		if i != keep {
			w.without(r)
		}
		if i != keep && !r.Until.IsZero() && !strings.Contains(kept.Text, "is paused") {
			return // meanwhile the reason may have ended by itself
		}
		if i != keep && strings.Contains(r.Text, "is paused since") && strings.HasPrefix(kept.Text, "queue") {
			return // the key may have held the message that is in delivery
		}
	}
	if now, _ := w.Explain(id); !w.given(id, kept) {
		w.t.Fatalf("message %s no longer waits because %q, which nobody removed: was %v, is %v", id, kept.Text, why.Reasons, now.Reasons)
	}
	w.without(kept)
	if w.given(id, kept) && w.progress(id) == began {
		w.t.Fatalf("message %s still waits because %q, which was removed", id, kept.Text)
	}
	after, err := w.Explain(id)
	w.must(err)
	if w.progress(id) == began && len(after.Reasons) == 1 && strings.HasPrefix(after.Reasons[0].Text, "ready") {
		w.t.Fatalf("message %s waits for nothing", id)
	}
}

// given reports whether a message waits for this reason, whatever its numbers are.
func (w *reasons) given(id string, r engine.Reason) bool {
	why, err := w.Explain(id)
	w.must(err)
	return slices.Contains(why.Reasons, r)
}

// progress is how far a message has come.
func (w *reasons) progress(id string) string {
	p, err := w.Events(engine.Filter{IDs: []string{id}})
	w.must(err)
	return fmt.Sprint(len(p.Items))
}

// without removes a reason.
func (w *reasons) without(r engine.Reason) {
	name := func() string { return strings.Split(r.Text, `"`)[1] }
	switch {
	case strings.HasSuffix(r.Text, "is paused"):
		w.must(w.SetQueuePaused(name(), false))
	case strings.HasPrefix(r.Text, "queue"):
		_, err := w.UpsertQueue(name(), new(1000), nil)
		w.must(err)
	case strings.Contains(r.Text, "is paused since"):
		w.must(w.SetFlowPaused(name(), false))
	case strings.Contains(r.Text, "has reached its parallelism"):
		w.must(w.PinFlow(name(), engine.FlowControl{Parallelism: 1000}))
	case !r.Until.IsZero() && r.Until.After(w.Now()):
		w.pass(r.Until.Sub(w.Now()))
	default:
		w.t.Fatalf("a reason that nobody can remove: %q until %v", r.Text, r.Until)
	}
	w.settle()
}
