package engine

import (
	"fmt"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/internal/view"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// deadLetter puts a failed message into the DLQ.
func (a *Account) deadLetter(m *Message, o *Outcome) *DLQEntry { return a.deadLetterAs("", m, o) }

// deadLetterAs gives the entry an id; "" asks for a new one.
func (a *Account) deadLetterAs(id string, m *Message, o *Outcome) *DLQEntry {
	a.state.Seq++
	if id == "" {
		id = fmt.Sprintf("%d-%d", a.state.Now.UnixMilli(), a.state.Seq)
	}
	e := &DLQEntry{
		ID:      id,
		Seq:     a.state.Seq,
		At:      a.state.Now,
		Message: *m,
		Last:    *o,
	}
	e.Message.State = Failed
	e.Message.Slot, e.Message.Cancel, e.Message.Last = nil, nil, nil
	a.state.DLQ.Add(e.ID, e)
	a.reweighEntry(e)
	return e
}

// DLQ lists entries, newest first.
func (a *Account) DLQ(f Filter) (Page[DLQEntry], error) {
	a.lock()
	defer a.unlock()
	return a.view().Entries(f)
}

// DLQEntry is one entry.
func (a *Account) DLQEntry(id string) (DLQEntry, error) {
	a.lock()
	defer a.unlock()
	e, err := a.entry(id)
	if err != nil {
		return DLQEntry{}, err
	}
	return a.view().Entry(e), nil
}

// entry names what may have become of it: clients retry entries that others have dealt
// with.
func (a *Account) entry(id string) (*DLQEntry, error) {
	if e := a.state.DLQ.Get(id); e != nil {
		return e, nil
	}
	return nil, refusal.Of(ErrNotFound, "DLQ entry", id, "not found; it may have been retried, restarted or deleted")
}

// DeleteDLQ removes one entry.
func (a *Account) DeleteDLQ(id string) error { return errorOnly(runCommand(a, deleteDLQ{id})) }

type deleteDLQ struct{ ID string }

func (c deleteDLQ) apply(a *Account) (nothing, error) {
	e, err := a.entry(c.ID)
	if err != nil {
		return nothing{}, err
	}
	a.dropDLQ(e)
	return nothing{}, nil
}

// DeleteDLQs removes what matches and says how many that were. A cursor means
// that more may match.
func (a *Account) DeleteDLQs(f Filter) (int, string, error) {
	return splitPair(runCommand(a, deleteDLQs{f}))
}

type deleteDLQs struct{ Filter Filter }

// apply takes one page. The cursor goes by position, from the newest down: entries that
// come meanwhile are above it and stay.
func (c deleteDLQs) apply(a *Account) (pair[int, string], error) {
	entries, cursor, err := a.entries(c.Filter)
	for _, e := range entries {
		a.dropDLQ(e)
	}
	return pair[int, string]{len(entries), cursor}, err
}

// entries selects for a bulk operation.
func (a *Account) entries(f Filter) ([]*DLQEntry, string, error) {
	p, err := view.List(&a.state.IDs, "dlq", f, view.MaxDLQPage, a.state.DLQ.Newest, f.MatchesEntry,
		func(e *DLQEntry) *DLQEntry { return e })
	return p.Items, p.Cursor, err
}

// RetryDLQ publishes the message of an entry again, with over on top of its
// options, and removes the entry.
func (a *Account) RetryDLQ(id string, over Options) (Receipt, error) {
	return runCommand(a, retryDLQ{id, over})
}

// retryDLQ has what the request sets itself; what the message had follows from the entry.
type retryDLQ struct {
	ID   string
	Over Options
}

// apply makes the overrides before it changes anything, so that a retry that is
// refused leaves the entry as it was.
func (c retryDLQ) apply(a *Account) (Receipt, error) {
	e, err := a.entry(c.ID)
	if err != nil {
		return Receipt{}, err
	}
	if e.Run != nil {
		return Receipt{}, refusal.Of(ErrInvalid, "DLQ entry", c.ID, "belongs to a workflow run; restart or resume it instead")
	}
	opts, err := c.Over.Overriding(state.RetryFollower, e.Message.Options)
	if err != nil {
		return Receipt{}, err
	}
	return a.republish(e, opts), nil
}

// RetryDLQs does the same for all that match: all of them or none.
func (a *Account) RetryDLQs(f Filter, over Options) ([]Receipt, string, error) {
	return splitPair(runCommand(a, retryDLQs{f, over}))
}

type retryDLQs struct {
	Filter Filter
	Over   Options
}

// apply checks the options of all entries before it publishes the first: all or none.
func (c retryDLQs) apply(a *Account) (p pair[[]Receipt, string], err error) {
	c.Filter.MessagesOnly = true
	var entries []*DLQEntry
	entries, p.second, err = a.entries(c.Filter)
	if err != nil {
		return p, err
	}
	opts := make([]*Options, len(entries))
	for i, e := range entries {
		if opts[i], err = c.Over.Overriding(state.RetryFollower, e.Message.Options); err != nil {
			return p, err
		}
	}
	p.first = make([]Receipt, len(entries))
	for i, e := range entries {
		p.first[i] = a.republish(e, opts[i])
	}
	return p, nil
}

// republish publishes the message of an entry once more.
func (a *Account) republish(e *DLQEntry, opts *Options) Receipt {
	m := e.Message
	a.dropDLQ(e)
	sent := a.create(&Message{
		Role:         m.Role,
		URL:          m.URL,
		Header:       m.Header,
		Forward:      m.Forward,
		Body:         m.Body,
		Options:      opts,
		CallerIP:     m.CallerIP,
		Group:        m.Group,
		EndpointName: m.EndpointName,
		ScheduleID:   m.ScheduleID,
		SourceID:     m.SourceID,
	})
	return Receipt{MessageID: sent.ID, URL: sent.URL}
}
