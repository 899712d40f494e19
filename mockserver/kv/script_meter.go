package kv

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"time"
)

// Bounds of a running script.
const (
	maxScriptSteps = 50_000_000 // instructions
	maxScriptTime  = 5 * time.Second
	maxScriptHeap  = 256 << 20 // bytes by which the heap of the process may grow
	maxScriptText  = 16 << 20  // bytes of one text that a script makes
	heapInterval   = 16        // instructions between two looks at the heap
)

// scriptMeter is the context of a running script. The interpreter asks it
// before each instruction whether to go on, so it counts them.
type scriptMeter struct {
	context.Context
	steps int
	heap  []metrics.Sample
	most  uint64 // the size of the heap at which the script is stopped
	why   error

	coroutines int
}

var closedChannel = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// newScriptMeter begins with the heap as it is: a script pays for its own growth
// only, as far as the process can tell.
func newScriptMeter(ctx context.Context) *scriptMeter {
	m := &scriptMeter{Context: ctx, heap: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
	m.most = m.heapSize() + maxScriptHeap
	return m
}

// heapSize reads a metric of the runtime, which stops no goroutine.
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

// Err says why the script is stopped.
func (m *scriptMeter) Err() error {
	if m.why != nil {
		return m.why
	}
	if errors.Is(m.Context.Err(), context.DeadlineExceeded) {
		return errors.New("script killed: it takes longer than 5 s")
	}
	return m.Context.Err()
}
