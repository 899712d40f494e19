package state

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/engine/usage"
	"github.com/understudy-mock/understudy/engine/vector"
)

// SnapshotReader reads a snapshot, which may be part of a larger document. The zero value is ready to use.
//
// It builds the state entry by entry. An entry may refer to objects later in
// the document. The first contradiction is the error; after it, the reader only must not panic.
type SnapshotReader struct {
	state     State
	head      header
	messages  places[Message]
	items     places[StepItem]
	runs      places[Run]
	slots     places[QueueSlot]
	queues    places[QueueBacklog]
	known     []*Run // without forgotten ones
	ready     []savedTurn
	vectors   []vector.Saved
	events    []*LogEntry
	canceling []*Message
	inFlight  []*Message // attempts to repeat, listed under ready in the document
	err       error
}

// errVersion begins the error for another version.
var errVersion = errors.New("snapshot of version")

// header is the beginning of a snapshot.
type header struct {
	Account, Clock      string
	Now                 time.Time
	CurrentKey, NextKey string
	Generator           generator
	Sequence            uint64 // of DLQ entries and runs
	TimersIssued        uint64
	EventsIssued        uint64
	StrippedBelow       uint64 // bodies of events below this sequence were dropped
	LSN                 uint64 // sequence number of the last journal record, 0 for none

	version  int
	settings json.RawMessage
}

// generator is the generator of ids.
type generator struct {
	Source string // its random source, in base64
	Secret string // for cursors; as text, because it exceeds the integers that other JSON readers keep exact
}

// members refuses another version before it reads anything else.
func (h *header) members(c *codec.Codec) {
	codec.Member(c, "version", &h.version)
	if h.version != 0 && h.version != SnapshotVersion {
		c.Failf("%w %d: this program reads version %d", errVersion, h.version, SnapshotVersion)
	}
	codec.Members(c, h)
	codec.JSON(c, "settings", len(h.settings) == 0, &h.settings)
}

// places has the objects of a kind by their place in the document.
type places[T any] struct {
	list  []*T
	ahead map[int]*T // by place, for places beyond the list
	read  int        // number of entries read
}

// at returns the object at a place and creates it if it was not read yet; nil for place 0.
func (p *places[T]) at(place int) *T {
	switch {
	case place <= 0:
		return nil
	case place <= len(p.list):
		return p.list[place-1]
	case p.ahead[place] != nil:
		return p.ahead[place]
	case place > len(p.list)+1:
		if p.ahead == nil {
			p.ahead = map[int]*T{}
		}
		p.ahead[place] = new(T)
		return p.ahead[place]
	}
	p.list = append(p.list, new(T))
	return p.list[place-1]
}

// next returns the object for the entry that has just been read.
func (p *places[T]) next() *T {
	p.read++
	v := p.at(p.read)
	if len(p.list) < p.read {
		p.list = append(p.list, v)
		delete(p.ahead, p.read)
	}
	return v
}

// missing returns a place that something refers to and that has no entry, or 0.
func (p *places[T]) missing() int {
	if len(p.list) > p.read {
		return p.read + 1
	}
	for place := range p.ahead {
		return place
	}
	return 0
}

// begin creates the state, so that the zero value works. It sets placeholder signing keys, so
// that New draws none. Missing keys in the document are an error at the end.
func (l *SnapshotReader) begin() {
	if l.state.IDs.Source == nil {
		l.state = New(0, "-", "-")
	}
}

// Members reads the members of the snapshot. Sections may come in any order, also those that others
// refer to.
func (l *SnapshotReader) Members(c *codec.Codec) {
	l.begin()
	l.head.members(c)
	readSection(l, c, "events", l.event)
	readSection(l, c, "messages", l.message)
	readSection(l, c, "runs", l.run)
	readSection(l, c, "items", func(it *StepItem) { *l.items.next() = *it })
	readSection(l, c, "slots", func(s *savedSlot) {
		*l.slots.next() = QueueSlot{Queue: objectAt(l, &l.queues, s.Queue, "slot", ""), Open: s.Open}
	})
	readSection(l, c, "queues", l.queue)
	readSection(l, c, "ready", func(s *savedTurn) { l.ready = append(l.ready, *s) })
	readSection(l, c, "flowKeys", l.flow)
	readSection(l, c, "waiters", l.waiter)
	readSection(l, c, "dlq", l.entry)
	readSection(l, c, "groups", func(g *Group) { l.state.Groups[g.Name] = new(*g) })
	readSection(l, c, "families", func(f *Family) { l.state.Families[f.ID] = new(*f) })
	readSection(l, c, "schedules", l.schedule)
	readSection(l, c, "dedup", l.mark)
	readSection(l, c, "usage", func(s *usage.Minute) {
		n := len(l.state.Usage)
		l.want(n == 0 || l.state.Usage[n-1].Number < s.Number, "usage: minute %d is out of order", s.Number)
		l.state.Usage = append(l.state.Usage, *s)
	})
	readSection(l, c, "search", func(x *search.Index) { l.state.Search[x.ID] = new(*x) })
	codec.Member(c, "vectors", &l.vectors)
	if l.err != nil {
		c.Failf("%w", l.err)
	}
}

// readSection reads a section. A contradiction ends it; the error has the place of the entry.
func readSection[T any](l *SnapshotReader, c *codec.Codec, name string, take func(*T)) {
	codec.Section(c, name, nil, func(v *T) {
		if take(v); l.err != nil {
			c.Failf("%w", l.err)
		}
	})
}

// Snapshot checks and returns the snapshot after all members have been read.
func (l *SnapshotReader) Snapshot(c *codec.Codec) (*Snapshot, error) {
	l.begin()
	if err := c.Err(); errors.Is(err, errVersion) {
		return nil, refusal.Of(refusal.Invalid, err.Error(), "", "")
	} else if err != nil {
		return nil, damagedError(err)
	}
	h := &l.head
	l.state.Now, l.state.Seq, l.state.CurrentKey, l.state.NextKey = h.Now, h.Sequence, h.CurrentKey, h.NextKey
	l.want(h.version > 0, "no version")
	l.want(clock.Valid(h.Now), "its clock is at %s: must be in the years 1970 to 9999", h.Now.UTC())
	l.want(slices.Contains([]string{"real", "manual", "auto"}, h.Clock), "clock %q: must be real, manual or auto", h.Clock)
	l.want(h.CurrentKey != "" && h.NextKey != "", "a signing key is missing")
	err := loadSource(l.state.IDs.Source, h.Generator.Source)
	l.want(err == nil, "generator.source: %v", err)
	l.state.IDs.Secret, err = strconv.ParseUint(h.Generator.Secret, 10, 64)
	l.want(err == nil, "generator.secret: %v", err)
	for what, place := range map[string]int{"message": l.messages.missing(), "item": l.items.missing(), "run": l.runs.missing(), "slot": l.slots.missing(), "queue": l.queues.missing()} {
		l.want(place == 0, "%s %d: not found", what, place)
	}
	if l.err == nil {
		l.finish()
	}
	if l.err != nil {
		return nil, damagedError(l.err)
	}
	return &Snapshot{Account: h.Account, Clock: h.Clock, Now: h.Now, VectorIndexes: slices.Sorted(maps.Keys(l.state.Vectors)), state: &l.state, Canceling: l.canceling, InFlight: l.inFlight, LSN: h.LSN, Settings: h.settings}, nil
}

// loadSource restores the random source of ids. It recovers, because UnmarshalBinary panics
// for some invalid texts.
func loadSource(to *rand.ChaCha8, text string) (err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("%v", why)
		}
	}()
	source, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		err = to.UnmarshalBinary(source)
	}
	if err != nil {
		return err
	}
	if again, _ := to.MarshalBinary(); !bytes.Equal(again, source) { // never fails
		return errors.New("must be what the server wrote")
	}
	return nil
}

// want records an error unless ok is true, and returns ok.
func (l *SnapshotReader) want(ok bool, format string, args ...any) bool {
	if !ok && l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
	return ok
}

// objectAt returns the object at a place; what and id name the object that refers to it,
// for errors.
func objectAt[T any](l *SnapshotReader, p *places[T], place int, what, id string) *T {
	if v := p.at(place); l.want(v != nil, "%s %q: place %d: must be 1 or more", what, id, place) {
		return v
	}
	return new(T)
}

// waits sets the timer of an owner.
func (l *SnapshotReader) waits(owner Sleeper, t savedTimer, otherwise TimerKind) {
	if t.Timer == 0 {
		return
	}
	kind := otherwise
	if t.Wakes != "" {
		kind = WakeOutcome
		l.want(t.Wakes == timerKinds[kind], "wakes %q: must be %s", t.Wakes, timerKinds[kind])
	}
	if l.want(kind.Wakes(owner), "timer %d of %q: its outcome is missing", t.Timer, owner.Name()) {
		l.state.Timers.Load(Booking{Due: t.Due, Seq: t.Timer, Owner: owner}, kind)
	}
}

// finish does what needs the whole document.
func (l *SnapshotReader) finish() {
	l.finishTimers()
	for i := range l.vectors {
		x, err := vector.Load(&l.vectors[i])
		if l.want(err == nil, "%v", err) {
			l.state.Vectors[x.Name] = x
		}
	}
	for _, m := range l.state.Messages {
		if f := l.state.Families[m.Options.Family]; f != nil {
			f.Live++
		}
	}
	l.finishLog()
	for _, k := range l.state.Flows {
		k.Held.All(func(m *Message) {
			l.want(m.FlowKey() == k.Key, "message %q: held by key %q, but its key is %q", m.ID, k.Key, m.FlowKey())
		})
	}
	for _, t := range l.ready {
		k := l.state.Flows[t.FlowKey]
		switch {
		case t.FlowKey == "" && t.Message == 0:
			l.state.Ready.Push(ReadyTurn{Message: &Message{URL: t.URL, State: Canceled}})
		case t.FlowKey == "":
			m := objectAt(l, &l.messages, t.Message, "ready", "message")
			l.state.Ready.Push(ReadyTurn{Message: m})
			if t.InFlight && l.want(m.State == Active, "message %q: in flight, with state %q", m.ID, m.State) {
				l.inFlight = append(l.inFlight, m)
			}
		case l.want(k != nil, "ready key %q: not found", t.FlowKey):
			l.state.Ready.Push(ReadyTurn{Key: k, Under: t.URL})
		}
	}
	for _, w := range l.state.Waiters {
		w.Item.Waiter, w.RunRef = w, w.Run.RunRef // RunRef.URL is not in the file: the member url is Waiter.URL
	}
	slices.SortFunc(l.known, ByPosition[*Run])
	for _, run := range l.known {
		l.state.RunList.Add(run.ID, run)
	}
	l.state.DLQ.Sort()
	l.state.Recount()
}

// finishTimers checks the timers.
func (l *SnapshotReader) finishTimers() {
	for _, b := range l.state.Timers.Heap {
		l.want(b.Seq <= l.head.TimersIssued, "timer %d of %q: %d have been issued", b.Seq, b.Owner.Name(), l.head.TimersIssued)
	}
	l.state.Timers.Issued = l.head.TimersIssued
}

// finishLog numbers the events backwards from the last one: the log has no gaps, so the
// file does not have the numbers.
func (l *SnapshotReader) finishLog() {
	issued := l.head.EventsIssued
	if !l.want(uint64(len(l.events)) <= issued, "log: %d events, %d issued", len(l.events), issued) {
		return
	}
	l.want(l.head.StrippedBelow <= issued+1, "strippedBelow: %d, %d events issued", l.head.StrippedBelow, issued)
	l.state.Log = EventLog{Events: l.events, Issued: issued, Bare: l.head.StrippedBelow}
	for i, e := range l.events {
		e.Seq = issued - uint64(len(l.events)-1-i)
		if e.Message == nil {
			continue
		}
		if e.LogDetail != nil && e.LogDetail.Outcome != nil && l.state.Messages[e.Message.ID] != e.Message {
			e.Message.Last = e.LogDetail.Outcome // the outcome of an ended message is in its events only
		}
		if e.State == string(Created) {
			l.state.Log.Created = append(l.state.Log.Created, e)
		}
	}
	l.state.Log.Sort()
}
