package engine_test

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/engine"
)

// limits are the flow-control keys of the random lives; they never change.
var limits = []engine.FlowControl{
	{Key: "two at once", Parallelism: 2},
	{Key: "three in ten seconds", Rate: 3, Period: 10 * time.Second},
	{Key: "both", Parallelism: 1, Rate: 2, Period: time.Minute},
}

var queueNames = []string{"q1", "q2"}

// life is a random sequence of commands against one account.
type life struct {
	*world
	ids    []string        // of published messages, in order
	paused map[string]bool // keys, guarded by world.mu
	broken string          // what a delivery saw that may not be
}

func TestAnyLifeKeepsTheGuarantees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &life{world: setup(t), paused: map[string]bool{}}
		seed := rapid.Uint32().Draw(t, "outcomes")
		l.answer = func(at engine.Attempt) engine.Outcome { return l.outcome(seed, at) }
		t.Repeat(map[string]func(*rapid.T){
			"publish": l.publishOne, "publish again": l.publishOne, "advance": l.pass,
			"cancel": l.cancelOne, "pause or resume a key": l.toggleKey, "pause or resume a queue": l.toggleQueue,
			"": func(*rapid.T) { l.countsAreRight() },
		})
		l.finish()
		l.check()
	})
}

// outcome depends on nothing but the seed, the URL and the number of the
// attempt, and may take some of the clock's time.
func (l *life) outcome(seed uint32, at engine.Attempt) engine.Outcome {
	l.mu.Lock()
	if key := at.Message.FlowKey(); l.paused[key] {
		l.broken = fmt.Sprintf("%s starts while its key %q is paused", at.Message.ID, key)
	}
	l.mu.Unlock()
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, seed, at.Message.URL, at.Number)
	n := h.Sum32()
	o := engine.Outcome{Status: []int{200, 200, 500, 503, 489, 429, 204, 0}[n%8], After: []time.Duration{0, 0, time.Second, time.Minute}[n>>8%4]}
	switch {
	case o.Status == 489:
		o.Header = engine.Header{"Svc-Nonretryable-Error": {"true"}}
	case o.Status == 429:
		o.Header = engine.Header{"Retry-After": {fmt.Sprint(n % 20)}}
	case o.Status == 0 && n%3 == 0:
		panic("a fault in the deliverer")
	}
	return o
}

func (l *life) publishOne(t *rapid.T) {
	opts := engine.Options{
		Delay:   time.Duration(rapid.SampledFrom([]int{0, 0, 1, 30}).Draw(t, "delay")) * time.Second,
		Retries: new(rapid.IntRange(0, 3).Draw(t, "retries")),
	}
	if i := rapid.IntRange(-1, len(limits)-1).Draw(t, "key"); i >= 0 {
		opts.Flow = &limits[i]
	}
	if i := rapid.IntRange(-1, len(queueNames)-1).Draw(t, "queue"); i >= 0 {
		opts.Queue = queueNames[i]
	}
	n := len(l.ids)
	if rapid.Bool().Draw(t, "callback") {
		opts.Callback = &engine.Callback{URL: fmt.Sprintf("https://cb.test/%d", n), Options: engine.Options{Flow: opts.Flow}}
	}
	if rapid.Bool().Draw(t, "failure callback") {
		opts.FailureCallback = &engine.Callback{URL: fmt.Sprintf("https://fcb.test/%d", n), Options: engine.Options{Callback: opts.Callback}}
	}
	r := l.send(engine.PublishRequest{URL: fmt.Sprintf("https://app.test/%d", n), Options: opts})
	l.ids = append(l.ids, r.One.MessageID)
}

func (l *life) pass(t *rapid.T) {
	l.advance(time.Duration(rapid.SampledFrom([]int{0, 1, 999, 1000, 10_000, 60_000, 3_600_000}).Draw(t, "ms")) * time.Millisecond)
}

func (l *life) cancelOne(t *rapid.T) {
	if len(l.ids) > 0 {
		_ = l.Cancel(rapid.SampledFrom(l.ids).Draw(t, "id")) // it may have ended
	}
}

func (l *life) toggleKey(t *rapid.T) { l.setKey(rapid.SampledFrom(limits).Draw(t, "key").Key) }

func (l *life) setKey(key string) {
	l.settle() // so that no attempt begun before the pause is seen after it
	l.mu.Lock()
	paused := !l.paused[key]
	l.paused[key] = paused
	l.mu.Unlock()
	if paused {
		l.must(l.SetFlowPaused(key, true))
	} else {
		l.must(l.SetFlowPaused(key, false))
	}
}

func (l *life) toggleQueue(t *rapid.T) {
	q, err := l.Queue(rapid.SampledFrom(queueNames).Draw(t, "queue"))
	switch {
	case err != nil: // nobody has used it
	case q.Paused:
		l.must(l.SetQueuePaused(q.Name, false))
	default:
		l.must(l.SetQueuePaused(q.Name, true))
	}
}

// countsAreRight compares the counters of keys and queues with the log and
// the messages that have not ended.
func (l *life) countsAreRight() {
	l.settle()
	inFlight := map[string]int{}
	state := map[string]engine.Event{}
	for _, e := range l.events(engine.Filter{}) {
		m := e.Message.ID
		was := state[m].State
		if e.State == "ACTIVE" {
			inFlight[e.Message.FlowKey()]++
		} else if was == "ACTIVE" && e.State != "CANCEL_REQUESTED" || e.State == "CANCELED" && e.Message.State == "CANCELED" && state[m].Rule == "in flight" {
			inFlight[e.Message.FlowKey()]--
		}
		if was == "ACTIVE" && e.State == "CANCEL_REQUESTED" {
			e.Rule = "in flight"
		}
		state[m] = e
	}
	for _, k := range l.FlowKeys() {
		if k.InFlight != inFlight[k.Key] {
			l.t.Fatalf("key %q says %d in flight, the log %d", k.Key, k.InFlight, inFlight[k.Key])
		}
	}
}

// finish resumes everything and lets all time pass that may matter.
func (l *life) finish() {
	for _, f := range limits {
		if l.paused[f.Key] {
			l.setKey(f.Key)
		}
	}
	for _, q := range l.Queues() {
		l.must(l.SetQueuePaused(q.Name, false))
	}
	l.advance(60 * 24 * time.Hour)
}

func (l *life) check() {
	t := l.t
	if l.broken != "" {
		t.Fatalf("the deliveries: got one where %s, want none", l.broken)
	}
	events := l.events(engine.Filter{})
	byID := map[string][]engine.Event{}
	for _, e := range events {
		byID[e.Message.ID] = append(byID[e.Message.ID], e)
	}
	for _, id := range l.ids {
		if byID[id] == nil {
			t.Fatalf("message %s has no log", id)
		}
	}
	buried := map[string]int{}
	for _, e := range l.dlq() {
		buried[e.Message.ID]++
	}
	for id, log := range byID {
		checkOne(t, log, buried[id])
	}
	for _, f := range limits {
		checkLimits(t, f, events)
	}
	for _, q := range queueNames {
		checkQueue(t, q, events)
	}
	for _, k := range l.FlowKeys() {
		if k.Waiting != 0 || k.InFlight != 0 {
			t.Fatalf("key %q keeps %d waiting, %d in flight", k.Key, k.Waiting, k.InFlight)
		}
	}
	for _, q := range l.Queues() {
		if q.Lag != 0 {
			t.Fatalf("queue %q keeps a lag of %d", q.Name, q.Lag)
		}
	}
}

var following = map[string]string{
	"": "CREATED", "CREATED": "ACTIVE CANCEL_REQUESTED", "ACTIVE": "DELIVERED ERROR CANCEL_REQUESTED",
	"ERROR": "RETRY FAILED", "RETRY": "ACTIVE CANCEL_REQUESTED", "CANCEL_REQUESTED": "CANCELED DELIVERED",
}

// checkOne looks at the life of one message.
func checkOne(t tester, log []engine.Event, buried int) {
	state, attempts := "", 0
	for _, e := range log {
		if !slices.Contains(strings.Fields(following[state]), e.State) {
			t.Fatalf("message %s goes from %q to %s", e.Message.ID, state, e.State)
		}
		state = e.State
		if state == "ACTIVE" {
			attempts++
		}
		if o := e.Outcome; o != nil && (o.Cause() == "") != (state == "DELIVERED") {
			t.Fatalf("message %s is %s after status %d", e.Message.ID, state, o.Status)
		}
	}
	m := log[0].Message
	if attempts > 1+int(m.MaxRetries) {
		t.Fatalf("message %s had %d attempts with %d retries", m.ID, attempts, m.MaxRetries)
	}
	if want := map[string]int{"DELIVERED": 0, "CANCELED": 0, "FAILED": 1}; buried != want[state] || following[state] != "" {
		t.Fatalf("message %s ends in %s with %d DLQ entries", m.ID, state, buried)
	}
}

// checkLimits walks the log: never more in flight than the parallelism, and
// no span of one period with more starts than the rate.
func checkLimits(t tester, f engine.FlowControl, events []engine.Event) {
	active := map[string]bool{}
	var starts []time.Time
	for _, e := range events {
		switch id := e.Message.ID; {
		case e.Message.FlowKey() != f.Key:
		case e.State == "ACTIVE":
			active[id] = true
			starts = append(starts, e.Time)
		case e.State != "CANCEL_REQUESTED":
			delete(active, id)
		}
		if f.Parallelism > 0 && len(active) > f.Parallelism {
			t.Fatalf("key %q: %d in flight", f.Key, len(active))
		}
	}
	for i := f.Rate; f.Rate > 0 && i < len(starts); i++ {
		if d := starts[i].Sub(starts[i-f.Rate]); d < f.Period {
			t.Fatalf("key %q: %d starts within %v", f.Key, f.Rate+1, d)
		}
	}
}

// checkQueue: messages start in order of arrival, each after the last event of
// the one before and of all its callbacks.
func checkQueue(t tester, queue string, events []engine.Event) {
	root := map[string]string{} // of messages and their callbacks
	first, last := map[string]int{}, map[string]int{}
	var order []string
	for i, e := range events {
		m := e.Message
		if e.State == "CREATED" {
			root[m.ID] = root[m.SourceID]
			if m.Options.Queue == queue {
				root[m.ID] = m.ID
				order = append(order, m.ID)
			}
		}
		r := root[m.ID]
		if _, started := first[r]; e.State == "ACTIVE" && !started {
			first[r] = i
		}
		last[r] = i
	}
	end := -1
	for _, id := range order {
		start, ok := first[id]
		switch {
		case !ok: // cancelled before its turn
		case start < end:
			t.Fatalf("queue %s: %s starts at event %d, the one before ends at %d", queue, id, start, end)
		default:
			end = last[id]
		}
	}
}
