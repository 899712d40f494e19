package saved

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/spec/api"
)

// Point is the state of an account before an action.
type Point struct {
	api.UndoPoint
	Account string
	Seq     uint64 // of the newest event of the log at that time

	document []byte // compressed
}

// Points keeps the points of all accounts of a server, within one limit for all of them.
type Points struct {
	limit  int
	making *semaphore.Weighted // one point is made at a time: each may take up to limit bytes meanwhile

	mu     sync.Mutex
	points []Point // oldest first
	bytes  int
	issued int
}

// NewPoints returns a store that keeps at most limit bytes of compressed points.
func NewPoints(limit int) *Points { return &Points{limit: limit, making: semaphore.NewWeighted(1)} }

// Limit is the limit in bytes.
func (s *Points) Limit() int { return s.limit }

// Used is the size of the points in bytes.
func (s *Points) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(s.bytes)
}

// Keep stores the output of write as a point, and drops the oldest points to make room.
// If the point alone exceeds the limit, it returns refusal.Full and drops nothing.
func (s *Points) Keep(ctx context.Context, p Point, write func(io.Writer) error) (Point, error) {
	if err := s.making.Acquire(ctx, 1); err != nil {
		return Point{}, refusal.Of(refusal.Full, "undo", "", "another point is being kept; try again")
	}
	defer s.making.Release(1)
	room := &bounded{most: s.limit}
	compressed, err := flate.NewWriter(room, flate.BestSpeed)
	if err != nil {
		return Point{}, fmt.Errorf("undo: %w", err)
	}
	if err = write(compressed); err == nil {
		err = compressed.Close()
	}
	if room.over {
		return Point{}, refusal.Of(refusal.Full, "undo", "", fmt.Sprintf("the state of the account is larger than the %d bytes for undo points (a sixteenth of --memory): the action cannot be undone", s.limit))
	}
	if err != nil {
		return Point{}, fmt.Errorf("undo: %w", err)
	}
	p.document, p.Bytes = bytes.Clone(room.Bytes()), room.Len()
	return s.add(p), nil
}

// add assigns an id to a point and drops the oldest ones beyond the limit.
func (s *Points) add(p Point) Point {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.issued++
	p.ID = "undo_" + strconv.Itoa(s.issued)
	s.points = append(s.points, p)
	for s.bytes += p.Bytes; s.bytes > s.limit; s.points = slices.Delete(s.points, 0, 1) {
		s.bytes -= s.points[0].Bytes
	}
	return p
}

// List returns the points of an account, newest first.
func (s *Points) List(account string) []Point {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Point{}
	for _, p := range slices.Backward(s.points) {
		if p.Account == account {
			list = append(list, p)
		}
	}
	return list
}

// Read returns a point and its document; refusal.NotFound if it is no longer kept.
func (s *Points) Read(account, id string) (Point, io.Reader, error) {
	for _, p := range s.List(account) {
		if p.ID == id {
			return p, flate.NewReader(bytes.NewReader(p.document)), nil
		}
	}
	return Point{}, nil, refusal.Of(refusal.NotFound, "undo point", id, "not found: it was used, or dropped to make room for newer ones")
}

// Move sets the number of the newest event of points: a change of the whole account, which
// they undo as well, has given the events other numbers.
func (s *Points) Move(ids []string, seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.points {
		if slices.Contains(ids, s.points[i].ID) {
			s.points[i].Seq = seq
		}
	}
}

// Drop removes a point after its use.
func (s *Points) Drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.points = slices.DeleteFunc(s.points, func(p Point) bool {
		if p.ID == id {
			s.bytes -= p.Bytes
		}
		return p.ID == id
	})
}

// bounded is a buffer that fails, and becomes empty, when it exceeds most bytes.
type bounded struct {
	bytes.Buffer
	most int
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.over = b.over || b.Len()+len(p) > b.most; b.over {
		b.Reset()
		return 0, fmt.Errorf("more than %d bytes", b.most)
	}
	return b.Buffer.Write(p)
}
