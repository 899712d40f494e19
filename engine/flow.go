package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// FlowKey is the state of a flow-control key (decided: 5).
type FlowKey struct {
	Key               string
	Waiting           int
	Parallelism       int // most attempts in flight, 0 for no limit
	InFlight          int
	Rate              int // most starts within a period, 0 for no limit
	RateCount         int // starts within the period that ends now
	Period            time.Duration
	PeriodStart       time.Time // the oldest of these starts, or now
	Paused            bool
	PinnedParallelism bool
	PinnedRate        bool
}

// flowKey holds messages until its limits let them start. No span of one
// period ever sees more than rate starts: starts remembers the times of the
// latest ones, so that each start costs the same however many messages wait.
type flowKey struct {
	FlowKey
	waiting  fifo[*Message]
	starts   fifo[time.Time] // within the last period before the latest start, oldest first
	offered  bool            // has a turn in ready
	timer    timer           // when its rate allows a start again; only while something waits
	pausedAt time.Time
}

// turn is an entry of the ready list: a message that may start at once, or a
// key that may let one of its messages start.
type turn struct {
	message *Message
	key     *flowKey
}

// key finds or makes a flow-control key.
func (a *Account) key(name string) *flowKey {
	k := a.flows[name]
	if k == nil {
		k = &flowKey{FlowKey: FlowKey{Key: name, Period: time.Second}}
		a.flows[name] = k
		a.addWork(flowCost + int64(len(name)))
	}
	a.touch(k) // its caller changes it
	return k
}

// hold puts a due message at the end of its key's waiting list. The limits of
// the newest message hold for the key, unless pinned.
func (a *Account) hold(m *Message) {
	f := m.Options.Flow
	k := a.key(f.Key)
	k.limit(f)
	k.waiting.push(m)
	k.Waiting++
	a.offer(k)
}

func (k *flowKey) limit(f *FlowControl) {
	if !k.PinnedParallelism {
		k.Parallelism = f.Parallelism
	}
	if !k.PinnedRate {
		k.Rate, k.Period = f.Rate, f.Period
		if k.Period <= 0 {
			k.Period = time.Second
		}
	}
}

// offer gives the key a turn, once, when it has something waiting.
func (a *Account) offer(k *flowKey) {
	if !k.offered && k.Waiting > 0 && !k.Paused {
		a.touch(k)
		k.offered = true
		a.ready.push(turn{key: k})
	}
}

// take is the message that may start in this turn, nil for none. A key that
// could start another one gets another turn, behind all others.
func (a *Account) take(t turn) *Message {
	if t.key == nil {
		if t.message.State == Canceled {
			return nil
		}
		return t.message
	}
	k := t.key
	a.touch(k)
	k.offered = false
	if !a.mayStart(k) {
		return nil
	}
	for k.waiting.len() > 0 {
		m := k.waiting.pop()
		if m.State == Canceled {
			continue
		}
		k.Waiting--
		k.InFlight++
		if k.Rate > 0 {
			k.starts.push(a.now)
		}
		a.offer(k)
		a.calm(k)
		return m
	}
	return nil
}

// mayStart asks the key's limits. A spent rate books the moment at which it
// allows a start again.
func (a *Account) mayStart(k *flowKey) bool {
	if k.Paused || k.Waiting == 0 || k.Parallelism > 0 && k.InFlight >= k.Parallelism {
		return false
	}
	if k.Rate <= 0 {
		return true
	}
	k.forget(a.now)
	if k.starts.len() < k.Rate {
		return true
	}
	if k.timer.place == 0 {
		again := k.starts.items[k.starts.head+k.starts.len()-k.Rate].Add(k.Period)
		a.timers.add(again, wakeFlow, k)
	}
	return false
}

// recent is the starts within the period that ends now, oldest first.
func (k *flowKey) recent(now time.Time) []time.Time {
	starts := k.starts.items[k.starts.head:]
	old, _ := slices.BinarySearchFunc(starts, now.Add(-k.Period), func(start, limit time.Time) int {
		if start.After(limit) {
			return 1
		}
		return -1
	})
	return starts[old:]
}

// forget drops the starts that are a period or more ago.
func (k *flowKey) forget(now time.Time) {
	for n := len(k.recent(now)); k.starts.len() > n; {
		k.starts.pop()
	}
}

// releaseFlow gives back the place of an ended attempt.
func (a *Account) releaseFlow(m *Message) {
	if m.Options.Flow == nil {
		return
	}
	k := a.key(m.Options.Flow.Key)
	k.InFlight = max(0, k.InFlight-1)
	a.offer(k)
}

// unhold takes a cancelled message off the count of its key.
func (a *Account) unhold(m *Message) {
	if m.Options.Flow != nil {
		k := a.key(m.Options.Flow.Key)
		k.Waiting = max(0, k.Waiting-1)
		a.calm(k)
	}
}

// calm takes the timer of a key back that has nothing to start.
func (a *Account) calm(k *flowKey) {
	if k.Waiting == 0 || k.Paused {
		a.timers.remove(k)
	}
}

// FlowKeys lists all keys by name.
func (a *Account) FlowKeys() []FlowKey {
	a.lock()
	defer a.unlock()
	list := make([]FlowKey, 0, len(a.flows))
	for _, k := range a.flows {
		list = append(list, k.view(a.now))
	}
	slices.SortFunc(list, func(x, y FlowKey) int { return strings.Compare(x.Key, y.Key) })
	return list
}

func (k *flowKey) view(now time.Time) FlowKey {
	v := k.FlowKey
	recent := k.recent(now)
	if v.RateCount, v.PeriodStart = len(recent), now; len(recent) > 0 {
		v.PeriodStart = recent[0]
	}
	return v
}

// FlowKey is one key.
func (a *Account) FlowKey(key string) (FlowKey, error) {
	a.lock()
	defer a.unlock()
	k, err := a.knownKey(key)
	if err != nil {
		return FlowKey{}, err
	}
	return k.view(a.now), nil
}

func (a *Account) knownKey(key string) (*flowKey, error) {
	if k := a.flows[key]; k != nil {
		a.touch(k)
		return k, nil
	}
	return nil, refusal.Of(ErrNotFound, "flow-control key", key, "not found: no message and no setting has named it")
}

// SetFlowPaused keeps the key's messages back, or delivers them again in order of
// arrival, within its limits ("Resume a flow-control key"). Attempts in flight end
// normally. A key may be paused before its first message (decided: 6).
func (a *Account) SetFlowPaused(key string, paused bool) error {
	return done(doEither(a, paused, pauseFlow{key}, resumeFlow{key}))
}

type pauseFlow struct{ Key string }

func (c pauseFlow) apply(a *Account) (nothing, error) {
	k := a.key(c.Key)
	if !k.Paused {
		k.Paused, k.pausedAt = true, a.now
		a.calm(k)
	}
	return nothing{}, nil
}

type resumeFlow struct{ Key string }

func (c resumeFlow) apply(a *Account) (nothing, error) {
	k, err := a.knownKey(c.Key)
	if err != nil {
		return nothing{}, err
	}
	k.Paused = false
	a.offer(k)
	return nothing{}, nil
}

// PinFlow fixes the limits that f sets, whatever later messages say.
func (a *Account) PinFlow(key string, f FlowControl) error { return done(do(a, pinFlow{key, f})) }

type pinFlow struct {
	Key  string
	Flow FlowControl
}

func (c pinFlow) apply(a *Account) (nothing, error) {
	k := a.key(c.Key)
	if c.Flow.Parallelism > 0 {
		k.Parallelism, k.PinnedParallelism = c.Flow.Parallelism, true
	}
	if c.Flow.Rate > 0 {
		k.Rate, k.PinnedRate = c.Flow.Rate, true
	}
	if c.Flow.Period > 0 {
		k.Period = c.Flow.Period
	}
	a.retime(k)
	return nothing{}, nil
}

// UnpinFlow lets later messages set these limits again.
func (a *Account) UnpinFlow(key string, parallelism, rate bool) error {
	return done(do(a, unpinFlow{key, parallelism, rate}))
}

type unpinFlow struct {
	Key         string
	Parallelism bool
	Rate        bool
}

func (c unpinFlow) apply(a *Account) (nothing, error) {
	k, err := a.knownKey(c.Key)
	if err != nil {
		return nothing{}, err
	}
	k.PinnedParallelism = k.PinnedParallelism && !c.Parallelism
	k.PinnedRate = k.PinnedRate && !c.Rate
	return nothing{}, nil
}

// ResetFlow forgets the starts of the current period.
func (a *Account) ResetFlow(key string) error { return done(do(a, resetFlow{key})) }

type resetFlow struct{ Key string }

func (c resetFlow) apply(a *Account) (nothing, error) {
	k, err := a.knownKey(c.Key)
	if err != nil {
		return nothing{}, err
	}
	k.starts = fifo[time.Time]{}
	a.retime(k)
	return nothing{}, nil
}

// retime looks at the key again under changed limits.
func (a *Account) retime(k *flowKey) {
	a.timers.remove(k)
	a.offer(k)
}
