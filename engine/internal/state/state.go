package state

import (
	"encoding/hex"
	"io"
	"math/rand/v2"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/engine/usage"
	"github.com/understudy-mock/understudy/engine/vector"
)

// State is the data of an account: plain values without locks or channels, so that it can
// be listed, saved and continued.
type State struct {
	Now                 time.Time // time of the running command, set by lock
	Running             int       // attempts in flight
	Shares              Shares    // attempts by host and URL
	IDs                 IDs
	Seq                 uint64 // last sequence number of DLQ entries and runs: the order of lists
	Timers              Timers
	Ready               FIFO[ReadyTurn]
	Messages            map[string]*Message // not yet ended
	Dedup               Dedup
	Groups              map[string]*Group
	Flows               map[string]*FlowGate
	Families            map[string]*Family // with messages that have not ended
	Queues              map[string]*QueueBacklog
	Schedules           map[string]*Schedule
	Log                 EventLog
	DLQ                 Ordered[*DLQEntry]
	Reports             map[string]string // failure callback -> DLQ entry that it reports on
	Runs                map[string]*Run
	RunList             Ordered[*Run]
	Waiters             map[string]*PendingWait
	Usage               usage.Minutes
	Tally               Tally
	Search              search.Indexes
	Vectors             map[string]*vector.Index
	Headers             HeaderInterner
	Options             OptionInterner
	Origins             OriginInterner
	CurrentKey, NextKey string // signing keys
}

// New returns the state of a new account. Signing keys that are "" are generated.
func New(seed uint64, currentKey, nextKey string) State {
	s := State{
		IDs:        newIDs(seed),
		Messages:   map[string]*Message{},
		Groups:     map[string]*Group{},
		Flows:      map[string]*FlowGate{},
		Families:   map[string]*Family{},
		Queues:     map[string]*QueueBacklog{},
		Schedules:  map[string]*Schedule{},
		Reports:    map[string]string{},
		Runs:       map[string]*Run{},
		Waiters:    map[string]*PendingWait{},
		Search:     search.Indexes{},
		Vectors:    map[string]*vector.Index{},
		Tally:      newTally(),
		CurrentKey: currentKey,
		NextKey:    nextKey,
	}
	if s.CurrentKey == "" {
		s.CurrentKey = s.IDs.NewKey()
	}
	if s.NextKey == "" {
		s.NextKey = s.IDs.NewKey()
	}
	return s
}

// IDs generates identifiers from a seed. It is part of the state, so that a restored
// account continues the same sequence.
type IDs struct {
	Source *rand.ChaCha8
	Secret uint64 // key of the marks in cursors of this account
}

// newIDs takes the secret from the source too, so that equal seeds give equal cursors. Seed
// 0 means a random one.
func newIDs(seed uint64) IDs {
	if seed == 0 {
		seed = rand.Uint64()
	}
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	source := rand.NewChaCha8(key)
	return IDs{Source: source, Secret: source.Uint64()}
}

// New returns the prefix followed by a ULID, so that ids sort by time.
func (g *IDs) New(prefix string, now time.Time) string {
	var u ulid.ULID
	_ = u.SetTime(uint64(max(now.UnixMilli(), 0))) // fails only beyond the year 10889
	_, _ = g.Source.Read(u[6:])                    // never fails
	return prefix + u.String()
}

// NewKey returns a new signing key.
func (g *IDs) NewKey() string { return NewKey(g.Source) }

// NewKey returns a new signing key from a source of random bytes that never fails.
func NewKey(source io.Reader) string {
	var b [16]byte
	_, _ = io.ReadFull(source, b[:])
	return "sig_" + hex.EncodeToString(b[:])
}

// ReadAnswers sets the field Answer of all outcomes in a loaded state: a snapshot has only
// the headers from which it is computed.
func (s *State) ReadAnswers(of func(*Outcome) Answer) {
	read := func(o *Outcome) {
		if o != nil {
			o.Answer = of(o)
		}
	}
	for _, m := range s.Messages {
		read(m.Last)
	}
	for _, e := range s.Log.Events {
		if e.LogDetail != nil {
			read(e.LogDetail.Outcome)
		}
	}
	for _, e := range s.DLQ.Items {
		if e != nil {
			read(&e.Last)
		}
	}
}
