package mockserver_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/natstest"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/fleet"
	"github.com/understudy-mock/understudy/mockserver/fleet/jetstream"
	"github.com/understudy-mock/understudy/mockserver/saved"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// Without its cluster, a server refuses what it cannot make durable, reads continue, and it
// recovers by itself.
func TestFleetWithoutItsCluster(t *testing.T) {
	t.Parallel()
	way := newLink(t, natstest.Run(t))
	st, err := jetstream.Open(t.Context(), jetstream.Config{Servers: "nats://" + way.l.Addr().String(), MaxBytes: 1 << 28, Timeout: 2 * time.Second})
	expect.NoError(t, err)
	s, err := mockserver.Run(mockserver.Config{Store: st, Fleet: fleet.New(fleet.Config{Store: st})})
	expect.NoError(t, err)
	m := &member{Server: s, t: t, store: st}
	t.Cleanup(m.stop)
	token := m.account("shop")
	m.ok("PUT", "/_understudy/clock?account=shop", "", `{"mode":"manual"}`)
	m.ok("POST", "/v2/publish/https://app.test/one", token, "")
	m.ok("GET", "/_understudy/readyz", "", "")
	way.setCut(true)
	eventually(t, "the server says that it is not ready, and why", func() bool {
		status, text := m.do("GET", "/_understudy/readyz", "", "")
		return status == http.StatusServiceUnavailable && strings.Contains(text, "the cluster of --data does not accept writes: ")
	})
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, m.URL()+"/v2/publish/https://app.test/two", http.NoBody)
	expect.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	refused, err := http.DefaultClient.Do(r)
	expect.NoError(t, err)
	_ = refused.Body.Close()
	expect.Equal(t, "status", refused.StatusCode, http.StatusServiceUnavailable)
	if refused.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if status, text := m.do("PUT", "/_understudy/stubs?account=shop", "", `[]`); status != http.StatusOK { // it was empty before: nothing is written
		t.Errorf("stubs that stay as they are: status %d: %s", status, text)
	}
	status, text := m.do("POST", "/_understudy/stubs?account=shop", "", `{"url":"https://x.test/*"}`)
	if status != http.StatusServiceUnavailable || strings.Count(text, "\n") > 1 {
		t.Errorf("a new stub: status %d: %s", status, text)
	}
	expect.Contains(t, "a read", m.ok("GET", "/v2/logs", token, ""), "/one")
	way.setCut(false)
	eventually(t, "publishes are accepted again", func() bool {
		status, _ := m.do("POST", "/v2/publish/https://app.test/three", token, "")
		return status < http.StatusBadRequest
	})
	eventually(t, "the server is ready again", func() bool {
		status, _ := m.do("GET", "/_understudy/readyz", "", "")
		return status == http.StatusOK
	})
}

// bucket opens a bucket of the cluster.
func bucket(t *testing.T, cluster, name string) natsjs.KeyValue {
	t.Helper()
	nc, err := nats.Connect(cluster)
	expect.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := natsjs.New(nc)
	expect.NoError(t, err)
	kv, err := js.KeyValue(t.Context(), name)
	expect.NoError(t, err)
	return kv
}

// gives makes a member give an account to another one, which answers by a function.
func (m *member) gives(t *testing.T, cluster, account string, answer http.HandlerFunc) {
	t.Helper()
	late := httptest.NewServer(answer)
	members := bucket(t, cluster, "understudy-members")
	var renewing sync.WaitGroup
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(func() { end(); renewing.Wait(); late.Close() })
	renewing.Go(func() {
		for ctx.Err() == nil {
			_, _ = members.PutString(ctx, "late", fmt.Sprintf(`{"url":%q}`, late.URL)) // the next one follows soon
			_ = clock.Pause(ctx, 100*time.Millisecond)
		}
	})
	eventually(t, "the other server has the account", func() bool {
		for _, one := range m.fleet().Accounts {
			if one.ID == account {
				return one.Owner == "late" && one.State == "serving"
			}
		}
		return false
	})
}

// A request is forwarded again to a server that has not known yet that it has the account,
// without a change that would wake the first server.
func TestFleetForwardsAgain(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	a := joined(t, cluster, "a")
	token := a.account("shop")
	var requests atomic.Int64
	a.gives(t, cluster, "shop", func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			w.Header().Set("Understudy-Fleet-Moved", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	a.ok("GET", "/v2/logs", token, "")
	expect.Equal(t, "number of requests at the other server", requests.Load(), 2)
}

// A request that has waited at another server until its account moved has its whole patience
// again.
func TestFleetForwardsAgainAfterAWait(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	a := joined(t, cluster, "a", func(c *mockserver.Config) { c.Fleet = patient(c, time.Second, time.Second) })
	a.account("shop")
	var requests atomic.Int64
	a.gives(t, cluster, "shop", func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			_ = clock.Pause(r.Context(), 3*time.Second)
			w.Header().Set("Understudy-Fleet-Moved", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	a.ok("POST", "/_understudy/settle?account=shop", "", "")
	expect.Equal(t, "number of requests at the other server", requests.Load(), 2)
}

// A server that stops refuses requests that still wait at another server, and ends event streams
// from there, which its clients see as complete.
func TestFleetStopsWithoutCuts(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	a := joined(t, cluster, "a", func(c *mockserver.Config) { c.Fleet = patient(c, time.Minute, 100*time.Millisecond) })
	a.account("shop")
	waits := make(chan struct{}, 1)
	a.gives(t, cluster, "shop", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: log\ndata: {}\n\n")
			_ = http.NewResponseController(w).Flush()
		} else {
			waits <- struct{}{}
		}
		<-r.Context().Done()
	})
	stream, err := http.Get(a.URL() + "/_understudy/events?account=shop")
	expect.NoError(t, err)
	defer stream.Body.Close()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	waiting.Go(func() {
		if status, text := a.do("POST", "/_understudy/settle?account=shop", "", ""); status != http.StatusServiceUnavailable || !strings.Contains(text, "this server stops") {
			t.Errorf("status %d: %s, want 503 and the reason", status, text)
		}
	})
	<-waits
	a.stop()
	if text, err := io.ReadAll(stream.Body); err != nil || len(text) == 0 {
		t.Errorf("the stream has %d bytes, %v, want its events and a clean end", len(text), err)
	}
}

// An account whose messages were lost in the cluster is refused, with the reason; others
// are served.
func TestFleetRefusesADamagedAccount(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	way := newLink(t, cluster)
	a := joined(t, "nats://"+way.l.Addr().String(), "a")
	shop, other := a.account("shop"), a.account("other")
	for i := range 5 {
		a.ok("POST", fmt.Sprintf("/v2/publish/https://app.test/%d", i), shop, "")
	}
	way.setCut(true) // a clean stop would write a snapshot
	t.Cleanup(func() { way.setCut(false) })
	nc, err := nats.Connect(cluster)
	expect.NoError(t, err)
	defer nc.Close()
	js, err := natsjs.New(nc)
	expect.NoError(t, err)
	stream, err := js.Stream(t.Context(), "UNDERSTUDY")
	expect.NoError(t, err)
	expect.NoError(t, stream.Purge(t.Context(), natsjs.WithPurgeSubject("understudy."+jetstream.Key("shop")+".log"), natsjs.WithPurgeKeep(2)))
	b := joined(t, cluster, "b")
	eventually(t, "the account is refused", func() bool {
		v := b.fleet()
		for _, one := range v.Accounts {
			if one.ID == "shop" {
				return one.State == "refused" && strings.Contains(one.Reason, "missing")
			}
		}
		return false
	})
	status, text := b.do("GET", "/v2/logs", shop, "")
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "missing") {
		t.Errorf("status %d: %s", status, text)
	}
	b.ok("GET", "/v2/logs", other, "")
}

// A header of the fleet from outside is refused, and says nothing about the client.
func TestFleetHeaderFromOutside(t *testing.T) {
	t.Parallel()
	m := joined(t, natstest.Run(t), "a")
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, m.URL()+"/_understudy/clock", http.NoBody)
	expect.NoError(t, err)
	r.Header.Set("Understudy-Fleet", "guess")
	r.Header.Set("Understudy-Fleet-Client", "127.0.0.1:1")
	response, err := http.DefaultClient.Do(r)
	expect.NoError(t, err)
	_ = response.Body.Close()
	expect.Equal(t, "status", response.StatusCode, http.StatusForbidden)
}

// Event streams flow through other servers.
func TestFleetForwardsEvents(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	a := joined(t, cluster, "a")
	tokens := map[string]string{}
	for i := range 3 {
		id := fmt.Sprintf("shop-%d", i)
		tokens[id] = a.account(id)
	}
	b := joined(t, cluster, "b")
	eventually(t, "4 accounts on 2 servers", func() bool { v := b.fleet(); return v.spreadOver(2, 4) })
	for id, token := range tokens {
		for _, m := range []*member{a, b} {
			ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(time.Minute))
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.URL()+"/_understudy/events?account="+id, http.NoBody)
			expect.NoError(t, err)
			response, err := http.DefaultClient.Do(r)
			expect.NoError(t, err)
			defer response.Body.Close()
			b.ok("POST", "/v2/publish/https://app.test/"+id, token, "")
			lines := bufio.NewScanner(response.Body)
			seen := false
			for !seen && lines.Scan() {
				seen = strings.Contains(lines.Text(), "app.test/"+id)
			}
			if !seen {
				t.Errorf("%s at %s: no event: %v", id, m.URL(), lines.Err())
			}
		}
	}
}

// What acts on all accounts is refused, since no server has them.
func TestFleetHasNoWholeServer(t *testing.T) {
	t.Parallel()
	m := joined(t, natstest.Run(t), "a")
	m.account("shop")
	for _, call := range []string{"POST /_understudy/reset?account=*", "GET /_understudy/snapshot"} {
		method, path, _ := strings.Cut(call, " ")
		if status, text := m.do(method, path, "", ""); status != http.StatusBadRequest || !strings.Contains(text, "one account") {
			t.Errorf("%s: status %d: %s", call, status, text)
		}
	}
	saved := m.ok("GET", "/_understudy/snapshot?account=shop", "", "")
	m.ok("PUT", "/_understudy/snapshot?account=shop", "", saved)
}

// An export without an account has all accounts, whichever server is asked and whichever has them.
func TestFleetExportsAllJournals(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	a := joined(t, cluster, "a")
	tokens := map[string]string{}
	for _, id := range []string{"shop", "blog", "wiki"} {
		tokens[id] = a.account(id)
		a.ok("POST", "/_understudy/stubs?account="+id, "", `{"url":"https://app.test/*"}`)
		a.ok("POST", "/v2/publish/https://app.test/"+id, tokens[id], "x")
	}
	b := joined(t, cluster, "b")
	eventually(t, "both servers have accounts", func() bool { v := a.fleet(); return v.spreadOver(2, len(v.Accounts)) })
	for name, m := range map[string]*member{"a": a, "b": b} {
		for _, query := range []string{"", "?account=*"} {
			t.Run("asked at "+name+" "+query, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "j.jsonl")
				expect.NoError(t, os.WriteFile(file, []byte(m.ok("GET", "/_understudy/journal/export"+query, "", "")), 0o600))
				from, err := saved.OpenFile(file)
				expect.NoError(t, err)
				defer from.Close()
				for id := range tokens {
					s, err := mockserver.New(mockserver.Config{Store: from, Replay: &tenant.Until{}, Accounts: []mockserver.Account{{ID: id}}})
					if err != nil {
						t.Errorf("replay of %s: %v", id, err)
						continue
					}
					events := 0
					if err := s.LogOf(id, func(l mockserver.LogLine) error { events += strings.Count(l.Text, "app.test/"+id); return nil }); err != nil || events == 0 {
						t.Errorf("the log of %s has %d events of its message, %v", id, events, err)
					}
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// Messages that create each other through any server of the fleet, or through what is in front of
// all, end in the DLQ; and no delivery reaches the control API that way.
func TestFleetCutsLoops(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	var turn atomic.Int64
	var behind [2]string
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.Out.URL.Scheme, p.Out.URL.Host = "http", strings.TrimPrefix(behind[turn.Add(1)%2], "http://")
	}})
	t.Cleanup(front.Close)
	at, err := url.Parse(front.URL)
	expect.NoError(t, err)
	withFront := func(c *mockserver.Config) {
		c.Fleet = fleet.New(fleet.Config{Store: c.Store.(*jetstream.Store), Front: at})
	}
	a, b := joined(t, cluster, "a", withFront), joined(t, cluster, "b", withFront)
	behind = [2]string{a.URL(), b.URL()}
	for i, through := range []string{a.URL(), b.URL(), front.URL} {
		id := fmt.Sprintf("shop-%d", i)
		token := a.account(id)
		a.ok("POST", "/v2/topics/g/endpoints", token, fmt.Sprintf(`{"endpoints":[{"url":"%s/v2/publish/g"}]}`, through))
		a.ok("PATCH", "/v2/topics/g", token, fmt.Sprintf(`{"headers":{"Svc-Forward-Authorization":["Bearer %s"],"Svc-Retries":["0"]}}`, token))
		a.ok("POST", "/v2/publish/g", token, "x")
		eventually(t, "the loop is cut", func() bool { return strings.Contains(a.ok("GET", "/v2/dlq", token, ""), "the limit is 16") })
		if got := a.ok("GET", "/_understudy/deliveries?account="+id, "", ""); strings.Contains(got, "Understudy-Fleet") {
			t.Error("the journal shows a header of the fleet")
		}
		a.ok("POST", "/v2/publish/"+through+"/_understudy/reset", token, "x")
		eventually(t, "the control API is refused", func() bool {
			return strings.Contains(a.ok("GET", "/v2/logs", token, ""), "a delivery must not call the control API")
		})
	}
}

// Two servers with the same address are one too many: the second is refused with a line.
func TestFleetRefusesASharedAddress(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	at, err := url.Parse("http://fleet.test:8080")
	expect.NoError(t, err)
	a := joined(t, cluster, "a", func(c *mockserver.Config) { c.Advertise = at })
	st, err := jetstream.Open(t.Context(), jetstream.Config{Servers: cluster, Name: "b", MaxBytes: 1 << 28})
	expect.NoError(t, err)
	defer st.Close()
	members := bucket(t, cluster, "understudy-members")
	announced, err := members.WatchAll(t.Context(), natsjs.UpdatesOnly())
	expect.NoError(t, err)
	b, err := mockserver.Run(mockserver.Config{Store: st, Fleet: fleet.New(fleet.Config{Store: st}), Advertise: at})
	if err == nil {
		t.Fatal("the second server starts: ", b.Close())
	}
	if text := err.Error(); !strings.Contains(text, "advertises http://fleet.test:8080 as well") || strings.Contains(text, "\n") {
		t.Errorf("got %q", text)
	}
	expect.NoError(t, expect.ErrorOf(members.PutString(t.Context(), "last", "")))
	for e := range announced.Updates() {
		if strings.HasPrefix(e.Key(), "b-") {
			t.Errorf("the refused server announces itself: %s %s", e.Operation(), e.Value())
		}
		if e.Key() == "last" {
			break
		}
	}
	a.stop()
	joined(t, cluster, "c", func(c *mockserver.Config) { c.Advertise = at })
}

// A server with another secret is refused as long as the others are there: they would refuse its
// requests.
func TestFleetRefusesAnotherSecret(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	secret := func(c *mockserver.Config) {
		c.Fleet = fleet.New(fleet.Config{Store: c.Store.(*jetstream.Store), Secret: "another"})
	}
	a := joined(t, cluster, "a")
	st, err := jetstream.Open(t.Context(), jetstream.Config{Servers: cluster, Name: "b", MaxBytes: 1 << 28})
	expect.NoError(t, err)
	defer st.Close()
	cfg := mockserver.Config{Store: st}
	secret(&cfg)
	b, err := mockserver.Run(cfg)
	if err == nil {
		t.Fatal("the second server starts: ", b.Close())
	}
	if text := err.Error(); !strings.Contains(text, "at "+a.URL()+" has another --fleet-secret") || strings.Contains(text, "\n") {
		t.Errorf("got %q", text)
	}
	a.stop()
	joined(t, cluster, "c", secret)
	var log bytes.Buffer
	d := joined(t, cluster, "d", func(c *mockserver.Config) {
		c.Fleet = fleet.New(fleet.Config{Store: c.Store.(*jetstream.Store), Secret: "another", Log: slog.New(slog.NewTextHandler(&log, nil))})
	})
	d.stop()
	if strings.Contains(log.String(), "secret") {
		t.Errorf("a server with the same secret warns: %s", log.String())
	}
}

// patient is a fleet that waits for these times: for an account to have a server, and for its last
// responses.
func patient(c *mockserver.Config, place, last time.Duration) mockserver.Fleet {
	return fleet.New(fleet.Config{Store: c.Store.(*jetstream.Store), Log: c.Log, Patience: fleet.Patience{Place: place, Last: last}})
}
