package tenant

import "sync"

// Outside counts the attempts in progress over the network.
type Outside struct {
	mu      sync.Mutex
	running int
	waiting int
	cancels []func()
}

// Tell registers a function to call when an attempt starts, and reports whether
// none is in progress now. Forget must follow.
func (o *Outside) Tell(cancel func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting++
	o.cancels = append(o.cancels, cancel)
	return o.running == 0
}

// Forget ends the wait after a Tell; the last one removes all functions. Until then,
// a function may be called more than once.
func (o *Outside) Forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting--; o.waiting == 0 {
		o.cancels = nil
	}
}

// Leave counts an attempt until Return, and calls the functions of Tell.
func (o *Outside) Leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running++
	for _, cancel := range o.cancels {
		cancel()
	}
}

// Return ends the attempt.
func (o *Outside) Return() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running--
}
