package tenant

import "sync"

// Outside counts the attempts that are under way in the network.
type Outside struct {
	mu      sync.Mutex
	running int
	waiting int
	cancels []func()
}

// Tell has the function called when an attempt leaves, and reports whether
// none is outside already.
func (o *Outside) Tell(cancel func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting++
	o.cancels = append(o.cancels, cancel)
	return o.running == 0
}

// Forget ends a wait; the last one drops the functions, which may be called
// twice.
func (o *Outside) Forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting--; o.waiting == 0 {
		o.cancels = nil
	}
}

// Leave counts an attempt until the function that it returns is called.
func (o *Outside) Leave() func() {
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
