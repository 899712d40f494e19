package state

import (
	"cmp"
	"encoding/base64"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/engine/usage"
	"github.com/understudy-mock/understudy/engine/vector"
)

// NewSnapshotWriter returns a writer for a state. The lock is the lock of its account; commands run
// while the writer does not hold it.
func NewSnapshotWriter(lock locker, from *State) *SnapshotWriter {
	w := &SnapshotWriter{lock: lock, from: from, Most: recordBatch, Between: func() {}, details: map[*LogEntry]*LogDetail{}, callbacks: map[*DLQEntry]*CallbackInfo{}, flows: map[*FlowGate]savedFlow{}}
	w.messages = table[Message, savedMessage]{at: func(m *Message) *SnapshotMark { return &m.Saved }, copy: w.copyMessage}
	w.items = table[StepItem, StepItem]{at: func(it *StepItem) *SnapshotMark { return &it.Saved }, copy: func(it *StepItem) StepItem { return *it }}
	w.runs = table[Run, savedRun]{at: func(run *Run) *SnapshotMark { return &run.Saved }, copy: w.copyRun}
	w.slots = table[QueueSlot, savedSlot]{at: func(s *QueueSlot) *SnapshotMark { return &s.Saved }, copy: func(s *QueueSlot) savedSlot { return savedSlot{Open: s.Open, in: s.Queue} }}
	w.queues = table[QueueBacklog, savedQueue]{at: func(q *QueueBacklog) *SnapshotMark { return &q.Saved }, copy: w.copyQueue}
	return w
}

// briefly holds the lock for one part of a snapshot.
func (w *SnapshotWriter) briefly(part func()) {
	func() {
		w.lock.Lock()
		defer w.lock.Unlock()
		part()
	}()
	w.Between()
}

// LSN is the sequence number of the last journal record that the snapshot includes.
func (w *SnapshotWriter) LSN() uint64 { return w.head.LSN }

// Begin notes the state of this instant. The caller holds the lock.
func (w *SnapshotWriter) Begin(at Instant) {
	s := w.from
	w.epoch = at.Epoch
	source, _ := s.IDs.Source.MarshalBinary() // never fails
	w.head = header{version: SnapshotVersion, Account: at.Account, Clock: at.Clock, Now: s.Now, CurrentKey: s.CurrentKey, NextKey: s.NextKey,
		Generator: generator{base64.StdEncoding.EncodeToString(source), strconv.FormatUint(s.IDs.Secret, 10)},
		Sequence:  s.Seq, TimersIssued: s.Timers.Issued, EventsIssued: s.Log.Issued, StrippedBelow: s.Log.Bare, LSN: at.LSN, settings: at.Settings}
	w.events, w.live = s.Log.Events, s.Messages // commands only append to the log
	w.entries, w.runList = slices.Clone(s.DLQ.Items), slices.Clone(s.RunList.Items)
	w.turns = make([]ReadyTurn, 0, s.WaitingTurns())
	s.Shares.All(func(t ReadyTurn) { w.turns = append(w.turns, t) })
	s.Ready.All(func(t ReadyTurn) { w.turns = append(w.turns, t) })
	w.marks, w.minutes = slices.Clone(s.Dedup.Order.Items[s.Dedup.Order.Head:]), slices.Clone(s.Usage)
	for _, name := range slices.Sorted(maps.Keys(s.Queues)) {
		w.queues.place(w.epoch, s.Queues[name])
	}
	w.flowKeys, w.groups = slices.Collect(maps.Values(s.Flows)), slices.Collect(maps.Values(s.Groups))
	for _, id := range slices.Sorted(maps.Keys(s.Families)) {
		w.families = append(w.families, *s.Families[id])
	}
	for _, one := range s.Schedules {
		w.schedules = append(w.schedules, savedSchedule{*one, w.timer(one)})
	}
	for _, one := range s.Waiters {
		w.waiters = append(w.waiters, savedWaiter{Waiter: one.Waiter, WaiterID: one.WaiterID, savedTimer: w.timer(one), Raw: one.Raw, of: *one})
	}
	for _, x := range s.Search {
		w.search = append(w.search, *x)
	}
	for _, x := range s.Vectors {
		w.vectors = append(w.vectors, x.Save(s.Now))
	}
}

// Detach makes the writer keep the state when another one is about to replace it in the
// account. The old state no longer changes then.
func (w *SnapshotWriter) Detach() {
	old := *w.from
	w.from, w.detached = &old, true
}

// timer returns the timer of an owner.
func (w *SnapshotWriter) timer(owner Sleeper) savedTimer {
	t := owner.Timed()
	if t.Place == 0 {
		return savedTimer{}
	}
	b := w.from.Timers.Heap[t.Place-1]
	saved := savedTimer{Timer: b.Seq, Due: b.Due}
	if t.Kind == WakeOutcome {
		saved.Wakes = timerKinds[t.Kind]
	}
	return saved
}

// copyMessage keeps the latest outcome of a live message only: for an ended message, the
// log has it.
func (w *SnapshotWriter) copyMessage(m *Message) savedMessage {
	s := savedMessage{Message: *m, savedTimer: w.timer(m), Cut: m.Cut, Canceled: m.Canceled, Live: w.from.Messages[m.ID] == m}
	if s.Live {
		s.inFlight, s.Canceling = m.State == Active && m.InFlight, m.State == CancelRequested
		s.ReportsOn, s.Last = w.from.Reports[m.ID], m.Last
	}
	return s
}

func (w *SnapshotWriter) copyQueue(q *QueueBacklog) savedQueue {
	return savedQueue{Queue: q.Queue, Active: q.Active, held: slices.Clone(q.Waiting.Items[q.Waiting.Head:]), Gone: w.from.Queues[q.Name] != q}
}

// copyFlow clones the lists, because commands push and pop in place.
func (w *SnapshotWriter) copyFlow(k *FlowGate) savedFlow {
	return savedFlow{FlowKey: k.FlowKey, held: slices.Clone(k.Held.Items[k.Held.Head:]), Starts: slices.Clone(k.Starts.Items[k.Starts.Head:]),
		Offered: k.Offered, savedTimer: w.timer(k), PausedAt: k.PausedAt}
}

// copyRun clones what commands change in place. The step list only grows, so a copy of its
// slice header is enough.
func (w *SnapshotWriter) copyRun(run *Run) savedRun {
	s := savedRun{Run: *run, Bare: run.Bare, Proven: run.Proven, Gone: w.from.Runs[run.ID] != run}
	s.Run.Open, s.Run.Calls = slices.Clone(run.Open), maps.Clone(run.Calls)
	for _, event := range slices.Sorted(maps.Keys(run.Early)) {
		if data := run.Early[event]; len(data) > 0 {
			s.Early = append(s.Early, savedEarly{event, slices.Clone(data)})
		}
	}
	return s
}

// Members writes the sections. Each object has its place before the section of its kind
// begins.
func (w *SnapshotWriter) Members(c *codec.Codec) {
	w.Between()
	w.head.members(c)
	codec.Section(c, "events", copiedRecords(w, w.events, w.event), nil)
	slices.SortFunc(w.waiters, func(x, y savedWaiter) int { return cmp.Compare(x.Timer, y.Timer) })
	codec.Section(c, "waiters", copiedRecords(w, w.waiters, w.waiter), nil)
	entries := slices.DeleteFunc(w.entries, func(e *DLQEntry) bool { return e == nil })
	codec.Section(c, "dlq", copiedRecords(w, entries, w.entry), nil)
	runs := slices.DeleteFunc(w.runList, func(run *Run) bool { return run == nil })
	assignPlaces(w, &w.runs, runs)
	codec.Section(c, "runs", tableRecords(w, &w.runs, w.run), nil)
	assignPlaces(w, &w.messages, w.unlogged())
	codec.Section(c, "messages", tableRecords(w, &w.messages, w.message), nil)
	codec.Section(c, "ready", copiedRecords(w, w.ready(), func(t savedTurn) savedTurn { return t }), nil)
	slices.SortFunc(w.flowKeys, func(x, y *FlowGate) int { return strings.Compare(x.Key, y.Key) })
	codec.Section(c, "flowKeys", copiedRecords(w, w.flowKeys, w.flow), nil)
	codec.Section(c, "slots", tableRecords(w, &w.slots, w.slot), nil)
	codec.Section(c, "queues", tableRecords(w, &w.queues, w.queue), nil)
	codec.Section(c, "items", tableRecords(w, &w.items, func(*StepItem, *StepItem) {}), nil)
	w.small(c)
}

// small writes the sections that Begin has copied.
func (w *SnapshotWriter) small(c *codec.Codec) {
	slices.SortFunc(w.groups, func(x, y *Group) int { return strings.Compare(x.Name, y.Name) })
	codec.Section(c, "groups", slices.Values(w.groups), nil) // safe without the lock: a change replaces the group
	codec.Section(c, "families", eachElement(w.families), nil)
	slices.SortFunc(w.schedules, func(x, y savedSchedule) int { return strings.Compare(x.ID, y.ID) })
	codec.Section(c, "schedules", eachElement(w.schedules), nil)
	codec.Section(c, "dedup", copiedRecords(w, w.marks, func(m DedupMark) DedupMark { return m }), nil)
	codec.Section(c, "usage", copiedRecords(w, w.minutes, func(m usage.Minute) usage.Minute { return m }), nil)
	slices.SortFunc(w.search, func(x, y search.Index) int { return strings.Compare(x.ID, y.ID) })
	codec.Section(c, "search", eachElement(w.search), nil)
	slices.SortFunc(w.vectors, func(x, y vector.Saved) int { return strings.Compare(x.Name, y.Name) })
	codec.Member(c, "vectors", &w.vectors)
}

// eachElement yields pointers to the elements of a list.
func eachElement[T any](list []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// inParts yields the records that next makes. next runs under the lock and appends at most
// the given number of records, none at the end.
func inParts[S any](w *SnapshotWriter, next func(most int, part []S) []S) iter.Seq[*S] {
	return func(yield func(*S) bool) {
		var part []S
		for {
			w.briefly(func() { part = next(w.Most, part[:0]) })
			if len(part) == 0 {
				return
			}
			for i := range part {
				if !yield(&part[i]) {
					return
				}
			}
		}
	}
}

// copiedRecords yields the records of a list that Begin has copied.
func copiedRecords[T, S any](w *SnapshotWriter, list []T, record func(T) S) iter.Seq[*S] {
	return inParts(w, func(most int, part []S) []S {
		n := min(most, len(list))
		for _, v := range list[:n] {
			part = append(part, record(v))
		}
		list = list[n:]
		return part
	})
}

// tableRecords yields the records of a table; refer sets the places that a record refers to.
func tableRecords[T, S any](w *SnapshotWriter, t *table[T, S], refer func(*T, *S)) iter.Seq[*S] {
	return inParts(w, func(most int, part []S) []S {
		for len(part) < most && t.copied < len(t.list) {
			v := t.list[t.copied]
			t.copied++
			part = append(part, t.record(v))
			refer(v, &part[len(part)-1])
		}
		return part
	})
}

// assignPlaces gives a place to each object of a list.
func assignPlaces[T, S any](w *SnapshotWriter, t *table[T, S], list []*T) {
	for part := range slices.Chunk(list, 16*w.Most) {
		w.briefly(func() {
			for _, v := range part {
				t.place(w.epoch, v)
			}
		})
	}
}

// unlogged returns the messages that had not ended and are not in the log, in order of creation.
func (w *SnapshotWriter) unlogged() []*Message {
	var found []*Message
	known := func(m *Message) bool { return m.Saved.Epoch == w.epoch }
	w.briefly(func() {
		n := 0
		for _, m := range w.live {
			if n++; n%(16*w.Most) == 0 { // changes meanwhile do no harm: new messages have this epoch, ended ones are in earlier
				w.lock.Unlock()
				w.Between()
				w.lock.Lock()
			}
			if !known(m) {
				found = append(found, m)
			}
		}
		for m, s := range w.messages.earlier { // messages that have ended since Begin
			if s.Live && !known(m) {
				found = append(found, m)
			}
		}
	})
	slices.SortFunc(found, func(x, y *Message) int {
		return cmp.Or(cmp.Compare(x.CreatedAt, y.CreatedAt), strings.Compare(x.ID, y.ID))
	})
	return slices.Compact(found)
}

// event uses the details noted by Touch, if they have changed.
func (w *SnapshotWriter) event(e *LogEntry) savedEvent {
	s := savedEvent{At: e.At, Next: e.Next, State: e.State, Message: w.messages.place(w.epoch, e.Message), Run: w.runs.place(w.epoch, e.Run)}
	d, changed := w.details[e]
	if !changed {
		d = e.LogDetail
	}
	if d != nil {
		s.LogDetail, s.Item = *d, w.items.place(w.epoch, d.Step)
	}
	return s
}

func (w *SnapshotWriter) waiter(s savedWaiter) savedWaiter {
	s.Item, s.OfRun = w.items.place(w.epoch, s.of.Item), w.runs.place(w.epoch, s.of.Run)
	return s
}

func (w *SnapshotWriter) entry(e *DLQEntry) savedEntry {
	s := savedEntry{DLQEntry: *e, Item: w.items.place(w.epoch, e.Message.Step), OfRun: w.runs.place(w.epoch, e.FailedRun)}
	if callback, changed := w.callbacks[e]; changed {
		s.Callback = callback
	}
	return s
}

// run gives places to steps in the order of the document, so that equal states give equal
// documents.
func (w *SnapshotWriter) run(_ *Run, s *savedRun) {
	for _, it := range s.Run.Items {
		s.Items = append(s.Items, w.items.place(w.epoch, it))
	}
	for _, it := range s.Run.Open {
		s.Open = append(s.Open, w.items.place(w.epoch, it))
	}
	for _, id := range slices.Sorted(maps.Keys(s.Run.Calls)) {
		s.Calls = append(s.Calls, savedCall{id, w.items.place(w.epoch, s.Run.Calls[id])})
	}
	if inv := s.Run.Invoked; inv != nil {
		s.Invoked = &savedInvocation{w.runs.place(w.epoch, inv.Run), w.items.place(w.epoch, inv.Item), inv.Raw, inv.Headers}
	}
}

// message notes which attempts are in flight: after loading they are repeated before others
// start.
func (w *SnapshotWriter) message(m *Message, s *savedMessage) {
	m.WasLive = s.Live
	s.Item = w.items.place(w.epoch, s.Step)
	if s.Live {
		s.Slot = w.slots.place(w.epoch, s.Message.Slot)
	}
	if s.inFlight {
		w.inFlight = append(w.inFlight, savedTurn{Message: int(m.Saved.Place), InFlight: true})
	}
}

// ready returns the turns of the ready list.
func (w *SnapshotWriter) ready() []savedTurn {
	list := w.inFlight
	w.briefly(func() {
		for _, t := range w.turns {
			switch {
			case t.Key != nil:
				list = append(list, savedTurn{FlowKey: t.Key.Key, URL: t.Under})
			case w.waits(t.Message):
				list = append(list, savedTurn{Message: int(t.Message.Saved.Place)})
			default:
				list = append(list, savedTurn{URL: t.Message.URL})
			}
		}
	})
	return list
}

func (w *SnapshotWriter) flow(k *FlowGate) savedFlow {
	s, changed := w.flows[k]
	if !changed {
		s = w.copyFlow(k)
	}
	s.Held = w.waitingPlaces(s.held)
	return s
}

func (w *SnapshotWriter) slot(_ *QueueSlot, s *savedSlot) {
	s.Queue = w.queues.place(w.epoch, s.in)
}

func (w *SnapshotWriter) queue(_ *QueueBacklog, s *savedQueue) { s.Waiting = w.waitingPlaces(s.held) }

// waits reports whether a message in a list of the state has not ended. A message cancelled
// while waiting stays in its list, with a mark of an earlier snapshot.
func (w *SnapshotWriter) waits(m *Message) bool { return m.WasLive && m.Saved.Epoch == w.epoch }

// waitingPlaces returns the places of messages, without those cancelled while waiting.
func (w *SnapshotWriter) waitingPlaces(list []*Message) (places []int) {
	for _, m := range list {
		if w.waits(m) {
			places = append(places, int(m.Saved.Place))
		}
	}
	return places
}
