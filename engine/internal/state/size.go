package state

import (
	"math"
	"slices"
)

// The cost of the parts of the state besides bodies and headers, in bytes. The test
// TestMemoryStaysBelowItsBound of the command fails if they are too small.
const (
	MessageCost = 700
	eventCost   = 220
	createdCost = 32 // of the first event of a message: the cost of the message covers the rest
	outcomeCost = 160
	itemCost    = 600
	runCost     = 1200
	entryCost   = 900
	groupCost   = 600
	QueueCost   = 600
	FlowCost    = 900
	markCost    = 400
)

// HeaderBytes is approximately the memory of a header.
func HeaderBytes(h Header) int64 {
	n := 0
	for name, values := range h {
		n += 64 + len(name)
		for _, v := range values {
			n += 16 + len(v)
		}
	}
	return int64(n)
}

// Size is approximately the memory of options besides their fields. It is 0 for options
// without headers, labels and callbacks, which most messages have.
func (o *Options) Size() (n int64) {
	for i := range optionTable {
		n += optionTable[i].size(o)
	}
	return n
}

// Bare returns the options without the parts that may be large.
func (o *Options) Bare() *Options {
	out := *o
	out.Forward, out.Workflow = nil, nil
	for _, cb := range []**Callback{&out.Callback, &out.FailureCallback} {
		if *cb != nil {
			*cb = &Callback{URL: (*cb).URL}
		}
	}
	return &out
}

// Size is the bytes of an event, without its message and run.
func (e *LogEntry) Size() int64 {
	switch {
	case e.LogDetail != nil:
	case e.State == string(Created):
		return createdCost
	default:
		return eventCost
	}
	return eventCost + outcomeCost + e.Outcome.Size()
}

// Size is the bytes of the body and headers; 0 for nil.
func (o *Outcome) Size() int64 {
	if o == nil {
		return 0
	}
	return int64(len(o.Body)) + HeaderBytes(o.Header)
}

// Size is the bytes of a message, including those that it shares.
func (m *Message) Size() int {
	return len(m.Body) + int(m.Headers.Size()+m.Options.Size())
}

// Ends reports whether a message has reached a final state with this event.
func (e *LogEntry) Ends() bool {
	return e.Message != nil && (e.State == string(Delivered) || e.State == string(Failed) || e.State == string(Canceled))
}

// EndsRun reports whether a run has reached a final state with this event.
func (e *LogEntry) EndsRun() bool {
	return e.Message == nil && e.Run != nil && (e.State == string(RunSuccess) || e.State == string(RunFailed) || e.State == string(RunCanceled))
}

// ClampWeight limits the bytes of a message to the range of its field.
func ClampWeight(bytes int64) uint32 { return uint32(min(bytes, math.MaxUint32)) }

// waitingAnswer is the largest part of its latest response that a message keeps while it
// waits for the next attempt, in bytes; the log has the complete response.
const waitingAnswer = 4096

// Brief returns o, or if it is large, a copy without headers and with a shorter body.
func (o *Outcome) Brief() *Outcome {
	if o.Size() <= waitingAnswer {
		return o
	}
	out := *o
	out.Body, out.Header, out.Answer = slices.Clone(o.Body[:min(len(o.Body), waitingAnswer)]), nil, Answer{}
	return &out
}

// Bare returns the outcome without its body and headers.
func (o *Outcome) Bare() Outcome {
	out := *o
	out.Body, out.Header, out.Dropped, out.Answer = nil, nil, int(o.Size()), Answer{}
	return out
}

// Weight includes the request, which all messages of the schedule share.
func (s *Schedule) Weight() int {
	r := &s.Request
	return MessageCost + len(r.Body) + int(r.Header.Size()+HeaderBytes(r.Forward)+HeaderBytes(r.All)+r.Options.Size())
}

// Weight is 0 for nil.
func (g *Group) Weight() int64 {
	if g == nil {
		return 0
	}
	n := groupCost + int64(len(g.Name)) + HeaderBytes(g.Headers) + HeaderBytes(g.Forward) + g.Options.Size()
	for _, e := range g.Endpoints {
		n += int64(64 + len(e.Name) + len(e.URL))
	}
	return n
}

// Weight includes the key, which is a digest or an id chosen by a client.
func (m *DedupMark) Weight() int64 { return markCost + int64(len(m.Key)) }

// Weight does not include the run, which is counted separately.
func (e *DLQEntry) Weight() int64 {
	m := &e.Message
	return entryCost + int64(len(m.Body)) + m.Headers.Size() + m.Options.Size() + e.Last.Size()
}

// Size is the current bytes of the run and of its steps.
func (r *Run) Size() int64 {
	n := int64(runCost+len(r.Payload)+len(r.Result)) + r.Header.Size() + HeaderBytes(r.Forward) + r.Options.Size()
	for _, it := range r.Items {
		n += it.Size()
	}
	for _, it := range r.Calls {
		n += it.Size()
	}
	return n
}

// Size includes the errors, which have the bodies of all failed attempts.
func (it *StepItem) Size() int64 {
	s := &it.Step
	n := int64(itemCost + len(it.Body) + len(s.Out) + len(s.CallBody) + len(s.CallResponseBody) + len(s.InvokedBody))
	n += HeaderBytes(s.CallHeader) + HeaderBytes(s.CallResponseHeader) + HeaderBytes(s.InvokedHeader)
	for i := range it.Errors {
		n += int64(len(it.Errors[i].Body)) + HeaderBytes(it.Errors[i].Header)
	}
	return n
}
