package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// Queue delivers its messages in order (extension; wire.md, "Further operations").
type Queue struct {
	Name        string
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Parallelism int
	Paused      bool
	Lag         int // messages that wait for their turn
}

type queue struct {
	Queue
	waiting fifo[*Message]
	active  int
	saved   savedAt
}

// slot is a message's turn in a queue. Its callbacks share it, so that the
// next message waits for them as well.
type slot struct {
	queue *queue
	open  int
	saved savedAt
}

func (a *Account) queue(name string) *queue {
	q := a.queues[name]
	if q == nil {
		q = &queue{Queue: Queue{Name: name, CreatedAt: a.now, UpdatedAt: a.now, Parallelism: 1}}
		a.queues[name] = q
		a.addWork(queueCost + int64(len(name)))
	}
	a.touch(q) // its caller changes it
	return q
}

// enqueue puts a new message at the end of its queue.
func (a *Account) enqueue(m *Message) {
	q := a.queue(m.Options.Queue)
	q.waiting.push(m)
	q.Lag++
	a.pump(q)
}

// pump gives turns to as many messages as the queue's parallelism allows.
func (a *Account) pump(q *queue) {
	a.touch(q)
	for !q.Paused && q.active < q.Parallelism && q.waiting.len() > 0 {
		m := q.waiting.pop()
		if m.State == Canceled {
			continue
		}
		q.Lag--
		q.active++
		a.touch(m)
		m.queue = &slot{queue: q, open: 1}
		a.waitUntil(m, m.NotBefore)
	}
}

// leave is called when a message, or a callback, that shares a turn has ended.
func (a *Account) leave(m *Message) {
	switch {
	case m.queue != nil:
		if m.queue.open--; m.queue.open == 0 {
			m.queue.queue.active--
			a.pump(m.queue.queue)
		}
	case m.Options.Queue != "" && a.queues[m.Options.Queue] != nil:
		q := a.queues[m.Options.Queue]
		a.touch(q)
		q.Lag = max(0, q.Lag-1)
	}
}

// UpsertQueue creates a queue or changes its settings; nil leaves one as it is.
// Parallelism must be 1 or more, and is 1 of a new queue.
func (a *Account) UpsertQueue(name string, parallelism *int, paused *bool) (Queue, error) {
	return do(a, upsertQueue{name, queueSettings{parallelism, paused}})
}

type upsertQueue struct {
	Name string
	Set  queueSettings
}

type queueSettings struct {
	Parallelism *int
	Paused      *bool
}

func (c upsertQueue) apply(a *Account) (Queue, error) {
	if c.Set.Parallelism != nil && *c.Set.Parallelism < 1 {
		return Queue{}, refusal.OfValue("parallelism", strconv.Itoa(*c.Set.Parallelism), "", "an integer from 1 up")
	}
	if a.queues[c.Name] == nil {
		if err := a.roomForBytes(queueCost); err != nil {
			return Queue{}, err
		}
	}
	q := a.queue(c.Name)
	if c.Set.Parallelism != nil {
		q.Parallelism = *c.Set.Parallelism
	}
	if c.Set.Paused != nil {
		q.Paused = *c.Set.Paused
	}
	q.UpdatedAt = a.now
	a.pump(q)
	return q.Queue, nil
}

// Queues lists all queues by name.
func (a *Account) Queues() []Queue {
	a.lock()
	defer a.unlock()
	list := make([]Queue, 0, len(a.queues))
	for _, q := range a.queues {
		list = append(list, q.Queue)
	}
	slices.SortFunc(list, func(x, y Queue) int { return strings.Compare(x.Name, y.Name) })
	return list
}

// Queue is one queue.
func (a *Account) Queue(name string) (Queue, error) {
	a.lock()
	defer a.unlock()
	q, err := a.knownQueue(name)
	if err != nil {
		return Queue{}, err
	}
	return q.Queue, nil
}

func (a *Account) knownQueue(name string) (*queue, error) {
	if q := a.queues[name]; q != nil {
		a.touch(q)
		return q, nil
	}
	return nil, refusal.Of(ErrNotFound, "queue", name, "not found")
}

// DeleteQueue removes a queue; what still waits in it is cancelled.
func (a *Account) DeleteQueue(name string) error { return done(do(a, deleteQueue{name})) }

type deleteQueue struct{ Name string }

func (c deleteQueue) apply(a *Account) (nothing, error) {
	q, err := a.knownQueue(c.Name)
	if err != nil {
		return nothing{}, err
	}
	delete(a.queues, c.Name)
	a.addWork(-queueCost - int64(len(c.Name)))
	q.waiting.all(func(m *Message) {
		if a.messages[m.ID] == m {
			a.cancel(m)
		}
	})
	return nothing{}, nil
}

// SetQueuePaused keeps the queue's messages back, or lets them continue.
func (a *Account) SetQueuePaused(name string, paused bool) error {
	return done(doEither(a, paused, pauseQueue{name}, resumeQueue{name}))
}

type pauseQueue struct{ Name string }

func (c pauseQueue) apply(a *Account) (nothing, error) {
	return nothing{}, a.setPaused(c.Name, true)
}

type resumeQueue struct{ Name string }

func (c resumeQueue) apply(a *Account) (nothing, error) {
	return nothing{}, a.setPaused(c.Name, false)
}

func (a *Account) setPaused(name string, paused bool) error {
	q, err := a.knownQueue(name)
	if err != nil {
		return err
	}
	q.Paused, q.UpdatedAt = paused, a.now
	a.pump(q)
	return nil
}
