package engine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/internal/snapshot"
	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/memory"
	"github.com/understudy-mock/understudy/engine/vector"
)

// DefaultParallel is how many attempts an account makes at once.
const DefaultParallel = 256

// DefaultMaxCreated is how many messages one request may create: a batch counts
// each endpoint of the URL groups that it names.
const DefaultMaxCreated = 10_000

// Config is what an account is made of. Clock, Deliver and Wire are required.
type Config struct {
	ID    string
	Clock clock.Clock
	Auto  bool // with a Manual clock: move on to the next timer whenever nothing runs

	// Deliver makes one attempt. It is called with no lock held, from a goroutine
	// that the account owns, and returns when ctx ends.
	Deliver func(ctx context.Context, a Attempt) Outcome

	Wire       Wire
	Seed       uint64 // 0: random ids, else the same commands give the same ids
	Parallel   int    // attempts at once; 0: DefaultParallel, or 1 when seeded so that the log repeats
	MaxCreated int    // messages that one request may create; 0: DefaultMaxCreated
	CurrentKey string // signing keys; "": made from the seed
	NextKey    string
	Log        *slog.Logger
	Failed     func(FailedAttempt) // sees each failure, in their order; calls no method of the account; nil: nobody
	Journal    journal.Journal     // keeps the commands; nil: nothing does

	HeaderName func(dialect, name string) string        // the header with this neutral name as clients of the dialect know it, for texts; nil: as it is
	InDialect  func(dialect string, json []byte) []byte // the body of a callback with the dialect's names; nil: as it is

	PricePerMessage float64       // billing, decided: 30
	VectorLag       time.Duration // decided: 33
	VectorIndexes   []vector.Config

	Memory *memory.Ledger // shared by the accounts of a process; nil: without bounds
	Strict bool           // for tests: panic where a promise of the engine breaks, in place of logging it
}

// Account is one token's world: data, timers, clock, lock. Exported methods
// lock and defer unlock, unexported methods never lock.
type Account struct {
	cfg  Config
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup // attempts in flight, and the auto clock

	mu         sync.Mutex
	quiet      *sync.Cond // something may have come to rest
	attempts   int        // attempts ever begun
	outbox     outbox
	advancing  bool // an Advance is under way
	skipping   bool // the auto clock is under way
	closed     bool
	mode       string        // of the clock: real, manual or auto
	replaying  bool          // it follows a journal: no attempt is made, nobody is notified
	turned     bool          // a command has set the time: the clock follows
	random     bool          // the seed was drawn: a Reset draws another one
	otherZones bool          // a record was written with other time-zone data
	zoned      bool          // a schedule has a time zone
	restored   int           // how often a snapshot or a clock has replaced the state
	replaced   int           // how often anything has
	lsn        uint64        // of the last record
	behind     atomic.Uint64 // the last record that could not be made durable, 0 for none
	more       chan struct{} // closed by the next change; nil while nobody follows
	ledger     ledger
	observed   atomic.Int64     // as in ledger, for readers without the lock
	saves      sync.Mutex       // one snapshot at a time
	saving     *snapshot.Writer // the one that is being written, nil for none
	saveEpoch  uint32           // counts them
	state      state.State
}

// New starts an empty account.
func New(cfg Config) *Account {
	a, _ := Open(cfg, nil, nil) // nothing is replayed that could be refused
	return a
}

// lock begins a command: one lock, one instant. Time is cut to the
// millisecond, the unit of everything on the wire, and never runs backwards.
func (a *Account) lock() {
	a.mu.Lock()
	a.stamp()
}

// stamp takes the time from the clock.
func (a *Account) stamp() {
	if a.replaying {
		return
	}
	if now := a.cfg.Clock.Now().Truncate(time.Millisecond); now.After(a.state.Now) {
		a.state.Now = now
	}
}

// unlock ends a command: it signals that something may have come to rest, and does
// without the lock what the command has left to do.
func (a *Account) unlock() {
	if !a.busy() {
		a.quiet.Broadcast()
		a.skip()
	}
	a.free()
}

// busy reports whether something is ready or in flight.
func (a *Account) busy() bool { return a.state.Running > 0 || a.state.WaitingTurns() > 0 }

// tick is called by the clock's alarm.
func (a *Account) tick() {
	a.lock()
	defer a.unlock()
	a.outbox.alarm.due = time.Time{}
	if due, ok := a.state.Timers.Next(); ok && !due.After(a.state.Now) {
		_, _ = applyCommand(a, tick{}) // closed meanwhile, or done
	}
}

// tick fires what is due; an Advance records it as well where that is nothing, as
// the time that it has moved to.
type tick struct{}

// apply wakes all that is due and gives the number of timers.
func (tick) apply(a *Account) (int, error) {
	fired := 0
	for {
		due, ok := a.state.Timers.Next()
		if !ok || due.After(a.state.Now) {
			return fired, nil
		}
		a.wake()
		fired++
	}
}

// wake takes the earliest timer and hands it to what it is for.
func (a *Account) wake() {
	a.touch(a.state.Timers.Heap[0].Owner)
	owner, kind := a.state.Timers.Pop()
	switch o := owner.(type) {
	case *Message:
		if kind == state.WakeOutcome {
			a.settle(o, *o.Last)
		} else {
			a.due(o)
		}
	case *state.FlowGate:
		a.offer(o)
	case *Schedule:
		a.fireSchedule(o)
	case *state.PendingWait:
		a.expire(o)
	}
}

// Now is the account's time, in whole milliseconds.
func (a *Account) Now() time.Time {
	a.lock()
	defer a.unlock()
	return a.state.Now
}

// Keys are the signing keys.
func (a *Account) Keys() (current, next string) {
	a.lock()
	defer a.unlock()
	return a.state.CurrentKey, a.state.NextKey
}

// RotateKeys makes the next signing key current and draws a new next one.
func (a *Account) RotateKeys() (current, next string, err error) {
	return splitPair(runCommand(a, rotateKeys{}))
}

type rotateKeys struct{}

// apply draws the new key from the ids of the account, so that a replay rotates to the
// same one.
func (rotateKeys) apply(a *Account) (pair[string, string], error) {
	a.state.CurrentKey, a.state.NextKey = a.state.NextKey, a.state.IDs.NewKey()
	return pair[string, string]{a.state.CurrentKey, a.state.NextKey}, nil
}

// Reset forgets everything but configuration and signing keys; attempts in flight
// are cut off, and their outcomes ignored. It begins with another clock, whose time
// may be behind: nothing is left that remembers it. Without one, the clock stays.
func (a *Account) Reset(c clock.Clock, auto bool) error {
	return errorOnly(runEither(a, c == nil, reset{a.freshSeed()}, resetTo(a.freshSeed(), c, auto)))
}

// reset keeps the clock. Its seed is part of the record: a drawn one must be drawn once.
type reset struct{ Seed uint64 }

func (c reset) apply(a *Account) (nothing, error) {
	a.begun(c.Seed)
	return nothing{}, nil
}

// resetClock begins with another clock. The record has where that one stood; replay has
// no clock, and takes the time from there.
type resetClock struct {
	Seed  uint64
	Mode  string
	Now   time.Time
	clock clock.Clock
}

// resetTo is a value even where there is no clock: runEither evaluates both commands and
// runs one.
func resetTo(seed uint64, c clock.Clock, auto bool) resetClock {
	if c == nil {
		return resetClock{}
	}
	return resetClock{seed, modeOf(c, auto), c.Now().Truncate(time.Millisecond), c}
}

func (c resetClock) apply(a *Account) (nothing, error) {
	a.begun(c.Seed)
	a.state.Now = c.Now
	a.restored++ // ends an advance of the old clock
	a.follow(c.Mode, c.clock)
	return nothing{}, nil
}

// freshSeed is what a reset begins with.
func (a *Account) freshSeed() uint64 {
	if a.random {
		return rand.Uint64()
	}
	return a.cfg.Seed
}

// Close cuts off the attempts in flight, waits for them, and logs what stays
// undelivered.
func (a *Account) Close() error {
	a.lock()
	if a.closed {
		a.mu.Unlock()
		return nil
	}
	a.closed = true
	waiting := len(a.state.Messages)
	if waiting > 0 {
		a.note(slog.LevelWarn, "closed with messages undelivered", "account", a.cfg.ID, "messages", waiting, "in flight", a.state.Running)
	}
	a.unweigh()
	a.stop()
	a.quiet.Broadcast()
	a.free()
	a.wg.Wait()
	return nil
}
