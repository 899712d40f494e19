package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// queue finds or creates a queue: publishing to an unknown queue creates it.
func (a *Account) queue(name string) *state.QueueBacklog {
	q := a.state.Queues[name]
	if q == nil {
		q = &state.QueueBacklog{Queue: Queue{Name: name, CreatedAt: a.state.Now, UpdatedAt: a.state.Now, Parallelism: 1}}
		a.state.Queues[name] = q
		a.addWork(state.QueueCost + int64(len(name)))
	}
	return q
}

// enqueue appends a new message to its queue.
func (a *Account) enqueue(m *Message) {
	q := a.queue(m.Options.Queue)
	a.touch(q)
	q.Waiting.Push(m)
	q.Lag++
	a.pump(q)
}

// pump gives turns to as many messages as the queue's parallelism allows.
func (a *Account) pump(q *state.QueueBacklog) {
	a.touch(q)
	for !q.Paused && q.Active < q.Parallelism && q.Waiting.Len() > 0 {
		m := q.Waiting.Pop()
		if m.State == Canceled {
			continue
		}
		q.Lag--
		q.Active++
		a.touch(m)
		m.Slot = &state.QueueSlot{Queue: q, Open: 1}
		a.waitUntil(m, m.NotBefore.Time())
	}
}

// leave is called when a message or callback that shares a turn has ended. The
// turn ends with the last of them.
func (a *Account) leave(m *Message) {
	switch {
	case m.Slot != nil:
		a.touch(m)
		if m.Slot.Open--; m.Slot.Open == 0 {
			m.Slot.Queue.Active--
			a.pump(m.Slot.Queue)
		}
	case m.Options.Queue != "" && a.state.Queues[m.Options.Queue] != nil:
		q := a.state.Queues[m.Options.Queue]
		a.touch(q)
		q.Lag = max(0, q.Lag-1)
	}
}

// UpsertQueue creates a queue or changes its settings; nil keeps a setting. The
// parallelism must be at least 1, and is 1 by default.
func (a *Account) UpsertQueue(name string, parallelism *int, paused *bool) (Queue, error) {
	return runCommand(a, upsertQueue{name, queueSettings{parallelism, paused}})
}

type upsertQueue struct {
	Name string
	Set  queueSettings
}

// queueSettings are the settings of a request; nil means unchanged.
type queueSettings struct {
	Parallelism *int
	Paused      *bool
}

// apply pumps afterwards: a higher parallelism or the end of a pause gives turns at once.
func (c upsertQueue) apply(a *Account) (Queue, error) {
	if c.Set.Parallelism != nil && *c.Set.Parallelism < 1 {
		return Queue{}, refusal.OfValue("parallelism", strconv.Itoa(*c.Set.Parallelism), "", "an integer of 1 or more")
	}
	if a.state.Queues[c.Name] == nil {
		if err := a.roomForBytes(state.QueueCost); err != nil {
			return Queue{}, err
		}
	}
	q := a.queue(c.Name)
	a.touch(q)
	if c.Set.Parallelism != nil {
		q.Parallelism = *c.Set.Parallelism
	}
	if c.Set.Paused != nil {
		q.Paused = *c.Set.Paused
	}
	q.UpdatedAt = a.state.Now
	a.pump(q)
	return q.Queue, nil
}

// Queues lists all queues by name.
func (a *Account) Queues() []Queue {
	a.lock()
	defer a.unlock()
	list := make([]Queue, 0, len(a.state.Queues))
	for _, q := range a.state.Queues {
		list = append(list, q.Queue)
	}
	slices.SortFunc(list, func(x, y Queue) int { return strings.Compare(x.Name, y.Name) })
	return list
}

// Queue returns one queue, or ErrNotFound.
func (a *Account) Queue(name string) (Queue, error) {
	a.lock()
	defer a.unlock()
	q, err := a.knownQueue(name)
	if err != nil {
		return Queue{}, err
	}
	return q.Queue, nil
}

func (a *Account) knownQueue(name string) (*state.QueueBacklog, error) {
	if q := a.state.Queues[name]; q != nil {
		return q, nil
	}
	return nil, refusal.Of(ErrNotFound, "queue", name, "not found")
}

// DeleteQueue removes a queue and cancels the messages that wait in it.
func (a *Account) DeleteQueue(name string) error { return do(a, deleteQueue{name}) }

type deleteQueue struct{ Name string }

// apply lets messages that have their turn finish. They refer to the queue by
// their slots, so removing it is safe.
func (c deleteQueue) apply(a *Account) error {
	q, err := a.knownQueue(c.Name)
	if err != nil {
		return err
	}
	a.touch(q) // a snapshot copies whether it is still in the account
	delete(a.state.Queues, c.Name)
	a.addWork(-state.QueueCost - int64(len(c.Name)))
	q.Waiting.All(func(m *Message) {
		if a.state.Messages[m.ID] == m {
			a.cancel(m)
		}
	})
	return nil
}

// SetQueuePaused holds the messages of a queue, or lets them continue.
func (a *Account) SetQueuePaused(name string, paused bool) error {
	if paused {
		return do(a, pauseQueue{name})
	}
	return do(a, resumeQueue{name})
}

type pauseQueue struct{ Name string }

func (c pauseQueue) apply(a *Account) error {
	return a.setPaused(c.Name, true)
}

type resumeQueue struct{ Name string }

func (c resumeQueue) apply(a *Account) error {
	return a.setPaused(c.Name, false)
}

// setPaused calls pump in both cases; for a paused queue it does nothing.
func (a *Account) setPaused(name string, paused bool) error {
	q, err := a.knownQueue(name)
	if err != nil {
		return err
	}
	a.touch(q)
	q.Paused, q.UpdatedAt = paused, a.state.Now
	a.pump(q)
	return nil
}
