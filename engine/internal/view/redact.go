package view

import (
	"slices"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// redacted is a copy of the message as logs, lists and the DLQ show it. It is
// delivered as it is.
func (a *Account) redacted(m *state.Message) state.Message {
	v := *m
	v.Slot, v.Cancel = nil, nil
	r := m.Options.Redact
	if r == nil {
		return v
	}
	if r.Body && len(m.Body) > 0 {
		v.Body = state.RedactedValue(m.Body)
	}
	names := redactedNames(r, a.Wire)
	v.Header, v.Forward = redactedHeader(r, m.Header, names), redactedHeader(r, m.Forward, names)
	return v
}

// redactedNames are the names of the redacted headers, for the destination and as the
// publisher sends them.
func redactedNames(r *state.Redaction, w Wire) []string {
	names := slices.Clone(r.Names)
	for _, name := range r.Names {
		names = append(names, w.PublishedName(name))
	}
	return names
}

// redactedHeader keeps the names: that a header was sent may be seen.
func redactedHeader(r *state.Redaction, h state.Header, names []string) state.Header {
	if !r.Headers && len(names) == 0 {
		return h
	}
	shown := make(state.Header, len(h))
	for name, values := range h {
		if !r.Headers && !slices.Contains(names, name) {
			shown[name] = values
			continue
		}
		for _, v := range values {
			shown[name] = append(shown[name], string(state.RedactedValue([]byte(v))))
		}
	}
	return shown
}
