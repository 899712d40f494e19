package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// command is one of the things that happen in a life that is snapshotted. It
// depends on nothing but its numbers and the account.
type command struct{ Kind, A, B, C int }

// play runs a command. Errors are part of the life: both accounts get the same.
func (w *world) play(c command) error {
	switch c.Kind {
	case 0, 1, 2:
		opts := engine.Options{Delay: time.Duration(c.A%3) * 40 * time.Second, Retries: new(c.B % 4), Labels: []string{"caf\xe9", "b"}[:c.C%3]}
		if c.A%4 > 0 {
			opts.Flow = &limits[c.A%4-1]
		}
		if c.B%3 > 0 {
			opts.Queue = queueNames[c.B%3-1]
		}
		if c.C%2 > 0 {
			opts.Callback = &engine.Callback{URL: "https://cb.test/", Options: engine.Options{Timeout: 1500 * time.Millisecond}}
			opts.FailureCallback = &engine.Callback{URL: "https://fcb.test/"}
		}
		if c.C%5 == 0 {
			opts.RetryDelay, _ = engine.ParseFormula("1000 * pow(2, retried)")
			opts.DedupContent, opts.Redact = true, &engine.Redaction{Body: true, Names: []string{"X-Secret"}}
		}
		r := engine.PublishRequest{URL: fmt.Sprintf("https://app.test/%d", c.A), Options: opts, Body: []byte{byte(c.A), 0xff, 'x'}[c.B%2:],
			Forward: engine.Header{"X-Secret": {"s"}, "X-Latin": {"\xe9t\xe9"}}}
		if c.Kind == 2 {
			r.URL, r.Group = "", "g"
		}
		_, err := w.Publish(r)
		return err
	case 3:
		_, err := w.AddEndpoints("g", []engine.Endpoint{{Name: "one", URL: "https://app.test/g"}, {URL: fmt.Sprintf("https://app.test/g/%d", c.A%2)}})
		return err
	case 4:
		_, err := w.PutSchedule(fmt.Sprint("s", c.A%2), "CRON_TZ=Europe/Berlin */7 * * * *", engine.PublishRequest{URL: "https://app.test/cron"})
		return err
	case 5:
		init := true
		_, err := w.Publish(engine.PublishRequest{URL: "https://app.test/wf", Body: []byte("start"),
			Options: engine.Options{Retries: new(c.A % 2), Workflow: &engine.Workflow{Init: &init, RunID: fmt.Sprint("run", c.A%4), URL: "https://app.test/wf"}}})
		return err
	case 6:
		return w.Wait(engine.WaitRequest{RunID: fmt.Sprint("run", c.A%4), EventID: fmt.Sprint("e", c.B%2), Timeout: "90s",
			Step: json.RawMessage(fmt.Sprintf(`{ "stepId": %d, "stepName":"w", "stepType":"Wait" }`, c.C%5+1))})
	case 7:
		if c.A%2 == 0 {
			w.Notify("", fmt.Sprint("e", c.B%2), []byte("data\x80"))
		} else {
			w.Notify(fmt.Sprint("run", c.A%4), fmt.Sprint("e", c.B%2), []byte("kept"))
		}
		return nil
	case 8:
		return w.later(c)
	case 9:
		if c.A%2 == 0 {
			return w.SetFlowPaused(limits[c.B%3].Key, true)
		}
		return w.SetFlowPaused(limits[c.B%3].Key, false)
	}
	_, err := w.Advance(context.Background(), w.Now().Add(time.Duration(c.A*c.A*c.B+c.C)*time.Second))
	return err
}

// later are commands about what is there already.
func (w *world) later(c command) error {
	switch c.A % 8 {
	case 0:
		if list := w.dlq(); len(list) > 0 {
			e := list[c.B%len(list)]
			if e.Run != nil {
				_, err := w.Restart(e.ID, engine.Options{}, true)
				return err
			}
			_, err := w.RetryDLQ(e.ID, engine.Options{})
			return err
		}
	case 1:
		_, err := w.CancelMessages(engine.Filter{Count: c.B%3 + 1})
		return err
	case 2:
		return w.upsert("v", fmt.Sprint("ns", c.B%2), []vector.Vector{
			{ID: fmt.Sprint("id", c.C), Values: []float32{0.1, float32(c.B)}, Metadata: json.RawMessage(`{ "a" : 1 }`)}})
	case 3:
		_, err := engine.ChangeSearch(w.Account, search.CreateCommand{Index: search.Index{Name: "s", Region: "r", Type: "t"}})
		return err
	case 4:
		return w.CancelRun(fmt.Sprint("run", c.B%4))
	case 5:
		init := false
		_, err := w.Publish(engine.PublishRequest{URL: "https://third.test/", Body: []byte("call"), Options: engine.Options{Retries: new(0),
			Callback: &engine.Callback{URL: "https://app.test/wf", Options: engine.Options{Forward: engine.Header{"Svc-Workflow-Stepid": {fmt.Sprint(c.B%5 + 1)}}}},
			Workflow: &engine.Workflow{Init: &init, RunID: fmt.Sprint("run", c.C%4), CallType: "toCallback"}}})
		return err
	case 6:
		return w.SetQueuePaused(queueNames[c.B%2], true)
	case 7:
		if c.C%3 == 0 {
			return w.DeleteQueue(queueNames[c.B%2])
		}
		return w.SetQueuePaused(queueNames[c.B%2], false)
	}
	return nil
}

// outcomeOf depends on the attempt alone, so that two accounts see the same.
func outcomeOf(at engine.Attempt) engine.Outcome {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, at.Message.URL, at.Message.CreatedAt.UnixMilli(), at.Number)
	n := h.Sum32()
	return engine.Outcome{Status: []int{200, 200, 500, 503, 0}[n%5], Body: []byte{byte(n), 'y'}, Header: engine.Header{"X-Latin": {"\xfc"}},
		After: []time.Duration{0, 0, time.Second, time.Minute}[n>>8%4]}
}

func commands() *rapid.Generator[[]command] {
	n := rapid.IntRange(0, 30)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) command {
		return command{rapid.IntRange(0, 12).Draw(t, "kind"), n.Draw(t, "a"), n.Draw(t, "b"), n.Draw(t, "c")}
	}), 0, 25)
}

func stored(c *engine.Config) {
	c.Seed, c.VectorLag = 7, time.Minute
	c.VectorIndexes = []vector.Config{{Name: "v", Type: vector.Dense, Similarity: vector.Cosine}}
}

// document is the snapshot as it is on a disk.
func (w *world) document() []byte {
	w.t.Helper()
	var text bytes.Buffer
	w.must(w.WriteSnapshot(&text))
	return text.Bytes()
}

func (w *world) load(text []byte) {
	w.t.Helper()
	s, err := engine.ReadSnapshot(bytes.NewReader(text))
	w.must(err)
	w.must(w.Restore(s))
}

// everything is what an observer can ask for.
func (w *world) everything() map[string]any {
	w.t.Helper()
	usage, err := w.Usage("1h")
	w.must(err)
	info, err := engine.ReadVectors(w.Account, "v", vector.InfoRead{})
	w.must(err)
	runs := walk(w.t, engine.Filter{}, w.RunViews)
	for i := range runs {
		runs[i].Run = engine.Run{RunRef: runs[i].RunRef, State: runs[i].State, EndedAt: runs[i].EndedAt, Result: runs[i].Result, DLQID: runs[i].DLQID}
	}
	events := w.events(engine.Filter{})
	for i := range events {
		if m := events[i].Message; m != nil {
			events[i].Message = &engine.Message{ID: m.ID, State: m.State, URL: m.URL, Headers: m.Headers, Body: m.Body, Retried: m.Retried}
		}
	}
	dlq := w.dlq()
	ids := []string{}
	for i := range dlq {
		ids = append(ids, dlq[i].ID)
	}
	page, err := w.Events(engine.Filter{Count: 1})
	w.must(err)
	current, next := w.Keys()
	overview, _ := w.Overview()
	overview.Attempts = 0 // those of this process
	summaries := walk(w.t, engine.Filter{}, w.Messages)
	messages := make([]engine.Message, len(summaries))
	for i := range summaries {
		messages[i] = engine.Message{ID: summaries[i].ID, State: summaries[i].State}
	}
	return map[string]any{
		"overview": overview, "messages": messages,
		"events": events, "dlq": ids, "runs": runs, "flow": w.FlowKeys(), "queues": w.Queues(), "groups": w.Groups(), "usage": usage,
		"search": w.SearchIndexes().List(), "vectors": info, "waiters": w.Waiters("e0"), "keys": current + next, "now": w.Now(), "cursor": page.Cursor,
	}
}

func TestALifeContinuesFromASnapshotAsIfItHadNeverStopped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after := commands().Draw(t, "before"), commands().Draw(t, "after")
		first := setup(t, stored)
		first.answer = outcomeOf
		for _, c := range before {
			_ = first.play(c)
		}
		first.settle()
		text := first.document()
		second := setup(t, stored, func(c *engine.Config) { c.Clock, c.Seed = clock.NewManual(epoch.Add(-time.Hour)), 8 })
		second.answer = outcomeOf
		second.publish(engine.Options{Delay: time.Second}) // what was there before is gone
		second.load(text)
		if again := second.document(); !bytes.Equal(text, again) {
			t.Fatalf("the restored state differs:\n%s\n%s", text, again)
		}
		for i, c := range after {
			x, y := first.play(c), second.play(c)
			if fmt.Sprint(x) != fmt.Sprint(y) {
				t.Fatalf("command %d %+v: %v before, %v after the snapshot", i, c, x, y)
			}
			first.settle()
			second.settle()
		}
		// Unsaved is about the records behind the snapshot, which differ.
		if d := cmp.Diff(first.everything(), second.everything(), cmp.Comparer(time.Time.Equal), cmp.AllowUnexported(engine.Outcome{}), cmpopts.IgnoreUnexported(engine.Message{}, engine.Run{}), cmpopts.IgnoreFields(engine.Overview{}, "Unsaved")); d != "" {
			t.Fatalf("never stopped (-), restored (+):\n%s", d)
		}
		if x, y := first.document(), second.document(); !bytes.Equal(x, y) {
			t.Fatalf("the states at the end differ:\n%s\n%s", x, y)
		}
	})
}

func TestAnAttemptInFlightIsMadeAgain(t *testing.T) {
	t.Parallel()
	flow := &engine.FlowControl{Key: "one", Parallelism: 1}
	held, release := make(chan struct{}, 4), make(chan struct{})
	first := setup(t, stored)
	first.answer = func(engine.Attempt) engine.Outcome {
		held <- struct{}{}
		<-release
		return engine.Outcome{Status: 200}
	}
	kept := first.publish(engine.Options{Flow: flow})
	waiting := first.publish(engine.Options{Flow: flow})
	<-held
	text := first.document()
	first.must(first.Cancel(kept))
	canceling := first.document()
	close(release)
	first.settle()

	second := setup(t, stored)
	again := make(chan struct{})
	second.answer = func(engine.Attempt) engine.Outcome {
		<-again
		return engine.Outcome{Status: 200}
	}
	second.load(text)
	if got := second.document(); !bytes.Equal(got, text) {
		t.Errorf("in flight again:\n%s\nbefore:\n%s", got, text)
	}
	close(again)
	second.settle()
	want := []string{"CREATED", "ACTIVE", "DELIVERED"}
	for _, id := range []string{kept, waiting} {
		if got := second.states(id); !slices.Equal(got, want) {
			t.Errorf("message %s: %v, want %v", id, got, want)
		}
	}
	made := second.made()
	if expect.Equal(t, "number of attempts", len(made), 2) {
		expect.Equal(t, "message of the first attempt", made[0].Message.ID, kept)
		expect.Equal(t, "number of the first attempt", made[0].Number, 0)
	}
	second.load(canceling)
	second.settle()
	if got := second.states(kept); got[len(got)-1] != "CANCELED" {
		t.Errorf("it was being cancelled: %v", got)
	}
	{
		k, err := second.FlowKey("one")
		expect.Nil(t, "reading the key", err)
		expect.Equal(t, "messages of the key in flight", k.InFlight, 0)
		expect.Equal(t, "messages of the key that wait", k.Waiting, 0)
	}

	third := setup(t, stored, func(c *engine.Config) { c.Parallel = 1 })
	third.answer = func(engine.Attempt) engine.Outcome { return engine.Outcome{Status: 200, After: time.Hour} }
	third.load(text)
	third.settle()
	third.must(third.Cancel(kept)) // while its outcome is on its way
	third.advance(2 * time.Hour)
	k, err := third.FlowKey("one")
	expect.Nil(t, "reading the key", err)
	expect.Equal(t, "messages of the key in flight", k.InFlight, 0)
	expect.Equal(t, "messages of the key that wait", k.Waiting, 0)
}

func TestARestoredScheduleDoesNotDriveAnAutoClock(t *testing.T) {
	t.Parallel()
	w := setup(t, stored)
	_ = w.play(command{Kind: 4})
	other := setup(t, stored, auto)
	other.load(w.document())
	other.must(other.Settle(context.Background()))
	if now := other.Now(); !now.Equal(epoch) {
		t.Errorf("the clock has gone on to %s", now)
	}
}

func TestAnAdvanceEnds(t *testing.T) {
	t.Parallel()
	for when, replace := range map[string]func(w *world, empty []byte){
		"when a snapshot is restored": func(w *world, empty []byte) { w.load(empty) },
		"when another clock is set":   func(w *world, _ []byte) { w.must(w.SetClock(clock.NewManual(w.Now()), false)) },
		"when the account is reset":   func(w *world, _ []byte) { w.must(w.Reset(clock.NewManual(epoch), false)) },
	} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			w := setup(t, stored)
			held, release := make(chan struct{}), make(chan struct{})
			w.answer = func(engine.Attempt) engine.Outcome {
				held <- struct{}{}
				<-release
				return engine.Outcome{Status: 200}
			}
			empty := w.document()
			w.publish(engine.Options{Delay: time.Second})
			ended := make(chan error)
			go func() {
				_, err := w.Advance(context.Background(), epoch.Add(time.Hour))
				ended <- err
			}()
			<-held
			replace(w, empty)
			at := w.Now()
			close(release)
			if err := <-ended; !errors.Is(err, engine.ErrEnded) {
				t.Errorf("advance: %v", err)
			}
			expect.Equal(t, "the time", w.Now().UnixMilli(), at.UnixMilli())
		})
	}
}

// rich is a snapshot with something of everything.
func rich(t tester) *world {
	w := setup(t, stored)
	w.answer = outcomeOf
	for i := range 26 {
		_ = w.play(command{i % 12, i, i / 2, i / 3})
	}
	for i := range 8 {
		_ = w.later(command{8, i, i, i + 1})
	}
	w.settle()
	return w
}

func TestDamagedSnapshotsChangeNothing(t *testing.T) {
	t.Parallel()
	w := rich(t)
	text := w.document()
	for name, c := range map[string]struct{ old, now, want string }{
		"an earlier version":   {`"version":2`, `"version":1`, "snapshot of version 1: this program reads version 2"},
		"a later version":      {`"version":2`, `"version":3`, "snapshot of version 3: this program reads version 2"},
		"no version":           {`"version":2,`, ``, "no version"},
		"an unknown name":      {`"version":2,`, `"version":2,"colour":"red",`, `colour`},
		"a repeated name":      {`"version":2,`, `"version":2,"version":2,`, `version`},
		"cut off":              {`}]}`, ``, "ends too early"},
		"more behind":          {`"version":2`, `"version":2}{"version":2`, "more after the end"},
		"a wrong type":         {`"sequence":`, `"sequence":"a","generator2":`, "sequence: "},
		"a number too large":   {`"sequence":`, `"sequence":99999999999999999999,"x":`, "sequence: number 99999999999999999999"},
		"a place beyond":       {`"messages":[{`, `"messages":[{"item":99999,`, "item 99999"},
		"a negative place":     {`"messages":[{`, `"messages":[{"item":-1,`, "messages[0]"},
		"a broken entry":       {`"messages":[{"id":`, `"messages":[{"id":7,"x":`, "messages[0].id: "},
		"a time that is none":  {`"now":`, `"now":"x","n":`, "now: "},
		"a source of no ids":   {`"source":"`, `"source":"AAAA`, "generator.source: "},
		"a source that is cut": {`"source":"`, `"source":"cmVhZGJ1Zjo=","x":"`, "generator"},
		"an unknown timer":     {`"timer":`, `"wakes":"cuckoo","timer":`, "cuckoo"},
		"a cron line":          {`*/7 * * * *`, `*/7 * * *`, "cron"},
		"a formula":            {`1000 * pow(2, retried)`, `1000 * pow(2, retrie`, "retry delay"},
		"log without an event": {`"eventsIssued":`, `"eventsIssued":1,"x":`, "x"},
		"text that is binary":  {`"account":"`, `"account":"` + "\xff", "account: text is not UTF-8"},
		"base64 that is none":  {`"account":"t"`, `"account":{"base64":"!"}`, "account.base64: "},
		"too deep":             {`"account":"t"`, `"account":` + strings.Repeat(`{"base64":`, 20_000), "account"},
	} {
		broken := bytes.Replace(text, []byte(c.old), []byte(c.now), 1)
		if name == "cut off" {
			broken = text[:len(text)/2]
		}
		if bytes.Equal(broken, text) {
			t.Errorf("%s: nothing was broken", name)
			continue
		}
		_, err := engine.ReadSnapshot(bytes.NewReader(broken))
		if expect.True(t, fmt.Sprintf("%s: errors.Is(err, engine.ErrInvalid)", name), errors.Is(err, engine.ErrInvalid)) {
			expect.Contains(t, fmt.Sprintf("%s: error", name), err.Error(), c.want)
			expect.Lacks(t, fmt.Sprintf("%s: error", name), err.Error(), "\n")
		}
	}
	if !bytes.Equal(text, w.document()) {
		t.Error("a damaged snapshot has changed the state")
	}
}

// FuzzSnapshot: whatever is loaded, it is refused or lives on.
func FuzzSnapshot(f *testing.F) {
	w := rich(f)
	text := w.document()
	f.Add([]byte(`{"version":2}`), 0, 0)
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		f.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) { // the document without one of its parts
		kept := maps.Clone(fields)
		delete(kept, name)
		part, err := json.Marshal(kept)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(part, 0, 0)
	}
	for i := range 40 { // the document with a changed digit
		f.Add(text, i*len(text)/40, i%10)
	}
	f.Fuzz(func(t *testing.T, text []byte, place, digit int) {
		if place > 0 && place < len(text) {
			text = bytes.Clone(text)
			for i := place; i < len(text); i++ {
				if text[i] >= '0' && text[i] <= '9' {
					text[i] = '0' + byte(digit%10+10)%10
					break
				}
			}
		}
		s, err := engine.ReadSnapshot(bytes.NewReader(text))
		if err != nil {
			return
		}
		w := setup(t, stored, func(c *engine.Config) { c.Seed, c.Parallel = 0, 4 })
		if s.Now.Year() < 2000 || s.Now.Year() > 3000 || w.Restore(s) != nil {
			return
		}
		for i := range 26 {
			_ = w.play(command{i % 10, i, i, i})
		}
		_ = walk(t, engine.Filter{}, w.RunViews)
		_ = w.events(engine.Filter{})
		_ = w.document()
	})
}
