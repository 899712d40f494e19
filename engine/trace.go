package engine

import (
	"slices"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// maxMessagePage is the largest and the default page of messages (extension).
const maxMessagePage = 1000

// MessageSummary is a message in a list, and its current reason.
type MessageSummary struct {
	state.Message
	Carries string  // name of the step whose result, call or sleep it carries
	Why     *Reason // the first reason why it has not ended, nil if it has
}

// Messages lists messages by creation, newest first unless the filter has an order.
func (a *Account) Messages(f Filter) (Page[MessageSummary], error) {
	a.lock()
	defer a.unlock()
	p, err := sortedPage(a, "message", f, maxMessagePage, messageSorting, a.state.Log.NewestCreated, f.created, a.messageSummary)
	p.Counts = count(&f, a.state.Log.NewestCreated(state.NewestPosition), f.created, func(e *state.LogEntry) string { return string(e.Message.State) })
	return p, err
}

func (a *Account) messageSummary(e *state.LogEntry) MessageSummary {
	s := MessageSummary{Message: a.showMessage(e.Message)}
	if it := e.Message.Step; it != nil {
		s.Carries = it.Step.Name
	}
	if a.state.Messages[s.ID] == e.Message {
		s.Why = &a.explainMessage(e.Message)[0]
	}
	return s
}

// created matches the message of a CREATED event by its current state.
func (f *Filter) created(e *state.LogEntry) bool {
	m := e.Message
	if f.WorkflowOnly && e.Run == nil || f.MessagesOnly && e.Run != nil {
		return false
	}
	var run *state.RunRef
	if e.Run != nil {
		run = e.Run.Ref()
	}
	return isWanted(f, f.States, string(m.State)) && f.run(run) && f.MatchesMessage(m, m.CreatedAt.Time())
}

// Trace is all information about one message.
type Trace struct {
	Message state.Message
	Events  []Event         // oldest first
	Reports []state.Message // its callbacks, oldest first
	Reasons []Reason        // reasons for its state
	DLQID   string          // its DLQ entry, "" for none
	Lineage []Link
	Failure *LastFailure // of its latest attempt, nil for none
}

// Trace returns the history of a message, or NotFound.
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
		t.Events = append(t.Events, a.showEvent(e))
		if e.State == string(state.Created) {
			break
		}
	}
	if m == nil {
		return Trace{}, refusal.Of(refusal.NotFound, "message", id, "not found: not of this account, or older than the log")
	}
	slices.Reverse(t.Events)
	t.Message = a.showMessage(m)
	for _, e := range slices.Backward(a.state.Log.Created) {
		if e.Message == m {
			break
		}
		if e.Message.SourceID == id {
			t.Reports = append(t.Reports, a.showMessage(e.Message))
		}
	}
	slices.Reverse(t.Reports)
	t.Reasons, t.DLQID = a.explainNow(m), a.keptAs(id)
	t.Lineage, t.Failure = a.messageLineage(m), messageFailure(m)
	return t, nil
}

// explainNow explains the state of a message, ended or not.
func (a *Account) explainNow(m *state.Message) []Reason {
	if a.state.Messages[m.ID] == m {
		return a.explainMessage(m)
	}
	x, _ := a.explainEnded(m.ID) // found: it has events
	return x.Reasons
}

// keptAs returns the id of the DLQ entry of a message, "" for none.
func (a *Account) keptAs(id string) string {
	for entry := range a.state.DLQ.Newest(state.NewestPosition) {
		if entry.Message.ID == id {
			return entry.ID
		}
	}
	return ""
}
