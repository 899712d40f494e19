package mockserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/mockserver/request"
)

// Default bounds, in bytes.
const (
	defaultMemory  = 512 << 20 // of observations
	defaultBacklog = 2 << 30   // of messages, DLQ entries, open runs and schedules
)

// relief keeps the observations of all accounts below the bound of the server.
// The lock makes one request at a time drop observations; others skip it.
type relief struct{ busy sync.Mutex }

// forgetful is a store of observations, which can drop its contents, the oldest
// bodies first.
type forgetful interface {
	Observed() int64
	Forget(bytes int64) int64
}

// ofMemory is which part of the bound the observations that are counted may
// take: the rest is for what is not counted and for garbage between collections,
// so that the process stays below one and a half times the bound.
func ofMemory(bound int64) int64 { return bound / 8 * 5 }

// ofKV is how much of the bound the key-value stores of all accounts may hold.
func ofKV(bound int64) int64 { return bound / 4 }

// ofWork is how many bytes less observations may take because of those that work takes:
// a server that holds a million messages keeps fewer old requests.
func ofWork(bound, work int64) int64 { return min(work/3, ofMemory(bound)*3/4) }

// relieve drops observations once they exceed the bound, always from the
// largest store, until an eighth of the bound is free. The caller must not hold
// a lock: the stores take their own.
func (s *Server) relieve() {
	work, _ := s.memory.Work()
	most := ofMemory(s.cfg.Memory) - ofWork(s.cfg.Memory, work)
	if s.memory.Observed() <= most || !s.relief.busy.TryLock() {
		return
	}
	defer s.relief.busy.Unlock()
	for range 64 { // bounded, because stores grow meanwhile: the next caller continues
		over := s.memory.Observed() - most/8*7
		if over <= 0 {
			return
		}
		if largest := s.largest(); largest == nil || largest.Forget(over) == 0 {
			return
		}
	}
}

// largest is the store with the most bytes.
func (s *Server) largest() (found forgetful) {
	most := int64(0)
	for _, w := range s.tenants.All() {
		for _, store := range []forgetful{w.Account, &w.Requests, &w.Deliveries} {
			if n := store.Observed(); n > most {
				found, most = store, n
			}
		}
	}
	return found
}

// inTransit is the bound, in bytes, for large request bodies that are being
// read at one time, and again for large answers.
func inTransit(bound int64) int64 { return max(bound/8, 4*request.SmallBody) }

// largeResponses is how many large lists may be built or sent at one time, and
// listPatience is how long a further one waits for its turn. Without a bound,
// each client that requests the whole log and does not read the response would
// hold a copy of it.
const (
	largeResponses = 8
	listPatience   = 5 * time.Second
)

// takeTurn waits until the server may build the response of a large list.
// endTurn must follow.
func (s *Server) takeTurn(c *request.Call) error {
	if c.Op.Method != http.MethodGet || !c.Op.List {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), listPatience)
	defer cancel()
	if s.turns.Acquire(ctx, 1) != nil {
		return refusal.Of(refusal.Full, c.Op.ID, "", fmt.Sprintf("%d large answers are being read by other clients; try again", largeResponses))
	}
	c.Turn = true
	return nil
}

// endTurn lets the next waiting list continue.
func (s *Server) endTurn(c *request.Call) {
	if c.Turn {
		c.Turn = false
		s.turns.Release(1)
	}
}

// metered reserves memory for the bytes that it reads beyond the first free
// ones. It fails instead of waiting when no memory is free: a client that sends
// slowly must not block all others.
type metered struct {
	from  io.Reader
	room  *semaphore.Weighted
	taken *int64
	free  int64
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	if m.free -= int64(n); m.free < 0 {
		if !m.room.TryAcquire(-m.free) {
			return 0, refusal.Of(refusal.Full, "body", "", "the bodies of requests in progress use all the memory for them (an eighth of --memory)")
		}
		*m.taken -= m.free
		m.free = 0
	}
	return n, err
}

// memoryUse is the memory that the server uses now, by kind.
func (s *Server) memoryUse() control.Memory {
	bytes, messages := s.memory.Work()
	return control.Memory{
		Observations: s.memory.Observed(),
		Limit:        s.cfg.Memory,
		KeyValue:     s.kvCapacity.Used(),
		Backlog:      control.Backlog{Messages: messages, MessagesLimit: s.cfg.MaxBacklog, Bytes: bytes, Limit: s.cfg.MaxBacklogBytes},
	}
}

// MemoryBound is how many bytes the server may hold now: the bounds for
// observations and for bodies in transit, and the current size of data, undo
// points and backlog.
func (s *Server) MemoryBound() int64 {
	bytes, _ := s.memory.Work()
	return ofMemory(s.cfg.Memory) - ofWork(s.cfg.Memory, bytes) + inTransit(s.cfg.Memory) + s.kvCapacity.Used() + s.undo.Used() + bytes
}

// ofUndo is the part of the memory bound, in bytes, that undo points may use.
func ofUndo(bound int64) int { return int(bound / 16) }
