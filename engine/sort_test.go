package engine_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/engine"
)

// nextOf is when a message is attempted next, in Unix ms, false if it waits for no time.
func nextOf(m engine.MessageSummary) (int64, bool) {
	return m.NextAt.UnixMilli(), (m.State == engine.Created || m.State == engine.Retry) && m.Why.Kind != engine.Held
}

// messageKeys are the values by which messages are sorted, false where one has none.
var messageKeys = map[string]func(engine.MessageSummary) (string, bool){
	"attempts":  func(m engine.MessageSummary) (string, bool) { return fmt.Sprintf("%09d", m.Attempts()), true },
	"bytes":     func(m engine.MessageSummary) (string, bool) { return fmt.Sprintf("%09d", len(m.Body)), true },
	"cause":     func(m engine.MessageSummary) (string, bool) { return m.Cause(), m.Cause() != "" },
	"createdAt": func(m engine.MessageSummary) (string, bool) { return fmt.Sprint(m.CreatedAt.UnixMilli()), true },
	"label": func(m engine.MessageSummary) (string, bool) {
		return strings.Join(m.Options.Labels, " "), len(m.Options.Labels) > 0
	},
	"messageId": func(m engine.MessageSummary) (string, bool) { return m.ID, true },
	"next": func(m engine.MessageSummary) (string, bool) {
		at, ok := nextOf(m)
		return fmt.Sprint(at), ok
	},
	"state": func(m engine.MessageSummary) (string, bool) { return string(m.State), true },
	"url":   func(m engine.MessageSummary) (string, bool) { return m.URL, true },
}

// TestSortingCoversTheWholeList sorts messages by each column, in both directions and in
// pages of any size, and compares with all of them sorted at once.
func TestSortingCoversTheWholeList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := setup(t)
		w.must(w.SetFlowPaused("paused", true))
		w.answer = func(at engine.Attempt) engine.Outcome {
			return engine.Outcome{Status: map[bool]int{true: 500, false: 200}[strings.Contains(at.Message.URL, "down")]}
		}
		for i := range rapid.IntRange(0, 25).Draw(t, "messages") {
			o := engine.Options{Delay: time.Duration(rapid.IntRange(0, 2).Draw(t, "hours")) * time.Hour}
			if label := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "label"); label != "" {
				o.Labels = []string{label}
			}
			if rapid.Bool().Draw(t, "held") {
				o.Flow = &engine.FlowControl{Key: "paused", Parallelism: 1}
			}
			host := rapid.SampledFrom([]string{"up", "down"}).Draw(t, "host")
			w.send(engine.PublishRequest{URL: fmt.Sprintf("https://%s.test/%d", host, i%4), Body: make([]byte, i%3), Options: o})
			if rapid.Bool().Draw(t, "advance") {
				w.advance(time.Minute)
			}
		}
		w.settle() // an attempt that is still in flight would change the list between the two readings
		name := rapid.SampledFrom(slices.Sorted(func(yield func(string) bool) {
			for name := range messageKeys {
				if !yield(name) {
					return
				}
			}
		})).Draw(t, "sort")
		reverse := rapid.Bool().Draw(t, "reverse")
		want := walk(t, engine.Filter{}, w.Messages) // from the newest: equal keys keep that order
		slices.SortStableFunc(want, func(x, y engine.MessageSummary) int {
			a, hasA := messageKeys[name](x)
			b, hasB := messageKeys[name](y)
			switch {
			case hasA != hasB:
				return map[bool]int{true: -1, false: 1}[hasA]
			case !hasA:
				return 0
			case reverse:
				return cmp.Compare(b, a)
			}
			return cmp.Compare(a, b)
		})
		if reverse {
			name = "-" + name
		}
		got := walk(t, engine.Filter{Sort: name, Count: rapid.IntRange(1, 9).Draw(t, "count")}, w.Messages)
		ids := func(list []engine.MessageSummary) (ids []string) {
			for i := range list {
				ids = append(ids, list[i].ID)
			}
			return ids
		}
		if !slices.Equal(ids(got), ids(want)) {
			t.Fatalf("sorted by %s: got %v, want %v", name, ids(got), ids(want))
		}
	})
}

// TestSortingRefuses what it cannot do.
func TestSortingRefuses(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for range 3 {
		w.publish(engine.Options{Delay: time.Hour})
	}
	t.Run("a column that the list lacks", func(t *testing.T) {
		_, err := w.Messages(engine.Filter{Sort: "colour"})
		if err == nil || !strings.Contains(err.Error(), `sort: invalid value "colour": must be one of attempts, `) {
			t.Errorf("got %v, want the columns of the list", err)
		}
	})
	t.Run("the cursor of another order", func(t *testing.T) {
		p, err := w.Messages(engine.Filter{Sort: "url", Count: 1})
		w.must(err)
		_, err = w.Messages(engine.Filter{Sort: "-url", Count: 1, Cursor: p.Cursor})
		if err == nil || !strings.Contains(err.Error(), "cursor: invalid value") {
			t.Errorf("got %v, want a refusal", err)
		}
	})
}

// TestSortedRuns sorts runs and entries of the DLQ by what they say of an attempt.
func TestSortedRuns(t *testing.T) {
	t.Parallel()
	e := workflow(t, node{name: "a", failures: 9}, node{name: "b"})
	none, two := 0, 2
	e.trigger("wfr_failed", engine.Options{Retries: &none})
	e.trigger("wfr_retries", engine.Options{Retries: &two})
	e.advance(0)
	want := map[string]string{"next": "wfr_retries", "-next": "wfr_retries", "attempts": "wfr_retries", "-attempts": "wfr_retries", "cause": "wfr_failed", "state": "wfr_failed", "-state": "wfr_retries", "workflowRunId": "wfr_failed", "-workflowRunId": "wfr_retries"}
	for name, first := range want {
		t.Run(name, func(t *testing.T) {
			p, err := e.account.RunSummaries(engine.Filter{Sort: name, Count: 1})
			if err != nil || len(p.Items) != 1 || p.Items[0].ID != first {
				t.Errorf("got %+v, %v, want %s", p.Items, err, first)
			}
		})
	}
	t.Run("entries", func(t *testing.T) {
		p, err := e.account.DLQ(engine.Filter{Sort: "-attempts"})
		if err != nil || len(p.Items) != 1 || p.Items[0].Message.RunID != "wfr_failed" {
			t.Errorf("got %+v, %v, want the entry of wfr_failed", p.Items, err)
		}
	})
	attempts := func(t *testing.T) {
		p, err := e.account.RunSummaries(engine.Filter{Sort: "workflowRunId"})
		if err != nil || p.Items[0].Attempts != 1 || p.Items[0].MaxAttempts != 1 || p.Items[1].Attempts != 1 || p.Items[1].MaxAttempts != 3 {
			t.Errorf("got %+v, %v, want 1 of 1 and 1 of 3", p.Items, err)
		}
	}
	t.Run("the attempts of a run", attempts)
	t.Run("the attempts of a failed run after its DLQ entry is gone", func(t *testing.T) {
		p, err := e.account.DLQ(engine.Filter{})
		if err == nil && len(p.Items) == 1 {
			err = e.account.DeleteDLQ(p.Items[0].ID)
		}
		if err != nil {
			t.Fatalf("delete the only entry of %+v: %v", p.Items, err)
		}
		attempts(t)
	})
}
