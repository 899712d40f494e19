package view

import (
	"github.com/understudy-mock/understudy/engine/internal/state"
)

// MaxDLQPage is the largest and the default page ("Limits", interface document).
const MaxDLQPage = 100

// Entries lists entries of the DLQ, newest first unless the filter has an order.
func (a *Account) Entries(f Filter) (Page[state.DLQEntry], error) {
	p, err := Sorted(a, "dlq", f, MaxDLQPage, entrySorting, a.State.DLQ.Newest, f.MatchesEntry, a.Entry)
	if f.CountAll {
		for e := range a.State.DLQ.Newest(state.NewestPosition) {
			if f.MatchesEntry(e) {
				p.All++
			}
		}
	}
	return p, err
}

// Entry returns the entry as lists show it.
func (a *Account) Entry(e *state.DLQEntry) state.DLQEntry {
	v := *e
	v.Message = a.Message(&e.Message)
	v.Message.Last = &v.Last
	h := e.Message.Redaction(a.State.Runs[e.Message.RunID])
	v.Payload = h.Content(e.Payload)
	if cb := e.Callback; cb != nil {
		shown := *cb
		shown.RequestHeader = a.header(h, cb.RequestHeader)
		v.Callback = &shown
	}
	return v
}
