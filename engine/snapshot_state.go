package engine

import (
	"encoding/base64"
	"slices"

	"github.com/understudy-mock/understudy/engine/vector"
)

// loader makes a state of a snapshot. The first contradiction that it finds is
// its error; from then on it only has to stay on its feet.
type loader struct {
	state
	from     *Snapshot
	messages []*Message
	items    []*item
	runs     []*Run
	slots    []*slot
	queues   []*queue
	sleepers map[uint64]sleeper // by the sequence of their timer
	err      error
}

// state checks a snapshot and makes the state that it describes.
func (s *Snapshot) state(cfg Config) (state, error) {
	if s.Version != SnapshotVersion {
		return state{}, damaged("version %d; accepted is %d", s.Version, SnapshotVersion)
	}
	l := &loader{state: newState(cfg), from: s}
	l.now, l.seq, l.current, l.next = s.Now, s.Sequence, s.CurrentKey, s.NextKey
	l.want(ValidTime(s.Now), "its clock stands at %s, out of the years 1970 to 9999", s.Now.UTC())
	l.bare()
	l.fillItems()
	l.fillQueues()
	l.fillMessages()
	l.fillFlows()
	l.fillRuns()
	l.fillLog()
	l.fillSchedules()
	l.fillTimers()
	l.fillStores()
	l.tallied()
	return l.state, l.err
}

func (l *loader) failf(format string, args ...any) {
	if l.err == nil {
		l.err = damaged(format, args...)
	}
}

// want fails unless ok holds.
func (l *loader) want(ok bool, format string, args ...any) bool {
	if !ok {
		l.failf(format, args...)
	}
	return ok
}

// at is what stands at a place of a list, nil for place 0. what says who asks.
func at[T any](l *loader, list []*T, place int, what string) *T {
	if place == 0 {
		return nil
	}
	if !l.want(place > 0 && place <= len(list), "%s %d: there are %d", what, place, len(list)) {
		return nil
	}
	return list[place-1]
}

// must is the same for what may not be missing; it gives something in any case.
func must[T any](l *loader, list []*T, place int, what string) *T {
	v := at(l, list, place, what)
	if v == nil {
		l.failf("%s: missing", what)
		v = new(T)
	}
	return v
}

// blank makes n values to be filled and pointed at.
func blank[T any](n int) []*T {
	list := make([]*T, n)
	for i := range list {
		list[i] = new(T)
	}
	return list
}

// bare makes everything that others point at.
func (l *loader) bare() {
	s := l.from
	l.messages, l.items, l.runs = blank[Message](len(s.Messages)), blank[item](len(s.Items)), blank[Run](len(s.Runs))
	l.slots, l.queues = blank[slot](len(s.Slots)), blank[queue](len(s.Queues))
	source, err := base64.StdEncoding.DecodeString(s.Generator.Source)
	if err == nil {
		err = l.ids.source.UnmarshalBinary(source)
	}
	l.want(err == nil, "the source of ids: %v", err)
	l.want(s.CurrentKey != "" && s.NextKey != "", "a signing key is missing")
	l.ids.secret = s.Generator.Secret
}

func (l *loader) fillItems() {
	for i, s := range l.from.Items {
		*l.items[i] = item{messageID: s.MessageID, body: s.Body, callType: s.CallType, step: s.Step, errors: s.Errors, ended: s.Ended, settled: s.Settled}
	}
}

func (l *loader) fillQueues() {
	for i, s := range l.from.Queues {
		q := l.queues[i]
		q.Queue, q.active = s.Queue, s.Active
		for _, place := range s.Waiting {
			q.waiting.push(must(l, l.messages, place, "message in queue "+q.Name))
		}
		if !s.Gone {
			l.want(l.state.queues[q.Name] == nil, "queue %q: there twice", q.Name)
			l.state.queues[q.Name] = q
		}
	}
	for i, s := range l.from.Slots {
		*l.slots[i] = slot{must(l, l.queues, s.Queue, "queue of a slot"), s.Open}
	}
}

// optionsOf shares the options of what is loaded; there must be some.
func (l *loader) optionsOf(o *Options, what, id string) *Options {
	if !l.want(o != nil, "%s %q has no options", what, id) {
		return &Options{}
	}
	return l.options.share(*o)
}

func (l *loader) fillMessages() {
	for i := range l.from.Messages {
		s, m := &l.from.Messages[i], l.messages[i]
		*m = s.Message
		m.Options = l.optionsOf(m.Options, "message", m.ID)
		m.weight = clampWeight(int64(len(m.Body)) + m.Options.size() + l.headers.share(&m.Header) + l.headers.share(&m.Forward))
		m.cut, m.canceled, m.last = s.Cut, s.Canceled, s.Last
		m.step, m.queue = at(l, l.items, s.Item, "item of message "+m.ID), at(l, l.slots, s.Slot, "slot of message "+m.ID)
		_, moves := transitions[m.State]
		l.want(m.ID != "" && m.cut >= 0, "message %d: id %q, cut %d", i+1, m.ID, m.cut)
		if s.Live {
			l.want(moves && m.State != "" && (m.State == CancelRequested) == s.Canceling, "message %q: it has not ended, with state %q", m.ID, m.State)
			l.want(l.state.messages[m.ID] == nil, "message %q: there twice", m.ID)
			l.state.messages[m.ID] = m
			l.waits(m, s.Timer)
		}
	}
	for _, t := range l.from.Ready {
		if t.FlowKey == "" {
			l.ready.push(turn{message: must(l, l.messages, t.Message, "ready message")})
		}
	}
}

func (l *loader) fillFlows() {
	for _, s := range l.from.FlowKeys {
		k := &flowKey{FlowKey: s.FlowKey, offered: s.Offered, pausedAt: s.PausedAt}
		for _, place := range s.Held {
			m := must(l, l.messages, place, "message held by key "+k.Key)
			l.want(m.FlowKey() == k.Key, "message %q: held by key %q, but its key is %q", m.ID, k.Key, m.FlowKey())
			k.waiting.push(m)
		}
		for _, t := range s.Starts {
			k.starts.push(t)
		}
		l.want(k.Waiting == len(s.Held) && k.Period > 0, "key %q: %d waiting, %d held, period %s", k.Key, k.Waiting, len(s.Held), k.Period)
		l.want(l.flows[k.Key] == nil, "key %q: there twice", k.Key)
		l.flows[k.Key] = k
		l.waits(k, s.Timer)
	}
	var ready fifo[turn] // in their order
	messages := l.ready
	for _, t := range l.from.Ready {
		switch k := l.flows[t.FlowKey]; {
		case t.FlowKey == "":
			ready.push(messages.pop())
		case l.want(k != nil, "ready key %q: unknown", t.FlowKey):
			ready.push(turn{key: k})
		}
	}
	l.ready = ready
}

func (l *loader) fillRuns() {
	for i := range l.from.Runs {
		s, run := &l.from.Runs[i], l.runs[i]
		*run = s.Run
		l.headers.share(&run.Header)
		l.headers.share(&run.Forward)
		run.Options = l.optionsOf(run.Options, "run", run.ID)
		run.bare, run.proven = s.Bare, s.Proven
		for _, place := range s.Items {
			run.items = append(run.items, must(l, l.items, place, "item of run "+run.ID))
		}
		for _, place := range s.Open {
			run.open = append(run.open, must(l, l.items, place, "open item of run "+run.ID))
		}
		l.fillCalls(run, s)
		if inv := s.Invoked; inv != nil {
			run.invoked = &invocation{must(l, l.runs, inv.Run, "invoker of run "+run.ID), must(l, l.items, inv.Item, "item of run "+run.ID), inv.Raw, inv.Header}
		}
		if s.Gone {
			continue
		}
		l.want(len(run.items) > 0 && run.State != "", "run %q has no first step or no state", run.ID)
		l.want(l.state.runs[run.ID] == nil, "run %q: there twice", run.ID)
		l.state.runs[run.ID] = run
	}
	known := slices.DeleteFunc(slices.Clone(l.runs), func(run *Run) bool { return l.state.runs[run.ID] != run })
	slices.SortFunc(known, byPosition[*Run])
	for _, run := range known {
		l.runList.add(run.ID, run)
	}
	for _, s := range l.from.Waiters {
		w := &waiter{Waiter: s.Waiter, id: s.WaiterID, raw: s.Raw, item: must(l, l.items, s.Item, "item of a waiter"), run: must(l, l.runs, s.OfRun, "run of a waiter")}
		w.item.waiter, w.RunRef = w, w.run.RunRef // its URL has the name of the waiter's own
		l.waiters[w.id] = w
		l.waits(w, s.Timer)
	}
	l.fillDLQ()
}

func (l *loader) fillCalls(run *Run, s *savedRun) {
	for _, c := range s.Calls {
		if run.calls == nil {
			run.calls = map[int]*item{}
		}
		run.calls[c.Step] = must(l, l.items, c.Item, "call of run "+run.ID)
	}
	for _, k := range s.Kept {
		if run.kept == nil {
			run.kept = map[string][][]byte{}
		}
		run.kept[k.Event] = k.Data
	}
}

func (l *loader) fillDLQ() {
	for i := range l.from.DLQ {
		s := &l.from.DLQ[i]
		e := s.DLQEntry
		e.Message.Options = l.optionsOf(e.Message.Options, "DLQ entry", e.ID)
		l.headers.share(&e.Message.Header)
		l.headers.share(&e.Message.Forward)
		e.Message.step = at(l, l.items, s.Item, "item of DLQ entry "+e.ID)
		e.run = at(l, l.runs, s.OfRun, "run of DLQ entry "+e.ID)
		l.want((e.run == nil) == (e.Run == nil), "DLQ entry %q: its run is named in one place only", e.ID)
		l.want(e.Callback == nil || e.Message.Options.FailureCallback != nil, "DLQ entry %q: a failure callback without its options", e.ID)
		l.want(e.Seq > 0 && l.dlq.get(e.ID) == nil, "DLQ entry %q: no sequence, or there twice", e.ID)
		l.dlq.add(e.ID, &e)
	}
	l.dlq.sort()
	for _, r := range l.from.Reports {
		l.reports[r.Callback] = r.Entry
	}
}

func (l *loader) fillLog() {
	s := l.from.Log
	if !l.want(uint64(len(s.Events)) <= s.Issued, "log: %d events, %d issued", len(s.Events), s.Issued) {
		return
	}
	l.log = eventLog{events: make([]*event, len(s.Events)), issued: s.Issued}
	first := s.Issued - uint64(len(s.Events)) + 1
	for i := range s.Events {
		saved := &s.Events[i]
		e := &event{seq: first + uint64(i), at: saved.At, next: saved.Next, state: saved.State,
			msg: at(l, l.messages, saved.Message, "message of an event"), run: at(l, l.runs, saved.Run, "run of an event")}
		l.want(e.msg != nil || e.run != nil, "event %d: of no message and no run", e.seq)
		d := detail{saved.Outcome, saved.Error, saved.Rule, saved.DLQID, saved.Invoker, at(l, l.items, saved.Item, "item of an event")}
		if d != (detail{}) {
			e.detail = &d
		}
		if e.msg != nil && d.out != nil && l.state.messages[e.msg.ID] != e.msg {
			e.msg.last = d.out // a message that has ended does not have it itself
		}
		l.log.events[i] = e
		if e.msg != nil && e.state == string(Created) {
			l.log.created = append(l.log.created, e)
		}
	}
	l.log.sort()
}

func (l *loader) fillSchedules() {
	for i := range l.from.Groups {
		g := l.from.Groups[i]
		l.groups[g.Name] = &g
	}
	for i := range l.from.Schedules {
		one := l.from.Schedules[i].Schedule
		var err error
		one.line, err = parseCron(one.Cron)
		l.want(err == nil, "schedule %q: %v", one.ID, err)
		one.Request.schedule = one.ID
		l.schedules[one.ID] = &one
		l.waits(&one, l.from.Schedules[i].Timer)
	}
	for _, s := range l.from.Dedup {
		m := mark{s.Key, s.ID, s.Until}
		if l.dedup.first == nil {
			l.dedup.first = map[string]mark{}
		}
		l.dedup.first[m.key] = m
		l.dedup.order.push(m)
	}
}

// waits notes which timer of the list is the owner's; 0 is none.
func (l *loader) waits(owner sleeper, seq uint64) {
	if seq == 0 {
		return
	}
	if l.sleepers == nil {
		l.sleepers = map[uint64]sleeper{}
	}
	l.want(l.sleepers[seq] == nil, "timer %d: of two owners", seq)
	l.sleepers[seq] = owner
}

// fillTimers books the timers that have an owner. Others are in snapshots of
// servers that never removed one.
func (l *loader) fillTimers() {
	s := l.from.Timers
	for _, t := range s.List {
		kind := timerKind(slices.Index(timerKinds, t.Kind))
		if !l.want(int(kind) < len(timerKinds) && t.Seq > 0 && t.Seq <= s.Issued, "timer %d of kind %q", t.Seq, t.Kind) {
			return
		}
		owner := l.sleepers[t.Seq]
		if owner == nil || owner.name() != t.Subject {
			continue
		}
		delete(l.sleepers, t.Seq)
		if !l.want(kind.wakes(owner), "timer %d: of kind %q, but %q has no such timer, or its outcome is missing", t.Seq, t.Kind, t.Subject) {
			return
		}
		l.timers.load(booking{t.Due, t.Seq, owner}, kind)
	}
	for seq, owner := range l.sleepers {
		l.failf("timer %d of %q: missing", seq, owner.name())
	}
	l.timers.issued = s.Issued
}

func (l *loader) fillStores() {
	for _, s := range l.from.Usage {
		n := len(l.usage.minutes)
		l.want(n == 0 || l.usage.minutes[n-1].at < s.At, "usage: minute %d is out of order", s.At)
		l.usage.minutes = append(l.usage.minutes, minute{s.At, s.Counts})
	}
	for i := range l.from.Search {
		one := l.from.Search[i]
		l.search[one.ID] = &one
	}
	for _, s := range l.from.Vectors {
		x, err := vector.Load(s)
		if l.want(err == nil, "%v", err) {
			l.vectors[x.Name] = x
		}
	}
}
