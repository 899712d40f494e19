package state

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// RedactedValue returns a hash of a value, so that values can be compared without being shown.
func RedactedValue(v []byte) []byte {
	sum := sha256.Sum256(v)
	return []byte("REDACTED:" + hex.EncodeToString(sum[:]))
}

// And hides what either of two redactions hides. Each may be nil, which hides nothing.
func (r *Redaction) And(other *Redaction) *Redaction {
	if r == nil || other == nil {
		return cmp.Or(r, other)
	}
	sum := Redaction{Body: r.Body || other.Body, Headers: r.Headers || other.Headers, Names: slices.Clip(r.Names)}
	for _, name := range other.Names {
		if !slices.Contains(sum.Names, name) {
			sum.Names = append(sum.Names, name)
		}
	}
	return &sum
}

// Content returns a body as it is shown.
func (r *Redaction) Content(body []byte) []byte {
	if r == nil || !r.Body || len(body) == 0 {
		return body
	}
	return RedactedValue(body)
}

// Text is Content for a text.
func (r *Redaction) Text(body string) string {
	if r == nil || !r.Body {
		return body
	}
	return string(r.Content([]byte(body)))
}

// Header returns a header as it is shown: the names of headers are not secret. carries
// reports whether a header has the value of the header with the name.
func (r *Redaction) Header(in Header, carries func(header, name string) bool) Header {
	if r == nil || !r.Headers && len(r.Names) == 0 || len(in) == 0 {
		return in
	}
	out := make(Header, len(in))
	for header, values := range in {
		if r.Headers || slices.ContainsFunc(r.Names, func(name string) bool { return carries(header, name) }) {
			values = slices.Clone(values)
			for i, v := range values {
				values[i] = string(RedactedValue([]byte(v)))
			}
		}
		out[header] = values
	}
	return out
}

// Redaction returns what hides the content of a message, nil for nothing: what its run, nil
// for none, redacts is redacted too. A callback, and the request of a step for a call, have the
// headers of another message in their bodies.
func (m *Message) Redaction(run *Run) *Redaction {
	r := m.Options.Redact
	if run != nil {
		r = r.And(run.Options.Redact)
	}
	does := m.Role.Conduct()
	if r != nil && !r.Body && (does.BringsAnswer || does.ReportsFailed || m.Step != nil && len(m.Step.Step.CallHeader)+len(m.Step.Step.InvokedHeader) > 0) {
		r = r.And(&Redaction{Body: true})
	}
	return r
}
