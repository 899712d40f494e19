package engine

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/duration"
	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// DefaultWait is the default of WaitRequest.Timeout (wire.md, "Waits, events and hooks").
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

// Notified is a waiter that was woken, and the message that continues its run.
type Notified struct {
	Waiter    Waiter
	MessageID string
}

// Wait registers a waiter ("WAITER_ADDED"). An event that was kept for the run
// wakes it at once.
func (a *Account) Wait(r WaitRequest) error { return do(a, r) }

// apply refuses a run that has ended with the error that clients interpret as its end.
func (r WaitRequest) apply(a *Account) error {
	run, err := a.openRun(r.RunID, time.Time{})
	if err != nil {
		return err
	}
	w, err := a.parseWaitStep(r)
	if err != nil {
		return err
	}
	if a.repeated(run, &state.StepItem{CallType: "step", Step: w.step}) == nil {
		a.await(run, w)
	}
	return nil
}

// waitStep is a request to wait that was checked.
type waitStep struct {
	WaitRequest
	limit time.Duration
	step  Step
}

// parseWaitStep must not change anything: fixtures check all waits before they add anything.
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
	w := &state.PendingWait{
		WaiterID: a.state.IDs.New("wtr_", a.state.Now),
		Raw:      r.Step,
		Run:      run,
		Waiter: Waiter{RunRef: run.RunRef, EventID: r.EventID, URL: r.URL, Header: r.TimeoutHeader, Deadline: a.state.Now.Add(r.limit),
			TimeoutURL: r.TimeoutURL, TimeoutHeader: r.TimeoutHeader, TimeoutBody: r.TimeoutBody},
	}
	step := r.step
	step.Type, step.CallType, step.CreatedAt = "Wait", "step", a.state.Now
	step.WaitEventID, step.WaitFor, step.WaitDeadline = r.EventID, r.Timeout, w.Deadline
	if step.WaitFor == "" {
		step.WaitFor = "7d"
	}
	w.Item = &state.StepItem{CallType: "step", Step: step, Waiter: w}
	a.touch(run)
	run.Open = append(run.Open, w.Item)
	a.state.Waiters[w.WaiterID] = w
	a.state.Timers.Add(w.Deadline, state.WakeWaiter, w)
	a.append(&state.LogEntry{State: string(WaiterAdded), Run: run, LogDetail: &state.LogDetail{Step: w.Item}})
	if kept := run.Early[r.EventID]; len(kept) > 0 {
		run.Early[r.EventID] = kept[1:]
		a.notify(w, kept[0])
	}
}

// notify wakes a waiter with the data of an event: the step is appended and
// the endpoint called.
func (a *Account) notify(w *state.PendingWait, data []byte) Notified {
	a.touch(w.Item)
	if len(data) > 0 {
		w.Item.Step.Out = base64.StdEncoding.EncodeToString(data)
	}
	id := a.resumeWaiter(w, false)
	return Notified{Waiter: a.showWaiter(w), MessageID: id}
}

// expire wakes a waiter whose timeout has passed.
func (a *Account) expire(w *state.PendingWait) {
	a.resumeWaiter(w, true)
}

// resumeWaiter ends a wait by its event or by its timeout. It removes the
// waiter first, so that nothing wakes it again.
func (a *Account) resumeWaiter(w *state.PendingWait, timedOut bool) (message string) {
	a.dropWaiter(w)
	a.moving.wokeRun(w.Run.ID)
	it := w.Item
	a.touch(it)
	a.touch(w.Run)
	it.Waiter = nil
	it.Step.WaitTimedOut = &timedOut
	it.Body = a.cfg.Wire.FinishStep(w.Raw, &it.Step)
	w.Run.RemoveOpen(it)
	message, _ = a.carry(w.Run, it, w.Run.StepOptions(Options{}), w.TimeoutHeader)
	return message
}

// Notification is the result of an event.
type Notification struct {
	Woken  []Notified
	Kept   bool     // the event is kept for a later wait of the run
	Waited []string // if no run was woken: the first of the events that runs wait for, sorted
}

// maxWaited is the largest number of events that a Notification names.
const maxWaited = 10

// Notify wakes one run, or keeps the event for a later wait of that run. With runID "" it wakes
// every run that waits for the event; if none does, the event has no effect.
func (a *Account) Notify(runID, eventID string, data []byte) (Notification, error) {
	if runID == "" {
		return runCommand(a, notify{eventID, data})
	}
	return runCommand(a, notifyRun{runID, eventID, data})
}

type notify struct {
	Event string
	Data  []byte
}

// apply wakes the runs in the order in which they began to wait.
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

// apply keeps the event for a run that does not wait for it yet: the
// notification may arrive before the endpoint has registered its wait.
func (c notifyRun) apply(a *Account) (Notification, error) {
	n := Notification{Woken: []Notified{}}
	run := a.state.Runs[c.Run]
	if run == nil || run.Ended() {
		n.Waited = a.waited()
		return n, nil
	}
	for _, w := range a.waitersOf(c.Event) {
		if w.Run == run {
			n.Woken = append(n.Woken, a.notify(w, c.Data))
			return n, nil
		}
	}
	a.touch(run)
	if run.Early == nil {
		run.Early = map[string][][]byte{}
	}
	run.Early[c.Event] = append(run.Early[c.Event], c.Data)
	n.Kept, n.Waited = true, a.waited()
	return n, nil
}

// waited are the first events, sorted, that runs wait for.
func (a *Account) waited() []string {
	events := map[string]bool{}
	for _, w := range a.state.Waiters {
		events[w.EventID] = true
	}
	list := slices.Sorted(maps.Keys(events))
	return list[:min(len(list), maxWaited)]
}

// Waiters lists the runs that wait for an event, "" for any, the longest waiting first.
func (a *Account) Waiters(eventID string) []Waiter {
	a.lock()
	defer a.unlock()
	list, of := []Waiter{}, []*state.PendingWait{}
	for _, w := range a.state.Waiters {
		if eventID == "" || w.EventID == eventID {
			of = append(of, w)
		}
	}
	a.inOrder(of)
	for _, w := range of {
		list = append(list, a.showWaiter(w))
	}
	return list
}

// waitersOf sorts the waiters, because the ids of their messages are drawn in
// this order and must be the same in replay.
func (a *Account) waitersOf(eventID string) []*state.PendingWait {
	var list []*state.PendingWait
	for _, w := range a.state.Waiters {
		if w.EventID == eventID {
			list = append(list, w)
		}
	}
	a.inOrder(list)
	return list
}

// inOrder sorts waiters by the time of their registration.
func (a *Account) inOrder(list []*state.PendingWait) {
	slices.SortFunc(list, func(x, y *state.PendingWait) int { return cmp.Compare(a.state.Timers.Seq(x), a.state.Timers.Seq(y)) })
}

// dropWaiter removes a waiter and its timer: a timer that fires later would
// resume the run twice.
func (a *Account) dropWaiter(w *state.PendingWait) {
	delete(a.state.Waiters, w.WaiterID)
	a.state.Timers.Remove(w)
}

// dropWaiters removes the waiters of an ended run.
func (a *Account) dropWaiters(run *Run) {
	for _, w := range a.state.Waiters {
		if w.Run == run {
			a.dropWaiter(w)
		}
	}
}
