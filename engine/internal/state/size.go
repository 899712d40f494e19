package state

import (
	"math"
	"slices"
)

// What the parts of the state take beside bodies and headers, in bytes. The test
// TestMemoryStaysBelowItsBound of the command fails where they are too small.
const (
	MessageCost = 700
	eventCost   = 220
	outcomeCost = 160
	itemCost    = 600
	runCost     = 1200
	entryCost   = 900
	groupCost   = 600
	QueueCost   = 600
	FlowCost    = 900
	markCost    = 400
)

// HeaderBytes is about what a header takes.
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

// Size is about what options take beside their fields; those without headers,
// which most messages share, take nothing.
func (o *Options) Size() int64 {
	n := HeaderBytes(o.Forward)
	for _, label := range o.Labels {
		n += int64(len(label))
	}
	if o.Workflow != nil {
		n += HeaderBytes(o.Workflow.Header)
	}
	for _, cb := range []*Callback{o.Callback, o.FailureCallback} {
		if cb != nil {
			n += int64(len(cb.URL)) + cb.Options.Size()
		}
	}
	return n
}

// Bare is options without what may be large.
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

// Size is the bytes of an event without its message and run.
func (e *LogEntry) Size() int64 {
	if e.LogDetail == nil {
		return eventCost
	}
	return eventCost + outcomeCost + e.Outcome.Size()
}

// Size is the bytes of its body and headers; 0 without an outcome.
func (o *Outcome) Size() int64 {
	if o == nil {
		return 0
	}
	return int64(len(o.Body)) + HeaderBytes(o.Header)
}

// Size is the bytes of a message, whether it shares them or not.
func (m *Message) Size() int {
	return len(m.Body) + int(HeaderBytes(m.Header)+HeaderBytes(m.Forward)+m.Options.Size())
}

// Ends reports whether a message has reached its last state with this event.
func (e *LogEntry) Ends() bool {
	return e.Message != nil && (e.State == string(Delivered) || e.State == string(Failed) || e.State == string(Canceled))
}

// EndsRun reports the same of a run.
func (e *LogEntry) EndsRun() bool {
	return e.Message == nil && e.Run != nil && (e.State == string(RunSuccess) || e.State == string(RunFailed) || e.State == string(RunCanceled))
}

// ClampWeight fits the bytes of a message into its field.
func ClampWeight(bytes int64) uint32 { return uint32(min(bytes, math.MaxUint32)) }

// waitingAnswer is how much of its latest answer a message keeps while it waits
// for the next attempt, in bytes; the log has the whole.
const waitingAnswer = 4096

// Brief is an outcome that takes little.
func (o *Outcome) Brief() *Outcome {
	if o.Size() <= waitingAnswer {
		return o
	}
	out := *o
	out.Body, out.Header, out.Answer = slices.Clone(o.Body[:min(len(o.Body), waitingAnswer)]), nil, Answer{}
	return &out
}

// Bare is an outcome without its body and headers.
func (o *Outcome) Bare() *Outcome {
	out := *o
	out.Body, out.Header, out.Dropped, out.Answer = nil, nil, int(o.Size()), Answer{}
	return &out
}

// Weight counts its request, which each time shares.
func (s *Schedule) Weight() int {
	r := &s.Request
	return MessageCost + len(r.Body) + int(HeaderBytes(r.Header)+HeaderBytes(r.Forward)+HeaderBytes(r.All)+r.Options.Size())
}

// Weight is 0 of a group that does not exist.
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

// Weight counts its key, a digest or the id that a client chose.
func (m *DedupMark) Weight() int64 { return markCost + int64(len(m.Key)) }

// Weight leaves the run out, which counts for itself.
func (e *DLQEntry) Weight() int64 {
	m := &e.Message
	return entryCost + int64(len(m.Body)) + HeaderBytes(m.Header) + HeaderBytes(m.Forward) + m.Options.Size() + e.Last.Size()
}

// Size is the bytes of the run and of its steps, as they are now.
func (r *Run) Size() int64 {
	n := int64(runCost+len(r.Payload)+len(r.Result)) + HeaderBytes(r.Header) + HeaderBytes(r.Forward) + r.Options.Size()
	for _, it := range r.Items {
		n += it.size()
	}
	for _, it := range r.Calls {
		n += it.size()
	}
	return n
}

// size counts the errors as well, which hold the bodies of all failed attempts.
func (it *StepItem) size() int64 {
	s := &it.Step
	n := int64(itemCost + len(it.Body) + len(s.Out) + len(s.CallBody) + len(s.CallResponseBody) + len(s.InvokedBody))
	n += HeaderBytes(s.CallHeader) + HeaderBytes(s.CallResponseHeader) + HeaderBytes(s.InvokedHeader)
	for i := range it.Errors {
		n += int64(len(it.Errors[i].Body)) + HeaderBytes(it.Errors[i].Header)
	}
	return n
}
