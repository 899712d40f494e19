package mockserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/natstest"
)

// link is the way of one server to the cluster, which can be cut.
type link struct {
	to   string
	l    net.Listener
	cut  atomic.Bool
	work sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

func newLink(t *testing.T, to string) *link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	r := &link{to: strings.TrimPrefix(to, "nats://"), l: l}
	r.work.Go(r.serve)
	t.Cleanup(func() {
		_ = l.Close()
		r.setCut(true)
		r.work.Wait()
	})
	return r
}

func (r *link) serve() {
	for {
		in, err := r.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", r.to)
		if err != nil || r.cut.Load() {
			_ = in.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, in, out)
		r.mu.Unlock()
		r.work.Go(func() { _, _ = io.Copy(in, out); _ = in.Close(); _ = out.Close() })
		r.work.Go(func() { _, _ = io.Copy(out, in); _ = in.Close(); _ = out.Close() })
	}
}

// setCut breaks all connections and allows no new ones, or allows them again.
func (r *link) setCut(cut bool) {
	r.cut.Store(cut)
	if !cut {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.conns = nil
}

// ownedBy are the accounts that a server has.
func (v *fleetView) ownedBy(id string) (list []string) {
	for _, a := range v.Accounts {
		if a.Owner == id && a.State == "serving" {
			list = append(list, a.ID)
		}
	}
	return list
}

// A server that loses the cluster loses its accounts to another one, and forwards to it
// when it is back.
func TestFleetReplacesAnOwner(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	way := newLink(t, cluster)
	a := joined(t, "nats://"+way.l.Addr().String(), "a")
	tokens := map[string]string{}
	for i := range 3 {
		id := fmt.Sprintf("shop-%d", i)
		tokens[id] = a.account(id)
		a.ok("PUT", "/_understudy/clock?account="+id, "", `{"mode":"manual"}`)
		a.ok("POST", "/v2/publish/https://app.test/"+id, tokens[id], "one")
	}
	b := joined(t, cluster, "b")
	eventually(t, "4 accounts on 2 servers", func() bool { v := b.fleet(); return v.spreadOver(2, 4) })
	first := a.fleet()
	lost := first.ownedBy(first.Self)
	way.setCut(true)
	eventually(t, "the other server has all accounts", func() bool { v := b.fleet(); return len(v.ownedBy(v.Self)) == 4 })
	for id, token := range tokens {
		b.ok("POST", "/v2/publish/https://app.test/"+id, token, "two")
	}
	way.setCut(false)
	eventually(t, "the first server knows that it has lost its accounts, and has others", func() bool {
		v := a.fleet()
		return v.OwnerChanges >= first.OwnerChanges+len(lost) && v.spreadOver(2, 4)
	})
	for id, token := range tokens {
		a.ok("POST", "/v2/publish/https://app.test/"+id, token, "three")
		if got := a.ok("GET", "/v2/logs", token, ""); strings.Count(got, `"CREATED"`) < 3 {
			t.Errorf("%s (lost: %v): log has not all messages: %s", id, lost, got)
		}
	}
}

// A clean stop, and a server that comes, cause no error, lose nothing and deliver nothing
// twice.
func TestFleetHandsOver(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	got, target := receiver(t)
	a := joined(t, cluster, "a")
	tokens := make([]string, 4)
	for i := range tokens {
		tokens[i] = a.account(fmt.Sprintf("shop-%d", i))
	}
	b := joined(t, cluster, "b")
	var stop atomic.Bool
	var sent, failed atomic.Int64
	var load sync.WaitGroup
	for i, token := range tokens {
		load.Go(func() {
			for n := 0; !stop.Load(); n++ {
				status, text := b.do("POST", "/v2/publish/"+target+fmt.Sprintf("/%d-%d", i, n), token, "x")
				if sent.Add(1); status != http.StatusOK && status != http.StatusCreated {
					failed.Add(1)
					t.Errorf("publish %d of account %d: status %d: %s", n, i, status, text)
				}
			}
		})
	}
	c := joined(t, cluster, "c")
	eventually(t, "5 accounts on 3 servers", func() bool { v := c.fleet(); return v.spreadOver(3, 5) })
	a.stop()
	eventually(t, "5 accounts on 2 servers", func() bool { v := c.fleet(); return v.spreadOver(2, 5) })
	d := joined(t, cluster, "d")
	eventually(t, "5 accounts on 3 servers", func() bool { v := d.fleet(); return v.spreadOver(3, 5) })
	stop.Store(true)
	load.Wait()
	eventually(t, "all is delivered", func() bool { return got.distinct() == int(sent.Load()) })
	if n := got.all(); n != int(sent.Load()) {
		t.Errorf("%d deliveries of %d messages", n, sent.Load())
	}
	t.Logf("%d messages, %d refused", sent.Load(), failed.Load())
}

// Requests that wait do not hold an account back: a stream ends, so that its client connects
// again, and other waits continue at the next server.
func TestFleetMovesWaitingRequests(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	a := joined(t, cluster, "a")
	token := a.account("shop")
	a.ok("PUT", "/_understudy/clock?account=shop", "", `{"mode":"manual"}`)
	a.ok("POST", "/_understudy/stubs?account=shop", "", `{"url":"https://app.test/*"}`)
	a.ok("POST", "/v2/publish/https://app.test/first", token, "")
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(time.Minute))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL()+"/_understudy/overview?follow=true&account=shop", http.NoBody)
	expect.NoError(t, err)
	stream, err := http.DefaultClient.Do(r)
	expect.NoError(t, err)
	defer stream.Body.Close()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	waiting.Go(func() {
		a.ok("POST", "/_understudy/await?account=shop", "", `{"on":"events","state":"CREATED","count":2,"timeout":"60s"}`)
	})
	b := joined(t, cluster, "b")
	if _, err := io.Copy(io.Discard, stream.Body); err != nil {
		t.Errorf("the stream does not end: %v", err)
	}
	eventually(t, "2 accounts on 2 servers", func() bool { v := b.fleet(); return v.spreadOver(2, 2) })
	b.ok("POST", "/v2/publish/https://app.test/second", token, "")
}

// A move of the clock ends before its account leaves: another server could not continue it. One
// that comes later is made by the next server.
func TestFleetMovesClocksFirst(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	a := joined(t, cluster, "a")
	token := a.account("shop")
	arrived, release := make(chan struct{}, 2), make(chan struct{})
	endpoint := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	t.Cleanup(endpoint.Close)
	var clock struct{ Now int64 }
	expect.NoError(t, json.Unmarshal([]byte(a.ok("PUT", "/_understudy/clock?account=shop", "", `{"mode":"manual"}`)), &clock))
	a.ok("POST", "/v2/batch", token, fmt.Sprintf(`[{"destination":%[1]q,"headers":{"Svc-Delay":"1h"}},{"destination":%[1]q,"headers":{"Svc-Delay":"2h"}}]`, endpoint.URL))
	var moving sync.WaitGroup
	defer moving.Wait()
	moving.Go(func() {
		if text := a.ok("POST", "/_understudy/clock/advance?account=shop", "", `{"by":"3h"}`); !strings.Contains(text, `"attempts":2`) {
			t.Errorf("got %s, want 2 attempts", text)
		}
	})
	<-arrived
	b := joined(t, cluster, "b")
	eventually(t, "the account is about to leave", func() bool {
		for _, one := range a.fleet().Accounts {
			if one.ID == "shop" {
				return one.State == "moving"
			}
		}
		return false
	})
	moving.Go(func() { a.ok("POST", "/_understudy/clock/advance?account=shop", "", `{"by":"1h"}`) })
	close(release)
	moving.Wait()
	eventually(t, "2 accounts on 2 servers", func() bool { v := b.fleet(); return v.spreadOver(2, 2) })
	want := fmt.Sprintf(`"now":%d`, clock.Now+4*time.Hour.Milliseconds())
	if text := b.ok("GET", "/_understudy/clock?account=shop", "", ""); !strings.Contains(text, want) {
		t.Errorf("got %s, want %s", text, want)
	}
}

// A client that uses a connection again and again, and does not look whether it is closed, learns
// from a response that the server leaves.
func TestFleetEndsConnectionsInUse(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	a := joined(t, cluster, "a")
	token := a.account("shop")
	a.ok("POST", "/_understudy/stubs?account=shop", "", `{"url":"https://app.test/*"}`)
	joined(t, cluster, "b")
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.URL(), "http://"))
	expect.NoError(t, err)
	defer conn.Close()
	expect.NoError(t, conn.SetDeadline(time.Now().Add(effort.Wait(time.Minute))))
	in := bufio.NewReader(conn)
	var stopping sync.WaitGroup
	defer stopping.Wait()
	const between = 50 * time.Millisecond
	for n := 0; ; n++ {
		_, err := fmt.Fprintf(conn, "POST /v2/publish/https://app.test/%d HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 1\r\n\r\nx", n, conn.RemoteAddr(), token)
		if err != nil {
			t.Fatalf("request %d: %v", n, err)
		}
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("request %d has no response: %v", n, err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK && response.StatusCode != http.StatusCreated {
			t.Fatalf("request %d: status %d: %s, %v", n, response.StatusCode, text, err)
		}
		if n == 0 {
			stopping.Go(a.stop)
		}
		if response.Close {
			return
		}
		_ = clock.Pause(t.Context(), between)
	}
}

// received counts what arrives, by path.
type received struct {
	mu    sync.Mutex
	paths map[string]int
}

func receiver(t *testing.T) (*received, string) {
	t.Helper()
	got := &received{paths: map[string]int{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got.mu.Lock()
		defer got.mu.Unlock()
		got.paths[r.URL.Path]++
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(l) })
	t.Cleanup(func() { _ = srv.Shutdown(context.Background()); serving.Wait() })
	return got, "http://" + l.Addr().String()
}

func (r *received) distinct() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.paths)
}

func (r *received) all() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := 0
	for _, n := range r.paths {
		sum += n
	}
	return sum
}
