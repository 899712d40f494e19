package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// redactedValue stands for a value that must not be shown, yet can be compared.
func redactedValue(v []byte) []byte {
	sum := sha256.Sum256(v)
	return []byte("REDACTED:" + hex.EncodeToString(sum[:]))
}

// redacted is a copy of the message as logs, lists and the DLQ show it. It is
// delivered as it is.
func (a *Account) redacted(m *Message) Message {
	v := *m
	v.queue, v.cancel = nil, nil
	r := m.Options.Redact
	if r == nil {
		return v
	}
	if r.Body && len(m.Body) > 0 {
		v.Body = redactedValue(m.Body)
	}
	names := redactedNames(r, a.cfg.Wire)
	v.Header, v.Forward = redactedHeader(r, m.Header, names), redactedHeader(r, m.Forward, names)
	return v
}

// redactedNames are the names of the redacted headers, for the destination and as the
// publisher sends them.
func redactedNames(r *Redaction, w Wire) []string {
	names := slices.Clone(r.Names)
	for _, name := range r.Names {
		names = append(names, w.PublishedName(name))
	}
	return names
}

func redactedHeader(r *Redaction, h Header, names []string) Header {
	if !r.Headers && len(names) == 0 {
		return h
	}
	shown := make(Header, len(h))
	for name, values := range h {
		if !r.Headers && !slices.Contains(names, name) {
			shown[name] = values
			continue
		}
		for _, v := range values {
			shown[name] = append(shown[name], string(redactedValue([]byte(v))))
		}
	}
	return shown
}
