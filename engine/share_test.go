package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// places makes attempts whose destinations answer when they are let go.
type places struct {
	mu    sync.Mutex
	begun []string // URLs, in order
	now   map[string]int
	all   map[string]int // ever begun, by host and URL
	most  map[string]int
	gate  map[string]chan struct{} // by host or URL; none: answers at once
	seen  *sync.Cond
}

func newPlaces(slow ...string) *places {
	p := &places{now: map[string]int{}, all: map[string]int{}, most: map[string]int{}, gate: map[string]chan struct{}{}}
	p.seen = sync.NewCond(&p.mu)
	for _, host := range slow {
		p.gate[host] = make(chan struct{})
	}
	return p
}

func hostname(url string) string { return strings.Split(url, "/")[2] }

func (p *places) Deliver(ctx context.Context, at engine.Attempt) engine.Outcome {
	host := hostname(at.Message.URL)
	url, _, _ := strings.Cut(at.Message.URL, "?")
	p.mu.Lock()
	p.begun = append(p.begun, at.Message.URL)
	p.now[host]++
	p.all[host]++
	p.all[url]++
	p.most[host] = max(p.most[host], p.now[host])
	p.seen.Broadcast()
	gate := p.gate[host]
	if gate == nil {
		gate = p.gate[url]
	}
	p.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now[host]--
	return engine.Outcome{Status: 200}
}

// wait returns when n attempts to a host are in flight.
func (p *places) wait(host string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.now[host] < n {
		p.seen.Wait()
	}
}

// reach returns when n attempts to a host or URL have ever begun.
func (p *places) reach(to string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.all[to] < n {
		p.seen.Wait()
	}
}

// order is the URLs of a host in the order of their attempts.
func (p *places) order(host string) (urls []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.begun {
		if hostname(u) == host {
			urls = append(urls, u)
		}
	}
	return urls
}

// eightPlaces is an account that makes eight attempts at once.
func eightPlaces(t *testing.T, slow ...string) (*world, *places) { return manyPlaces(t, 8, slow...) }

func manyPlaces(t *testing.T, n int, slow ...string) (*world, *places) {
	p := newPlaces(slow...)
	w := setup(t, func(c *engine.Config) { c.Parallel, c.Deliver = n, p.Deliver })
	return w, p
}

func (w *world) sendAll(url string, n int, opts engine.Options) (urls []string) {
	for i := range n {
		u := fmt.Sprintf("%s%d", url, i)
		w.send(engine.PublishRequest{URL: u, Options: opts})
		urls = append(urls, u)
	}
	return urls
}

func TestASlowDestinationLeavesPlaces(t *testing.T) {
	t.Parallel()
	t.Run("one alone has half of the places", func(t *testing.T) {
		t.Parallel()
		w, p := eightPlaces(t, "slow.test")
		w.sendAll("https://slow.test/", 100, engine.Options{})
		p.wait("slow.test", 4)
		if o, _ := w.Overview(); o.InFlight != 4 {
			t.Errorf("%d attempts in flight, want 4", o.InFlight)
		}
	})
	t.Run("one has at most 64, and eight slow ones leave places for another", func(t *testing.T) {
		t.Parallel()
		slow := []string{"a.test", "b.test", "c.test", "d.test", "e.test", "f.test", "g.test", "h.test"}
		w, p := manyPlaces(t, 1024, slow...)
		for _, host := range slow {
			w.sendAll("https://"+host+"/", 100, engine.Options{})
			p.wait(host, 64)
		}
		w.sendAll("https://quick.test/", 50, engine.Options{})
		p.reach("quick.test", 50)
		for _, host := range slow {
			if n := len(p.order(host)); n != 64 {
				t.Errorf("%d attempts to %s, want 64", n, host)
			}
		}
	})
	t.Run("another is delivered to at once", func(t *testing.T) {
		t.Parallel()
		w, p := eightPlaces(t, "slow.test")
		w.sendAll("https://slow.test/", 100, engine.Options{})
		p.wait("slow.test", 4)
		w.sendAll("https://quick.test/", 50, engine.Options{})
		p.reach("quick.test", 50)
		expect.Equal(t, "number of attempts to the slow destination", len(p.order("slow.test")), 4)
	})
	t.Run("several slow ones leave a place for the next", func(t *testing.T) {
		t.Parallel()
		slow := []string{"a.test", "b.test", "c.test"}
		w, p := eightPlaces(t, slow...)
		for _, host := range slow {
			w.sendAll("https://"+host+"/", 20, engine.Options{})
			p.wait(host, 1)
		}
		w.sendAll("https://quick.test/", 20, engine.Options{})
		p.reach("quick.test", 20)
	})
}

func TestASlowURLLeavesPlacesForItsHost(t *testing.T) {
	t.Parallel()
	for _, places := range []int{8, 16, 256} {
		t.Run(fmt.Sprintf("of %d places", places), func(t *testing.T) {
			t.Parallel()
			const slow = "https://a.test/slow"
			w, p := manyPlaces(t, places, slow)
			w.sendAll(slow+"?n=", 300, engine.Options{})
			w.sendAll("https://a.test/quick?n=", 50, engine.Options{})
			p.reach("https://a.test/quick", 50)
			w.sendAll("https://b.test/quick?n=", 50, engine.Options{})
			p.reach("https://b.test/quick", 50)
		})
	}
}

func TestWhatWaitsForAPlaceIsKept(t *testing.T) {
	t.Parallel()
	t.Run("what is held is delivered in order", func(t *testing.T) {
		t.Parallel()
		w, p := eightPlaces(t, "slow.test")
		want := w.sendAll("https://slow.test/", 100, engine.Options{Flow: &engine.FlowControl{Key: "k", Parallelism: 1}})
		close(p.gate["slow.test"])
		w.settle()
		if got := p.order("slow.test"); !slices.Equal(got, want) {
			t.Errorf("order %v", got)
		}
	})
	t.Run("settle waits for what is held", func(t *testing.T) {
		t.Parallel()
		w, p := eightPlaces(t, "slow.test")
		w.sendAll("https://slow.test/", 100, engine.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := w.Settle(ctx); err == nil || !strings.Contains(err.Error(), "in flight: 4, ready: 96") {
			t.Errorf("settle: %v", err)
		}
		close(p.gate["slow.test"])
		w.settle()
		expect.Equal(t, "number of attempts", len(p.order("slow.test")), 100)
		if n := p.most["slow.test"]; n > 4 {
			t.Errorf("%d attempts at once, want at most 4", n)
		}
	})
	t.Run("what is held can be cancelled, and says why it waits", func(t *testing.T) {
		t.Parallel()
		w, p := eightPlaces(t, "slow.test")
		w.sendAll("https://slow.test/", 5, engine.Options{})
		p.wait("slow.test", 4)
		id := w.send(engine.PublishRequest{URL: "https://slow.test/last"}).One.MessageID
		why, err := w.Explain(id)
		w.must(err)
		expect.Contains(t, "why", why.Reasons[0].Text, "slow.test has reached its share of the attempts in flight, 4 of at most 8")
		w.must(w.Cancel(id))
		close(p.gate["slow.test"])
		w.settle()
		if got := p.order("slow.test"); slices.Contains(got, "https://slow.test/last") || len(got) != 5 {
			t.Errorf("attempts %v", got)
		}
	})
}

func TestWhatWaitsForAPlaceIsCounted(t *testing.T) {
	t.Parallel()
	t.Run("a snapshot keeps what is held", func(t *testing.T) {
		t.Parallel()
		w, p := eightPlaces(t, "slow.test")
		want := w.sendAll("https://slow.test/", 20, engine.Options{})
		p.wait("slow.test", 4)
		saved := w.document()
		w.Reset(nil, false)
		w.settle()
		fresh := setup(t, func(c *engine.Config) { c.Parallel = 8 })
		fresh.load(saved)
		fresh.settle()
		var got []string
		for _, at := range fresh.made() {
			got = append(got, at.Message.URL)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("delivered %v, want %v", got, want)
		}
	})
	t.Run("a flow-control key of a slow destination spends its rate when it starts", func(t *testing.T) {
		t.Parallel()
		w, p := eightPlaces(t, "slow.test")
		w.sendAll("https://slow.test/", 10, engine.Options{})
		p.wait("slow.test", 4)
		w.sendAll("https://slow.test/limited", 3, engine.Options{Flow: &engine.FlowControl{Key: "k", Rate: 1, Period: time.Minute}})
		k, err := w.FlowKey("k")
		w.must(err)
		if k.RateCount != 0 || k.Waiting != 3 {
			t.Errorf("%d starts counted, %d waiting; want 0 and 3", k.RateCount, k.Waiting)
		}
		close(p.gate["slow.test"])
		w.settle()
		expect.Equal(t, "number of attempts", len(p.order("slow.test")), 11)
		w.advance(2 * time.Minute)
		expect.Equal(t, "number of attempts after two periods", len(p.order("slow.test")), 13)
	})
}
