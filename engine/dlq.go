package engine

import (
	"fmt"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// deadLetterAs puts a failed message into the DLQ; id "" draws a new one for the entry.
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
	e.Message.Slot, e.Message.InFlight, e.Message.Last = nil, false, nil
	a.state.DLQ.Add(e.ID, e)
	a.reweighEntry(e)
	return e
}

// maxDLQPage is the largest and the default page ("Limits", interface document).
const maxDLQPage = 100

// DLQ lists entries of the DLQ, newest first unless the filter has an order.
func (a *Account) DLQ(f Filter) (Page[DLQEntry], error) {
	a.lock()
	defer a.unlock()
	p, err := sortedPage(a, "dlq", f, maxDLQPage, entrySorting, a.state.DLQ.Newest, f.MatchesEntry, a.showEntry)
	p.Counts = count(&f, a.state.DLQ.Newest(state.NewestPosition), f.MatchesEntry, func(e *state.DLQEntry) string {
		if e.Run != nil {
			return "workflow"
		}
		return "message"
	})
	return p, err
}

// showEntry returns the entry as lists show it.
func (a *Account) showEntry(e *state.DLQEntry) state.DLQEntry {
	v := *e
	v.Message = a.showMessage(&e.Message)
	v.Message.Last = &v.Last
	h := e.Message.Redaction(a.state.Runs[e.Message.RunID])
	v.Payload = h.Content(e.Payload)
	if cb := e.Callback; cb != nil {
		shown := *cb
		shown.RequestHeader = a.header(h, cb.RequestHeader)
		v.Callback = &shown
	}
	return v
}

// DLQEntry returns one entry, or ErrNotFound.
func (a *Account) DLQEntry(id string) (DLQEntry, error) {
	a.lock()
	defer a.unlock()
	e, err := a.entry(id)
	if err != nil {
		return DLQEntry{}, err
	}
	return a.showEntry(e), nil
}

// entry finds an entry. Its error says what may have happened to a missing one:
// another client may have retried or deleted it.
func (a *Account) entry(id string) (*DLQEntry, error) {
	if e := a.state.DLQ.Get(id); e != nil {
		return e, nil
	}
	return nil, refusal.Of(ErrNotFound, "DLQ entry", id, "not found; it may have been retried, restarted or deleted")
}

// DeleteDLQ removes one entry, or returns ErrNotFound.
func (a *Account) DeleteDLQ(id string) error { return do(a, deleteDLQ{id}) }

type deleteDLQ struct{ ID string }

func (c deleteDLQ) apply(a *Account) error {
	e, err := a.entry(c.ID)
	if err != nil {
		return err
	}
	a.dropDLQ(e)
	return nil
}

// DeleteDLQs removes the entries that match, one page at a time, and returns
// their number. A cursor means that more may match.
func (a *Account) DeleteDLQs(f Filter) (int, string, error) {
	return splitPair(runCommand(a, deleteDLQs{f}))
}

type deleteDLQs struct{ Filter Filter }

// apply deletes one page. The cursor is a position and moves from the newest
// entry down, so that entries that arrive between two calls stay.
func (c deleteDLQs) apply(a *Account) (pair[int, string], error) {
	entries, cursor, err := a.entries(c.Filter)
	for _, e := range entries {
		a.dropDLQ(e)
	}
	return pair[int, string]{len(entries), cursor}, err
}

// entries selects for a bulk operation.
func (a *Account) entries(f Filter) ([]*DLQEntry, string, error) {
	p, err := listPage(&a.state.IDs, "dlq", f, maxDLQPage, a.state.DLQ.Newest, f.MatchesEntry,
		func(e *DLQEntry) *DLQEntry { return e })
	return p.Items, p.Cursor, err
}

// RetryDLQ publishes the message of an entry again, with the set fields of over
// replacing its options, and removes the entry.
func (a *Account) RetryDLQ(id string, over Options) (Receipt, error) {
	return runCommand(a, retryDLQ{id, over})
}

// retryDLQ contains what the request sets; the rest comes from the entry.
type retryDLQ struct {
	ID   string
	Over Options
}

// apply checks the overrides before it changes anything, so that a refused
// retry leaves the entry unchanged.
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

// RetryDLQs is RetryDLQ for all entries that match: it retries all of them or none.
func (a *Account) RetryDLQs(f Filter, over Options) ([]Receipt, string, error) {
	return splitPair(runCommand(a, retryDLQs{f, over}))
}

type retryDLQs struct {
	Filter Filter
	Over   Options
}

// apply checks the options of all entries before it publishes the first, so
// that an error changes nothing.
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

// republish publishes the message of an entry again.
func (a *Account) republish(e *DLQEntry, opts *Options) Receipt {
	m := e.Message
	a.dropDLQ(e)
	of := *m.Origin
	of.RetryOf = m.ID
	sent := a.create(Message{URL: m.URL, Headers: m.Headers, Body: m.Body, Options: opts}, of)
	return Receipt{MessageID: sent.ID, URL: sent.URL}
}
