package view

import (
	"slices"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// redacted returns a copy of the message as logs, lists and the DLQ show it. Delivery uses
// the original.
func (a *Account) redacted(m *state.Message) state.Message {
	v := *m
	v.Slot, v.InFlight = nil, false
	r := m.Options.Redact
	if r == nil {
		return v
	}
	if r.Body && len(m.Body) > 0 {
		v.Body = state.RedactedValue(m.Body)
	}
	names := redactedNames(r, a.Wire)
	v.Headers = state.PairOf(redactedHeader(r, m.Headers.Published(), names), redactedHeader(r, m.Headers.Forward(), names))
	return v
}

// redactedNames returns the names of the redacted headers, as the destination receives them
// and as the publisher sends them.
func redactedNames(r *state.Redaction, w Wire) []string {
	names := slices.Clone(r.Names)
	for _, name := range r.Names {
		names = append(names, w.PublishedName(name))
	}
	return names
}

// redactedHeader redacts values only: the names of headers are not secret.
func redactedHeader(r *state.Redaction, h state.HeaderText, names []string) state.HeaderText {
	if !r.Headers && len(names) == 0 {
		return h
	}
	shown := h.Header()
	for name, values := range shown {
		if !r.Headers && !slices.Contains(names, name) {
			continue
		}
		for i, v := range values {
			values[i] = string(state.RedactedValue([]byte(v)))
		}
	}
	return state.TextOf(shown)
}
