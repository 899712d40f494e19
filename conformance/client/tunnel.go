package client

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
)

// tunnel is the proxy of a lane. It lets a library with a fixed host reach the recorder, and refuses
// every other host, so that nothing leaves this machine unseen.
type tunnel struct {
	server *http.Server
	addr   string

	mu     sync.Mutex
	fixed  string         // host that is connected
	to     string         // address of the listener for it
	refuse map[string]int // hosts that were asked for
}

// newTunnel starts the proxy.
func newTunnel(ctx context.Context) (*tunnel, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &tunnel{addr: ln.Addr().String(), refuse: map[string]int{}}
	t.server = &http.Server{Handler: t, ReadHeaderTimeout: helloTimeout, ErrorLog: log.New(io.Discard, "", 0)}
	go t.server.Serve(ln) //nolint:errcheck // ends with close
	return t, nil
}

// variables make a program use the proxy.
func (t *tunnel) variables() []string {
	at := "http://" + t.addr
	return []string{
		"HTTPS_PROXY=" + at, "https_proxy=" + at, "HTTP_PROXY=" + at, "http_proxy=" + at, "NODE_USE_ENV_PROXY=1",
		"NO_PROXY=127.0.0.1,localhost,::1", "no_proxy=127.0.0.1,localhost,::1",
	}
}

// ServeHTTP connects the fixed host and refuses others.
func (t *tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Hostname()
	t.mu.Lock()
	known := r.Method == http.MethodConnect && name == t.fixed && t.to != ""
	to := t.to
	if !known {
		t.refuse[r.Host]++
	}
	t.mu.Unlock()
	if !known {
		http.Error(w, "the suite refuses this host", http.StatusForbidden)
		return
	}
	out, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	hijack, _ := w.(http.Hijacker)
	in, _, err := hijack.Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n")
	var both sync.WaitGroup
	both.Add(2)
	pass := func(to, from net.Conn) {
		defer both.Done()
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}
	go pass(out, in)
	go pass(in, out)
	both.Wait()
}

// connect sets where the fixed host leads.
func (t *tunnel) connect(host, to string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fixed, t.to = host, to
}

// refused returns and forgets the hosts that were asked for.
func (t *tunnel) refused() (hosts []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for host := range t.refuse {
		hosts = append(hosts, host)
	}
	clear(t.refuse)
	return hosts
}

// close ends the proxy.
func (t *tunnel) close() { _ = t.server.Close() }
