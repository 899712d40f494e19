package engine

// What the loader does with each entry of a document.

// sharedOptions shares the options of what is loaded; there must be some.
func (l *loader) sharedOptions(o *Options, what, id string) *Options {
	if !l.want(o != nil, "%s %q: no options", what, id) {
		return &Options{}
	}
	return l.options.share(*o)
}

func (l *loader) message(s *savedMessage) {
	m := l.messages.next()
	*m = s.Message
	m.Options = l.sharedOptions(m.Options, "message", m.ID)
	m.weight = clampWeight(int64(len(m.Body)) + m.Options.size() + l.headers.share(&m.Header) + l.headers.share(&m.Forward))
	m.step, m.queue = l.items.at(s.itemPlace), l.slots.at(s.slotPlace)
	l.want(m.ID != "" && m.cut >= 0 && s.itemPlace >= 0 && s.slotPlace >= 0, "message %q: no id, or a negative number", m.ID)
	if !s.live {
		return
	}
	_, moves := transitions[m.State]
	l.want(moves && m.State != "" && (m.State == CancelRequested) == s.canceling, "message %q: it has not ended, with state %q", m.ID, m.State)
	l.want(l.state.messages[m.ID] == nil, "message %q: repeated", m.ID)
	l.state.messages[m.ID] = m
	l.waits(m, s.wake, wakeMessage)
	if s.canceling {
		l.canceling = append(l.canceling, m)
	}
	if s.reportsOn != "" {
		l.reports[m.ID] = s.reportsOn
	}
}

func (l *loader) queue(s *savedQueue) {
	q := l.queues.next()
	q.Queue, q.active = s.Queue, s.active
	for _, place := range s.places {
		q.waiting.push(must(l, &l.messages, place, "queue", q.Name))
	}
	if !s.gone {
		l.want(l.state.queues[q.Name] == nil, "queue %q: repeated", q.Name)
		l.state.queues[q.Name] = q
	}
}

func (l *loader) flow(s *savedFlow) {
	k := new(s.flowKey)
	for _, place := range s.places {
		k.waiting.push(must(l, &l.messages, place, "key", k.Key))
	}
	for _, t := range s.times {
		k.starts.push(t)
	}
	l.want(k.Waiting == len(s.places) && k.Period > 0, "key %q: %d waiting, %d held, period %s", k.Key, k.Waiting, len(s.places), k.Period)
	l.want(l.flows[k.Key] == nil, "key %q: repeated", k.Key)
	l.flows[k.Key] = k
	l.waits(k, s.wake, wakeFlow)
}

func (l *loader) run(s *savedRun) {
	run := l.runs.next()
	*run = s.Run
	l.headers.share(&run.Header)
	l.headers.share(&run.Forward)
	run.Options = l.sharedOptions(run.Options, "run", run.ID)
	for _, place := range s.itemPlaces {
		run.items = append(run.items, must(l, &l.items, place, "run", run.ID))
	}
	for _, place := range s.openPlaces {
		run.open = append(run.open, must(l, &l.items, place, "run", run.ID))
	}
	for _, call := range s.callPlaces {
		if run.calls == nil {
			run.calls = map[int]*item{}
		}
		run.calls[call.step] = must(l, &l.items, call.item, "run", run.ID)
	}
	for _, early := range s.early {
		if run.kept == nil {
			run.kept = map[string][][]byte{}
		}
		run.kept[early.event] = early.data
	}
	if inv := s.invocation; inv != nil {
		run.invoked = &invocation{must(l, &l.runs, inv.runPlace, "run", run.ID), must(l, &l.items, inv.itemPlace, "run", run.ID), inv.raw, inv.headers}
	}
	if s.gone {
		return
	}
	l.want(len(run.items) > 0 && run.State != "", "run %q: no first step, or no state", run.ID)
	l.want(l.state.runs[run.ID] == nil, "run %q: repeated", run.ID)
	l.state.runs[run.ID] = run
	l.known = append(l.known, run)
}

func (l *loader) waiter(s *savedWaiter) {
	w := new(s.waiter)
	w.item, w.run = must(l, &l.items, s.itemPlace, "waiter", w.id), must(l, &l.runs, s.runPlace, "waiter", w.id)
	l.waiters[w.id] = w
	l.waits(w, s.wake, wakeWaiter)
}

func (l *loader) entry(s *savedEntry) {
	e := new(s.DLQEntry)
	m := &e.Message
	m.Options = l.sharedOptions(m.Options, "DLQ entry", e.ID)
	l.headers.share(&m.Header)
	l.headers.share(&m.Forward)
	m.step, e.run = l.items.at(s.itemPlace), l.runs.at(s.runPlace)
	l.want((e.run == nil) == (e.Run == nil), "DLQ entry %q: its run is named in one place only", e.ID)
	l.want(e.Callback == nil || m.Options.FailureCallback != nil, "DLQ entry %q: a failure callback without its options", e.ID)
	l.want(e.Seq > 0 && l.dlq.get(e.ID) == nil, "DLQ entry %q: no sequence, or repeated", e.ID)
	l.dlq.add(e.ID, e)
}

func (l *loader) event(s *savedEvent) {
	e := new(s.event)
	e.msg, e.run = l.messages.at(s.messagePlace), l.runs.at(s.runPlace)
	l.want(e.msg != nil || e.run != nil, "event %d: of no message and no run", len(l.events)+1)
	if s.detail.step = l.items.at(s.itemPlace); s.detail != (detail{}) {
		e.detail = new(s.detail)
	}
	l.events = append(l.events, e)
}

func (l *loader) schedule(s *savedSchedule) {
	one := new(s.Schedule)
	var err error
	one.line, err = parseCron(one.Cron)
	l.want(err == nil, "schedule %q: %v", one.ID, err)
	one.Request.schedule = one.ID
	l.schedules[one.ID] = one
	l.waits(one, s.wake, wakeSchedule)
}

func (l *loader) mark(s *savedMark) {
	if l.dedup.first == nil {
		l.dedup.first = map[string]mark{}
	}
	l.dedup.first[s.key] = s.mark
	l.dedup.order.push(s.mark)
}
