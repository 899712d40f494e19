package main

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// fleetFaults are the faults that are injected into a fleet, repeatedly in this order.
var fleetFaults = []struct {
	name string
	harm func(*fleetTrial, *rand.Rand) harm
}{
	{"owner killed", (*fleetTrial).killOwner},
	{"owner stopped", (*fleetTrial).stopOwner},
	{"leader of the cluster killed", (*fleetTrial).killLeader},
	{"owner killed", (*fleetTrial).killOwner},
	{"owner stopped", (*fleetTrial).stopOwner},
	{"leader of the cluster stopped", (*fleetTrial).stopLeader},
	{"owner killed", (*fleetTrial).killOwner},
	{"owner stopped", (*fleetTrial).stopOwner},
	{"follower of the cluster killed", (*fleetTrial).killFollower},
	{"follower of the cluster stopped", (*fleetTrial).stopFollower},
}

// harm is a fault of a member.
type harm struct {
	at       time.Time
	accounts []string             // the accounts that it affects; nil: all
	floor    func() time.Duration // waits for and returns the time that the cluster alone needs
	mend     func()
	over     func() // reports that no more attempts are cut
}

// A fail-over takes the time that the cluster needs to end a lease (2 s) or to elect a leader
// (4 to 9 s), which is measured in the same round, plus the time that the servers add. If a
// server starts in half a second, half of all faults must stay below addedUsually, and half of
// each kind that was tried three times, so that the limits of 5 s and 10 s hold. On a slower
// machine, they must stay below the time of addedStarts starts.
const (
	addedUsually = 3 * time.Second
	addedStarts  = 6
	addedAtMost  = 45 * time.Second
)

// middle is the median, the lower of the two middle values.
func middle(list []time.Duration) time.Duration {
	list = slices.Sorted(slices.Values(list))
	return list[(len(list)-1)/2]
}

// testFaults injects one fault after the other.
func (f *fleetTrial) testFaults(t *testing.T) {
	rounds := effort.Amount(f.t, "ROUNDS", 10, 10)
	random := rand.New(rand.NewPCG(uint64(rounds), 11))
	added := map[string][]time.Duration{}
	for i := range rounds {
		kind := fleetFaults[i%len(fleetFaults)]
		pause(time.Duration(200+random.IntN(800)) * time.Millisecond)
		h := kind.harm(f, random)
		f.faults++
		took := f.failOver(h)
		least := h.floor()
		h.mend()
		t.Logf("round %2d: %-31s accepts again after %5.2fs; the cluster alone took %5.2fs; accounts: %v", i+1, kind.name, took.Seconds(), least.Seconds(), h.accounts)
		added[kind.name] = append(added[kind.name], took-least)
		f.settled()
		if h.accounts == nil {
			h.over() // attempts end late until the cluster is whole again
		}
	}
	start := middle(f.starts)
	bound := max(addedUsually, addedStarts*start)
	t.Logf("a server usually starts in %s: servers may usually add %s to what the cluster takes", start, bound)
	var every []time.Duration
	for name, all := range added {
		every = append(every, all...)
		if got := middle(all); got > bound && len(all) >= 3 {
			t.Errorf("%s: the servers usually add %s to what the cluster takes, want at most %s", name, got, bound)
		}
		if got := slices.Max(all); got > addedAtMost {
			t.Errorf("%s: in one round the servers add %s to what the cluster takes, want at most %s", name, got, addedAtMost)
		}
	}
	if got := middle(every); got > bound {
		t.Errorf("the servers usually add %s to what the cluster takes, want at most %s", got, bound)
	}
}

// failOver is the time from a fault until all accounts that it affects accept requests again.
func (f *fleetTrial) failOver(h harm) time.Duration {
	f.t.Helper()
	waits := map[string]bool{}
	for _, a := range f.accounts {
		if h.accounts == nil || slices.Contains(h.accounts, a) {
			waits[tokenPrefix+a] = true
		}
	}
	var last time.Time
	var left []string
	defer func() {
		if len(left) > 0 {
			f.t.Logf("these accept nothing: %v", left)
		}
	}()
	f.await("the fleet to accept again", func() bool {
		first := map[string]time.Time{}
		for _, a := range f.clients.since(h.at) {
			if at, ok := first[a.token]; a.publishes && a.status/100 == 2 && waits[a.token] && (!ok || a.ended.Before(at)) {
				first[a.token] = a.ended
			}

		}
		for _, at := range first {
			if at.After(last) {
				last = at
			}
		}
		left = slices.DeleteFunc(slices.Sorted(maps.Keys(waits)), func(token string) bool { return !first[token].IsZero() })
		return len(left) == 0
	})
	return last.Sub(h.at)
}

// note reports a fault to the judge before it happens.
func (f *fleetTrial) note(h harm) harm {
	var positions []int
	for i, a := range f.accounts {
		if slices.Contains(h.accounts, a) {
			positions = append(positions, i)
		}
	}
	if h.accounts != nil && positions == nil {
		positions = []int{-1} // no account
	}
	h.over = f.load.Harm(positions)
	h.at = time.Now()
	return h
}

// owner returns a random server that owns accounts, and these accounts.
func (f *fleetTrial) owner(random *rand.Rand) (*member, []string) {
	f.t.Helper()
	m := f.members[random.IntN(len(f.members))]
	l, err := f.list(m)
	expect.NoError(f.t, err)
	return m, f.owned(l)[m.url]
}

func (f *fleetTrial) killOwner(random *rand.Rand) harm {
	m, accounts := f.owner(random)
	h := f.note(harm{accounts: accounts, floor: f.leaseFloor(), mend: func() { f.start(m) }})
	_ = m.Kill() // killing it is the fault
	h.over()
	f.clients.remove(m.url, true)
	return h
}

// stopOwner stops a server until the others have replaced it. Then it continues and receives
// requests at once: it must find out by itself which accounts it has lost.
func (f *fleetTrial) stopOwner(random *rand.Rand) harm {
	m, accounts := f.owner(random)
	h := f.note(harm{accounts: accounts, floor: f.leaseFloor()})
	h.mend = func() {
		f.signal(m.Signal, syscall.SIGCONT)
		h.over()
		f.clients.add(m.url)
	}
	f.signal(m.Signal, syscall.SIGSTOP)
	f.clients.remove(m.url, true)
	return h
}

func (f *fleetTrial) signal(send func(syscall.Signal) error, s syscall.Signal) {
	f.t.Helper()
	expect.NoError(f.t, send(s))
}

func (f *fleetTrial) killLeader(*rand.Rand) harm {
	return f.harmNode(true, syscall.SIGKILL)
}

func (f *fleetTrial) stopLeader(*rand.Rand) harm {
	return f.harmNode(true, syscall.SIGSTOP)
}

func (f *fleetTrial) killFollower(*rand.Rand) harm {
	return f.harmNode(false, syscall.SIGKILL)
}

func (f *fleetTrial) stopFollower(*rand.Rand) harm {
	return f.harmNode(false, syscall.SIGSTOP)
}

// harmNode harms the member of the cluster that leads the stream of journals, or another one.
func (f *fleetTrial) harmNode(leads bool, s syscall.Signal) harm {
	f.t.Helper()
	stream, err := f.js.Stream(f.t.Context(), journals)
	expect.NoError(f.t, err)
	leader := stream.CachedInfo().Cluster.Leader
	for _, n := range f.nodes {
		if (n.Name == leader) != leads {
			continue
		}
		h := f.note(harm{mend: func() {
			if s == syscall.SIGKILL {
				n.Start(f.t)
			} else {
				f.signal(n.Signal, syscall.SIGCONT)
			}
		}})
		f.signal(n.Signal, s)
		if s == syscall.SIGKILL {
			_ = n.Wait() // it was killed
		}
		h.floor = f.electionFloor()
		return h
	}
	f.t.Fatalf("no member of the cluster is %q", leader)
	return harm{}
}

// journals is the stream with the journals of the fleet.
const journals = "UNDERSTUDY"

// leaseFloor measures how long the cluster takes, starting now, to end a lease.
func (f *fleetTrial) leaseFloor() func() time.Duration {
	f.t.Helper()
	const key = "lease"
	f.await("a lease", func() bool {
		_, err := f.floor.Put(f.t.Context(), key, nil)
		return err == nil
	})
	f.await("every member of the cluster to know it", func() bool {
		_, err := f.floor.Get(f.t.Context(), key)
		return err == nil
	})
	return measured(func() bool {
		_, err := f.floor.Get(f.t.Context(), key)
		return errors.Is(err, jetstream.ErrKeyNotFound)
	})
}

// electionFloor measures how long the cluster takes, starting now, until the stream of
// journals accepts a message on a subject without an account, and all streams have a leader.
func (f *fleetTrial) electionFloor() func() time.Duration {
	return measured(func() bool {
		if _, err := f.js.Publish(f.t.Context(), "understudy.floor.log", nil, jetstream.WithRetryAttempts(0)); err != nil {
			return false
		}
		return f.streams(func(c *jetstream.ClusterInfo) bool { return c.Leader != "" })
	})
}

// measured measures the time until so returns true. The result waits for that.
func measured(so func() bool) func() time.Duration {
	at, took := time.Now(), make(chan time.Duration, 1)
	go func() {
		for deadline := at.Add(effort.Wait(time.Minute)); !so() && time.Now().Before(deadline); {
			pause(20 * time.Millisecond)
		}
		took <- time.Since(at)
	}()
	return func() time.Duration { return <-took }
}
