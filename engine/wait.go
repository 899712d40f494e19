package engine

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/duration"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// DefaultWait is how long a run waits for an event that says nothing else
// (wire.md, "Waits, events and hooks").
const DefaultWait = 7 * 24 * time.Hour

// WaitRequest makes a run wait for an event.
type WaitRequest struct {
	RunID         string
	EventID       string
	URL           string
	Timeout       string // a duration of the interface; "": DefaultWait
	Header        Header // of the later call to the endpoint
	TimeoutURL    string
	TimeoutHeader Header
	TimeoutBody   []byte
	Step          []byte // as its endpoint submits it
}

// Waiter is a run that waits for an event.
type Waiter struct {
	RunRef
	EventID       string
	URL           string
	Header        Header
	Deadline      time.Time
	TimeoutURL    string
	TimeoutHeader Header
	TimeoutBody   []byte
}

type waiter struct {
	Waiter
	id    string
	timer timer
	raw   []byte
	item  *item
	run   *Run
}

// Notified is a waiter that was woken, and the message that carries it on.
type Notified struct {
	Waiter    Waiter
	MessageID string
}

// Wait registers a waiter ("WAITER_ADDED"). A notification that was kept for
// the run wakes it at once.
func (a *Account) Wait(r WaitRequest) error { return done(do(a, r)) }

func (r WaitRequest) apply(a *Account) (nothing, error) {
	run, err := a.openRun(r.RunID, time.Time{})
	if err != nil {
		return nothing{}, err
	}
	w, err := a.parseWaitStep(r)
	if err != nil {
		return nothing{}, err
	}
	a.await(run, w)
	return nothing{}, nil
}

// waitStep is a request to wait that was checked.
type waitStep struct {
	WaitRequest
	limit time.Duration
	step  Step
}

func (a *Account) parseWaitStep(r WaitRequest) (w waitStep, err error) {
	w = waitStep{WaitRequest: r, limit: DefaultWait}
	if r.Timeout != "" {
		if w.limit, err = duration.Parse(r.Timeout); err != nil {
			return w, refusal.At(fmt.Sprintf("wait for %q: timeout", r.EventID), err)
		}
	}
	if w.step, err = a.cfg.Wire.ParseStep(r.Step); err != nil {
		return w, refusal.At(fmt.Sprintf("wait for %q", r.EventID), err)
	}
	return w, nil
}

// await registers a waiter of a run that has not ended.
func (a *Account) await(run *Run, r waitStep) {
	w := &waiter{
		id:  a.ids.id("wtr_", a.now),
		raw: r.Step,
		run: run,
		Waiter: Waiter{RunRef: run.RunRef, EventID: r.EventID, URL: r.URL, Header: r.TimeoutHeader, Deadline: a.now.Add(r.limit),
			TimeoutURL: r.TimeoutURL, TimeoutHeader: r.TimeoutHeader, TimeoutBody: r.TimeoutBody},
	}
	step := r.step
	step.Type, step.CallType, step.CreatedAt = "Wait", "step", a.now
	step.WaitEventID, step.WaitFor, step.WaitDeadline = r.EventID, r.Timeout, w.Deadline
	if step.WaitFor == "" {
		step.WaitFor = "7d"
	}
	w.item = &item{callType: "step", step: step, waiter: w}
	run.open = append(run.open, w.item)
	a.waiters[w.id] = w
	a.timers.add(w.Deadline, wakeWaiter, w)
	a.append(event{state: string(WaiterAdded), run: run, detail: &detail{step: w.item}})
	if kept := run.kept[r.EventID]; len(kept) > 0 {
		run.kept[r.EventID] = kept[1:]
		a.notify(w, kept[0])
	}
}

// notify wakes a waiter with the data of an event: the step is appended and
// the endpoint called.
func (a *Account) notify(w *waiter, data []byte) Notified {
	a.touch(w.item)
	if len(data) > 0 {
		w.item.step.Out = base64.StdEncoding.EncodeToString(data)
	}
	m := a.resumeWaiter(w, false)
	return Notified{Waiter: w.Waiter, MessageID: m.ID}
}

// expire wakes a waiter whose time is over.
func (a *Account) expire(w *waiter) {
	a.resumeWaiter(w, true)
}

func (a *Account) resumeWaiter(w *waiter, timedOut bool) *Message {
	a.dropWaiter(w)
	it := w.item
	a.touch(it)
	a.touch(w.run)
	it.waiter = nil
	it.step.WaitTimedOut = &timedOut
	it.body = a.cfg.Wire.FinishStep(w.raw, &it.step)
	w.run.close(it)
	return a.carry(w.run, it, w.run.stepOptions(Options{}), w.TimeoutHeader)
}

// Notification is what came of an event.
type Notification struct {
	Woken  []Notified
	Kept   bool     // for a later wait of the run
	Waited []string // if no run was woken: the first events that runs wait for, sorted
}

// maxWaited is how many events a Notification names.
const maxWaited = 10

// Notify wakes one run, or keeps the event for its later wait. With runID "" it
// wakes every run that waits for the event, which is lost when none does.
func (a *Account) Notify(runID, eventID string, data []byte) (Notification, error) {
	return doEither(a, runID == "", notify{eventID, data}, notifyRun{runID, eventID, data})
}

type notify struct {
	Event string
	Data  []byte
}

func (c notify) apply(a *Account) (Notification, error) {
	n := Notification{Woken: []Notified{}}
	for _, w := range a.waitersOf(c.Event) {
		n.Woken = append(n.Woken, a.notify(w, c.Data))
	}
	if len(n.Woken) == 0 {
		n.Waited = a.waited()
	}
	return n, nil
}

type notifyRun struct {
	Run   string
	Event string
	Data  []byte
}

func (c notifyRun) apply(a *Account) (Notification, error) {
	n := Notification{Woken: []Notified{}}
	run := a.runs[c.Run]
	if run == nil || run.ended() {
		n.Waited = a.waited()
		return n, nil
	}
	for _, w := range a.waitersOf(c.Event) {
		if w.run == run {
			n.Woken = append(n.Woken, a.notify(w, c.Data))
			return n, nil
		}
	}
	a.touch(run)
	if run.kept == nil {
		run.kept = map[string][][]byte{}
	}
	run.kept[c.Event] = append(run.kept[c.Event], c.Data)
	n.Kept, n.Waited = true, a.waited()
	return n, nil
}

// waited are the first events that runs wait for.
func (a *Account) waited() []string {
	events := map[string]bool{}
	for _, w := range a.waiters {
		events[w.EventID] = true
	}
	list := slices.Sorted(maps.Keys(events))
	return list[:min(len(list), maxWaited)]
}

// Waiters lists the runs that wait for an event, "" for any, the longest waiting first.
func (a *Account) Waiters(eventID string) []Waiter {
	a.lock()
	defer a.unlock()
	list, of := []Waiter{}, []*waiter{}
	for _, w := range a.waiters {
		if eventID == "" || w.EventID == eventID {
			of = append(of, w)
		}
	}
	a.inOrder(of)
	for _, w := range of {
		list = append(list, w.Waiter)
	}
	return list
}

func (a *Account) waitersOf(eventID string) []*waiter {
	var list []*waiter
	for _, w := range a.waiters {
		if w.EventID == eventID {
			list = append(list, w)
		}
	}
	a.inOrder(list)
	return list
}

// inOrder sorts waiters by when they came.
func (a *Account) inOrder(list []*waiter) {
	slices.SortFunc(list, func(x, y *waiter) int { return cmp.Compare(a.timers.seq(x), a.timers.seq(y)) })
}

func (a *Account) dropWaiter(w *waiter) {
	delete(a.waiters, w.id)
	a.timers.remove(w)
}

// dropWaiters forgets the waiters of an ended run.
func (a *Account) dropWaiters(run *Run) {
	for _, w := range a.waiters {
		if w.run == run {
			a.dropWaiter(w)
		}
	}
}
