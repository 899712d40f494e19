package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/internal/clip"
)

// Reason is one reason for the state of an object, and until when it applies.
type Reason struct {
	Kind  string // one of the kinds below, or ""
	Text  string
	Rule  string    // that set Until, "" for none
	Until time.Time // zero if no time ends it

	Event, Key, Queue string // that it waits for, or that is paused; "" for others
}

// The kinds of a reason.
const (
	Sleeping = "sleeping" // a run, in a step that sleeps
	Waiting  = "waiting"  // a run, for an event or for a run that it has invoked
	Retrying = "retrying" // an attempt has failed and the next one is not due
	Delayed  = "delayed"  // the first attempt is not due
	Held     = "held"     // by a queue or a flow-control key
	Running  = "running"  // an attempt is in flight
	Broken   = "failed"   // why it ended
)

// Explanation says why a message, run, DLQ entry or flow-control key is in its state. The
// reasons are in the order in which they must be resolved.
type Explanation struct {
	ID      string
	Kind    string // message, run, DLQ entry, flow-control key
	State   string
	DLQID   string // its DLQ entry, "" for none
	Reasons []Reason
	Lineage []Link
	Failure *LastFailure // the latest failed attempt, nil for none
	Trace   TraceRoot    // zero for a flow-control key
}

// Explain explains the object with the id, or returns NotFound.
func (a *Account) Explain(id string) (Explanation, error) {
	a.lock()
	defer a.unlock()
	if m := a.state.Messages[id]; m != nil {
		return Explanation{id, "message", string(m.State), "", a.explainMessage(m), a.messageLineage(m), messageFailure(m), m.TraceRoot()}, nil
	}
	if r := a.state.Runs[id]; r != nil {
		events := a.runEvents(r)
		return Explanation{id, "run", string(r.State), a.showRun(r).DLQID, a.explainRun(r), a.runLineage(r, events), a.runFailure(r, events), TraceRoot{ID: r.ID, Context: r.Options.TraceContext}}, nil
	}
	if k := a.state.Flows[id]; k != nil {
		return Explanation{ID: id, Kind: "flow-control key", State: fmt.Sprintf("%d waiting, %d in flight", k.Waiting, k.InFlight), Reasons: a.explainKey(k)}, nil
	}
	if e := a.state.DLQ.Get(id); e != nil {
		return Explanation{id, "DLQ entry", string(e.Message.State), id, explainEntry(e), a.entryLineage(e), failureOf(&e.Message, &e.Last), e.Message.TraceRoot()}, nil
	}
	if x, ok := a.explainEnded(id); ok {
		return x, nil
	}
	return Explanation{}, refusal.Of(refusal.NotFound, "id", id, "no message, run, DLQ entry or flow-control key of this account has it")
}

// explainEntry says why a message or a run is in the DLQ.
func explainEntry(e *state.DLQEntry) []Reason {
	return []Reason{
		{Kind: Broken, Text: e.Message.CauseOf(&e.Last)},
		{Text: fmt.Sprintf("in the DLQ since %s", e.At.UTC().Format(time.RFC3339))}, // the lineage has what it keeps
	}
}

// explainEnded explains a message that has ended, from its last event.
func (a *Account) explainEnded(id string) (Explanation, bool) {
	e := a.lastEvent(id)
	if e == nil {
		return Explanation{}, false
	}
	x := Explanation{ID: id, Kind: "message", State: e.State, Lineage: a.messageLineage(e.Message), Failure: messageFailure(e.Message), Trace: e.Message.TraceRoot()}
	if cause := e.Message.Cause(); cause != "" {
		x.Reasons = append(x.Reasons, Reason{Kind: Broken, Text: cause})
	}
	x.Reasons = append(x.Reasons, Reason{Text: fmt.Sprintf("ended %s", time.UnixMilli(e.At).UTC().Format(time.RFC3339Nano))})
	if o := e.Message.Last; o != nil {
		if o.Note != "" {
			x.Reasons = append(x.Reasons, Reason{Text: "its " + o.Note})
		}
		if o.Point != "" {
			x.Reasons = append(x.Reasons, Reason{Text: "in explore: " + o.Point})
		}
	}
	x.DLQID = a.keptAs(id) // no reason needed: the lineage has it
	return x, true
}

// lastEvent returns the latest event of a message, nil if the log has none.
func (a *Account) lastEvent(id string) *state.LogEntry {
	for _, e := range slices.Backward(a.state.Log.Events) {
		if e.Message != nil && e.Message.ID == id {
			return e
		}
	}
	return nil
}

// anyMessage returns a message that has not ended or is in the log, nil for none.
func (a *Account) anyMessage(id string) *state.Message {
	if m := a.state.Messages[id]; m != nil {
		return m
	}
	if e := a.lastEvent(id); e != nil {
		return e.Message
	}
	return nil
}

// explainMessage checks in the order in which a message proceeds: queue, time, flow-control
// key, limit of attempts in flight.
func (a *Account) explainMessage(m *state.Message) (why []Reason) {
	if m.State == state.Active {
		return []Reason{{Kind: Running, Text: fmt.Sprintf("attempt %d of %d is in flight to %s", m.Retried+1, m.MaxRetries+1, m.URL)}}
	}
	if m.State == state.CancelRequested {
		return []Reason{{Text: "cancelled; ends with the attempt in flight"}}
	}
	queued := false
	if q := a.state.Queues[m.Options.Queue]; q != nil && m.Slot == nil {
		queued = true
		if q.Paused {
			why = append(why, Reason{Kind: Held, Text: fmt.Sprintf("queue %q is paused", q.Name), Queue: q.Name})
		}
		if q.Active >= q.Parallelism {
			why = append(why, Reason{Kind: Held, Text: fmt.Sprintf("queue %q delivers %d at a time, and %d are in delivery", q.Name, q.Parallelism, q.Active)})
		}
	}
	due := !m.NextAt.Time().After(a.state.Now)
	if !due {
		why = append(why, a.explainWait(m))
	}
	first := m // that must start before it can
	if k := a.state.Flows[m.FlowKey()]; k != nil {
		if due && !queued {
			why = append(why, a.explainFlowKey(k)...)
			held := k.Held.Items[k.Held.Head:]
			if i := slices.IndexFunc(held, func(h *state.Message) bool { return h.State != state.Canceled }); i >= 0 {
				first = held[i]
			}
		} else if k.Paused {
			why = append(why, explainPause(k))
		}
	}
	if len(why) > 0 {
		return why
	}
	if u := a.state.Shares.Of(first.URL); u.Held.Len() > 0 {
		return []Reason{{Text: fmt.Sprintf("ready; destination %s has reached its share of the attempts in flight, %d of at most %d, %d of them to the same URL; starts when one of them ends", u.Host.Name, u.Host.Running, a.cfg.Parallel, u.Running)}}
	}
	return []Reason{{Text: fmt.Sprintf("ready; starts when one of the %d attempts in flight ends", a.state.Running)}}
}

// explainWait says why the next attempt of a message is not due.
func (a *Account) explainWait(m *state.Message) Reason {
	switch {
	case m.Asleep():
		return Reason{Kind: Sleeping, Text: fmt.Sprintf("the run sleeps in step %q", m.Step.Step.Name), Until: m.NextAt.Time()}
	case m.State != state.Retry:
		rule := "Delay"
		if !m.Options.NotBefore.IsZero() { // takes precedence
			rule = "Not-Before"
		}
		return Reason{Kind: Delayed, Text: "first attempt not due yet", Rule: a.headerName(m.Options, rule), Until: m.NextAt.Time()}
	}
	r := Reason{Kind: Retrying, Text: fmt.Sprintf("attempt %d of %d not due yet", m.Retried+1, m.MaxRetries+1), Until: m.NextAt.Time()}
	if m.Last != nil {
		r.Text = m.CauseOf(m.Last) + "; next attempt not due yet"
		_, r.Rule = a.retryWait(m, m.Last)
	}
	return r
}

// explainPause says that a key is paused.
func explainPause(k *state.FlowGate) Reason {
	return Reason{Kind: Held, Text: fmt.Sprintf("flow-control key %q is paused since %s", k.Key, k.PausedAt.UTC().Format(time.RFC3339)), Key: k.Key}
}

// explainFlowKey explains what holds the due messages of a key now, nil for nothing.
func (a *Account) explainFlowKey(k *state.FlowGate) (why []Reason) {
	if k.Paused {
		why = append(why, explainPause(k))
	}
	if k.Parallelism > 0 && k.InFlight >= k.Parallelism {
		why = append(why, Reason{Kind: Held, Text: fmt.Sprintf("flow-control key %q has reached its parallelism: %d of at most %d are in flight", k.Key, k.InFlight, k.Parallelism)})
	}
	if next := k.NextStart(a.state.Now); !next.IsZero() {
		why = append(why, Reason{Kind: Held, Text: fmt.Sprintf("flow-control key %q has reached its rate: %d per %s", k.Key, k.Rate, clip.Duration(float64(k.Period.Milliseconds()))), Until: next})
	}
	return why
}

// explainKey explains a key: what holds its messages, and what else they wait for.
func (a *Account) explainKey(k *state.FlowGate) []Reason {
	why := a.explainFlowKey(k)
	if len(why) == 0 {
		why = append(why, Reason{Text: fmt.Sprintf("flow-control key %q holds nothing back", k.Key)})
	}
	return append(why, a.explainLater(k)...)
}

// explainLater counts the messages of a key that do not wait for it yet.
func (a *Account) explainLater(k *state.FlowGate) (why []Reason) {
	delayed, queued, next := 0, 0, time.Time{}
	for _, m := range a.state.Messages {
		switch at := m.NextAt.Time(); {
		case m.FlowKey() != k.Key || m.InFlight:
		case m.Options.Queue != "" && m.Slot == nil:
			queued++
		case at.After(a.state.Now):
			if delayed++; delayed == 1 || at.Before(next) {
				next = at
			}
		}
	}
	if delayed > 0 {
		why = append(why, Reason{Kind: Delayed, Text: fmt.Sprintf("messages of this key that are not due yet: %d", delayed), Rule: "the time of the next one", Until: next})
	}
	if queued > 0 {
		why = append(why, Reason{Kind: Held, Text: fmt.Sprintf("messages of this key that wait in a queue: %d", queued)})
	}
	return why
}

// explainRun lists what a run waits for: waits, invocations, messages.
func (a *Account) explainRun(r *state.Run) (why []Reason) {
	if r.Ended() {
		return a.explainRunEnd(r)
	}
	for _, it := range r.Open {
		switch {
		case it.Waiter != nil:
			why = append(why, Reason{Kind: Waiting, Text: fmt.Sprintf("step %q waits for event %q", it.Step.Name, it.Waiter.EventID), Rule: "the timeout of the wait", Until: it.Waiter.Deadline, Event: it.Waiter.EventID})
		case it.Step.Invoked != nil:
			why = append(why, Reason{Kind: Waiting, Text: fmt.Sprintf("step %q waits for run %s, which it invoked", it.Step.Name, it.Step.Invoked.ID)})
		}
	}
	slices.SortStableFunc(why, func(x, y Reason) int { return x.Until.Compare(y.Until) })
	messages := a.state.RunMessages(r)
	if len(messages)+len(why) == 0 && len(r.Calls) > 0 {
		messages = a.answers(r)
	}
	for _, m := range messages {
		for _, reason := range a.explainMessage(m) {
			if reason.Kind != Sleeping {
				reason.Text = "message " + m.ID + ": " + reason.Text
			}
			why = append(why, reason)
		}
	}
	if len(why) == 0 {
		why = append(why, Reason{Text: "no step is open: the endpoint reported none, and the run cannot continue"})
	}
	return why
}

// answers returns the messages that bring answers of third-party calls to a run. They are in no
// list of the run.
func (a *Account) answers(r *state.Run) (list []*state.Message) {
	for _, m := range a.state.Messages {
		if m.RunID == r.ID && m.BearsAnswer() {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(x, y *state.Message) int { return cmp.Compare(x.ID, y.ID) })
	return list
}

// explainRunEnd explains how a run ended. The lineage has its DLQ entry, and the run that
// restarts or resumes it.
func (a *Account) explainRunEnd(r *state.Run) (why []Reason) {
	ended := "ended"
	switch {
	case r.Cause != "":
		why = append(why, Reason{Kind: Broken, Text: r.Cause})
	case r.State == state.RunCanceled:
		ended = "cancelled"
	}
	return append(why, Reason{Text: fmt.Sprintf("%s %s", ended, r.EndedAt.UTC().Format(time.RFC3339Nano))})
}
