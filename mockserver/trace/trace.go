// Package trace derives the trace of each message and run, in the terms of W3C Trace Context: ids of
// traces and spans, and the headers that carry them.
//
//	kept := trace.Read(request.Header)              // at the publish
//	c := trace.Of("account", message.TraceRoot())   // the same wherever it is asked
//	header := c.Header(c.Span("attempt", message.ID, 0))
//
// All ids are hashes of the ids that the engine gives out. Deliveries, exporters and the control API
// therefore agree without sharing state, also after a restart of the server.
package trace

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine"
)

// The headers, in canonical form.
const (
	parentHeader = "Traceparent"
	stateHeader  = "Tracestate"
)

// maxState is the largest tracestate that is passed on, in bytes.
const maxState = 512

// parentForm matches a traceparent of version 00, or of a later version with more parts.
var parentForm = regexp.MustCompile(`^(?:00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}|(?:0[1-9a-f]|[1-9a-e][0-9a-f]|f[0-9a-e])-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?)$`)

const zeros = "00000000000000000000000000000000"

// Read returns the trace context of a request as engine.Options keep it: traceparent, and tracestate
// after a space. It is "" if the request has none, or an invalid one, which receivers must ignore.
func Read(h http.Header) string {
	parents := h[parentHeader]
	if len(parents) != 1 || !parentForm.MatchString(parents[0]) || parents[0][3:35] == zeros || parents[0][36:52] == zeros[:16] {
		return ""
	}
	kept := parents[0][:55]
	if state := strings.Join(h[stateHeader], ","); state != "" && len(state) <= maxState {
		kept += " " + state
	}
	return kept
}

// Context is the trace of a message or a run.
type Context struct {
	ID      [16]byte
	Parent  [8]byte // span of the publisher; zero: none
	Sampled bool
	State   string // tracestate

	account string
}

// Of derives the trace of a message or a run of an account.
func Of(account string, root engine.TraceRoot) Context {
	c := Context{Sampled: true, account: account}
	parent, state, _ := strings.Cut(root.Context, " ")
	if len(parent) != 55 {
		sum := c.sum("trace", root.ID, 0)
		copy(c.ID[:], sum[:])
		return c
	}
	_, _ = hex.Decode(c.ID[:], []byte(parent[3:35])) // Read has checked it
	_, _ = hex.Decode(c.Parent[:], []byte(parent[36:52]))
	flags, _ := strconv.ParseUint(parent[53:], 16, 8)
	c.Sampled, c.State = flags&1 == 1, state
	return c
}

// Span is the id of a span: of a kind, such as attempt, of the message or run with an id.
func (c *Context) Span(kind, id string, number int) (span [8]byte) {
	sum := c.sum(kind, id, number)
	copy(span[:], sum[16:])
	return span
}

func (c *Context) sum(kind, id string, number int) [sha256.Size]byte {
	text := make([]byte, 0, 128)
	for _, part := range [...]string{c.account, kind, id} {
		text = append(append(text, part...), 0)
	}
	return sha256.Sum256(binary.BigEndian.AppendUint64(text, uint64(number)))
}

// Text is the id of the trace as text.
func (c *Context) Text() string { return hex.EncodeToString(c.ID[:]) }

// Header is the traceparent with which the receiver continues a span.
func (c *Context) Header(span [8]byte) string {
	flags := "-00"
	if c.Sampled {
		flags = "-01"
	}
	return "00-" + c.Text() + "-" + hex.EncodeToString(span[:]) + flags
}

// AddTo adds the context to the header of a delivery, unless its publisher has forwarded one. Client
// libraries for workflows forward the one of the call that started the run with every step: it is
// replaced, so that each step is below its own attempt (decided: 76).
func AddTo(h http.Header, account string, m *engine.Message, attempt int) {
	c := Of(account, m.TraceRoot())
	if forwarded := Read(h); h[parentHeader] != nil && (m.RunID == "" || len(forwarded) < 35 || forwarded[3:35] != c.Text()) {
		return
	}
	h[parentHeader] = []string{c.Header(c.Span("attempt", m.ID, attempt))}
	if c.State != "" && h[stateHeader] == nil {
		h[stateHeader] = []string{c.State}
	}
}
