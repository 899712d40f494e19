package mockserver

import (
	"context"
	"sync"
)

// repeats reports whether the same commands give the same bytes: with a seed,
// on a clock that is not real.
func (s *Server) repeats(w *tenant) bool {
	return s.cfg.Seed != 0 && s.clockMode(w) != "real"
}

// stamp is the time of the world, in Unix ms; in a server that repeats, the
// account's time instead.
func (s *Server) stamp(w *tenant) int64 {
	if s.repeats(w) {
		return w.account.Now().UnixMilli()
	}
	return s.wall.Now().UnixMilli()
}

// realTime is the time of the wall in Unix ms, 0 in a server that repeats.
func (s *Server) realTime(w *tenant) int64 {
	if s.repeats(w) {
		return 0
	}
	return s.wall.Now().UnixMilli()
}

// serialize lets a server that repeats answer a request only when what the ones
// before have caused is done. It does not wait for a call to a real
// destination, which may be what made this request: between commands that must
// not meet such a call stands a settle.
func (s *Server) serialize(c *call) {
	worlds := []*tenant{c.tenant}
	if c.op.Area == "control_url" {
		worlds = s.all()
	}
	for _, w := range worlds {
		if !s.repeats(w) {
			continue
		}
		ctx, cancel := context.WithCancel(c.request.Context())
		if w.attempts.tell(cancel) {
			_ = w.account.Settle(ctx) // an attempt that leaves ends the wait
		}
		w.attempts.forget()
		cancel()
	}
}

// outside counts the attempts that are under way in the network.
type outside struct {
	mu      sync.Mutex
	running int
	waiting int
	cancels []func()
}

// tell has the function called when an attempt leaves, and reports whether
// none is outside already.
func (o *outside) tell(cancel func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting++
	o.cancels = append(o.cancels, cancel)
	return o.running == 0
}

// forget ends a wait; the last one drops the functions, which may be called
// twice.
func (o *outside) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting--; o.waiting == 0 {
		o.cancels = nil
	}
}

// leave counts an attempt until the function that it returns is called.
func (o *outside) leave() func() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running++
	for _, cancel := range o.cancels {
		cancel()
	}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.running--
	}
}
