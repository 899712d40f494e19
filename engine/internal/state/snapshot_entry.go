package state

// The methods of the reader for each entry of a document.

// sharedOptions shares equal options among the loaded objects. Missing options are an error.
func (l *SnapshotReader) sharedOptions(o *Options, what, id string) *Options {
	if !l.want(o != nil, "%s %q: no options", what, id) {
		return &Options{}
	}
	return l.state.Options.Intern(o)
}

// message loads a message. What it refers to may come later in the document, so the reader checks
// for missing places at the end. A message that has ended is reachable from the log only.
func (l *SnapshotReader) message(s *savedMessage) {
	m := l.messages.next()
	*m = s.Message
	m.Cut, m.Canceled, m.Last = s.Cut, s.Canceled, s.Last
	m.Origin = l.state.Origins.Intern(*m.Origin)
	m.Options = l.sharedOptions(m.Options, "message", m.ID)
	m.Weight = ClampWeight(int64(len(m.Body)) + m.Options.Size() + ShareText(&l.state.Headers, &m.Headers))
	m.Step, m.Slot = l.items.at(s.Item), l.slots.at(s.Slot)
	l.want(m.ID != "" && m.Cut >= 0 && s.Item >= 0 && s.Slot >= 0, "message %q: no id, or a negative number", m.ID)
	if !s.Live {
		return
	}
	_, moves := Transitions[m.State]
	l.want(moves && m.State != "" && (m.State == CancelRequested) == s.Canceling, "message %q: it has not ended, with state %q", m.ID, m.State)
	l.want(l.state.Messages[m.ID] == nil, "message %q: repeated", m.ID)
	l.state.Messages[m.ID] = m
	l.waits(m, s.savedTimer, WakeMessage)
	if s.Canceling {
		l.canceling = append(l.canceling, m)
	}
	if s.ReportsOn != "" {
		l.state.Reports[m.ID] = s.ReportsOn
	}
}

// queue loads a queue. A deleted queue stays out of the account, but messages may still
// have a turn in it.
func (l *SnapshotReader) queue(s *savedQueue) {
	q := l.queues.next()
	q.Queue, q.Active = s.Queue, s.Active
	for _, place := range s.Waiting {
		q.Waiting.Push(objectAt(l, &l.messages, place, "queue", q.Name))
	}
	if !s.Gone {
		l.want(l.state.Queues[q.Name] == nil, "queue %q: repeated", q.Name)
		l.state.Queues[q.Name] = q
	}
}

// flow loads a flow-control key. The count of waiting messages must match the list: a key
// with a higher count would wait forever.
func (l *SnapshotReader) flow(s *savedFlow) {
	k := &FlowGate{FlowKey: s.FlowKey, Offered: s.Offered, PausedAt: s.PausedAt}
	for _, place := range s.Held {
		k.Held.Push(objectAt(l, &l.messages, place, "key", k.Key))
	}
	for _, t := range s.Starts {
		k.Starts.Push(t)
	}
	l.want(k.Waiting == len(s.Held) && k.Period > 0, "key %q: %d waiting, %d held, period %s", k.Key, k.Waiting, len(s.Held), k.Period)
	l.want(l.state.Flows[k.Key] == nil, "key %q: repeated", k.Key)
	l.state.Flows[k.Key] = k
	l.waits(k, s.savedTimer, WakeFlow)
}

// run loads a run. A forgotten run stays out of the account, but events still refer to it.
func (l *SnapshotReader) run(s *savedRun) {
	run := l.runs.next()
	*run = s.Run
	run.Bare, run.Proven = s.Bare, s.Proven
	ShareText(&l.state.Headers, &run.Header)
	l.state.Headers.Intern(&run.Forward)
	run.Options = l.sharedOptions(run.Options, "run", run.ID)
	for _, place := range s.Items {
		run.Items = append(run.Items, objectAt(l, &l.items, place, "run", run.ID))
	}
	for _, place := range s.Open {
		run.Open = append(run.Open, objectAt(l, &l.items, place, "run", run.ID))
	}
	for _, call := range s.Calls {
		if run.Calls == nil {
			run.Calls = map[int]*StepItem{}
		}
		run.Calls[call.Step] = objectAt(l, &l.items, call.Item, "run", run.ID)
	}
	for _, early := range s.Early {
		if run.Early == nil {
			run.Early = map[string][][]byte{}
		}
		run.Early[early.Event] = early.Data
	}
	if inv := s.Invoked; inv != nil {
		run.Invoked = &InvokerCall{Run: objectAt(l, &l.runs, inv.Run, "run", run.ID), Item: objectAt(l, &l.items, inv.Item, "run", run.ID), Raw: inv.Raw, Headers: inv.Header}
	}
	if s.Gone {
		return
	}
	l.want(len(run.Items) > 0 && run.State != "", "run %q: no first step, or no state", run.ID)
	l.want(l.state.Runs[run.ID] == nil, "run %q: repeated", run.ID)
	l.state.Runs[run.ID] = run
	l.known = append(l.known, run)
}

// waiter loads a waiter. It gets the identity of its run in finish, when the run has been read.
func (l *SnapshotReader) waiter(s *savedWaiter) {
	w := &PendingWait{Waiter: s.Waiter, WaiterID: s.WaiterID, Raw: s.Raw}
	w.Item, w.Run = objectAt(l, &l.items, s.Item, "waiter", w.WaiterID), objectAt(l, &l.runs, s.OfRun, "waiter", w.WaiterID)
	l.state.Waiters[w.WaiterID] = w
	l.waits(w, s.savedTimer, WakeWaiter)
}

// entry loads a DLQ entry. It requires both references to a run or neither, and options for
// a failure callback, because later code relies on them without checking.
func (l *SnapshotReader) entry(s *savedEntry) {
	e := new(s.DLQEntry)
	m := &e.Message
	if l.want(m.Origin != nil, "DLQ entry %q: no message", e.ID) {
		m.Origin = l.state.Origins.Intern(*m.Origin)
	}
	m.Options = l.sharedOptions(m.Options, "DLQ entry", e.ID)
	ShareText(&l.state.Headers, &m.Headers)
	m.Step, e.FailedRun = l.items.at(s.Item), l.runs.at(s.OfRun)
	l.want((e.FailedRun == nil) == (e.Run == nil), "DLQ entry %q: its run is named in one place only", e.ID)
	l.want(e.Callback == nil || m.Options.FailureCallback != nil, "DLQ entry %q: a failure callback without its options", e.ID)
	l.want(e.Seq > 0 && l.state.DLQ.Get(e.ID) == nil, "DLQ entry %q: no sequence, or repeated", e.ID)
	l.state.DLQ.Add(e.ID, e)
}

// event loads a log entry. Empty details are left out, as in the state: most events have none.
func (l *SnapshotReader) event(s *savedEvent) {
	e := &LogEntry{At: s.At, Next: s.Next, State: s.State}
	e.Message, e.Run = l.messages.at(s.Message), l.runs.at(s.Run)
	l.want(e.Message != nil || e.Run != nil, "event %d: of no message and no run", len(l.events)+1)
	if s.Step = l.items.at(s.Item); s.LogDetail != (LogDetail{}) {
		e.LogDetail = new(s.LogDetail)
	}
	l.events = append(l.events, e)
}

// schedule loads a schedule. The file has only the text of the cron line, which is parsed again.
func (l *SnapshotReader) schedule(s *savedSchedule) {
	one := new(s.Schedule)
	var err error
	one.Line, err = ParseCron(one.Cron)
	l.want(err == nil, "schedule %q: %v", one.ID, err)
	one.Request.ScheduleID = one.ID
	l.state.Schedules[one.ID] = one
	l.waits(one, s.savedTimer, WakeSchedule)
}

// mark loads a deduplication key into the list and the map; the file has the list only.
func (l *SnapshotReader) mark(m *DedupMark) {
	if l.state.Dedup.First == nil {
		l.state.Dedup.First = map[string]DedupMark{}
	}
	l.state.Dedup.First[m.Key] = *m
	l.state.Dedup.Order.Push(*m)
}
