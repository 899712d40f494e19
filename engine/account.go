package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/engine/vector"
)

// DefaultParallel is how many attempts an account makes at once.
const DefaultParallel = 256

// DefaultMaxCreated is how many messages one request may create: a batch counts
// each endpoint of the URL groups that it names.
const DefaultMaxCreated = 10_000

// Config is what an account is made of. Clock and Deliver are required.
type Config struct {
	ID         string
	Clock      Clock
	Auto       bool // with a Manual clock: move on to the next timer whenever nothing runs
	Deliver    Deliverer
	Seed       uint64 // 0: random ids, else the same commands give the same ids
	Parallel   int    // attempts at once; 0: DefaultParallel, or 1 when seeded so that the log repeats
	MaxCreated int    // messages that one request may create; 0: DefaultMaxCreated
	CurrentKey string // signing keys; "": made from the seed
	NextKey    string
	Log        *slog.Logger
	Failed     func(FailedAttempt) // sees each failure, in their order; calls no method of the account; nil: nobody

	HeaderName func(dialect, name string) string        // a header as clients of the dialect know it, for texts; nil: as it is
	InDialect  func(dialect string, json []byte) []byte // the body of a callback with the dialect's names; nil: as it is

	PricePerMessage float64       // billing, decided: 30
	VectorLag       time.Duration // decided: 33
	VectorIndexes   []vector.Config

	Memory *Memory // shared by the accounts of a process; nil: without bounds
	Strict bool    // for tests: panic where a promise of the engine breaks, in place of logging it
}

// Account is one token's world: data, timers, clock, lock. Exported methods
// lock and defer unlock, unexported methods never lock.
type Account struct {
	cfg  Config
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup // attempts in flight, and the auto clock

	mu        sync.Mutex
	quiet     *sync.Cond // something may have come to rest
	running   int        // attempts in flight
	shares    shares     // of them, by destination
	attempts  int        // attempts ever begun
	outbox    outbox
	advancing bool // an Advance is under way
	skipping  bool // the auto clock is under way
	closed    bool
	restored  int           // how often Restore has replaced the state
	more      chan struct{} // closed by the next change; nil while nobody follows
	ledger    ledger
	observed  atomic.Int64 // as in ledger, for readers without the lock
	state
}

// New starts an empty account.
func New(cfg Config) *Account {
	if cfg.Parallel == 0 {
		cfg.Parallel = DefaultParallel
		if cfg.Seed != 0 {
			cfg.Parallel = 1
		}
	}
	if cfg.MaxCreated == 0 {
		cfg.MaxCreated = DefaultMaxCreated
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Memory == nil {
		cfg.Memory = &Memory{}
	}
	a := &Account{cfg: cfg, state: newState(cfg)}
	a.cfg.CurrentKey, a.cfg.NextKey = a.current, a.next // these outlive a Reset
	a.ctx, a.stop = context.WithCancel(context.Background())
	a.quiet = sync.NewCond(&a.mu)
	a.now = cfg.Clock.Now().Truncate(time.Millisecond)
	a.outbox.alarm.clock = cfg.Clock
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
	if now := a.cfg.Clock.Now().Truncate(time.Millisecond); now.After(a.now) {
		a.now = now
	}
}

// unlock ends a command: starts what may start, tells whoever waits for rest,
// and does without the lock what the command has left to do.
func (a *Account) unlock() {
	a.launch()
	if !a.busy() {
		a.quiet.Broadcast()
		a.skip()
	}
	a.free()
}

// busy reports whether something is ready or in flight.
func (a *Account) busy() bool { return a.running > 0 || a.waitingTurns() > 0 }

// tick is called by the clock's alarm.
func (a *Account) tick() {
	a.lock()
	defer a.unlock()
	a.outbox.alarm.due = time.Time{}
	a.fire()
}

// fire wakes all that is due and returns how many timers that were.
func (a *Account) fire() int {
	fired := 0
	for {
		due, ok := a.timers.next()
		if !ok || due.After(a.now) || a.closed {
			return fired
		}
		a.wake()
		fired++
	}
}

// wake takes the earliest timer and hands it to what it is for.
func (a *Account) wake() {
	owner, kind := a.timers.pop()
	switch o := owner.(type) {
	case *Message:
		if kind == wakeOutcome {
			a.settle(o, *o.last)
		} else {
			a.due(o)
		}
	case *flowKey:
		a.offer(o)
	case *Schedule:
		a.fireSchedule(o)
	case *waiter:
		a.expire(o)
	}
}

// launch starts as many ready attempts as may run.
func (a *Account) launch() {
	for a.running < a.cfg.Parallel && !a.closed {
		t, ok := a.nextTurn()
		if !ok {
			return
		}
		if m := a.take(t); m != nil {
			a.start(m)
		}
	}
}

// start begins an attempt in a goroutine of its own.
func (a *Account) start(m *Message) {
	if m.State != Active { // else it was in flight in a snapshot
		a.move(m, Active, event{})
	}
	ctx, cancel := context.WithCancel(a.ctx)
	m.cancel = cancel
	m.NextAt = time.Time{}
	attempt := Attempt{
		Message:    *m,
		Number:     m.Retried,
		At:         a.now,
		SigningKey: a.current,
		Body:       a.bodyOf(m),
	}
	to := a.shares.of(m)
	a.shares.count(to, 1)
	a.running++
	a.attempts++
	a.wg.Add(1)
	go a.attempt(ctx, cancel, m, attempt, to)
}

// attempt is the body of the goroutine: deliver with no lock held, then settle.
func (a *Account) attempt(ctx context.Context, cancel context.CancelFunc, m *Message, at Attempt, to *share) {
	defer a.wg.Done()
	defer cancel()
	o := a.deliver(ctx, at)
	a.lock()
	defer a.unlock()
	a.running--
	a.shares.count(to, -1)
	if a.closed {
		a.note(slog.LevelWarn, "attempt ended by shutdown", "message", m.ID, "url", m.URL, "attempt", at.Number+1, "outcome", o.Err)
		return
	}
	if a.messages[m.ID] != m {
		return // forgotten by a Reset meanwhile
	}
	if o.After > 0 && m.State == Active {
		a.postpone(m, o)
		return
	}
	a.settle(m, o)
}

// postpone lets the outcome of a stub take effect when the time that it claims
// has passed on the clock, or the message's timeout.
func (a *Account) postpone(m *Message, o Outcome) {
	if limit := m.Options.timeout(); o.After > limit {
		o = Outcome{Err: fmt.Sprintf("no answer within the timeout of %s", limit), After: limit}
	}
	m.cancel, m.last = nil, &o
	a.timers.add(a.now.Add(o.After), wakeOutcome, m)
}

// deliver calls the Deliverer; a panic there is a failed attempt, not the end.
func (a *Account) deliver(ctx context.Context, at Attempt) (o Outcome) {
	defer func() {
		if r := recover(); r != nil {
			a.cfg.Log.Error("deliverer panicked", "message", at.Message.ID, "panic", r)
			o = Outcome{Err: fmt.Sprintf("internal fault while delivering: %v", r)}
		}
	}()
	return a.cfg.Deliver.Deliver(ctx, at)
}

// Now is the account's time, in whole milliseconds.
func (a *Account) Now() time.Time {
	a.lock()
	defer a.unlock()
	return a.now
}

// NextDue is when the next timer rings.
func (a *Account) NextDue() (time.Time, bool) {
	a.lock()
	defer a.unlock()
	return a.timers.next()
}

// Keys are the signing keys.
func (a *Account) Keys() (current, next string) {
	a.lock()
	defer a.unlock()
	return a.current, a.next
}

// RotateKeys makes the next signing key current and draws a new next one.
func (a *Account) RotateKeys() (current, next string) {
	a.lock()
	defer a.unlock()
	a.current, a.next = a.next, a.ids.key()
	return a.current, a.next
}

// GlobalParallelism is how many attempts may run at once, and how many do.
func (a *Account) GlobalParallelism() (limit, running int) {
	a.lock()
	defer a.unlock()
	return a.cfg.Parallel, a.running
}

// Reset forgets everything but configuration and signing keys; attempts in
// flight are cut off, and their outcomes ignored.
func (a *Account) Reset() {
	a.lock()
	defer a.unlock()
	now := a.now
	a.replace(newState(a.cfg))
	a.now = now
}

// ResetClock does what Reset does, and begins with another clock. Time may go
// back: nothing is left that remembers it.
func (a *Account) ResetClock(c Clock, auto bool) {
	a.lock()
	defer a.unlock()
	a.cfg.Clock, a.cfg.Auto = c, auto
	a.replace(newState(a.cfg))
	a.now = c.Now().Truncate(time.Millisecond)
	a.restored++ // ends an advance of the old clock
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
	waiting := len(a.messages)
	if waiting > 0 {
		a.note(slog.LevelWarn, "closed with messages undelivered", "account", a.cfg.ID, "messages", waiting, "in flight", a.running)
	}
	a.unweigh()
	a.stop()
	a.quiet.Broadcast()
	a.free()
	a.wg.Wait()
	return nil
}
