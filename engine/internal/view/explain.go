package view

import (
	"fmt"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// Reason is one reason for the state of something, and until when it holds.
type Reason struct {
	Kind  string // what goes on, see below; "" where none of these fits
	Text  string
	Rule  string    // by which an attempt was booked, "" for none
	Until time.Time // zero: until something else happens
}

// The kinds of a reason.
const (
	Sleeping = "sleeping" // a run, in a step that sleeps
	Waiting  = "waiting"  // a run, for an event or for a run that it has invoked
	Retrying = "retrying" // an attempt has failed and the next one is not due
	Delayed  = "delayed"  // the first attempt is not due
	Held     = "held"     // by a queue or a flow-control key
	Running  = "running"  // an attempt is in flight
	Broken   = "failed"   // why it has ended
)

// Explanation says why a message, a run or a flow-control key is as it is: the
// reasons in the order in which they would have to go away.
type Explanation struct {
	ID      string
	Kind    string // message, run, DLQ entry, flow-control key
	State   string
	DLQID   string // where it is kept, "" for nowhere
	Reasons []Reason
}

// Explain explains what has that id.
func (a *Account) Explain(id string) (Explanation, error) {
	switch {
	case a.State.Messages[id] != nil:
		m := a.State.Messages[id]
		return Explanation{id, "message", string(m.State), "", a.explainMessage(m)}, nil
	case a.State.Runs[id] != nil:
		r := a.State.Runs[id]
		return Explanation{id, "run", string(r.State), a.retained(r).DLQID, a.explainRun(r)}, nil
	case a.State.Flows[id] != nil:
		k := a.State.Flows[id]
		return Explanation{id, "flow-control key", fmt.Sprintf("%d waiting, %d in flight", k.Waiting, k.InFlight), "", a.explainFlowKey(k)}, nil
	}
	if e := a.State.DLQ.Get(id); e != nil {
		return Explanation{id, "DLQ entry", string(e.Message.State), id, explainEntry(e)}, nil
	}
	if x, ok := a.explainEnded(id); ok {
		return x, nil
	}
	return Explanation{}, refusal.Of(refusal.NotFound, "id", id, "no message, run, DLQ entry or flow-control key of this account has it")
}

// explainEntry says why a message or a run is in the DLQ.
func explainEntry(e *state.DLQEntry) []Reason {
	what := "message " + e.Message.ID
	if e.Run != nil {
		what = "run " + e.Run.ID
	}
	return []Reason{
		{Kind: Broken, Text: e.Message.CauseOf(&e.Last)},
		{Text: fmt.Sprintf("it keeps %s since %s", what, e.At.UTC().Format(time.RFC3339))},
	}
}

// explainEnded explains a message that has ended, as its last event tells it.
func (a *Account) explainEnded(id string) (Explanation, bool) {
	e := a.lastEvent(id)
	if e == nil {
		return Explanation{}, false
	}
	x := Explanation{ID: id, Kind: "message", State: e.State}
	if cause := e.Message.Cause(); cause != "" {
		x.Reasons = append(x.Reasons, Reason{Kind: Broken, Text: cause})
	}
	x.Reasons = append(x.Reasons, Reason{Text: fmt.Sprintf("it ended at %s", time.UnixMilli(e.At).UTC().Format(time.RFC3339Nano))})
	if o := e.Message.Last; o != nil && o.Note != "" {
		x.Reasons = append(x.Reasons, Reason{Text: "its " + o.Note})
	}
	if entry := a.keptAs(id); entry != "" {
		x.DLQID = entry
		x.Reasons = append(x.Reasons, Reason{Text: "it is kept as DLQ entry " + entry})
	}
	return x, true
}

// lastEvent is the latest event of a message, nil when the log has none.
func (a *Account) lastEvent(id string) *state.LogEntry {
	for _, e := range slices.Backward(a.State.Log.Events) {
		if e.Message != nil && e.Message.ID == id {
			return e
		}
	}
	return nil
}

// explainMessage asks in the order in which a message passes: its queue, its time,
// its flow-control key, a place among the attempts.
func (a *Account) explainMessage(m *state.Message) (why []Reason) {
	if m.State == state.Active {
		return []Reason{{Kind: Running, Text: fmt.Sprintf("attempt %d of %d is in flight to %s", m.Retried+1, m.MaxRetries+1, m.URL)}}
	}
	if m.State == state.CancelRequested {
		return []Reason{{Text: "it was cancelled while an attempt is in flight, and ends with it"}}
	}
	if q := a.State.Queues[m.Options.Queue]; q != nil && m.Slot == nil {
		if q.Paused {
			why = append(why, Reason{Kind: Held, Text: fmt.Sprintf("its queue %q is paused", q.Name)})
		}
		why = append(why, Reason{Kind: Held, Text: fmt.Sprintf("its queue %q delivers %d at a time, and %d are under way before it", q.Name, q.Parallelism, q.Active)})
	}
	if m.NextAt.After(a.State.Now) {
		why = append(why, a.explainWait(m))
	}
	if k := a.State.Flows[m.FlowKey()]; k != nil && (k.Waiting > 0 || k.Paused) {
		why = append(why, a.explainFlowKey(k)...)
	}
	if h := a.State.Shares.Hosts[state.HostOf(m.URL)]; len(why) == 0 && h != nil && h.Held.Len() > 0 {
		return []Reason{{Text: fmt.Sprintf("it is ready; its destination %s has its share of the attempts, %d of at most %d, and it starts when one of them ends", h.Host, h.Running, a.Parallel)}}
	}
	if len(why) == 0 {
		why = append(why, Reason{Text: fmt.Sprintf("it is ready, and starts when one of the %d attempts in flight ends", a.State.Running)})
	}
	return why
}

// explainWait says why the next attempt of a message is not due.
func (a *Account) explainWait(m *state.Message) Reason {
	switch {
	case m.Asleep():
		return Reason{Kind: Sleeping, Text: fmt.Sprintf("the run sleeps in step %q", m.Step.Step.Name), Until: m.NextAt}
	case m.State != state.Retry:
		return Reason{Kind: Delayed, Text: "its first attempt is not due yet", Rule: a.HeaderName(m.Options, "Delay") + ", " + a.HeaderName(m.Options, "Not-Before") + ", or its schedule", Until: m.NextAt}
	}
	r := Reason{Kind: Retrying, Text: fmt.Sprintf("attempt %d of %d is not due yet", m.Retried+1, m.MaxRetries+1), Until: m.NextAt}
	if m.Last != nil {
		r.Text = m.CauseOf(m.Last) + "; the next attempt is not due yet"
		_, r.Rule = a.RetryWait(m, m.Last)
	}
	return r
}

// explainFlowKey says what holds the messages of a key.
func (a *Account) explainFlowKey(k *state.FlowGate) (why []Reason) {
	if k.Paused {
		why = append(why, Reason{Kind: Held, Text: fmt.Sprintf("flow-control key %q is paused since %s", k.Key, k.PausedAt.UTC().Format(time.RFC3339))})
	}
	if k.Parallelism > 0 && k.InFlight >= k.Parallelism {
		why = append(why, Reason{Kind: Held, Text: fmt.Sprintf("flow-control key %q lets %d be in flight, and %d are", k.Key, k.Parallelism, k.InFlight)})
	}
	if k.Rate > 0 && k.Starts.Len() >= k.Rate {
		oldest := k.Starts.Items[k.Starts.Head]
		why = append(why, Reason{Kind: Held, Text: fmt.Sprintf("flow-control key %q lets %d start in %s, and all of these have started", k.Key, k.Rate, k.Period), Until: oldest.Add(k.Period)})
	}
	if len(why) == 0 {
		why = append(why, Reason{Text: fmt.Sprintf("flow-control key %q holds nothing back", k.Key)})
	}
	return why
}

// explainRun says what a run waits for: its waits, its invocations, its messages.
func (a *Account) explainRun(r *state.Run) (why []Reason) {
	if r.Ended() {
		return a.explainRunEnd(r)
	}
	for _, it := range r.Open {
		switch {
		case it.Waiter != nil:
			why = append(why, Reason{Kind: Waiting, Text: fmt.Sprintf("its step %q waits for the event %q", it.Step.Name, it.Waiter.EventID), Rule: "the timeout of the wait", Until: it.Waiter.Deadline})
		case it.Step.Invoked != nil:
			why = append(why, Reason{Kind: Waiting, Text: fmt.Sprintf("its step %q waits for the run %s that it invoked", it.Step.Name, it.Step.Invoked.ID)})
		}
	}
	slices.SortStableFunc(why, func(x, y Reason) int { return x.Until.Compare(y.Until) })
	for _, m := range a.State.RunMessages(r) {
		for _, reason := range a.explainMessage(m) {
			if reason.Kind != Sleeping {
				reason.Text = "message " + m.ID + ": " + reason.Text
			}
			why = append(why, reason)
		}
	}
	if len(why) == 0 {
		why = append(why, Reason{Text: "its endpoint has reported nothing that would go on: the run was left behind"})
	}
	return why
}

// explainRunEnd says how a run has ended, and which run goes on in its place.
func (a *Account) explainRunEnd(r *state.Run) (why []Reason) {
	ended := "ended"
	switch {
	case r.Cause != "":
		why = append(why, Reason{Kind: Broken, Text: r.Cause})
	case r.State == state.RunCanceled:
		ended = "was cancelled"
	}
	why = append(why, Reason{Text: fmt.Sprintf("it %s at %s", ended, r.EndedAt.UTC().Format(time.RFC3339Nano))})
	if a.State.DLQ.Get(r.DLQID) != nil {
		why = append(why, Reason{Text: "it is kept as DLQ entry " + r.DLQID})
	}
	if next := r.Successor; next != nil {
		why = append(why, Reason{Text: fmt.Sprintf("it was %s as run %s", next.Verb(), next.ID)})
	}
	return why
}
