package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// key finds or creates a flow-control key.
func (a *Account) key(name string) *state.FlowGate {
	k := a.state.Flows[name]
	if k == nil {
		k = &state.FlowGate{FlowKey: FlowKey{Key: name, Period: time.Second}}
		a.state.Flows[name] = k
		a.addWork(state.FlowCost + int64(len(name)))
	}
	return k
}

// meetKey creates the key of a new message. Before the first message is due, the key has its limits.
func (a *Account) meetKey(m *Message) {
	if f := m.Options.Flow; f != nil && a.state.Flows[f.Key] == nil {
		k := a.key(f.Key)
		a.touch(k)
		k.Limit(f)
	}
}

// hold appends a due message to the waiting list of its key. The limits of the
// newest message apply to the key, unless they are pinned.
func (a *Account) hold(m *Message) {
	f := m.Options.Flow
	k := a.key(f.Key)
	a.touch(k)
	k.Limit(f)
	k.Held.Push(m)
	k.Waiting++
	a.offer(k)
}

// offer queues one turn for the key if messages wait for it and it has no turn yet.
func (a *Account) offer(k *state.FlowGate) {
	if !k.Offered && k.Waiting > 0 && !k.Paused {
		a.touch(k)
		k.Offered = true
		a.state.Ready.Push(state.ReadyTurn{Key: k})
	}
}

// take returns the message that may start in this turn, nil for none. If the
// key could start another message, it gets another turn at the end of the
// queue, so that one key cannot starve others.
func (a *Account) take(t state.ReadyTurn) *Message {
	if t.Key == nil {
		if t.Message.State == Canceled {
			return nil
		}
		return t.Message
	}
	k := t.Key
	a.touch(k)
	k.Offered = false
	if !a.mayStart(k) {
		return nil
	}
	for k.Held.Len() > 0 {
		m := k.Held.Pop()
		if m.State == Canceled {
			continue
		}
		k.Waiting--
		k.InFlight++
		if k.Rate > 0 {
			k.Starts.Push(a.state.Now)
		}
		a.offer(k)
		a.calm(k)
		return m
	}
	return nil
}

// mayStart checks the limits of the key. When the rate is used up, it sets a
// timer for the next allowed start.
func (a *Account) mayStart(k *state.FlowGate) bool {
	if k.Paused || k.Waiting == 0 || k.Parallelism > 0 && k.InFlight >= k.Parallelism {
		return false
	}
	if k.Rate <= 0 {
		return true
	}
	a.touch(k)
	k.ForgetStarts(a.state.Now)
	next := k.NextStart(a.state.Now)
	if !next.IsZero() && k.Timer.Place == 0 {
		a.state.Timers.Add(next, state.WakeFlow, k)
	}
	return next.IsZero()
}

// releaseFlow frees the slot of an attempt that has ended.
func (a *Account) releaseFlow(m *Message) {
	if m.Options.Flow == nil {
		return
	}
	k := a.key(m.Options.Flow.Key)
	a.touch(k)
	k.InFlight = max(0, k.InFlight-1)
	a.offer(k)
}

// unhold removes a cancelled message from the count of its key.
func (a *Account) unhold(m *Message) {
	if m.Options.Flow != nil {
		k := a.key(m.Options.Flow.Key)
		a.touch(k)
		k.Waiting = max(0, k.Waiting-1)
		a.calm(k)
	}
}

// calm removes the timer of a key that has nothing to start.
func (a *Account) calm(k *state.FlowGate) {
	if k.Waiting == 0 || k.Paused {
		a.touch(k)
		a.state.Timers.Remove(k)
	}
}

// FlowKeys lists all keys by name.
func (a *Account) FlowKeys() []FlowKey {
	a.lock()
	defer a.unlock()
	list := make([]FlowKey, 0, len(a.state.Flows))
	for _, k := range a.state.Flows {
		list = append(list, k.View(a.state.Now))
	}
	slices.SortFunc(list, func(x, y FlowKey) int { return strings.Compare(x.Key, y.Key) })
	return list
}

// FlowKey returns one key, or ErrNotFound.
func (a *Account) FlowKey(key string) (FlowKey, error) {
	a.lock()
	defer a.unlock()
	k, err := a.knownKey(key)
	if err != nil {
		return FlowKey{}, err
	}
	return k.View(a.state.Now), nil
}

// knownKey finds a key, or returns ErrNotFound.
func (a *Account) knownKey(key string) (*state.FlowGate, error) {
	if k := a.state.Flows[key]; k != nil {
		return k, nil
	}
	return nil, refusal.Of(ErrNotFound, "flow-control key", key, "not found: no accepted message and no setting has named it")
}

// SetFlowPaused holds the messages of a key, or starts them again in order of
// arrival, within its limits ("Resume a flow-control key"). Attempts in flight
// end normally. A key may be paused before its first message (decided: 6).
func (a *Account) SetFlowPaused(key string, paused bool) error {
	if paused {
		return do(a, pauseFlow{key})
	}
	return do(a, resumeFlow{key})
}

type pauseFlow struct{ Key string }

// apply keeps the time of the first pause when a key is paused twice, because Explain shows it.
func (c pauseFlow) apply(a *Account) error {
	k := a.key(c.Key)
	a.touch(k)
	if !k.Paused {
		k.Paused, k.PausedAt = true, a.state.Now
		a.calm(k)
	}
	return nil
}

type resumeFlow struct{ Key string }

// apply refuses an unknown key. Only a pause creates one, because it may come
// before the first message (decided: 6).
func (c resumeFlow) apply(a *Account) error {
	k, err := a.knownKey(c.Key)
	if err != nil {
		return err
	}
	a.touch(k)
	k.Paused = false
	a.offer(k)
	return nil
}

// PinFlow fixes the limits that f sets, so that later messages do not change them.
func (a *Account) PinFlow(key string, f FlowControl) error {
	return do(a, pinFlow{key, f})
}

type pinFlow struct {
	Key  string
	Flow FlowControl
}

// apply checks the waiting messages at once, because a higher limit may let them start.
func (c pinFlow) apply(a *Account) error {
	k := a.key(c.Key)
	a.touch(k)
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
	return nil
}

// UnpinFlow lets later messages set these limits again.
func (a *Account) UnpinFlow(key string, parallelism, rate bool) error {
	return do(a, unpinFlow{key, parallelism, rate})
}

type unpinFlow struct {
	Key         string
	Parallelism bool
	Rate        bool
}

// apply keeps the current limits until a message sets others.
func (c unpinFlow) apply(a *Account) error {
	k, err := a.knownKey(c.Key)
	if err != nil {
		return err
	}
	a.touch(k)
	k.PinnedParallelism = k.PinnedParallelism && !c.Parallelism
	k.PinnedRate = k.PinnedRate && !c.Rate
	return nil
}

// ResetFlow sets the count of starts in the current period to zero.
func (a *Account) ResetFlow(key string) error { return do(a, resetFlow{key}) }

type resetFlow struct{ Key string }

// apply removes the timer too, because it was set for the old count.
func (c resetFlow) apply(a *Account) error {
	k, err := a.knownKey(c.Key)
	if err != nil {
		return err
	}
	a.touch(k)
	k.Starts = state.FIFO[time.Time]{}
	a.retime(k)
	return nil
}

// retime sets the timer of the key again after its limits have changed.
func (a *Account) retime(k *state.FlowGate) {
	a.touch(k)
	a.state.Timers.Remove(k)
	a.offer(k)
}
