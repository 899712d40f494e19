package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// What the parts of the state take beside bodies and headers, in bytes. The test
// TestMemoryStaysBelowItsBound of the command fails where they are too small.
const (
	messageCost = 700
	eventCost   = 220
	outcomeCost = 160
	itemCost    = 600
	runCost     = 1200
	entryCost   = 900
	groupCost   = 600
	queueCost   = 600
	flowCost    = 900
	markCost    = 400
)

// ledger is an account's share of the memory.Ledger of its process.
type ledger struct{ work, messages, observed int64 }

func (a *Account) addWork(bytes int64) {
	a.ledger.work += bytes
	a.cfg.Memory.AddWork(bytes)
}

func (a *Account) addObserved(bytes int64) {
	a.ledger.observed += bytes
	a.observed.Store(a.ledger.observed)
	a.cfg.Memory.AddObserved(bytes)
}

func (a *Account) addMessage(n int64) {
	a.ledger.messages += n
	a.cfg.Memory.AddMessages(n)
}

// weigh counts a state that has just been put in place of another one.
func (a *Account) weigh() {
	for _, m := range a.messages {
		a.addMessage(1)
		a.addWork(messageCost + int64(m.weight))
	}
	for _, s := range a.schedules {
		a.addWork(int64(s.weight()))
	}
	for _, g := range a.groups {
		a.addWork(g.weight())
	}
	for name := range a.queues {
		a.addWork(queueCost + int64(len(name)))
	}
	for name := range a.flows {
		a.addWork(flowCost + int64(len(name)))
	}
	a.dedup.order.all(func(m mark) { a.addWork(m.weight()) })
	for _, x := range a.vectors {
		a.addWork(x.Bytes())
	}
	for _, e := range a.dlq.items {
		if e != nil {
			e.counted = 0
			a.reweighEntry(e)
		}
	}
	for _, run := range a.runList.items {
		if run != nil {
			run.weight = run.size()
			a.addWork(run.weight)
			if !a.needed(run) {
				a.release(run)
			}
		}
	}
	for _, e := range a.log.events {
		a.addObserved(e.size())
		if e.ends() {
			a.addObserved(messageCost + int64(e.msg.weight))
		}
		if e.endsRun() {
			e.run.endSeq = e.seq
		}
	}
}

// unweigh takes back what the account has counted.
func (a *Account) unweigh() {
	was := a.ledger
	a.addWork(-was.work)
	a.addMessage(-was.messages)
	a.addObserved(-was.observed)
}

// Observed is the bytes of this account's observations. It takes no lock.
func (a *Account) Observed() int64 { return a.observed.Load() }

// roomFor says why requests cannot be accepted now: the bounds of the ledger.
func (a *Account) roomFor(rs ...PublishRequest) error {
	ledger := a.cfg.Memory
	if a.replaying || ledger.MaxWork == 0 && ledger.MaxMessages == 0 {
		return nil
	}
	bytes, messages := int64(0), int64(0)
	for i := range rs {
		n := int64(1)
		if g := a.groups[rs[i].Group]; g != nil {
			n = int64(len(g.Endpoints))
		}
		messages += n
		bytes += n*messageCost + int64(len(rs[i].Body)) + headerBytes(rs[i].Header) + headerBytes(rs[i].Forward)
	}
	held, waiting := ledger.Work()
	if ledger.MaxWork > 0 && held+bytes > ledger.MaxWork {
		held -= a.expiredMarks()
	}
	switch {
	case ledger.MaxMessages > 0 && waiting+messages > ledger.MaxMessages:
		return refusal.Of(ErrFull, "backlog", "", fmt.Sprintf("%d messages are not delivered yet, the limit is %d (--max-backlog): wait for deliveries, or cancel some", waiting, ledger.MaxMessages))
	case ledger.MaxWork > 0 && held+bytes > ledger.MaxWork:
		return refusal.Of(ErrFull, "backlog", "", fmt.Sprintf("messages not delivered yet, the DLQ and open workflow runs hold %d bytes, the limit is %d (--max-backlog): wait for deliveries, cancel messages or delete DLQ entries", held, ledger.MaxWork))
	}
	return nil
}

// roomForBytes says why what clients keep here, such as vectors and URL groups,
// cannot grow now.
func (a *Account) roomForBytes(bytes int64) error {
	if held, _ := a.cfg.Memory.Work(); bytes > 0 && !a.replaying && a.cfg.Memory.MaxWork > 0 && held+bytes > a.cfg.Memory.MaxWork {
		return refusal.Of(ErrFull, "backlog", "", fmt.Sprintf("vectors, URL groups, messages, the DLQ and open workflow runs hold %d bytes, the limit is %d (--max-backlog): delete some", held, a.cfg.Memory.MaxWork))
	}
	return nil
}

// headerBytes is about what a header takes.
func headerBytes(h Header) int64 {
	n := 0
	for name, values := range h {
		n += 64 + len(name)
		for _, v := range values {
			n += 16 + len(v)
		}
	}
	return int64(n)
}

// size is about what options take beside their fields; those without headers,
// which most messages share, take nothing.
func (o *Options) size() int64 {
	n := headerBytes(o.Forward)
	for _, label := range o.Labels {
		n += int64(len(label))
	}
	if o.Workflow != nil {
		n += headerBytes(o.Workflow.Header)
	}
	for _, cb := range []*Callback{o.Callback, o.FailureCallback} {
		if cb != nil {
			n += int64(len(cb.URL)) + cb.Options.size()
		}
	}
	return n
}

// bare is options without what may be large.
func (o *Options) bare() *Options {
	out := *o
	out.Forward, out.Workflow = nil, nil
	for _, cb := range []**Callback{&out.Callback, &out.FailureCallback} {
		if *cb != nil {
			*cb = &Callback{URL: (*cb).URL}
		}
	}
	return &out
}

// size is the bytes of an event without its message and run.
func (e *event) size() int64 {
	if e.detail == nil {
		return eventCost
	}
	return eventCost + outcomeCost + e.out.size()
}

func (o *Outcome) size() int64 {
	if o == nil {
		return 0
	}
	return int64(len(o.Body)) + headerBytes(o.Header)
}

// size is the bytes of a message, whether it shares them or not.
func (m *Message) size() int {
	return len(m.Body) + int(headerBytes(m.Header)+headerBytes(m.Forward)+m.Options.size())
}

// ends reports whether a message has reached its last state with this event.
func (e *event) ends() bool {
	return e.msg != nil && (e.state == string(Delivered) || e.state == string(Failed) || e.state == string(Canceled))
}

// endsRun reports the same of a run.
func (e *event) endsRun() bool {
	return e.msg == nil && e.run != nil && (e.state == string(RunSuccess) || e.state == string(RunFailed) || e.state == string(RunCanceled))
}

// clampWeight fits the bytes of a message into its field.
func clampWeight(bytes int64) uint32 { return uint32(min(bytes, math.MaxUint32)) }

// waitingAnswer is how much of its latest answer a message keeps while it waits
// for the next attempt, in bytes; the log has the whole.
const waitingAnswer = 4096

// brief is an outcome that takes little.
func (o *Outcome) brief() *Outcome {
	if o.size() <= waitingAnswer {
		return o
	}
	out := *o
	out.Body, out.Header, out.answer = slices.Clone(o.Body[:min(len(o.Body), waitingAnswer)]), nil, Answer{}
	return &out
}

// bare is an outcome without its body and headers.
func (o *Outcome) bare() *Outcome {
	out := *o
	out.Body, out.Header, out.Dropped, out.answer = nil, nil, int(o.size()), Answer{}
	return &out
}

func (s *Schedule) weight() int {
	r := &s.Request
	return messageCost + len(r.Body) + int(headerBytes(r.Header)+headerBytes(r.Forward)+headerBytes(r.All)+r.Options.size())
}

// weight is 0 of a group that does not exist.
func (g *Group) weight() int64 {
	if g == nil {
		return 0
	}
	n := groupCost + int64(len(g.Name)) + headerBytes(g.Headers) + headerBytes(g.Forward) + g.Options.size()
	for _, e := range g.Endpoints {
		n += int64(64 + len(e.Name) + len(e.URL))
	}
	return n
}

func (m *mark) weight() int64 { return markCost + int64(len(m.key)) }

// weight leaves the run out, which counts for itself.
func (e *DLQEntry) weight() int64 {
	m := &e.Message
	return entryCost + int64(len(m.Body)) + headerBytes(m.Header) + headerBytes(m.Forward) + m.Options.size() + e.Last.size()
}

func (r *Run) size() int64 {
	n := int64(runCost+len(r.Payload)+len(r.Result)) + headerBytes(r.Header) + headerBytes(r.Forward) + r.Options.size()
	for _, it := range r.items {
		n += it.size()
	}
	for _, it := range r.calls {
		n += it.size()
	}
	return n
}

func (it *item) size() int64 {
	s := &it.step
	n := int64(itemCost + len(it.body) + len(s.Out) + len(s.CallBody) + len(s.CallResponseBody) + len(s.InvokedBody))
	n += headerBytes(s.CallHeader) + headerBytes(s.CallResponseHeader) + headerBytes(s.InvokedHeader)
	for i := range it.errors {
		n += int64(len(it.errors[i].Body)) + headerBytes(it.errors[i].Header)
	}
	return n
}

// needed reports whether a run may still go on, by itself or from the DLQ.
func (a *Account) needed(run *Run) bool {
	return !run.ended() || a.dlq.get(run.DLQID) != nil
}

// reweigh counts what a run that is still needed has gained.
func (a *Account) reweigh(run *Run) {
	if run == nil || !a.needed(run) {
		return
	}
	was := run.weight
	run.weight = run.size()
	a.addWork(run.weight - was)
}

// release makes an observation of a run that nothing needs any more.
func (a *Account) release(run *Run) {
	a.addWork(-run.weight)
	a.addObserved(run.weight)
}

// reweighEntry counts a DLQ entry as it is now.
func (a *Account) reweighEntry(e *DLQEntry) {
	was := e.counted
	e.counted = e.weight()
	a.addWork(e.counted - was)
}

// dropDLQ takes an entry out of the DLQ, and lets go of its run.
func (a *Account) dropDLQ(e *DLQEntry) {
	a.addWork(-e.counted)
	a.dlq.remove(e.ID)
	if e.run != nil && e.run.DLQID == e.ID {
		a.release(e.run)
		if e.run.endSeq < a.log.bare {
			a.strip(e.run)
		}
	}
}

// Forget drops observations of at least the given size, the oldest first: first
// the bodies and headers of messages, answers and runs that have ended, then,
// once there are none left, whole events. It returns the bytes that it dropped.
func (a *Account) Forget(bytes int64) int64 { return given(do(a, forget{&forgotten{bytes: bytes}})) }

// forget drops observations. How many depends on what the process counts, so the
// record says how far it went.
type forget struct{ Gone *forgotten }

type forgotten struct {
	bytes int64  // to drop; 0 in replay, which drops what follows
	Bare  uint64 // events below this sequence are without bodies
	First uint64 // of the events that are left
	Runs  bool   // the runs that ended before these are gone as well
}

func (c forget) apply(a *Account) (int64, error) {
	before, l, to := a.ledger.observed, &a.log, c.Gone
	gone := func() int64 { return before - a.ledger.observed }
	if to.bytes <= 0 {
		a.forgetTo(to)
		return gone(), nil
	}
	for i := l.start(l.bare); i < len(l.events) && gone() < to.bytes; i++ {
		a.stripEvent(l.events[i])
	}
	for left := true; left && gone() < to.bytes; {
		if left = len(l.events) > 0; left {
			a.forget(min(len(l.events), max(1024, len(l.events)/4)))
		}
		a.forgetRuns()
		to.Runs = true
	}
	to.Bare, to.First = l.bare, l.issued-uint64(len(l.events))+1
	return gone(), nil
}

// forgetTo drops what was dropped before.
func (a *Account) forgetTo(to *forgotten) {
	l := &a.log
	for i := l.start(l.bare); i < len(l.events) && l.events[i].seq < to.Bare; i++ {
		a.stripEvent(l.events[i])
	}
	if n := l.start(to.First); n > 0 {
		a.forget(n)
	}
	if to.Runs {
		a.forgetRuns()
	}
}

// stripEvent drops the bodies and headers that an event holds; what can still be
// delivered keeps them.
func (a *Account) stripEvent(e *event) {
	a.touch(e)
	if e.msg != nil {
		a.touch(e.msg)
	}
	a.log.bare = max(a.log.bare, e.seq+1)
	if e.detail != nil && e.out.size() > 0 {
		a.addObserved(-e.out.size())
		d := *e.detail // readers may hold the old one
		d.out, e.detail = e.out.bare(), &d
	}
	if m := e.msg; e.ends() && m.last != nil {
		m.last = m.last.bare()
	}
	if m := e.msg; e.ends() {
		a.addObserved(-int64(m.weight))
		m.weight = 0
	}
	if m := e.msg; e.ends() && m.size() > 0 {
		m.Dropped = m.size()
		m.Body, m.Header, m.Forward, m.Options = nil, nil, nil, m.Options.bare()
	}
	if e.endsRun() && !a.needed(e.run) {
		a.strip(e.run)
	}
}

// strip drops what an ended run carried from step to step. Entries of the list
// are the run's own; third-party calls may be shared with a run that resumed it.
func (a *Account) strip(run *Run) {
	if run.Dropped > 0 {
		return
	}
	a.touch(run)
	carried := run.size() // not its weight, which may lag behind: what is shown follows from the state alone
	run.Payload, run.Result, run.calls, run.kept = nil, nil, nil, nil
	run.Header, run.Forward, run.Options = nil, nil, run.Options.bare()
	for _, it := range run.items {
		a.touch(it)
		it.body = nil
		it.step.Out, it.step.CallBody, it.step.CallResponseBody, it.step.InvokedBody = "", "", "", ""
		it.step.CallHeader, it.step.CallResponseHeader, it.step.InvokedHeader = nil, nil, nil
		it.errors = slices.Clone(it.errors) // a run that resumed this one shares them
		for i := range it.errors {
			it.errors[i].Body, it.errors[i].Header = "", nil
		}
	}
	left := run.size()
	run.Dropped = int(carried - left)
	a.addObserved(left - run.weight)
	run.weight = left
}

// forget lets go of the oldest n events.
func (a *Account) forget(n int) {
	for _, e := range a.log.events[:n] {
		a.stripEvent(e)
		a.addObserved(-e.size())
		if e.ends() {
			a.addObserved(-messageCost)
		}
	}
	a.log.forget(n)
}

// forgetRuns lets go of the runs that ended before the log begins.
func (a *Account) forgetRuns() {
	begins := a.log.issued - uint64(len(a.log.events)) + 1
	for _, run := range slices.Clone(a.runList.items) {
		if run != nil && run.endSeq < begins && !a.needed(run) {
			a.forgetRun(run)
		}
	}
}

// forgetRun lets go of an ended run, and of the knowledge of its id.
func (a *Account) forgetRun(run *Run) {
	a.addObserved(-run.weight)
	a.runList.remove(run.ID)
	a.touch(run)
	delete(a.runs, run.ID)
}
