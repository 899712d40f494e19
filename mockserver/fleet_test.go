package mockserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/natstest"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/fleet"
	"github.com/understudy-mock/understudy/mockserver/fleet/jetstream"
)

// member is a server of a fleet.
type member struct {
	*mockserver.Server
	t     *testing.T
	store *jetstream.Store
	once  sync.Once
}

// joined starts a server of the fleet that shares a cluster.
func joined(t *testing.T, cluster, name string, change ...func(*mockserver.Config)) *member {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("FLEET_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("at", name)
	}
	st, err := jetstream.Open(t.Context(), jetstream.Config{Servers: cluster, Name: name, MaxBytes: 1 << 28, Log: log})
	expect.NoError(t, err)
	cfg := mockserver.Config{Store: st, Fleet: fleet.New(fleet.Config{Store: st, Log: log}), Log: log}
	for _, c := range change {
		c(&cfg)
	}
	s, err := mockserver.Run(cfg)
	expect.NoError(t, err)
	m := &member{Server: s, t: t, store: st}
	t.Cleanup(m.stop)
	return m
}

// stop is a clean stop.
func (m *member) stop() { m.once.Do(m.end) }

func (m *member) end() {
	if err := m.Close(); err != nil {
		m.t.Errorf("close: %v", err)
	}
	if err := m.store.Close(); err != nil {
		m.t.Errorf("close the store: %v", err)
	}
	for _, v := range m.Violations() {
		m.t.Errorf("answer breaks the document: %s", v)
	}
}

// do makes a request, and gives the status and the body.
func (m *member) do(method, path, token, body string) (int, string) {
	m.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, m.URL()+path, strings.NewReader(body))
	expect.NoError(m.t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(r)
	expect.NoError(m.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	expect.NoError(m.t, err)
	return response.StatusCode, string(text)
}

// ok makes a request that must succeed.
func (m *member) ok(method, path, token, body string) string {
	m.t.Helper()
	status, text := m.do(method, path, token, body)
	if status >= http.StatusBadRequest {
		m.t.Fatalf("%s %s: status %d: %s", method, path, status, text)
	}
	return text
}

// account makes an account, and gives its token.
func (m *member) account(id string) string {
	m.t.Helper()
	var made struct{ Token string }
	expect.NoError(m.t, json.Unmarshal([]byte(m.ok("PUT", "/_understudy/accounts/"+id, "", "")), &made))
	return made.Token
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(time.Minute))
	defer cancel()
	for !holds() {
		if clock.Pause(ctx, 20*time.Millisecond) != nil {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// What is done through one server is seen through every other.
func TestFleetIsOneServer(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	a := joined(t, cluster, "a")
	b := joined(t, cluster, "b")
	for i := range 4 {
		id := fmt.Sprintf("shop-%d", i)
		token := a.account(id)
		b.ok("PUT", "/_understudy/stubs?account="+id, "", `[{"url":"https://app.test/*","answers":[{"status":"200"}]}]`)
		published := b.ok("POST", "/v2/publish/https://app.test/x", token, "one")
		a.ok("POST", "/_understudy/settle?account="+id, "", `{"timeout":"60s"}`)
		if got := a.ok("GET", "/v2/logs", token, ""); !strings.Contains(got, `"DELIVERED"`) {
			t.Errorf("%s: log %s does not have the message %s", id, got, published)
		}
	}
	expect.Equal(t, "accounts", a.ok("GET", "/_understudy/accounts", "", ""), b.ok("GET", "/_understudy/accounts", "", ""))
}

// A server that does not have the account answers and logs a refused request as the others do.
func TestFleetRefusesOnEveryServer(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	var books [2]logBook
	for i := range books {
		m := joined(t, cluster, string('a'+rune(i)), func(cfg *mockserver.Config) { cfg.Log = slog.New(slog.NewJSONHandler(&books[i].text, nil)) })
		status, text := m.do("POST", "/v2/publish/https://app.test/", "", "")
		expect.Equal(t, "status: "+text, status, http.StatusUnauthorized)
		books[i].want(t, "request refused", map[string]any{"level": "WARN"})
	}
}

// An account that another server has had meanwhile is read again, although this server is
// named as its owner before and after: what it holds in memory is old.
func TestFleetAccountThatCameBack(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	a := joined(t, cluster, "a")
	token := a.account("shop")
	a.ok("PUT", "/_understudy/stubs?account=shop", "", `[{"url":"https://app.test/*","answers":[{"status":"200"}]}]`)
	published := a.ok("POST", "/v2/publish/https://app.test/x", token, "one")
	a.ok("POST", "/_understudy/settle?account=shop", "", `{"timeout":"60s"}`)
	observed := func() bool {
		return strings.Contains(a.ok("GET", "/_understudy/deliveries?account=shop", "", ""), "https://app.test/x")
	}
	if !observed() {
		t.Fatalf("no delivery of %s", published)
	}
	owners := bucket(t, cluster, "understudy-owners")
	// The entry of the other server in between is not needed: the cluster keeps the last.
	expect.NoError(t, expect.ErrorOf(owners.Put(t.Context(), jetstream.Key("shop"), []byte(a.fleet().Self))))
	eventually(t, "the account is read again, without what is only in memory", func() bool { return !observed() })
	if got := a.ok("GET", "/v2/logs", token, ""); !strings.Contains(got, `"DELIVERED"`) {
		t.Errorf("log %s does not have the message %s", got, published)
	}
}

// fleetView is the answer about the fleet.
type fleetView struct {
	Self     string
	Members  []struct{ ID, URL string }
	Accounts []struct{ ID, Owner, URL, State, Reason string }

	OwnerChanges int
}

func (m *member) fleet() (v fleetView) {
	m.t.Helper()
	expect.NoError(m.t, json.Unmarshal([]byte(m.ok("GET", "/_understudy/fleet", "", "")), &v))
	return v
}

// spreadOver reports whether all accounts are served, and no server has two more than another.
func (v *fleetView) spreadOver(members, accounts int) bool {
	counts := map[string]int{}
	for _, m := range v.Members {
		counts[m.ID] = 0
	}
	for _, a := range v.Accounts {
		if a.State != "serving" {
			return false
		}
		counts[a.Owner]++
	}
	least, most := accounts, 0
	for _, n := range counts {
		least, most = min(least, n), max(most, n)
	}
	return len(v.Members) == members && len(counts) == members && len(v.Accounts) == accounts && most-least <= 1
}

// Accounts are spread when servers come and go, and each keeps what it has.
func TestFleetSpreadsAccounts(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	a := joined(t, cluster, "a")
	tokens := map[string]string{}
	for i := range 7 {
		id := fmt.Sprintf("shop-%d", i)
		tokens[id] = a.account(id)
		a.ok("PUT", "/_understudy/clock?account="+id, "", `{"mode":"manual"}`)
		a.ok("POST", "/_understudy/stubs?account="+id, "", `{"url":"https://app.test/*"}`)
		a.ok("PUT", "/_understudy/rewrites?account="+id, "", `{"https://old.test":"https://app.test"}`)
		a.ok("POST", "/v2/publish/https://old.test/"+id, tokens[id], "one")
		a.ok("POST", "/v2/queues", tokens[id], `{"queueName":"q","parallelism":3}`)
	}
	kept := func(m *member) {
		t.Helper()
		for id, token := range tokens {
			if got := m.ok("GET", "/_understudy/clock?account="+id, "", ""); !strings.Contains(got, "manual") {
				t.Errorf("%s at %s: clock %s", id, m.URL(), got)
			}
			if got := m.ok("GET", "/_understudy/stubs?account="+id, "", ""); !strings.Contains(got, "app.test") {
				t.Errorf("%s at %s: stubs %s", id, m.URL(), got)
			}
			if got := m.ok("GET", "/_understudy/rewrites?account="+id, "", ""); !strings.Contains(got, "old.test") {
				t.Errorf("%s at %s: rewrites %s", id, m.URL(), got)
			}
			if got := m.ok("GET", "/v2/queues", token, ""); !strings.Contains(got, `"q"`) {
				t.Errorf("%s at %s: queues %s", id, m.URL(), got)
			}
		}
	}
	b := joined(t, cluster, "b")
	c := joined(t, cluster, "c")
	for _, m := range []*member{a, b, c} {
		eventually(t, "8 accounts on 3 servers", func() bool { v := m.fleet(); return v.spreadOver(3, 8) })
		kept(m)
	}
	a.stop()
	for _, m := range []*member{b, c} {
		eventually(t, "8 accounts on 2 servers", func() bool { v := m.fleet(); return v.spreadOver(2, 8) })
		kept(m)
	}
	if got := b.ok("GET", "/_understudy/metrics", "", ""); !strings.Contains(got, "understudy_fleet_members 2\n") {
		t.Errorf("metrics do not have 2 members: %s", got)
	}
}

// The page of every server shows the fleet, and the accounts of the others.
func TestFleetOnThePage(t *testing.T) {
	t.Parallel()
	cluster := natstest.Run(t)
	a := joined(t, cluster, "a")
	for i := range 3 {
		token := a.account(fmt.Sprintf("shop-%d", i))
		a.ok("POST", "/v2/publish/https://app.test/x", token, "")
	}
	b := joined(t, cluster, "b")
	eventually(t, "4 accounts on 2 servers", func() bool { v := b.fleet(); return v.spreadOver(2, 4) })
	for _, m := range []*member{a, b} {
		page := m.ok("GET", "/_understudy/ui/fleet", "", "")
		for _, want := range []string{a.URL(), b.URL(), "shop-0", "shop-1", "shop-2", "this server", `ui/fleet"`} {
			if !strings.Contains(page, want) {
				t.Errorf("the view does not show %q", want)
			}
		}
		for i := range 3 {
			m.ok("GET", fmt.Sprintf("/_understudy/ui/messages?account=shop-%d", i), "", "")
		}
	}
}

// Without a fleet there is none to be seen.
func TestNoFleet(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	got := c.do("GET", "/_understudy/fleet", "")
	expect.Equal(t, "status", got.status, http.StatusNotFound)
	expect.Contains(t, "error", got.text("error"), "--data nats://")
	if page := string(c.do("GET", "/_understudy/ui/", "").raw); strings.Contains(page, "ui/fleet") {
		t.Error("the page has a view of a fleet")
	}
}
