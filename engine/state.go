package engine

import (
	"encoding/hex"
	"math/rand/v2"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/engine/usage"
	"github.com/understudy-mock/understudy/engine/vector"
)

// state is everything that an account knows: plain values, no locks, no
// channels, so that it can be listed, saved and continued.
type state struct {
	now           time.Time // of the running command, stamped by lock
	running       int       // attempts in flight
	shares        shares    // of them, by destination
	ids           ids
	seq           uint64 // of events, DLQ entries and runs: the order of lists
	timers        timers
	ready         fifo[turn]
	messages      map[string]*Message // not yet ended
	dedup         dedup
	groups        map[string]*Group
	flows         map[string]*flowKey
	queues        map[string]*queue
	schedules     map[string]*Schedule
	log           eventLog
	dlq           ordered[*DLQEntry]
	reports       map[string]string // failureText callback -> DLQ entry that it reports on
	runs          map[string]*Run
	runList       ordered[*Run]
	waiters       map[string]*waiter
	usage         usage.Minutes
	tally         tally
	search        search.Indexes
	vectors       map[string]*vector.Index
	headers       interner
	options       optionInterner
	current, next string // signing keys
}

// newState is the state of an account that has seen nothing. Keys that are "" are drawn.
func newState(seed uint64, currentKey, nextKey string) state {
	s := state{
		ids:       newIDs(seed),
		messages:  map[string]*Message{},
		groups:    map[string]*Group{},
		flows:     map[string]*flowKey{},
		queues:    map[string]*queue{},
		schedules: map[string]*Schedule{},
		reports:   map[string]string{},
		runs:      map[string]*Run{},
		waiters:   map[string]*waiter{},
		search:    search.Indexes{},
		vectors:   map[string]*vector.Index{},
		tally:     newTally(),
		current:   currentKey,
		next:      nextKey,
	}
	if s.current == "" {
		s.current = s.ids.key()
	}
	if s.next == "" {
		s.next = s.ids.key()
	}
	return s
}

// ids makes identifiers from a seed; it is part of the state, so that a
// restored account continues the same sequence.
type ids struct {
	source *rand.ChaCha8
	secret uint64 // marks the cursors of this account
}

func newIDs(seed uint64) ids {
	if seed == 0 {
		seed = rand.Uint64()
	}
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	source := rand.NewChaCha8(key)
	return ids{source: source, secret: source.Uint64()}
}

// id is prefix, then a ULID: sortable by time.
func (g *ids) id(prefix string, now time.Time) string {
	var u ulid.ULID
	_ = u.SetTime(uint64(max(now.UnixMilli(), 0))) // fails only beyond the year 10889
	_, _ = g.source.Read(u[6:])                    // never fails
	return prefix + u.String()
}

// key is a new signing key.
func (g *ids) key() string {
	var b [16]byte
	_, _ = g.source.Read(b[:]) // never fails
	return "sig_" + hex.EncodeToString(b[:])
}

// readAnswers finds in a state that was loaded what answers say: a snapshot has
// their headers.
func (s *state) readAnswers(of func(*Outcome) Answer) {
	read := func(o *Outcome) {
		if o != nil {
			o.answer = of(o)
		}
	}
	for _, m := range s.messages {
		read(m.last)
	}
	for _, e := range s.log.events {
		if e.detail != nil {
			read(e.detail.out)
		}
	}
	for _, e := range s.dlq.items {
		if e != nil {
			read(&e.Last)
		}
	}
}
