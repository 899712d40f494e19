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
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/mockserver/request"
)

// The bounds that a server has unless its configuration says otherwise, in bytes.
const (
	defaultMemory  = 512 << 20 // of observations
	defaultBacklog = 2 << 30   // of work that is not done yet
)

// relief keeps the observations of all accounts below the bound of the server.
type relief struct{ busy sync.Mutex }

// forgetful is a store of observations: what is in it may be dropped, the oldest
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

// relieve drops observations once they have grown beyond the bound, from
// whichever store is the largest, until an eighth of their room is free. It is
// called with no lock held.
func (s *Server) relieve() {
	most := ofMemory(s.cfg.Memory)
	if s.memory.Observed() <= most || !s.relief.busy.TryLock() {
		return
	}
	defer s.relief.busy.Unlock()
	for range 64 { // stores grow meanwhile: whoever comes next continues
		over := s.memory.Observed() - most/8*7
		if over <= 0 {
			return
		}
		if largest := s.largest(); largest == nil || largest.Forget(over) == 0 {
			return
		}
	}
}

// largest is the store that holds most.
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

// inTransit is how many bytes the larger bodies on their way in may take at
// once, and how many those of answers.
func inTransit(bound int64) int64 { return max(bound/8, 4*request.SmallBody) }

// largeResponses is how many answers of lists may be made or sent at once while
// they are large, and listPatience how long one more waits for its turn. Without
// a bound, clients that ask for the whole log and never read would hold a copy of
// it each.
const (
	largeResponses = 8
	listPatience   = 5 * time.Second
)

// takeTurn waits until the answer of a list may be made.
func (s *Server) takeTurn(c *call.Call) error {
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

// endTurn lets the next list be answered.
func (s *Server) endTurn(c *call.Call) {
	if c.Turn {
		c.Turn = false
		s.turns.Release(1)
	}
}

// metered takes room for what it reads, beyond the first free bytes. It never
// waits for room: who sends slowly must not keep out everybody else.
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
			return 0, refusal.Of(refusal.Full, "body", "", "the bodies of requests that are being handled take all the room there is for them (an eighth of --memory)")
		}
		*m.taken -= m.free
		m.free = 0
	}
	return n, err
}

// memoryUse is what the server holds now.
func (s *Server) memoryUse() control.Memory {
	bytes, messages := s.memory.Work()
	return control.Memory{
		Observations: s.memory.Observed(),
		Limit:        s.cfg.Memory,
		KeyValue:     s.kvCapacity.Used(),
		Backlog:      control.Backlog{Messages: messages, MessagesLimit: s.cfg.MaxBacklog, Bytes: bytes, Limit: s.cfg.MaxBacklogBytes},
	}
}

// MemoryBound is how many bytes the server may hold now: its bound for
// observations, bodies in transit, and the data and the backlog that there are.
func (s *Server) MemoryBound() int64 {
	bytes, _ := s.memory.Work()
	return ofMemory(s.cfg.Memory) + inTransit(s.cfg.Memory) + s.kvCapacity.Used() + bytes
}
