package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// TestWalkingAListShowsWhatStayedOnce walks the dead letter queue and the log in
// pages of any size, while entries come and go: whatever was there from the first
// view.List to the last is shown exactly once.
func TestWalkingAListShowsWhatStayedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := setup(t)
		w.answer = always(500)
		bury := func() {
			w.publish(engine.Options{Retries: new(0)})
			w.advance(time.Duration(rapid.IntRange(0, 2).Draw(t, "ms")) * time.Millisecond)
		}
		for range rapid.IntRange(0, 30).Draw(t, "entries") {
			bury()
		}
		entries, events := w.dlq(), walk(t, engine.Filter{}, w.Events)
		stays := map[string]bool{}
		for _, e := range entries {
			stays[e.ID] = true
		}
		disturb := func() {
			if rapid.Bool().Draw(t, "add") {
				bury()
			}
			if left := w.dlq(); len(left) > 0 && rapid.Bool().Draw(t, "remove") {
				id := rapid.SampledFrom(left).Draw(t, "which").ID
				stays[id] = false
				w.must(w.DeleteDLQ(id))
			}
		}
		seen := map[string]int{}
		f := engine.Filter{Count: rapid.IntRange(1, 7).Draw(t, "count")}
		for {
			p, err := w.DLQ(f)
			w.must(err)
			for _, e := range p.Items {
				seen[e.ID]++
			}
			if f.Cursor = p.Cursor; f.Cursor == "" {
				break
			}
			disturb()
		}
		for id, stayed := range stays {
			if stayed && seen[id] != 1 {
				t.Fatalf("entry %s stayed and was shown %d times", id, seen[id])
			}
		}
		shown := map[string]int{}
		key := func(e engine.Event) string { return fmt.Sprint(e.Time.UnixNano(), e.State, e.Message.ID) }
		f = engine.Filter{Count: rapid.IntRange(1, 50).Draw(t, "count of events")}
		for {
			p, err := w.Events(f)
			w.must(err)
			for _, e := range p.Items {
				shown[key(e)]++
			}
			if f.Cursor = p.Cursor; f.Cursor == "" {
				break
			}
			bury()
		}
		for _, e := range events {
			if n := shown[key(e)]; n != 1 {
				t.Fatalf("the event %s was shown %d times", key(e), n)
			}
		}
	})
}

// TestAGroupFansOutOncePerEndpoint: whatever the endpoints answer, each is called
// until it has taken the message, and never again.
func TestAGroupFansOutOncePerEndpoint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := setup(t)
		n := rapid.IntRange(1, 20).Draw(t, "endpoints")
		fails := rapid.SliceOfN(rapid.IntRange(0, 3), n, n).Draw(t, "failures")
		var endpoints []engine.Endpoint
		for i := range n {
			endpoints = append(endpoints, engine.Endpoint{URL: fmt.Sprintf("https://app.test/%d", i)})
		}
		w.answer = func(at engine.Attempt) engine.Outcome {
			i := slices.IndexFunc(endpoints, func(e engine.Endpoint) bool { return e.URL == at.Message.URL })
			if at.Number < fails[i] {
				return engine.Outcome{Status: 503}
			}
			return engine.Outcome{Status: 200}
		}
		if _, err := w.AddEndpoints("g", endpoints); err != nil {
			t.Fatalf("the endpoints of the group: got %v, want no error", err)
		}
		if got := len(w.send(engine.PublishRequest{Group: "g"}).Group); got != n {
			t.Fatalf("%d messages for %d endpoints", got, n)
		}
		w.advance(48 * time.Hour)
		calls := map[string]int{}
		for _, at := range w.made() {
			calls[at.Message.URL]++
		}
		for i, e := range endpoints {
			if calls[e.URL] != fails[i]+1 {
				t.Fatalf("%s was called %d times after %d failures", e.URL, calls[e.URL], fails[i])
			}
		}
	})
}

// TestAFixtureAmongNewerThings seeds an entry of the past: the log shows it at its
// time, followers get it when it comes, and nothing twice.
func TestAFixtureAmongNewerThings(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.advance(time.Hour)
	w.publish(engine.Options{})
	w.settle()
	before, _ := w.Follow(0, 0)
	last := before[len(before)-1].Seq
	w.must(w.AddFixture(engine.Fixture{DLQ: []engine.Failure{{ID: "old", At: epoch.Add(time.Minute), Last: engine.Outcome{Status: 500}, Request: engine.PublishRequest{URL: "https://app.test/"}}}}))
	seeded, _ := w.Follow(last, 0)
	for i, e := range seeded {
		if e.Seq != last+1+uint64(i) || !e.Time.Equal(epoch.Add(time.Minute)) {
			t.Errorf("event %d is %d of %s, want %d of the past", i, e.Seq, e.Time, last+1+uint64(i))
		}
	}
	last += uint64(len(seeded))
	w.publish(engine.Options{})
	w.settle()
	after, _ := w.Follow(last, 0)
	if expect.Equal(t, "number of events that follow", len(after), 3) {
		expect.Equal(t, "number of the first event that follows", after[0].Seq, last+1)
		expect.Equal(t, "state of the first event that follows", after[0].State, string(engine.Created))
	}
	whole := walk(t, engine.Filter{}, w.Events)
	expect.Equal(t, "number of events in the log", len(whole), len(before)+len(seeded)+len(after))
	if !slices.IsSortedFunc(whole, func(x, y engine.Event) int { return y.Time.Compare(x.Time) }) {
		t.Error("the log is not sorted by time")
	}
}
