package engine

import (
	"fmt"
	"slices"
	"time"
)

// Reason is one reason for the state of something, and until when it holds.
type Reason struct {
	Text  string
	Rule  string    // by which an attempt was booked, "" for none
	Until time.Time // zero: until something else happens
}

// Explanation says why a message, a run or a flow-control key is as it is: the
// reasons in the order in which they would have to go away.
type Explanation struct {
	ID      string
	Kind    string // message, run, flow-control key
	State   string
	Reasons []Reason
}

// Explain explains what has that id.
func (a *Account) Explain(id string) (Explanation, error) {
	a.lock()
	defer a.unlock()
	switch {
	case a.messages[id] != nil:
		m := a.messages[id]
		return Explanation{id, "message", string(m.State), a.whyMessage(m)}, nil
	case a.runs[id] != nil:
		r := a.runs[id]
		return Explanation{id, "run", string(r.State), a.whyRun(r)}, nil
	case a.flows[id] != nil:
		k := a.flows[id]
		return Explanation{id, "flow-control key", fmt.Sprintf("%d waiting, %d in flight", k.Waiting, k.InFlight), a.whyKey(k)}, nil
	}
	if x, ok := a.whyEnded(id); ok {
		return x, nil
	}
	return Explanation{}, fmt.Errorf("%q is no message, run or flow-control key of this account: %w", id, ErrNotFound)
}

// whyEnded explains a message that has ended, as its last event tells it.
func (a *Account) whyEnded(id string) (Explanation, bool) {
	e := a.lastEvent(id)
	if e == nil {
		return Explanation{}, false
	}
	text := fmt.Sprintf("it ended at %s", time.UnixMilli(e.at).UTC().Format(time.RFC3339Nano))
	if e.detail != nil && e.err != "" {
		text += ": " + e.err
	}
	x := Explanation{ID: id, Kind: "message", State: e.state, Reasons: []Reason{{Text: text}}}
	if entry := a.keptAs(id); entry != "" {
		x.Reasons = append(x.Reasons, Reason{Text: "it is kept as DLQ entry " + entry})
	}
	return x, true
}

// lastEvent is the latest event of a message, nil when the log has none.
func (a *Account) lastEvent(id string) *event {
	for _, e := range slices.Backward(a.log.events) {
		if e.msg != nil && e.msg.ID == id {
			return e
		}
	}
	return nil
}

// whyMessage asks in the order in which a message passes: its queue, its time,
// its flow-control key, a place among the attempts.
func (a *Account) whyMessage(m *Message) (why []Reason) {
	if m.State == Active {
		return []Reason{{Text: fmt.Sprintf("attempt %d of %d is in flight to %s", m.Retried+1, m.MaxRetries+1, m.URL)}}
	}
	if m.State == CancelRequested {
		return []Reason{{Text: "it was cancelled while an attempt is in flight, and ends with it"}}
	}
	if q := a.queues[m.Options.Queue]; q != nil && m.queue == nil {
		if q.Paused {
			why = append(why, Reason{Text: fmt.Sprintf("its queue %q is paused", q.Name)})
		}
		why = append(why, Reason{Text: fmt.Sprintf("its queue %q delivers %d at a time, and %d are under way before it", q.Name, q.Parallelism, q.active)})
	}
	if m.NextAt.After(a.now) {
		r := Reason{Text: "its first attempt is not due yet", Rule: "Svc-Delay, Svc-Not-Before, or its schedule", Until: m.NextAt}
		if m.State == Retry {
			r.Text, r.Rule = fmt.Sprintf("attempt %d of %d is not due yet", m.Retried+1, m.MaxRetries+1), ""
			if e := a.lastEvent(m.ID); e != nil && e.detail != nil {
				r.Rule = e.rule
			}
			if m.last != nil {
				r.Text += "; the last one " + m.last.said()
			}
		}
		why = append(why, r)
	}
	if k := a.flows[m.FlowKey()]; k != nil && (k.Waiting > 0 || k.Paused) {
		why = append(why, a.whyKey(k)...)
	}
	if len(why) == 0 {
		why = append(why, Reason{Text: fmt.Sprintf("it is ready, and starts when one of the %d attempts in flight ends", a.running)})
	}
	return why
}

// said is what an attempt that failed was answered, or why it was not.
func (o *Outcome) said() string {
	if o.Status > 0 {
		return fmt.Sprintf("was answered %d", o.Status)
	}
	return "was not answered: " + o.Err
}

// whyKey says what holds the messages of a key.
func (a *Account) whyKey(k *flowKey) (why []Reason) {
	if k.Paused {
		why = append(why, Reason{Text: fmt.Sprintf("flow-control key %q is paused since %s", k.Key, k.pausedAt.UTC().Format(time.RFC3339))})
	}
	if k.Parallelism > 0 && k.InFlight >= k.Parallelism {
		why = append(why, Reason{Text: fmt.Sprintf("flow-control key %q lets %d be in flight, and %d are", k.Key, k.Parallelism, k.InFlight)})
	}
	if k.Rate > 0 && k.starts.len() >= k.Rate {
		oldest := k.starts.items[k.starts.head]
		why = append(why, Reason{Text: fmt.Sprintf("flow-control key %q lets %d start in %s, and so many did", k.Key, k.Rate, k.Period), Until: oldest.Add(k.Period)})
	}
	if len(why) == 0 {
		why = append(why, Reason{Text: fmt.Sprintf("flow-control key %q holds nothing back", k.Key)})
	}
	return why
}

// whyRun says what a run waits for: its waits, its invocations, its messages.
func (a *Account) whyRun(r *Run) (why []Reason) {
	if r.ended() {
		text := fmt.Sprintf("it ended at %s", r.EndedAt.UTC().Format(time.RFC3339Nano))
		if r.DLQID != "" {
			text += "; it is kept as DLQ entry " + r.DLQID
		}
		return []Reason{{Text: text}}
	}
	for _, w := range a.waiters {
		if w.run == r {
			why = append(why, Reason{Text: fmt.Sprintf("its step %q waits for the event %q", w.item.step.Name, w.EventID), Rule: "the timeout of the wait", Until: w.Deadline})
		}
	}
	slices.SortFunc(why, func(x, y Reason) int { return x.Until.Compare(y.Until) })
	var ids []string
	for id, m := range a.messages {
		if m.RunID == r.ID {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		for _, reason := range a.whyMessage(a.messages[id]) {
			reason.Text = "message " + id + ": " + reason.Text
			why = append(why, reason)
		}
	}
	if len(why) == 0 {
		why = append(why, Reason{Text: "its endpoint has reported nothing that would go on: the run waits for another run that it invoked, or was left behind"})
	}
	return why
}
