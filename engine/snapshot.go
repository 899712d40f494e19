package engine

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/engine/vector"
)

// SnapshotVersion is the form of snapshots that this package writes and reads.
const SnapshotVersion = 1

// Snapshot is the whole state of an account as one document. As JSON its names
// are those of the fields here; zero values are left out; times are Unix ms,
// durations Go's text; bytes and texts are strings where they are UTF-8, else
// {"base64": "..."}. The same state gives the same bytes.
//
// Messages, Items, Runs, Slots and Queues are named elsewhere by their place in
// these lists, from 1 on; 0 is none. An attempt in flight is kept as ready: a
// restored account makes it again, under the same number, and logs no second
// ACTIVE. One that was being cancelled is cancelled by Restore.
type Snapshot struct {
	Version    int
	Account    string // whose state it is
	Clock      string // real, manual or auto
	Now        time.Time
	CurrentKey string
	NextKey    string
	Generator  savedGenerator
	Sequence   uint64 // of DLQ entries and runs
	Timers     savedTimers
	Ready      []savedTurn
	Messages   []savedMessage
	Items      []savedItem
	Slots      []savedSlot
	Queues     []savedQueue
	FlowKeys   []savedFlow
	Groups     []Group
	Schedules  []savedSchedule
	Dedup      []savedMark
	Runs       []savedRun
	Waiters    []savedWaiter
	DLQ        []savedEntry
	Reports    []savedReport
	Log        savedLog
	Usage      []savedMinute
	Search     []search.Index
	Vectors    []vector.Saved
}

type (
	savedGenerator struct {
		Source string // base64: the state of the source of ids
		Secret uint64 `json:",string"` // beyond what other readers of JSON keep exact
	}
	savedTimers struct {
		Issued uint64
		List   []savedTimer // by time, then sequence
	}
	savedTimer struct {
		Due     int64 // Unix ms
		Seq     uint64
		Kind    string
		Subject string
	}
	savedTurn struct {
		Message int
		FlowKey string
	}
	savedMessage struct {
		Message
		Live      bool // not ended
		Timer     uint64
		Slot      int
		Item      int
		Cut       int
		Canceled  bool
		Canceling bool // its attempt is in flight, and cancelling was asked for
		Last      *Outcome
	}
	savedItem struct {
		MessageID string
		Body      []byte
		CallType  string
		Step      Step
		Errors    []StepError
		Ended     MessageState
		Settled   string
	}
	savedSlot  struct{ Queue, Open int }
	savedQueue struct {
		Queue
		Active  int
		Waiting []int // messages
		Gone    bool  // deleted, but messages still have a turn in it
	}
	savedFlow struct {
		FlowKey
		Held     []int // messages
		Starts   []time.Time
		Offered  bool
		Timer    uint64
		PausedAt time.Time
	}
	savedSchedule struct {
		Schedule
		Timer uint64
	}
	savedMark struct {
		Key, ID string
		Until   time.Time
	}
	savedRun struct {
		Run
		Items   []int
		Open    []int // items
		Calls   []savedCall
		Kept    []savedKept
		Invoked *savedInvocation
		Bare    bool
		Proven  bool
		Gone    bool // forgotten, but still in the log
	}
	savedCall struct{ Step, Item int }
	savedKept struct {
		Event string
		Data  [][]byte
	}
	savedInvocation struct {
		Run, Item int
		Raw       []byte
		Header    Header
	}
	savedWaiter struct {
		Waiter
		WaiterID string
		Timer    uint64
		Raw      []byte
		Item     int
		OfRun    int
	}
	savedEntry struct {
		DLQEntry
		Item  int
		OfRun int
	}
	savedReport struct{ Callback, Entry string }
	savedLog    struct {
		Issued uint64
		Events []savedEvent // without gaps, the last has the sequence Issued
	}
	savedEvent struct {
		At, Next int64 // Unix ms
		State    string
		Message  int
		Run      int
		Item     int
		Outcome  *Outcome
		Error    string
		Rule     string
		DLQID    string
		Invoker  *RunRef
	}
	savedMinute struct {
		At int64 // minutes since 1970
		Counts
	}
)

// timerKinds are the names of the kinds.
var timerKinds = []string{wakeMessage: "message", wakeFlow: "flowKey", wakeSchedule: "schedule", wakeOutcome: "outcome", wakeWaiter: "waiter"}

// Snapshot is the state as it stands. Attempts go on.
func (a *Account) Snapshot() *Snapshot {
	a.lock()
	defer a.unlock()
	room := max(len(a.messages), len(a.log.created)) // a list that grows is copied again and again, under the lock
	w := &saver{account: a, messages: make(map[*Message]int, room), items: map[*item]int{}, runs: map[*Run]int{}, slots: map[*slot]int{}, queues: map[*queue]int{}}
	w.Snapshot = Snapshot{
		Version: SnapshotVersion, Account: a.cfg.ID, Clock: a.mode, Now: a.now, CurrentKey: a.current, NextKey: a.next, Sequence: a.seq,
		Generator: a.ids.saved(), Timers: a.timers.saved(),
	}
	w.Messages = make([]savedMessage, 0, room)
	w.log()
	for _, run := range a.runList.items {
		if run != nil {
			w.run(run)
		}
	}
	unlogged := map[string]*Message{} // most are in the log, and have their place
	for id, m := range a.messages {
		if w.messages[m] == 0 {
			unlogged[id] = m
		}
	}
	for _, m := range sortedMessages(unlogged) {
		w.message(m)
	}
	w.messaging()
	w.workflow()
	w.stores()
	return &w.Snapshot
}

func (g *ids) saved() savedGenerator {
	source, _ := g.source.MarshalBinary() // never fails
	return savedGenerator{base64.StdEncoding.EncodeToString(source), g.secret}
}

func (h *timers) saved() savedTimers {
	out := savedTimers{Issued: h.issued, List: make([]savedTimer, len(h.heap))}
	for i, b := range h.heap {
		out.List[i] = savedTimer{b.due, b.seq, timerKinds[b.owner.timed().kind], b.owner.name()}
	}
	slices.SortFunc(out.List, func(x, y savedTimer) int { return cmp.Or(cmp.Compare(x.Due, y.Due), cmp.Compare(x.Seq, y.Seq)) })
	return out
}

// saver fills a snapshot; its maps say what has which place.
type saver struct {
	Snapshot
	account  *Account
	messages map[*Message]int
	items    map[*item]int
	runs     map[*Run]int
	slots    map[*slot]int
	queues   map[*queue]int
}

// place is where v stands in its list; save is called once, with the place.
func place[T any](known map[*T]int, v *T, save func(at int)) int {
	if v == nil {
		return 0
	}
	if known[v] == 0 {
		at := len(known)
		known[v] = at + 1
		save(at)
	}
	return known[v]
}

func (w *saver) message(m *Message) int {
	return place(w.messages, m, func(at int) {
		w.Messages = append(w.Messages, savedMessage{})
		s := savedMessage{Message: *m, Timer: w.account.timers.seq(m), Item: w.item(m.step), Cut: m.cut, Canceled: m.canceled}
		if w.account.messages[m.ID] == m {
			s.Live, s.Last, s.Slot = true, m.last, w.slot(m.queue)
			s.Canceling = m.canceled && m.cancel != nil
		}
		w.Messages[at] = s
	})
}

func (w *saver) item(it *item) int {
	return place(w.items, it, func(int) {
		w.Items = append(w.Items, savedItem{it.messageID, it.body, it.callType, it.step, it.errors, it.ended, it.settled})
	})
}

func (w *saver) slot(s *slot) int {
	return place(w.slots, s, func(at int) {
		w.Slots = append(w.Slots, savedSlot{})
		w.Slots[at] = savedSlot{w.queue(s.queue), s.open}
	})
}

func (w *saver) queue(q *queue) int {
	return place(w.queues, q, func(at int) {
		w.Queues = append(w.Queues, savedQueue{})
		w.Queues[at] = savedQueue{Queue: q.Queue, Active: q.active, Waiting: w.waiting(q.waiting), Gone: w.account.queues[q.Name] != q}
	})
}

// waiting leaves out what was cancelled while it waited.
func (w *saver) waiting(f fifo[*Message]) (places []int) {
	f.all(func(m *Message) {
		if m.State != Canceled {
			places = append(places, w.message(m))
		}
	})
	return places
}

func (w *saver) run(run *Run) int {
	return place(w.runs, run, func(at int) {
		w.Runs = append(w.Runs, savedRun{})
		s := savedRun{Run: *run, Bare: run.bare, Proven: run.proven, Gone: w.account.runs[run.ID] != run}
		for _, it := range run.items {
			s.Items = append(s.Items, w.item(it))
		}
		for _, it := range run.open {
			s.Open = append(s.Open, w.item(it))
		}
		for _, id := range slices.Sorted(maps.Keys(run.calls)) {
			s.Calls = append(s.Calls, savedCall{id, w.item(run.calls[id])})
		}
		for _, event := range slices.Sorted(maps.Keys(run.kept)) {
			if data := run.kept[event]; len(data) > 0 {
				s.Kept = append(s.Kept, savedKept{event, slices.Clone(data)})
			}
		}
		if inv := run.invoked; inv != nil {
			s.Invoked = &savedInvocation{w.run(inv.run), w.item(inv.item), inv.raw, inv.headers}
		}
		w.Runs[at] = s
	})
}

func (w *saver) log() {
	l := &w.account.log
	w.Log = savedLog{Issued: l.issued, Events: make([]savedEvent, len(l.events))}
	for i, e := range l.events {
		s := savedEvent{At: e.at, Next: e.next, State: e.state, Message: w.message(e.msg), Run: w.run(e.run)}
		if d := e.detail; d != nil {
			s.Item, s.Outcome, s.Error, s.Rule, s.DLQID, s.Invoker = w.item(d.step), d.out, d.err, d.rule, d.dlqID, d.invoker
		}
		w.Log.Events[i] = s
	}
}

// messaging saves what lies between a publish and its deliveries. Attempts in
// flight stand before all that is ready.
func (w *saver) messaging() {
	a := w.account
	for _, name := range slices.Sorted(maps.Keys(a.queues)) {
		w.queue(a.queues[name])
	}
	for i := range w.Messages {
		if s := &w.Messages[i]; s.Live && s.State == Active && a.messages[s.ID].cancel != nil {
			w.Ready = append(w.Ready, savedTurn{Message: i + 1})
		}
	}
	a.shares.all(w.turn)
	a.ready.all(w.turn)
	for _, name := range slices.Sorted(maps.Keys(a.flows)) {
		k := a.flows[name]
		s := savedFlow{FlowKey: k.FlowKey, Held: w.waiting(k.waiting), Offered: k.offered, Timer: a.timers.seq(k), PausedAt: k.pausedAt}
		k.starts.all(func(t time.Time) { s.Starts = append(s.Starts, t) })
		w.FlowKeys = append(w.FlowKeys, s)
	}
	for _, name := range slices.Sorted(maps.Keys(a.groups)) {
		w.Groups = append(w.Groups, *a.groups[name])
	}
	for _, id := range slices.Sorted(maps.Keys(a.schedules)) {
		s := savedSchedule{*a.schedules[id], a.timers.seq(a.schedules[id])}
		s.LastStates = maps.Clone(s.LastStates)
		w.Schedules = append(w.Schedules, s)
	}
	a.dedup.order.all(func(m mark) { w.Dedup = append(w.Dedup, savedMark{m.key, m.id, m.until}) })
}

func (w *saver) turn(t turn) {
	switch {
	case t.key != nil:
		w.Ready = append(w.Ready, savedTurn{FlowKey: t.key.Key})
	case t.message.State != Canceled:
		w.Ready = append(w.Ready, savedTurn{Message: w.message(t.message)})
	}
}

func (w *saver) workflow() {
	a := w.account
	waiters := slices.Collect(maps.Values(a.waiters))
	a.inOrder(waiters)
	for _, one := range waiters {
		w.Waiters = append(w.Waiters, savedWaiter{one.Waiter, one.id, a.timers.seq(one), one.raw, w.item(one.item), w.run(one.run)})
	}
	for _, e := range a.dlq.items {
		if e != nil {
			w.DLQ = append(w.DLQ, savedEntry{*e, w.item(e.Message.step), w.run(e.run)})
		}
	}
	for _, callback := range slices.Sorted(maps.Keys(a.reports)) {
		w.Reports = append(w.Reports, savedReport{callback, a.reports[callback]})
	}
}

func (w *saver) stores() {
	a := w.account
	for _, m := range a.usage.minutes {
		w.Usage = append(w.Usage, savedMinute{m.at, m.Counts})
	}
	for _, id := range slices.Sorted(maps.Keys(a.search)) {
		w.Search = append(w.Search, *a.search[id])
	}
	for _, name := range slices.Sorted(maps.Keys(a.vectors)) {
		w.Vectors = append(w.Vectors, a.vectors[name].Save(a.now))
	}
}

// Restore replaces the state by that of a snapshot; a manual clock goes to its
// time, a real one that is behind goes on from there. A snapshot that cannot be changes nothing. Attempts in flight are cut
// off, their outcomes ignored; an Advance under way ends with an error.
func (a *Account) Restore(s *Snapshot) error { return done(do(a, restore{s})) }

type restore struct{ Snapshot *Snapshot }

func (c restore) apply(a *Account) (nothing, error) {
	restored, err := c.Snapshot.state(a.cfg)
	if err != nil {
		return nothing{}, err
	}
	now := a.now
	restored.readAnswers(a.cfg.Wire)
	a.replace(restored)
	a.restored++
	if a.mode == "real" && now.After(a.now) {
		a.now = now
	}
	a.follow(a.mode, nil)
	for i := range c.Snapshot.Messages {
		if m := a.messages[c.Snapshot.Messages[i].ID]; m != nil && c.Snapshot.Messages[i].Canceling {
			a.cutOff(m)
		}
	}
	return nothing{}, nil
}

// replace puts another state in place of what was.
func (a *Account) replace(s state) {
	for _, m := range a.messages {
		if m.cancel != nil {
			m.cancel()
		}
	}
	a.unweigh()
	a.state = s
	a.replaced++
	a.weigh()
	if a.more != nil {
		close(a.more)
		a.more = nil
	}
}

// Check says why a snapshot cannot be restored, nil when it can.
func (s *Snapshot) Check() error {
	_, err := s.state(Config{CurrentKey: "-", NextKey: "-"})
	return err
}

// damaged is the error of a snapshot that contradicts itself.
func damaged(format string, args ...any) error {
	return fmt.Errorf("snapshot is damaged: %s: %w", strings.TrimSpace(fmt.Sprintf(format, args...)), ErrInvalid)
}
