package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/engine/vector"
)

// reading is every exported method of an account that only reads, writing every
// other one. A new method must be in one of them. Errors do not matter: what
// cannot be found must not be made either.
var reading = map[string]func(*world){
	"CheckFixture": func(w *world) { _ = w.CheckFixture(engine.Fixture{Messages: []engine.PublishRequest{unreadable}}) },
	"DLQ":          func(w *world) { _, _ = w.DLQ(engine.Filter{CountAll: true}) },
	"DLQEntry": func(w *world) {
		for _, e := range w.dlq() {
			_, _ = w.DLQEntry(e.ID)
		}
	},
	"Events": func(w *world) { _, _ = w.Events(engine.Filter{}) },
	"Explain": func(w *world) {
		for _, e := range w.events(engine.Filter{}) {
			if e.Message != nil {
				_, _ = w.Explain(e.Message.ID)
			}
		}
		for _, id := range append(slices.Clone(someRuns), "two at once", "both", "none") {
			_, _ = w.Explain(id)
		}
	},
	"FlowKey": func(w *world) {
		for _, l := range limits {
			_, _ = w.FlowKey(l.Key)
		}
	},
	"FlowKeys": func(w *world) { w.FlowKeys() },
	"Follow":   func(w *world) { w.Follow(0, 0) },
	"Group":    func(w *world) { _, _ = w.Group("g") },
	"Groups":   func(w *world) { w.Groups() },
	"Keys":     func(w *world) { w.Keys() },
	"Logged":   func(w *world) { w.Logged() },
	"Message": func(w *world) {
		for _, m := range walk(w.t, engine.Filter{}, w.Messages) {
			_, _ = w.Message(m.ID)
		}
	},
	"Messages":  func(w *world) { _, _ = w.Messages(engine.Filter{}) },
	"Now":       func(w *world) { w.Now() },
	"Glance":    func(w *world) { w.Glance() },
	"Observed":  func(w *world) { w.Observed() },
	"Overview":  func(w *world) { w.Overview() },
	"Queue":     func(w *world) { _, _ = w.Queue("q1"); _, _ = w.Queue("none") },
	"Queues":    func(w *world) { w.Queues() },
	"Redaction": func(w *world) { w.Redaction("", "") },
	"Run": func(w *world) {
		for _, id := range someRuns {
			_, _ = w.Run(id)
		}
	},
	"RunSummaries": func(w *world) { _, _ = w.RunSummaries(engine.Filter{}) },
	"RunTrace": func(w *world) {
		for _, id := range someRuns {
			_, _ = w.RunTrace(id)
		}
	},
	"RunViews":  func(w *world) { _, _ = w.RunViews(engine.Filter{}) },
	"Schedule":  func(w *world) { _, _ = w.Schedule("s0") },
	"Schedules": func(w *world) { w.Schedules() },
	"ReadVectors": func(w *world) {
		eachSpace(func(index, ns string) {
			_, _ = engine.ReadVectors(w.Account, index, vector.InfoRead{})
			_, _ = engine.ReadVectors(w.Account, index, vector.NamespacesRead{})
			_, _ = engine.ReadVectors(w.Account, index, vector.FetchRead{Namespace: ns, IDs: []string{"id1"}, Prefix: "id"})
			_, _ = engine.ReadVectors(w.Account, index, vector.RangeRead{Namespace: ns, Limit: 10})
			_, _ = engine.ReadVectors(w.Account, index, vector.QueryRead{Namespace: ns, Query: vector.Query{Values: []float32{1, 2}, TopK: 3}})
		})
	},
	"Search": func(w *world) {
		items := make([]engine.SearchItem, 3)
		for _, list := range []string{"message", "run", "dlq", "log", "answers", "none"} {
			_, _, _ = w.Search(list, &engine.Filter{}, items)
		}
	},
	"SaveTo":          func(w *world) { _, _ = w.SaveTo(io.Discard) },
	"SearchIndexes":   func(w *world) { w.SearchIndexes() },
	"Settle":          func(w *world) { _ = w.Settle(context.Background()) }, // nothing runs
	"SnapshotMembers": func(w *world) { codec.NewWriter(io.Discard).Document(w.SnapshotMembers) },
	"Steps": func(w *world) {
		for _, id := range someRuns {
			_, _ = w.Steps(id)
		}
	},
	"Touch": func(w *world) { w.Touch() },
	"Trace": func(w *world) {
		for _, m := range walk(w.t, engine.Filter{}, w.Messages) {
			_, _ = w.Trace(m.ID)
		}
	},
	"Usage":         func(w *world) { _, _ = w.Usage("") },
	"Waiters":       func(w *world) { w.Waiters("e0"); w.Waiters("") },
	"WriteSnapshot": func(w *world) { w.must(w.WriteSnapshot(io.Discard)) },
}

var writing = strings.Fields(`AddEndpoints AddFixture Advance AdvanceUntil Cancel CancelCallback CancelFamily CancelMessages CancelRun CancelRuns Close CorrectClock DeleteDLQ
	DeleteDLQs DeleteGroup DeleteQueue DeleteSchedule FinishRun Forget DeliverNow Notify PinFlow Publish PublishBatch PutSchedule RemoveEndpoints RepeatCallback ReplayNext Reset ResetFlow
	Restart RestartAll Restore RetryDLQ RetryDLQs RotateKeys RunSchedule SetClock SetFlowPaused SetQueuePaused SetSchedulePaused
	UnpinFlow UpdateGroup UpsertQueue Wait`)

var someRuns = []string{"run0", "run1", "run2", "run3", "none"}

func eachSpace(read func(index, ns string)) {
	for _, index := range []string{"v", "unused", "none"} {
		for _, ns := range []string{"", "ns0", "none"} {
			read(index, ns)
		}
	}
}

func unused(c *engine.Config) {
	c.VectorIndexes = append(c.VectorIndexes, vector.Config{Name: "unused", Type: vector.Dense, Similarity: vector.Cosine})
}

func TestEveryMethodReadsOrWrites(t *testing.T) {
	t.Parallel()
	for m := range reflect.TypeFor[*engine.Account]().Methods() {
		if (reading[m.Name] != nil) == slices.Contains(writing, m.Name) {
			t.Errorf("method %s must be in one of reading and writing", m.Name)
		}
	}
}

func TestReadingChangesNothing(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(reading))
	rapid.Check(t, func(t *rapid.T) {
		life := commands().Draw(t, "life")
		read, unread := setup(t, stored, unused), setup(t, stored, unused)
		read.answer, unread.answer = outcomeOf, outcomeOf
		for _, c := range life {
			_, _ = read.play(c), unread.play(c)
			read.settle()
			unread.settle()
		}
		before := unread.document()
		for _, name := range names {
			reading[name](read)
			if after := read.document(); !bytes.Equal(before, after) {
				t.Fatalf("%s changes the state:\n%s\n%s", name, before, after)
			}
		}
		ctx := context.Background()
		for _, d := range []time.Duration{time.Second, time.Minute, 24 * time.Hour} {
			x, _ := read.Advance(ctx, read.Now().Add(d))
			y, _ := unread.Advance(ctx, unread.Now().Add(d))
			if x != y {
				t.Fatalf("advance by %s: %+v after reading, %+v without", d, x, y)
			}
		}
		if x, y := unread.document(), read.document(); !bytes.Equal(x, y) {
			t.Fatalf("the states at the end differ:\n%s\n%s", x, y)
		}
	})
}

// Vectors become ready by time alone, whether somebody looks or not.
func TestVectorsAreReadyAtTheirTime(t *testing.T) {
	t.Parallel()
	w := setup(t, stored)
	count := func() vector.Count {
		info, err := engine.ReadVectors(w.Account, "v", vector.InfoRead{})
		w.must(err)
		return info.Count
	}
	one := func(id string) []vector.Vector {
		return []vector.Vector{{ID: id, Values: []float32{1, 2}, Metadata: json.RawMessage(`{}`)}}
	}
	w.must(w.upsert("v", "", one("a")))
	w.advance(30 * time.Second)
	w.must(w.upsert("v", "", one("b")))
	w.must(w.upsert("v", "", one("b")))
	if got := count(); got != (vector.Count{Pending: 2}) {
		t.Errorf("after 30 s: %+v", got)
	}
	w.advance(30 * time.Second)
	if got := count(); got != (vector.Count{Ready: 1, Pending: 1}) {
		t.Errorf("after 60 s: %+v", got)
	}
	_, err := engine.ChangeVectors(w.Account, "v", vector.DeleteCommand{IDs: []string{"b"}})
	w.must(err)
	if got := count(); got != (vector.Count{Ready: 1}) {
		t.Errorf("after a deletion: %+v", got)
	}
	w.Forget(math.MaxInt64)
}
