package engine

import (
	"slices"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// maxMessagePage is the largest and the default page of messages (extension).
const maxMessagePage = 1000

// Messages lists messages by their creation, newest first, as far back as the
// log goes: those that have ended too, in the state that they ended in.
func (a *Account) Messages(f Filter) (Page[Message], error) {
	a.lock()
	defer a.unlock()
	return listPage(a, "message", f, maxMessagePage, a.state.Log.NewestCreated, f.created, func(e *state.LogEntry) Message { return a.redacted(e.Message) })
}

// created matches the message of a CREATED event by what it is now.
func (f *Filter) created(e *state.LogEntry) bool {
	m := e.Message
	if f.WorkflowOnly && e.Run == nil || f.MessagesOnly && e.Run != nil {
		return false
	}
	var run *RunRef
	if e.Run != nil {
		run = e.Run.Ref()
	}
	return isWanted(f.States, string(m.State)) && f.run(run) && f.message(m, m.CreatedAt)
}

// Trace is all that is known of one message.
type Trace struct {
	Message Message
	Events  []Event   // oldest first
	Reports []Message // its callbacks, oldest first
	Reasons []Reason  // why it is as it is
	DLQID   string    // where it is kept now, "" for nowhere
}

// Trace follows a message through its life, as far back as the log goes.
func (a *Account) Trace(id string) (Trace, error) {
	a.lock()
	defer a.unlock()
	var t Trace
	m := a.state.Messages[id]
	for _, e := range slices.Backward(a.state.Log.Events) {
		if e.Message == nil || e.Message.ID != id {
			continue
		}
		m = e.Message
		t.Events = append(t.Events, a.viewEvent(e))
		if e.State == string(Created) {
			break
		}
	}
	if m == nil {
		return Trace{}, refusal.Of(ErrNotFound, "message", id, "not found: not of this account, or older than the log")
	}
	slices.Reverse(t.Events)
	t.Message = a.redacted(m)
	for _, e := range slices.Backward(a.state.Log.Created) {
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
func (a *Account) explainNow(m *Message) []Reason {
	if a.state.Messages[m.ID] == m {
		return a.explainMessage(m)
	}
	x, _ := a.explainEnded(m.ID) // it has events
	return x.Reasons
}

// keptAs is the DLQ entry of a message, "" for none.
func (a *Account) keptAs(id string) string {
	for entry := range a.state.DLQ.Newest(state.NewestPosition) {
		if entry.Message.ID == id {
			return entry.ID
		}
	}
	return ""
}
