package otlp

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/trace"
	"github.com/understudy-mock/understudy/spec/mask"
)

// mostOpen is the largest number of messages and runs that are followed at the same time, and of
// those that links can lead to.
const mostOpen = 50_000

// follower turns events into spans.
type follower struct {
	tracer oteltrace.Tracer
	now    func() time.Time

	mu       sync.Mutex // guards the rest
	messages map[string]*message
	runs     map[string]*run
	known    map[string]oteltrace.SpanContext // the first span of messages and runs, for links
	order    []string                         // of known, the oldest first
	latest   map[string]uint64                // number of the last event, by account
	ended    int64                            // spans
	skipped  int64                            // messages and runs beyond mostOpen
}

func newFollower(t oteltrace.Tracer, now func() time.Time) *follower {
	return &follower{tracer: t, now: now, messages: map[string]*message{}, runs: map[string]*run{}, known: map[string]oteltrace.SpanContext{}, latest: map[string]uint64{}}
}

// moment is a time on the two clocks.
type moment struct{ real, account time.Time }

// message is a message that has not ended.
type message struct {
	trace    trace.Context
	parent   [8]byte        // of its attempts
	step     oteltrace.Span // nil: not in a run, or asleep
	opened   *span          // the step; without step, it starts when its sleep ends
	run      *run           // since its first attempt; nil: not in a run, or in one that is not followed
	target   int            // the step that its call runs, if it was planned
	named    bool           // the step has its name
	why      string         // what it waits for
	since    moment         // when it began to wait
	due      time.Time      // on the clock of the account
	begun    moment         // the attempt; zero: none
	attempts int
}

// run is a run that has not ended.
type run struct {
	trace trace.Context
	span  oteltrace.Span
	waits map[string]oteltrace.Span // by step
	calls []*message                // in flight
	cause string                    // of the latest failure
}

// span describes a span.
type span struct {
	trace      trace.Context
	id, parent [8]byte
	name       string
	kind       oteltrace.SpanKind
	from       time.Time
	links      []oteltrace.Link
	attributes []attribute.KeyValue
}

// start starts a span with the ids that package trace has derived.
func (f *follower) start(s *span) oteltrace.Span {
	ctx := context.WithValue(context.Background(), wanted{}, contextOf(&s.trace, s.id))
	if s.parent != ([8]byte{}) {
		ctx = oteltrace.ContextWithRemoteSpanContext(ctx, contextOf(&s.trace, s.parent))
	}
	_, started := f.tracer.Start( //nolint:spancheck // the caller ends it
		ctx, s.name, oteltrace.WithSpanKind(cmp.Or(s.kind, oteltrace.SpanKindInternal)), oteltrace.WithTimestamp(s.from), oteltrace.WithLinks(s.links...), oteltrace.WithAttributes(s.attributes...))
	return started //nolint:spancheck // the caller ends it
}

func contextOf(c *trace.Context, id [8]byte) oteltrace.SpanContext {
	state, _ := oteltrace.ParseTraceState(c.State) // an invalid one is left out
	flags := oteltrace.TraceFlags(0).WithSampled(c.Sampled)
	return oteltrace.NewSpanContext(oteltrace.SpanContextConfig{TraceID: c.ID, SpanID: id, TraceFlags: flags, TraceState: state, Remote: true})
}

// end ends a span. A cause means that it failed.
func (f *follower) end(s oteltrace.Span, at time.Time, cause string) {
	if cause != "" {
		s.SetStatus(codes.Error, mask.Text(cause))
	}
	if s.IsRecording() {
		f.ended++
	}
	s.End(oteltrace.WithTimestamp(at))
}

// Observe adds the spans of an event.
func (f *follower) Observe(account string, e *engine.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Seq <= f.latest[account] { // the account was reset: its messages are gone
		f.finish(account + "/")
	}
	f.latest[account] = e.Seq
	at := moment{f.now(), e.Time}
	if e.Message == nil {
		f.ofRun(account, e, at)
		return
	}
	key := account + "/" + e.Message.ID
	m := f.messages[key]
	if m == nil {
		if m = f.open(account, key, e, at); m == nil {
			return
		}
	}
	canceled := e.State == string(engine.Canceled)
	if o := e.Outcome; (o != nil || canceled) && !m.begun.real.IsZero() {
		f.attempt(account, m, e, cmp.Or(o, &engine.Outcome{Err: "cancelled during the attempt"}), at)
	}
	switch engine.MessageState(e.State) {
	case engine.Active:
		f.waited(m, e, at)
		m.begun = at
		if s := m.opened; s != nil && m.step == nil {
			s.from, m.parent = at.real, s.id
			m.step = f.start(s)
		}
		if r := f.runs[account+"/"+e.Message.RunID]; r != nil && m.run == nil && m.step != nil {
			m.run, r.calls = r, append(r.calls, m)
		}
	case engine.Retry:
		m.why, m.since, m.due = "retry", at, e.NextAt
		if m.step != nil && m.attempts == 1 { // the parent of this attempt, which is sent again when the step ends
			f.end(f.start(m.opened), at.real, "")
		}
	case engine.Delivered, engine.Failed, engine.Canceled:
		f.stepped(m, e, at)
		delete(f.messages, key)
	}
}

// open begins to follow a message: with the span of its publish, or of its step. A message that
// existed before the server started has the ids of that span, but not the span.
func (f *follower) open(account, key string, e *engine.Event, at moment) *message {
	created := engine.MessageState(e.State) == engine.Created
	if !created && (e.State == string(engine.Delivered) || e.State == string(engine.Failed) || e.State == string(engine.Canceled)) {
		return nil
	}
	if len(f.messages)+len(f.runs) >= mostOpen {
		f.skipped++
		return nil
	}
	sent := e.Message
	m := &message{trace: trace.Of(account, e.Trace), why: "delay", since: at, due: e.NextAt}
	if !created {
		m.attempts = int(sent.Retried)
	}
	f.messages[key] = m
	inRun := sent.RunID != "" && e.Trace.ID == sent.RunID
	m.parent = m.trace.Span("publish", sent.ID, 0)
	if !created {
		return m
	}
	s := &span{trace: m.trace, id: m.parent, parent: m.trace.Parent, name: "publish " + placeOf(sent.URL), kind: oteltrace.SpanKindProducer, from: at.real, attributes: f.about(account, e)}
	for _, source := range []string{sent.SourceID, sent.RetryOf} {
		if source != "" && !inRun {
			s.links = append(s.links, f.link(account, source))
		}
	}
	if !inRun && sent.RunID != "" {
		s.links = append(s.links, f.link(account, sent.RunID))
	}
	f.remember(key, s)
	if !inRun {
		f.end(f.start(s), at.real, "")
		f.pointTo(account, s, e)
		return m
	}
	f.arrived(account, e, at)
	f.inStep(account, m, s, e)
	return m
}

// inStep makes the span of a message of a run that of the step that its call runs, which the
// result that arrives during the call, or the plan, names. The sleep before it is not part of it.
func (f *follower) inStep(account string, m *message, s *span, e *engine.Event) {
	s.kind, s.parent = oteltrace.SpanKindInternal, m.trace.Span("run", e.Message.RunID, 0)
	r := f.runs[account+"/"+e.Message.RunID]
	step := cmp.Or(e.Step, &engine.Step{})
	switch {
	case e.Message.Role == engine.RoleCall:
		f.called(r, step.ID, "step "+step.Name)
		s.name, m.named = "call "+placeOf(e.Message.URL), true
	case step.TargetStep > 0:
		f.called(r, 0, "plan")
		s.name, m.target, m.named = "step "+step.Name, step.TargetStep, true
	default:
		if !slices.Contains([]string{"Wait", "Invoke", "Call"}, step.Type) { // otherwise its result does not come from a call of the endpoint
			f.called(r, step.ID, "step "+step.Name)
		}
		s.name = "step after " + step.Name
	}
	m.opened = s
	if e.Asleep() {
		m.why, m.parent = "sleep "+step.Name, s.parent
		return
	}
	m.step = f.start(s)
}

// called names the span of the call in which a step ran: the call of its plan, otherwise the
// first one in flight that is not named.
func (f *follower) called(r *run, id int, name string) {
	if r == nil || slices.ContainsFunc(r.calls, func(m *message) bool { return id > 0 && m.target == id }) {
		return
	}
	if i := slices.IndexFunc(r.calls, func(m *message) bool { return !m.named && m.step != nil }); i >= 0 {
		r.calls[i].named = true
		r.calls[i].step.SetName(name)
	}
}

// stepped ends the span of a step. Its status is the reason that `why` gives.
func (f *follower) stepped(m *message, e *engine.Event, at moment) {
	if m.step == nil {
		return
	}
	cause := ""
	if e.State == string(engine.Failed) {
		cause = e.Message.CauseOf(e.Outcome)
	}
	if m.run != nil {
		m.run.calls = slices.DeleteFunc(m.run.calls, func(one *message) bool { return one == m })
		m.run.cause = cause
	}
	f.end(m.step, at.real, cause)
}

// pointTo adds a span for a callback to the trace of its source, for viewers that show no links.
func (f *follower) pointTo(account string, s *span, e *engine.Event) {
	from, ok := f.known[account+"/"+e.Message.SourceID]
	if !ok {
		return
	}
	c := trace.Context{ID: from.TraceID(), Sampled: from.IsSampled()}
	f.end(f.start(&span{
		trace: c, id: s.trace.Span("pointer", e.Message.ID, 0), parent: from.SpanID(), name: string(e.Message.Role) + " " + placeOf(e.Message.URL), from: s.from,
		attributes: []attribute.KeyValue{attribute.String("understudy.trace.id", s.trace.Text())},
	}), s.from, "")
}

// waited adds the spans of what a message waited for before an attempt: a delay, a retry or a sleep
// until it was due, and after that, flow control or its queue.
func (f *follower) waited(m *message, e *engine.Event, at moment) {
	due := m.since.real.Add(m.due.Sub(m.since.account))
	if m.due.IsZero() || due.Before(m.since.real) {
		due = m.since.real
	} else if due.After(at.real) {
		due = at.real
	}
	if m.due.After(m.since.account) {
		f.wait(m, e, m.why, moment{m.since.real, m.since.account}, moment{due, m.due})
	} else {
		m.due = m.since.account
	}
	if held := e.Message.Options.Flow != nil || e.Message.Options.Queue != ""; held && (at.account.After(m.due) || at.real.Sub(due) > time.Millisecond) {
		f.wait(m, e, "flow control", moment{due, m.due}, at)
	}
}

// wait adds a span of waiting.
func (f *follower) wait(m *message, e *engine.Event, why string, from, to moment) {
	started := f.start(&span{trace: m.trace, id: m.trace.Span(why, e.Message.ID, m.attempts), parent: m.parent, name: why, from: from.real, attributes: times(from, to)})
	f.end(started, to.real, "")
}

// times are the times of the account's clock as attributes.
func times(from, to moment) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("understudy.clock.from", from.account.UTC().Format(time.RFC3339Nano)), attribute.String("understudy.clock.to", to.account.UTC().Format(time.RFC3339Nano))}
}

// attempt adds the span of an attempt that has ended.
func (f *follower) attempt(account string, m *message, e *engine.Event, o *engine.Outcome, at moment) {
	from := at.real.Add(-o.Took)
	if o.Took == 0 || from.Before(m.since.real) {
		from = m.begun.real
	}
	sent := e.Message
	attributes := append(f.about(account, e), times(m.begun, at)...)
	attributes = append(attributes, attribute.String("http.request.method", sent.Method), attribute.String("url.full", mask.URL(sent.URL)))
	if u, err := url.Parse(sent.URL); err == nil && u.Host != "" {
		attributes = append(attributes, attribute.String("server.address", u.Hostname()))
		if port, err := strconv.Atoi(u.Port()); err == nil {
			attributes = append(attributes, attribute.Int("server.port", port))
		}
	}
	if m.attempts > 0 {
		attributes = append(attributes, attribute.Int("http.request.resend_count", m.attempts))
	}
	cause := ""
	if o.Status > 0 {
		attributes = append(attributes, attribute.Int("http.response.status_code", o.Status))
	}
	if !o.OK() {
		cause = o.Cause()
		kind := "no_response"
		if o.Status > 0 {
			kind = strconv.Itoa(o.Status)
		}
		attributes = append(attributes, attribute.String("error.type", kind))
		if name := e.Message.AttemptedStep(o); name != "" && !m.named && m.step != nil {
			m.opened.name = "step " + name
			m.step.SetName(m.opened.name)
		}
	}
	started := f.start(&span{trace: m.trace, id: m.trace.Span("attempt", sent.ID, m.attempts), parent: m.parent, name: sent.Method + " " + placeOf(sent.URL), kind: oteltrace.SpanKindClient, from: from, attributes: attributes})
	f.end(started, at.real, cause)
	m.begun, m.attempts = moment{}, m.attempts+1
}

// about is what a span says about its message.
func (f *follower) about(account string, e *engine.Event) []attribute.KeyValue {
	m := e.Message
	list := []attribute.KeyValue{
		attribute.String("messaging.system", "understudy"), attribute.String("messaging.message.id", m.ID), attribute.String("messaging.destination.name", cmp.Or(m.Group, m.Options.Queue, placeOf(m.URL))),
		attribute.Int("messaging.message.body.size", len(m.Body)+int(m.Dropped)), attribute.String("understudy.account", account), attribute.String("understudy.role", string(m.Role)),
	}
	operation := "deliver"
	if e.State == string(engine.Created) {
		operation = "publish"
	}
	list = append(list, attribute.String("messaging.operation.name", operation), attribute.String("messaging.operation.type", "send"))
	if m.RunID != "" {
		list = append(list, attribute.String("understudy.run.id", m.RunID))
	}
	if len(m.Options.Labels) > 0 {
		list = append(list, attribute.StringSlice("understudy.labels", m.Options.Labels))
	}
	return list
}

// ofRun adds the spans of an event of a whole run.
func (f *follower) ofRun(account string, e *engine.Event, at moment) {
	if e.Run == nil {
		return
	}
	key := account + "/" + e.Run.ID
	r := f.runs[key]
	switch engine.RunState(e.State) {
	case engine.RunStarted:
		f.begin(account, key, e, at)
	case engine.WaiterAdded, engine.Invoked:
		if r == nil || e.Waits == nil {
			return
		}
		name := "wait for event " + e.Waits.WaitEventID
		if engine.RunState(e.State) == engine.Invoked {
			name = "invoke " + e.Waits.Name
		}
		f.called(r, e.Waits.ID, "step "+e.Waits.Name)
		r.waits[e.Waits.Name] = f.start(&span{trace: r.trace, id: r.trace.Span(name, e.Run.ID, e.Waits.ID), parent: r.trace.Span("run", e.Run.ID, 0), name: name, from: at.real, attributes: times(at, at)[:1]})
	case engine.RunSuccess, engine.RunFailed, engine.RunCanceled:
		if r == nil {
			return
		}
		f.called(r, 0, "end of the run")
		for _, waiting := range r.waits {
			f.end(waiting, at.real, "")
		}
		r.span.SetAttributes(attribute.String("understudy.run.state", e.State), attribute.String("understudy.clock.to", e.Time.UTC().Format(time.RFC3339Nano)))
		cause := ""
		if engine.RunState(e.State) == engine.RunFailed {
			cause = cmp.Or(r.cause, "the run failed")
		}
		f.end(r.span, at.real, cause)
		delete(f.runs, key)
	}
}

// begin begins to follow a run.
func (f *follower) begin(account, key string, e *engine.Event, at moment) {
	if len(f.messages)+len(f.runs) >= mostOpen {
		f.skipped++
		return
	}
	c := trace.Of(account, e.Trace)
	s := &span{trace: c, id: c.Span("run", e.Run.ID, 0), parent: c.Parent, name: "run " + placeOf(e.Run.URL), from: at.real, attributes: append(times(at, at)[:1],
		attribute.String("understudy.account", account), attribute.String("understudy.run.id", e.Run.ID), attribute.String("url.full", mask.URL(e.Run.URL)))}
	if e.Invoker != nil {
		s.links = append(s.links, f.link(account, e.Invoker.ID))
	}
	if e.Predecessor != nil {
		s.links = append(s.links, f.link(account, e.Predecessor.ID))
	}
	begun := f.start(s)
	begun.SetAttributes(attribute.String("understudy.run.state", e.State))
	f.end(begun, at.real, "") // the same span is sent again when the run ends
	f.runs[key] = &run{trace: c, span: f.start(s), waits: map[string]oteltrace.Span{}}
	f.remember(key, s)
}

// arrived ends the span of a wait whose result a message carries.
func (f *follower) arrived(account string, e *engine.Event, at moment) {
	r := f.runs[account+"/"+e.Message.RunID]
	if r == nil || e.Step == nil || r.waits[e.Step.Name] == nil {
		return
	}
	waiting := r.waits[e.Step.Name]
	delete(r.waits, e.Step.Name)
	waiting.SetAttributes(attribute.String("understudy.clock.to", at.account.UTC().Format(time.RFC3339Nano)))
	f.end(waiting, at.real, "")
}

// remember keeps the first span of a message or a run for links.
func (f *follower) remember(key string, s *span) {
	if len(f.order) >= mostOpen {
		delete(f.known, f.order[0])
		f.order = f.order[1:]
	}
	f.known[key], f.order = contextOf(&s.trace, s.id), append(f.order, key)
}

// link leads to a message or a run: to its first span, or, if that is not known, to where it is
// unless its publisher had a trace.
func (f *follower) link(account, id string) oteltrace.Link {
	to, ok := f.known[account+"/"+id]
	if !ok {
		c := trace.Of(account, engine.TraceRoot{ID: id})
		to = contextOf(&c, c.Span("publish", id, 0))
	}
	return oteltrace.Link{SpanContext: to, Attributes: []attribute.KeyValue{attribute.String("understudy.source", id)}}
}

// finish forgets the messages and runs whose key has a prefix, and ends their spans that are open.
func (f *follower) finish(prefix string) {
	now, open := f.now(), []oteltrace.Span{}
	for key, m := range f.messages {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if m.step != nil {
			open = append(open, m.step)
		}
		delete(f.messages, key)
	}
	for key, r := range f.runs {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		open = append(slices.AppendSeq(open, maps.Values(r.waits)), r.span)
		delete(f.runs, key)
	}
	for _, s := range open {
		s.SetAttributes(attribute.Bool("understudy.unfinished", true))
		f.end(s, now, "")
	}
}
