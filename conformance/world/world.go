package world

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
)

// World is a plan that has been run.
type World struct {
	*Kind
	Lives []*Life
	Late  time.Duration // the longest time between the moment when something was due and its arrival

	s        *harness.Scenario
	tag      string // of its names and of the keys of its things
	patience time.Duration
	began    time.Time
	moved    atomic.Int64                      // by how much the clock of the target was moved, in ns
	secret   string                            // the credential of the publisher
	poll     time.Duration                     // between looks at what is awaited
	names    func(section, name string) string // bindings of the target
	isHeader func(given, neutral string) bool  // of its dialect
	paced    bool                              // requests wait for limits.rps of the target file

	mu     sync.Mutex
	places []*spot
	stamps map[*receiver.Received]time.Duration
	latest time.Time // when the latest of them came, in real time
}

// Life is a thing with what has been observed of it. Times count from the start of the world.
type Life struct {
	*Thing
	Error error  // of the publish or the trigger
	Run   *Tale  // of a run; what follows is of a message, but Begun
	View  *Sight // of a read
	Route *Route // of a limited route
	again bool   // a second life of the same thing
	guest bool   // brought by another thing, not in the plan

	Want      *Want
	Order     *Order
	Begun     time.Duration
	Resumed   time.Duration
	Got       [][]Attempt // at each endpoint
	Strange   []Attempt   // what arrived there and belongs to nothing
	Callbacks map[string][]*receiver.Received

	at        []*spot
	callbacks map[string]*receiver.Endpoint
	to, path  string
	early     int // attempts before the resume
	key       string
}

// Attempt is a delivery and when it came.
type Attempt struct {
	*receiver.Received
	At time.Duration
}

// Run makes the things happen together, within a scenario. patience is how long it waits for what is missing.
func (k *Kind) Run(s *harness.Scenario, tag string, things []*Thing, patience time.Duration) (*World, error) {
	w := &World{Kind: k, s: s, tag: tag, patience: patience, began: harness.Now(), poll: 20 * time.Millisecond, names: s.Bound, isHeader: s.IsHeader, secret: string(s.Auth.Bearer), paced: s.Suite.Target.Limits.RPS > 0, stamps: map[*receiver.Received]time.Duration{}}
	for _, t := range things {
		w.Lives = append(w.Lives, &Life{Thing: &Thing{Kind: k, Key: tag + t.Key, Pick: t.Pick, seed: t.seed}})
	}
	return w, k.run(w)
}

// now is the time since the start of the world. While a moved clock advances, it is that of the end.
func (w *World) now() time.Duration {
	if w.s.Clock.Virtual() {
		return time.Duration(w.moved.Load())
	}
	return harness.Since(w.began)
}

// pass moves the clock of the target. In real time, it does nothing.
func (w *World) pass(d time.Duration) error {
	if !w.s.Clock.Virtual() || d < 0 {
		return nil
	}
	w.moved.Add(int64(d))
	return w.s.Clock.Pass(w.s.Context, d)
}

// await waits until done, at most d of real time.
func (w *World) await(d time.Duration, done func() bool) error {
	for began := harness.Now(); !done() && harness.Since(began) < d; {
		if err := w.s.Clock.Wait(w.s.Context, w.poll); err != nil {
			return err
		}
	}
	return nil
}

// reach waits until done, or until nothing has come for as long as the patience: a slow target takes
// its time. A moved clock stops just before each moment when something is due, and at it, and then goes
// on in strides.
func (w *World) reach(dues []time.Duration, done func() bool) error {
	if !w.s.Clock.Virtual() {
		began := harness.Now()
		return w.await(math.MaxInt64, func() bool { // the budget of the scenario ends it
			if done() {
				return true
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			return min(harness.Since(began), harness.Since(w.latest)) > w.patience
		})
	}
	slices.Sort(dues)
	for _, due := range slices.Compact(dues) {
		if err := harness.InTurn(func() error { return w.pass(due - time.Millisecond - w.now()) }, func() error { return w.pass(due - w.now()) }); err != nil {
			return err
		}
	}
	for _, stride := range []time.Duration{time.Second, time.Second, time.Minute, time.Hour} {
		if done() {
			return nil
		}
		if err := w.pass(stride); err != nil {
			return err
		}
	}
	return nil
}

// quiet waits for what must not come.
func (w *World) quiet() error {
	if w.s.Clock.Virtual() {
		if w.names("headers", "retry_delay") != "" {
			return w.pass(time.Hour)
		}
		return w.pass(48 * time.Hour) // a retry takes up to a day
	}
	return w.s.Clock.Wait(w.s.Context, max(leastQuiet, 2*w.Late))
}

// leastQuiet is more than twice the wait before a retry.
const leastQuiet = 1200 * time.Millisecond

// parallel is how many requests set a world up at once.
const parallel = 16

// each calls do for all lives, several at once, and returns the first error in their order.
func (w *World) each(do func(*Life) error) error {
	errs := make([]error, len(w.Lives))
	together(len(errs), parallel, func(i int) { errs[i] = harness.Guard(func() error { return do(w.Lives[i]) }) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// together calls do n times, some of them at once, and waits for all.
func together(n, most int, do func(i int)) {
	turn := make(chan struct{}, max(1, most))
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			do(i)
		})
	}
	all.Wait()
}

// meanwhile calls do, and returns a channel that is closed when it has returned.
func meanwhile(do func()) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		do()
	}()
	return over
}

// closed reports whether a channel is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// stamp notes when a delivery came.
func (w *World) stamp(got *receiver.Received) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stamps[got], w.latest = w.now(), harness.Now()
}

// stamped returns deliveries with their times. One that has just come has none yet, and is left out.
func (w *World) stamped(list []*receiver.Received) (out []Attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, got := range list {
		if at, ok := w.stamps[got]; ok {
			out = append(out, Attempt{got, at})
		}
	}
	return out
}
