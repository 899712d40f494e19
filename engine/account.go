package engine

import (
	"context"
	cryptorand "crypto/rand"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/vector"
)

// DefaultParallel is the default of Config.Parallel: the largest number of
// concurrent attempts of an account.
const DefaultParallel = 256

// DefaultMaxCreated is the default of Config.MaxCreated: the largest number of messages that
// one request may create. A batch counts each endpoint of the URL groups that it names.
const DefaultMaxCreated = 10_000

// Config configures an account. Clock, Deliver and Wire are required.
type Config struct {
	ID    string
	Clock clock.Clock
	Auto  bool // with a Manual clock: advance to the next timer whenever nothing runs

	// Deliver makes one attempt. It is called with no lock held, from a goroutine
	// that the account owns, and returns when ctx ends.
	Deliver func(ctx context.Context, a Attempt) Outcome

	Wire           Wire
	Seed           uint64 // 0: random ids; otherwise the same commands give the same ids
	Parallel       int    // largest number of concurrent attempts; 0: DefaultParallel, or 1 when seeded, so that the log repeats
	PerHost        int    // largest number of concurrent attempts to one host; 0: 64
	MaxCreated     int    // messages that one request may create; 0: DefaultMaxCreated
	MaxDescendants int    // of one message, see DefaultMaxDescendants; 0: that
	CurrentKey     string // signing keys; "": derived from the seed
	NextKey        string
	Log            *slog.Logger
	Failed         func(FailedAttempt) // receives each failed attempt, in order; must not call the account; nil: none
	Journal        journal.Journal     // records the commands; nil: none

	HeaderName func(dialect, name string) string        // name of a header in a dialect, from its neutral name, for texts; nil: the neutral name
	InDialect  func(dialect string, json []byte) []byte // body of a callback with the names of a dialect; nil: unchanged

	PricePerMessage float64       // billing, decided: 30
	VectorLag       time.Duration // decided: 33
	VectorIndexes   []vector.Config

	Memory *Ledger // shared by the accounts of a process; nil: without bounds
	Strict bool    // for tests: panic on an internal error, instead of logging it
}

// Account is the data, timers, clock and lock behind one token. It is safe for concurrent use:
// exported methods lock and defer unlock, unexported methods never lock.
type Account struct {
	cfg  Config
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup // attempts in flight, and the auto clock

	mu        sync.Mutex
	quiet     *sync.Cond                      // something may have come to rest
	cancels   map[*Message]context.CancelFunc // of the attempts in flight
	attempts  int                             // attempts started since the process began
	outbox    outbox
	moving    *movement // the Advance in progress; nil for none
	skipping  bool      // a step of the auto clock is in progress
	closed    bool
	mode      string        // of the clock: real, manual or auto
	replaying bool          // applies a journal: makes no attempts, notifies no followers
	turned    bool          // a command has set the time, and unlock must set the clock
	random    bool          // the seed is random: a Reset draws another one
	settings  begin         // what the next commands depend on, as recorded
	savedLSN  uint64        // of the last record in a snapshot of the journal
	unlike    error         // why this version cannot replay a record
	restored  int           // how often a snapshot, a reset or a clock has replaced the state
	replaced  int           // how often the state was replaced for any reason
	lsn       uint64        // of the last record
	behind    atomic.Uint64 // the last record that could not be made durable, 0 for none
	more      chan struct{} // closed by the next change; nil without followers
	counted   counted
	observed  atomic.Int64 // as in counted, for readers without the lock
	glance    glance
	saves     sync.Mutex            // one snapshot at a time
	saving    *state.SnapshotWriter // the snapshot that is being written, nil for none
	saveEpoch uint32                // number of snapshots so far
	state     state.State
}

// New starts an empty account.
func New(cfg Config) *Account {
	a, _ := Open(cfg, nil, nil) // without records, Open cannot fail
	return a
}

// lock begins a command: it takes the lock and the time of the command. Time is
// truncated to milliseconds, the unit of the interface, and never goes back.
func (a *Account) lock() {
	a.mu.Lock()
	a.stamp()
}

// stamp sets the time of the command from the clock.
func (a *Account) stamp() {
	if a.replaying {
		return
	}
	if now := a.cfg.Clock.Now().Truncate(time.Millisecond); now.After(a.state.Now) {
		a.state.Now = now
	}
}

// unlock ends a command: when nothing is ready or in flight, it wakes the
// waiters of Settle and Advance and lets an auto clock continue. After
// releasing the lock, it does what the command left in the outbox.
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
		_, _ = applyCommand(a, tick{}) // an error means that the account was closed meanwhile
	}
}

// tick fires all due timers. An Advance also records one when no timer is due,
// because the record has the time that the clock moved to.
type tick struct{}

// apply fires all due timers and returns their number.
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

// wake removes the earliest timer and calls the handler of its kind.
func (a *Account) wake() {
	a.touch(a.state.Timers.Heap[0].Owner)
	owner, kind := a.state.Timers.Pop()
	switch o := owner.(type) {
	case *Message:
		if kind == state.WakeOutcome {
			a.settle(o, new(*o.Last)) // a copy: readers may hold the postponed one
		} else {
			if o.Asleep() {
				a.moving.wokeRun(o.RunID)
			}
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
	return splitPair(runCommand(a, rotateKeys{a.freshKey()}))
}

// rotateKeys contains the new key, which must not follow from the seed of the
// ids: an exported journal contains that seed. "" means that it is derived from
// the seed, so that a seeded account repeats.
type rotateKeys struct{ Next string }

func (c rotateKeys) apply(a *Account) (pair[string, string], error) {
	if c.Next == "" {
		c.Next = a.state.IDs.NewKey()
	}
	a.state.CurrentKey, a.state.NextKey = a.state.NextKey, c.Next
	return pair[string, string]{a.state.CurrentKey, a.state.NextKey}, nil
}

// Reset removes everything except configuration and signing keys. Attempts in flight are
// cancelled and their outcomes ignored. A non-nil c replaces the clock, also by one with an
// earlier time: no data with the old time is left. Otherwise the clock stays.
func (a *Account) Reset(c clock.Clock, auto bool) error {
	if c == nil {
		return do(a, reset{a.freshSeed()})
	}
	return do(a, resetClock{a.freshSeed(), modeOf(c, auto), c.Now().Truncate(time.Millisecond), c})
}

// reset keeps the clock. Its seed is part of the record, so that a random one
// is the same in replay.
type reset struct{ Seed uint64 }

func (c reset) apply(a *Account) error {
	a.begun(c.Seed)
	return nil
}

// resetClock replaces the clock. The record contains the time of the new clock,
// because a replay has no clock.
type resetClock struct {
	Seed  uint64
	Mode  string
	Now   time.Time
	clock clock.Clock
}

func (c resetClock) apply(a *Account) error {
	a.begun(c.Seed)
	a.state.Now = c.Now
	a.restored++ // makes an Advance of the old clock return
	a.follow(c.Mode, c.clock)
	return nil
}

// freshSeed is the seed after a reset.
func (a *Account) freshSeed() uint64 {
	if a.random {
		return rand.Uint64()
	}
	return a.cfg.Seed
}

// freshKey is a new random signing key; "" in an account with a configured
// seed, which derives it.
func (a *Account) freshKey() string {
	if a.random {
		return state.NewKey(cryptorand.Reader)
	}
	return ""
}

// Close cancels the attempts in flight, waits for them and for a step of the auto clock, and
// logs how many messages stay undelivered. A second call returns at once.
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
	for _, cancel := range a.cancels {
		cancel()
	}
	a.quiet.Broadcast()
	a.free()
	a.wg.Wait()
	return nil
}
