package engine

import (
	"slices"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// maxMessagePage is the largest and the default page of messages (extension).
const maxMessagePage = 1000

// Messages lists messages by their creation, newest first, as far back as the
// log goes: those that have ended too, in the state that they ended in.
func (a *Account) Messages(f Filter) (Page[Message], error) {
	a.lock()
	defer a.unlock()
	return listPage(a, "message", f, maxMessagePage, a.log.newestCreated, f.created, func(e *event) Message { return a.redacted(e.msg) })
}

// created matches the message of a CREATED event by what it is now.
func (f *Filter) created(e *event) bool {
	m := e.msg
	if f.WorkflowOnly && e.run == nil || f.MessagesOnly && e.run != nil {
		return false
	}
	var run *RunRef
	if e.run != nil {
		run = e.run.ref()
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
	m := a.messages[id]
	for _, e := range slices.Backward(a.log.events) {
		if e.msg == nil || e.msg.ID != id {
			continue
		}
		m = e.msg
		t.Events = append(t.Events, a.viewEvent(e))
		if e.state == string(Created) {
			break
		}
	}
	if m == nil {
		return Trace{}, refusal.Of(ErrNotFound, "message", id, "not found: not of this account, or older than the log")
	}
	slices.Reverse(t.Events)
	t.Message = a.redacted(m)
	for _, e := range slices.Backward(a.log.created) {
		if e.msg == m {
			break
		}
		if e.msg.SourceID == id {
			t.Reports = append(t.Reports, a.redacted(e.msg))
		}
	}
	slices.Reverse(t.Reports)
	t.Reasons, t.DLQID = a.explainNow(m), a.keptAs(id)
	return t, nil
}

// explainNow says why a message is as it is, whether it has ended or not.
func (a *Account) explainNow(m *Message) []Reason {
	if a.messages[m.ID] == m {
		return a.explainMessage(m)
	}
	x, _ := a.explainEnded(m.ID) // it has events
	return x.Reasons
}

// keptAs is the DLQ entry of a message, "" for none.
func (a *Account) keptAs(id string) string {
	for entry := range a.dlq.newest(newestPosition) {
		if entry.Message.ID == id {
			return entry.ID
		}
	}
	return ""
}
