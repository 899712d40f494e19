package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// fleetTrial is a set of servers that share a cluster. All are processes under load.
type fleetTrial struct {
	t        *testing.T
	nodes    []*programs.Node
	members  []*member
	accounts []string // their tokens are tokenPrefix and the name
	clients  *balancer
	load     *crashLoad
	js       jetstream.JetStream
	floor    jetstream.KeyValue
	faults   int
	starts   []time.Duration // times until a server is ready
}

// member is a server of the fleet.
type member struct {
	url, ready string
	programs.Process
}

// fleetListing is the answer of GET /_understudy/fleet.
type fleetListing struct {
	Self         string
	Members      []fleetMember
	Accounts     []struct{ ID, Owner, URL, State string }
	OwnerChanges int
}

type fleetMember struct {
	ID, URL  string
	Accounts int
	Since    int64 // Unix ms
}

const (
	fleetNodes    = 3
	fleetServers  = 3
	fleetAccounts = 6
)

// newFleet starts a cluster and servers, and waits until every account has an owner.
func newFleet(t *testing.T, servers int) *fleetTrial {
	t.Helper()
	f := &fleetTrial{t: t, nodes: programs.Cluster(t, fleetNodes), clients: newBalancer()}
	for i := range fleetAccounts {
		f.accounts = append(f.accounts, fmt.Sprintf("team%d", i+1))
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, m := range f.members {
				t.Logf("log of %s:\n%s", m.url, tail(m.Log()))
			}
			for _, n := range f.nodes {
				t.Logf("log of %s:\n%s", n.Name, tail(n.Log()))
			}
			t.Logf("the last answers: %v", f.clients.errors(time.Now().Add(-10*time.Second)))
		}
	})
	conn, err := nats.Connect(f.natsURL(), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.PingInterval(500*time.Millisecond))
	expect.NoError(t, err)
	t.Cleanup(conn.Close)
	if f.js, err = jetstream.New(conn, jetstream.WithDefaultTimeout(time.Second)); err != nil {
		t.Fatal(err)
	}
	f.await("the cluster to keep data", func() bool {
		f.floor, err = f.js.CreateOrUpdateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "floor", TTL: leaseTTL, LimitMarkerTTL: time.Second, Replicas: fleetNodes, Storage: jetstream.MemoryStorage})
		return err == nil
	})
	for range servers {
		f.add()
	}
	f.settled()
	return f
}

// leaseTTL is how long a silent server keeps its accounts, as in mockserver/fleet.
const leaseTTL = 2 * time.Second

// tail is the end of a log, without the lines that the load causes.
func tail(text string) string {
	noise := []string{"[INF]", "message is in the DLQ", "no run waits for it", "it takes no step", "export ", "Error trying to connect"}
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return slices.ContainsFunc(noise, func(n string) bool { return strings.Contains(line, n) })
	})
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

func (f *fleetTrial) natsURL() string {
	var list []string
	for _, n := range f.nodes {
		list = append(list, n.URL)
	}
	return strings.Join(list, ",")
}

// add starts another server.
func (f *fleetTrial) add() *member {
	f.t.Helper()
	address := programs.FreeAddresses(f.t, 1)[0]
	m := &member{url: "http://" + address, ready: filepath.Join(f.t.TempDir(), "ready")}
	m.Args = []string{build(f.t), "serve", "--addr", address, "--data", f.natsURL(), "--ready-file", m.ready, "--log-level", "warn"}
	for _, a := range f.accounts {
		m.Args = append(m.Args, "--account", a+":"+tokenPrefix+a)
	}
	f.members = append(f.members, m)
	f.start(m)
	return m
}

// start starts a server, perhaps again, and adds it to the balancer when it is ready.
func (f *fleetTrial) start(m *member) {
	f.t.Helper()
	_ = os.Remove(m.ready)
	at := time.Now()
	m.Start(f.t)
	f.await("a server to be ready", func() bool {
		if m.Ended() {
			f.t.Fatal("a server has ended before it was ready")
		}
		_, err := os.Stat(m.ready)
		return err == nil
	})
	f.starts = append(f.starts, time.Since(at))
	f.clients.add(m.url)
}

// await waits until so returns true.
func (f *fleetTrial) await(what string, so func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(effort.Wait(time.Minute)); !so(); pause(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("still waiting for %s", what)
		}
	}
}

// pause waits for events in other processes.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// list asks a server for the fleet.
func (f *fleetTrial) list(m *member) (l fleetListing, err error) {
	ctx, cancel := context.WithTimeout(f.t.Context(), effort.Wait(2*time.Second))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+"/_understudy/fleet", http.NoBody)
	if err != nil {
		return l, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return l, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode, text)
	}
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	return l, err
}

// owned groups the accounts by the URL of their server, as one server reports them.
func (f *fleetTrial) owned(l fleetListing) map[string][]string {
	owned := map[string][]string{}
	for _, a := range l.Accounts {
		if slices.Contains(f.accounts, a.ID) {
			owned[a.URL] = append(owned[a.URL], a.ID)
		}
	}
	return owned
}

// settled waits until all servers agree that the accounts are spread evenly, and until every
// member of the cluster has all data.
func (f *fleetTrial) settled() {
	f.t.Helper()
	var last string
	defer func() {
		if f.t.Failed() {
			f.t.Log(last)
		}
	}()
	f.await("the accounts to be spread evenly", func() bool {
		for _, m := range f.members {
			l, err := f.list(m)
			if err != nil {
				last = err.Error()
				return false
			}
			owned := f.owned(l)
			last = fmt.Sprintf("%s says: %v", m.url, owned)
			for _, m := range f.members {
				if n := len(owned[m.url]); n < fleetAccounts/len(f.members) || n > (fleetAccounts+len(f.members)-1)/len(f.members) {
					return false
				}
			}
		}
		return true
	})
	f.await("the cluster to be whole", f.whole)
}

// whole reports whether each stream of the cluster has a leader and current followers.
func (f *fleetTrial) whole() bool {
	return f.streams(func(c *jetstream.ClusterInfo) bool {
		return c.Leader != "" && !slices.ContainsFunc(c.Replicas, func(p *jetstream.PeerInfo) bool { return !p.Current || p.Offline })
	})
}

// streams reports whether so is true for all streams of the fleet, as their leaders report
// them.
func (f *fleetTrial) streams(so func(*jetstream.ClusterInfo) bool) bool {
	ctx, cancel := context.WithTimeout(f.t.Context(), effort.Wait(2*time.Second))
	defer cancel()
	for _, name := range []string{journals, "KV_understudy-accounts", "KV_understudy-members", "KV_understudy-owners", "OBJ_understudy-snapshots"} {
		s, err := f.js.Stream(ctx, name)
		if err != nil || s.CachedInfo().Cluster == nil || !so(s.CachedInfo().Cluster) {
			return false
		}
	}
	return true
}

// tokenPrefix and the id of an account are its token.
const tokenPrefix = "token-of-"

// startLoad puts load on all accounts through the balancer.
func (f *fleetTrial) startLoad() {
	var tokens []string
	for _, a := range f.accounts {
		tokens = append(tokens, tokenPrefix+a)
	}
	f.load = startCrashLoad(f.t, crashConfig{
		URL: func() string { return "http://fleet.test" }, Transport: f.clients, Tokens: tokens, Pause: 400 * time.Millisecond,
		Slack: 2 * time.Second, // an outcome goes to three members, on a busy machine
		// All lanes except big, whose journals of many MB take seconds to replay.
		Lanes: []string{"batch", "callback", "cancel", "dead", "dedup", "delay", "group", "key", "plain", "queue", "run", "schedule"},
	})
}

// One member at a time is killed or stopped. The fleet completes what it has accepted, and
// soon accepts requests again.
func TestFleet(t *testing.T) {
	effort.Long(t, "starts a cluster")
	if effort.Raced {
		t.Skip("separate processes in real time")
	}
	f := newFleet(t, fleetServers-1)
	f.startLoad()
	t.Run("a server that is added takes its share without an error to a client", f.testAdd)
	t.Run("every server reports the same fleet", f.testListing)
	t.Run("a clean stop hands over without an error to a client", f.testStop)
	t.Run("members are killed and stopped", f.testFaults)
	f.judge()
}

// judge compares what was accepted with what has arrived, and stops all servers.
func (f *fleetTrial) judge() {
	f.t.Helper()
	verdict := f.load.Judge(30 * time.Second)
	counts, wrong := f.clients.figures()
	f.t.Logf("%d faults: %s", f.faults, verdict)
	f.t.Logf("answers by status, 0 for none: %v", counts)
	if len(verdict.Problems) > 0 {
		f.t.Errorf("%d problems", len(verdict.Problems))
	}
	for _, a := range wrong[:min(len(wrong), 10)] {
		f.t.Errorf("%s, want 503 with Retry-After (1 of %d)", a, len(wrong))
	}
	for _, m := range f.members {
		if err := m.end(); err != nil {
			f.t.Errorf("a clean stop ends with %v", err)
		}
	}
}

// end stops a server cleanly.
func (m *member) end() error {
	if err := m.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return m.Wait()
}

// noErrors checks that no client has received an error since an instant.
func (f *fleetTrial) noErrors(t *testing.T, at time.Time) {
	t.Helper()
	list := f.clients.errors(at)
	for _, a := range list[:min(len(list), 10)] {
		t.Errorf("%s (1 of %d)", a, len(list))
	}
}

// testAdd adds a server under load.
func (f *fleetTrial) testAdd(t *testing.T) {
	at := time.Now()
	f.add()
	f.settled()
	t.Logf("the accounts are spread evenly %s after the start of a server", time.Since(at).Round(time.Millisecond))
	f.noErrors(t, at)
}

// testListing compares the reports of the servers with each other and with the facts.
func (f *fleetTrial) testListing(t *testing.T) {
	said := map[string]bool{}
	f.await("the servers to report the same", func() bool {
		clear(said)
		for _, m := range f.members {
			l, err := f.list(m)
			if err != nil {
				return false
			}
			said[fmt.Sprint(l.Members, l.Accounts)] = true
		}
		return len(said) == 1
	})
	for _, m := range f.members {
		l, err := f.list(m)
		expect.NoError(t, err)
		if self := slices.IndexFunc(l.Members, func(x fleetMember) bool { return x.ID == l.Self }); self < 0 || l.Members[self].URL != m.url {
			t.Errorf("%s reports itself as %s of %v", m.url, l.Self, l.Members)
		}
		owned := f.owned(l)
		for _, x := range l.Members {
			if x.Accounts < len(owned[x.URL]) {
				t.Errorf("%s has %d accounts, and owns %v", x.URL, x.Accounts, owned[x.URL])
			}
		}
		if len(l.Members) != len(f.members) {
			t.Errorf("got %d members, want %d: %v", len(l.Members), len(f.members), l.Members)
		}
	}
}

// testStop stops and restarts each server once, cleanly.
func (f *fleetTrial) testStop(t *testing.T) {
	for _, m := range f.members {
		at := time.Now()
		f.clients.remove(m.url, false)
		if err := m.end(); err != nil {
			t.Errorf("a clean stop ends with %v", err)
		}
		ended := time.Since(at).Round(time.Millisecond)
		others := slices.DeleteFunc(slices.Clone(f.members), func(x *member) bool { return x == m })
		f.await("the accounts to have another owner", func() bool {
			l, err := f.list(others[0])
			owned := f.owned(l)
			return err == nil && len(owned[m.url]) == 0 && len(owned[others[0].url])+len(owned[others[1].url]) == fleetAccounts
		})
		t.Logf("a server ends %s after SIGTERM, the others have its accounts after %s", ended, time.Since(at).Round(time.Millisecond))
		f.start(m)
		f.settled()
		f.noErrors(t, at)
	}
}
