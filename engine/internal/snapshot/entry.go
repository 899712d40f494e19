package snapshot

import (
	"github.com/understudy-mock/understudy/engine/internal/state"
)

// The methods of the loader for each entry of a document.

// sharedOptions shares equal options among the loaded objects. Missing options are an error.
func (l *loader) sharedOptions(o *state.Options, what, id string) *state.Options {
	if !l.want(o != nil, "%s %q: no options", what, id) {
		return &state.Options{}
	}
	return l.state.Options.Share(o)
}

// message loads a message. What it refers to may come later in the document, so the loader checks
// for missing places at the end. A message that has ended is reachable from the log only.
func (l *loader) message(s *savedMessage) {
	m := l.messages.next()
	*m = s.Message
	m.Origin = l.state.Origins.Share(*m.Origin)
	m.Options = l.sharedOptions(m.Options, "message", m.ID)
	m.Weight = state.ClampWeight(int64(len(m.Body)) + m.Options.Size() + state.ShareText(&l.state.Headers, &m.Headers))
	m.Step, m.Slot = l.items.at(s.itemPlace), l.slots.at(s.slotPlace)
	l.want(m.ID != "" && m.Cut >= 0 && s.itemPlace >= 0 && s.slotPlace >= 0, "message %q: no id, or a negative number", m.ID)
	if !s.live {
		return
	}
	_, moves := state.Transitions[m.State]
	l.want(moves && m.State != "" && (m.State == state.CancelRequested) == s.canceling, "message %q: it has not ended, with state %q", m.ID, m.State)
	l.want(l.state.Messages[m.ID] == nil, "message %q: repeated", m.ID)
	l.state.Messages[m.ID] = m
	l.waits(m, s.wake, state.WakeMessage)
	if s.canceling {
		l.canceling = append(l.canceling, m)
	}
	if s.reportsOn != "" {
		l.state.Reports[m.ID] = s.reportsOn
	}
}

// queue loads a queue. A deleted queue stays out of the account, but messages may still
// have a turn in it.
func (l *loader) queue(s *savedQueue) {
	q := l.queues.next()
	q.Queue, q.Active = s.Queue, s.Active
	for _, place := range s.places {
		q.Waiting.Push(objectAt(l, &l.messages, place, "queue", q.Name))
	}
	if !s.gone {
		l.want(l.state.Queues[q.Name] == nil, "queue %q: repeated", q.Name)
		l.state.Queues[q.Name] = q
	}
}

// flow loads a flow-control key. The count of waiting messages must match the list: a key
// with a higher count would wait forever.
func (l *loader) flow(s *savedFlow) {
	k := new(s.FlowGate)
	for _, place := range s.places {
		k.Held.Push(objectAt(l, &l.messages, place, "key", k.Key))
	}
	for _, t := range s.times {
		k.Starts.Push(t)
	}
	l.want(k.Waiting == len(s.places) && k.Period > 0, "key %q: %d waiting, %d held, period %s", k.Key, k.Waiting, len(s.places), k.Period)
	l.want(l.state.Flows[k.Key] == nil, "key %q: repeated", k.Key)
	l.state.Flows[k.Key] = k
	l.waits(k, s.wake, state.WakeFlow)
}

// run loads a run. A forgotten run stays out of the account, but events still refer to it.
func (l *loader) run(s *savedRun) {
	run := l.runs.next()
	*run = s.Run
	state.ShareText(&l.state.Headers, &run.Header)
	l.state.Headers.Share(&run.Forward)
	run.Options = l.sharedOptions(run.Options, "run", run.ID)
	for _, place := range s.itemPlaces {
		run.Items = append(run.Items, objectAt(l, &l.items, place, "run", run.ID))
	}
	for _, place := range s.openPlaces {
		run.Open = append(run.Open, objectAt(l, &l.items, place, "run", run.ID))
	}
	for _, call := range s.callPlaces {
		if run.Calls == nil {
			run.Calls = map[int]*state.StepItem{}
		}
		run.Calls[call.step] = objectAt(l, &l.items, call.item, "run", run.ID)
	}
	for _, early := range s.early {
		if run.Early == nil {
			run.Early = map[string][][]byte{}
		}
		run.Early[early.event] = early.data
	}
	if inv := s.invocation; inv != nil {
		run.Invoked = &state.InvokerCall{Run: objectAt(l, &l.runs, inv.runPlace, "run", run.ID), Item: objectAt(l, &l.items, inv.itemPlace, "run", run.ID), Raw: inv.Raw, Headers: inv.Headers}
	}
	if s.gone {
		return
	}
	l.want(len(run.Items) > 0 && run.State != "", "run %q: no first step, or no state", run.ID)
	l.want(l.state.Runs[run.ID] == nil, "run %q: repeated", run.ID)
	l.state.Runs[run.ID] = run
	l.known = append(l.known, run)
}

// waiter loads a waiter. It gets the identity of its run in finish, when the run has been read.
func (l *loader) waiter(s *savedWaiter) {
	w := new(s.PendingWait)
	w.Item, w.Run = objectAt(l, &l.items, s.itemPlace, "waiter", w.WaiterID), objectAt(l, &l.runs, s.runPlace, "waiter", w.WaiterID)
	l.state.Waiters[w.WaiterID] = w
	l.waits(w, s.wake, state.WakeWaiter)
}

// entry loads a DLQ entry. It requires both references to a run or neither, and options for
// a failure callback, because later code relies on them without checking.
func (l *loader) entry(s *savedEntry) {
	e := new(s.DLQEntry)
	m := &e.Message
	if l.want(m.Origin != nil, "DLQ entry %q: no message", e.ID) {
		m.Origin = l.state.Origins.Share(*m.Origin)
	}
	m.Options = l.sharedOptions(m.Options, "DLQ entry", e.ID)
	state.ShareText(&l.state.Headers, &m.Headers)
	m.Step, e.FailedRun = l.items.at(s.itemPlace), l.runs.at(s.runPlace)
	l.want((e.FailedRun == nil) == (e.Run == nil), "DLQ entry %q: its run is named in one place only", e.ID)
	l.want(e.Callback == nil || m.Options.FailureCallback != nil, "DLQ entry %q: a failure callback without its options", e.ID)
	l.want(e.Seq > 0 && l.state.DLQ.Get(e.ID) == nil, "DLQ entry %q: no sequence, or repeated", e.ID)
	l.state.DLQ.Add(e.ID, e)
}

// event loads a log entry. Empty details are left out, as in the state: most events have none.
func (l *loader) event(s *savedEvent) {
	e := new(s.LogEntry)
	e.Message, e.Run = l.messages.at(s.messagePlace), l.runs.at(s.runPlace)
	l.want(e.Message != nil || e.Run != nil, "event %d: of no message and no run", len(l.events)+1)
	if s.detail.Step = l.items.at(s.itemPlace); s.detail != (state.LogDetail{}) {
		e.LogDetail = new(s.detail)
	}
	l.events = append(l.events, e)
}

// schedule loads a schedule. The file has only the text of the cron line, which is parsed again.
func (l *loader) schedule(s *savedSchedule) {
	one := new(s.Schedule)
	var err error
	one.Line, err = state.ParseCron(one.Cron)
	l.want(err == nil, "schedule %q: %v", one.ID, err)
	one.Request.ScheduleID = one.ID
	l.state.Schedules[one.ID] = one
	l.waits(one, s.wake, state.WakeSchedule)
}

// mark loads a deduplication key into the list and the map; the file has the list only.
func (l *loader) mark(s *savedMark) {
	if l.state.Dedup.First == nil {
		l.state.Dedup.First = map[string]state.DedupMark{}
	}
	l.state.Dedup.First[s.Key] = s.DedupMark
	l.state.Dedup.Order.Push(s.DedupMark)
}
