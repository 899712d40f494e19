package view

import (
	"slices"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// maxMessagePage is the largest and the default page of messages (extension).
const maxMessagePage = 1000

// Messages lists messages by their creation, newest first.
func (a *Account) Messages(f Filter) (Page[state.Message], error) {
	return List(&a.State.IDs, "message", f, maxMessagePage, a.State.Log.NewestCreated, f.created, func(e *state.LogEntry) state.Message { return a.redacted(e.Message) })
}

// created matches the message of a CREATED event by what it is now.
func (f *Filter) created(e *state.LogEntry) bool {
	m := e.Message
	if f.WorkflowOnly && e.Run == nil || f.MessagesOnly && e.Run != nil {
		return false
	}
	var run *state.RunRef
	if e.Run != nil {
		run = e.Run.Ref()
	}
	return isWanted(f.States, string(m.State)) && f.run(run) && f.MatchesMessage(m, m.CreatedAt)
}

// Trace is all that is known of one message.
type Trace struct {
	Message state.Message
	Events  []Event         // oldest first
	Reports []state.Message // its callbacks, oldest first
	Reasons []Reason        // why it is as it is
	DLQID   string          // where it is kept now, "" for nowhere
}

// Trace follows a message through its life.
func (a *Account) Trace(id string) (Trace, error) {
	var t Trace
	m := a.State.Messages[id]
	for _, e := range slices.Backward(a.State.Log.Events) {
		if e.Message == nil || e.Message.ID != id {
			continue
		}
		m = e.Message
		t.Events = append(t.Events, a.Event(e))
		if e.State == string(state.Created) {
			break
		}
	}
	if m == nil {
		return Trace{}, refusal.Of(refusal.NotFound, "message", id, "not found: not of this account, or older than the log")
	}
	slices.Reverse(t.Events)
	t.Message = a.redacted(m)
	for _, e := range slices.Backward(a.State.Log.Created) {
		if e.Message == m {
			break
		}
		if e.Message.SourceID == id {
			t.Reports = append(t.Reports, a.redacted(e.Message))
		}
	}
	slices.Reverse(t.Reports)
	t.Reasons, t.DLQID = a.explainNow(m), a.keptAs(id)
	return t, nil
}

// explainNow says why a message is as it is, whether it has ended or not.
func (a *Account) explainNow(m *state.Message) []Reason {
	if a.State.Messages[m.ID] == m {
		return a.explainMessage(m)
	}
	x, _ := a.explainEnded(m.ID) // it has events
	return x.Reasons
}

// keptAs is the DLQ entry of a message, "" for none.
func (a *Account) keptAs(id string) string {
	for entry := range a.State.DLQ.Newest(state.NewestPosition) {
		if entry.Message.ID == id {
			return entry.ID
		}
	}
	return ""
}
