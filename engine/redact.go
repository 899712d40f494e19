package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// redact stands for a value that must not be shown, yet can be compared.
func redact(v []byte) []byte {
	sum := sha256.Sum256(v)
	return []byte("REDACTED:" + hex.EncodeToString(sum[:]))
}

// redacted is a copy of the message as logs, lists and the DLQ show it. It is
// delivered as it is.
func (m *Message) redacted() Message {
	v := *m
	v.queue, v.cancel = nil, nil
	r := m.Options.Redact
	if r == nil {
		return v
	}
	if r.Body && len(m.Body) > 0 {
		v.Body = redact(m.Body)
	}
	v.Header, v.Forward = r.header(m.Header), r.header(m.Forward)
	return v
}

func (r *Redaction) header(h Header) Header {
	if !r.Headers && len(r.Names) == 0 {
		return h
	}
	shown := make(Header, len(h))
	for name, values := range h {
		if !r.Headers && !slices.Contains(r.Names, name) && !slices.Contains(r.Names, trimForward(name)) {
			shown[name] = values
			continue
		}
		for _, v := range values {
			shown[name] = append(shown[name], string(redact([]byte(v))))
		}
	}
	return shown
}
