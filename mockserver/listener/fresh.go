package listener

import (
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
)

// freshGrace is how long the first request on a new connection may take to arrive while the
// server shuts down.
const freshGrace = 500 * time.Millisecond

// freshConns are connections on which no request has arrived yet. Clients and load balancers
// open some in advance; Shutdown of net/http would wait 5 s for them.
type freshConns struct {
	mu   sync.Mutex
	open map[net.Conn]bool
}

// see is the ConnState function of the server.
func (f *freshConns) see(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if state == http.StateNew {
		f.open[c] = true
		return
	}
	delete(f.open, c)
}

// shut closes the connections that have no request after freshGrace. net/http calls it after it
// has closed the listeners.
func (f *freshConns) shut() {
	wall := clock.NewReal()
	wall.Alarm(wall.Now().Add(freshGrace), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for c := range f.open {
			_ = c.Close() // nothing was sent
		}
	})
}
