package kv

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"time"
)

// Limits of a running script.
const (
	maxScriptSteps = 50_000_000 // instructions
	maxScriptTime  = 5 * time.Second
	maxScriptHeap  = 256 << 20 // bytes by which the heap of the process may grow
	maxScriptText  = 16 << 20  // bytes of one string that a script creates
	heapInterval   = 16        // instructions between two checks of the heap
)

// scriptMeter is the context of a running script. The interpreter calls Done before
// each instruction, so that the meter can count them.
type scriptMeter struct {
	context.Context
	steps int
	heap  []metrics.Sample
	most  uint64 // the script is stopped when the heap is larger, in bytes
	why   error
}

var closedChannel = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// newScriptMeter limits the growth of the heap from its current size. Memory that
// other goroutines allocate meanwhile counts too.
func newScriptMeter(ctx context.Context) *scriptMeter {
	m := &scriptMeter{Context: ctx, heap: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
	m.most = m.heapSize() + maxScriptHeap
	return m
}

// heapSize reads a metric of the runtime, without stopping any goroutine.
func (m *scriptMeter) heapSize() uint64 {
	metrics.Read(m.heap)
	return m.heap[0].Value.Uint64()
}

// Done counts an instruction.
func (m *scriptMeter) Done() <-chan struct{} {
	switch m.steps++; {
	case m.why != nil:
	case m.steps > maxScriptSteps:
		m.why = errors.New("script killed: it takes more than 50000000 instructions")
	case m.steps%heapInterval == 0 && m.heapSize() > m.most:
		if runtime.GC(); m.heapSize() > m.most { // otherwise most of it was garbage
			m.why = errors.New("script killed: it needs more than 268435456 bytes")
		}
	}
	if m.why != nil {
		return closedChannel
	}
	return m.Context.Done()
}

// Err returns why the script is stopped.
func (m *scriptMeter) Err() error {
	if m.why != nil {
		return m.why
	}
	if errors.Is(m.Context.Err(), context.DeadlineExceeded) {
		return errors.New("script killed: it takes longer than 5 s")
	}
	return m.Context.Err()
}
