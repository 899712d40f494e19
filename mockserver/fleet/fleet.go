// Package fleet lets several servers share the accounts of one JetStream cluster.
//
//	f := fleet.New(fleet.Config{Store: store})
//	s, err := mockserver.Run(mockserver.Config{Store: store, Fleet: f})
//
// The state is in two buckets of the cluster. In "members", each server has an entry
// that expires unless the server renews it. In "owners", each account has the id of the
// server that serves it. Every server follows both buckets and the directory of the
// accounts. It takes its share of the accounts whose owner has left, and gives accounts
// to servers that have fewer. Requests that reach another server are forwarded to the
// owner.
//
// The entries are only advisory: the fence of the journal (package jetstream) prevents
// two servers from changing one account. An owner that cannot renew its entry continues
// until it is fenced.
package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/semaphore"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/mockserver/control"
	store "github.com/understudy-mock/understudy/mockserver/fleet/jetstream"
)

// Config configures a member. Store is required.
type Config struct {
	Store  *store.Store
	Secret string       // shared by all members; "": a generated one, kept in the cluster
	Front  *url.URL     // URL of what is in front of all members, such as a load balancer; nil: none
	Log    *slog.Logger // nil: nothing is logged

	Patience Patience // zero: the usual one
}

const (
	memberTTL   = 2 * time.Second        // an entry that is not renewed expires
	renewEvery  = 500 * time.Millisecond // interval between renewals
	renewWithin = time.Second            // timeout of one renewal
	joinWithin  = 30 * time.Second
	grace       = 500 * time.Millisecond // for a member whose entry has expired, to renew it
	retryAfter  = time.Second            // before an account that could not be taken is tried again
	giveWithin  = 10 * time.Second       // for requests and attempts in flight to end
	claimWithin = 5 * time.Second        // to write the owner of an account
	calm        = 10 * time.Millisecond  // minimum interval between two checks of all accounts
	parallel    = 16                     // largest number of concurrent jobs
)

// Fleet is the membership of this server.
type Fleet struct {
	cfg  Config
	host control.FleetHost
	id   string
	wall *clock.Real

	members, owners, directory *feed
	turns                      *semaphore.Weighted // bounds concurrent jobs
	transport                  *http.Transport
	token                      string          // in the header of forwarded requests
	mark                       string          // of the token, see markOf
	ctx                        context.Context // ends with the membership
	stop                       context.CancelFunc
	streaming                  context.Context // of event streams that other members send through this one
	endStreams                 context.CancelFunc
	work                       sync.WaitGroup
	serving                    sync.Once

	leaving  atomic.Bool     // the server hands its accounts to the others
	waiting  context.Context // ends when no request may wait for another server any longer
	cutWaits context.CancelFunc

	ran atomic.Int64 // last time at which this process was not suspended, Unix ns; 0 before it joins

	mu      sync.Mutex
	self    member
	cut     error                // why the last renewal failed; nil if it succeeded
	alive   map[string]member    // by id
	gone    map[string]time.Time // when the entry of a member ended, by id
	owner   map[string]claim     // by account
	taken   map[string]uint64    // revision of the owner entry by which an account is here, by account
	busy    map[string]string    // kind of the current job, by account
	refused map[string]failure   // accounts that could not be taken
	moves   int64                // owner changes seen
	changed chan struct{}        // closed by the next change
}

// member is an entry of the bucket of members.
type member struct {
	URL     string `json:"url"`
	Since   int64  `json:"since"` // Unix ms
	Leaving bool   `json:"leaving,omitempty"`
	Secret  string `json:"secret,omitempty"` // mark of the token, see markOf
}

// claim is an entry of the bucket of owners.
type claim struct {
	member   string
	revision uint64
}

// failure is why an account could not be taken, and when.
type failure struct {
	err error
	at  time.Time
}

// passing reports whether another try may succeed soon: the cluster did not answer, or another
// server took the account at the same time.
func (f failure) passing() bool {
	for _, err := range []error{context.DeadlineExceeded, context.Canceled, nats.ErrNoResponders, nats.ErrTimeout, nats.ErrConnectionClosed, jetstream.ErrNoStreamResponse, store.ErrFenced} {
		if errors.Is(f.err, err) {
			return true
		}
	}
	return false
}

// New prepares a membership; Join starts it.
func New(cfg Config) *Fleet {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Patience = cmp.Or(cfg.Patience, usualPatience)
	f := &Fleet{cfg: cfg, id: cfg.Store.ID(), wall: clock.NewReal(), turns: semaphore.NewWeighted(parallel), transport: newTransport(),
		alive: map[string]member{}, gone: map[string]time.Time{}, owner: map[string]claim{}, taken: map[string]uint64{}, busy: map[string]string{}, refused: map[string]failure{}, changed: make(chan struct{})}
	f.waiting, f.cutWaits = context.WithCancel(context.Background())
	f.ctx, f.stop = context.WithCancel(context.Background())
	f.streaming, f.endStreams = context.WithCancel(context.Background())
	return f
}

// Join makes this server a member that the others reach at url. It returns when the server
// has seen all members, owners and accounts. It refuses a url that another member has, and
// another secret than the other members have.
func (f *Fleet) Join(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), joinWithin)
	defer cancel()
	members, err := f.cfg.Store.Bucket(ctx, "members", memberTTL)
	if err != nil {
		return err
	}
	owners, err := f.cfg.Store.Bucket(ctx, "owners", 0)
	if err != nil {
		return err
	}
	if f.token, err = tokenOf(ctx, owners, f.cfg.Secret); err != nil {
		return err
	}
	f.mark = markOf(f.token) // before members are seen
	f.members = newFeed(members, f.seeMember, f.missMember)
	f.owners = newFeed(owners, f.seeOwner, func(string) {})
	f.directory = newFeed(f.cfg.Store.Directory(), f.seeAccount, func(string) {})
	feeds := []*feed{f.members, f.owners, f.directory}
	for _, one := range feeds {
		f.work.Go(func() { one.follow(f.ctx, f.cfg.Log) })
	}
	for _, one := range feeds {
		if err := one.complete(ctx); err != nil {
			return err
		}
	}
	if err := f.fitting(ctx, url); err != nil {
		return err
	}
	f.mu.Lock()
	f.self = member{URL: url, Since: f.wall.Now().UnixMilli(), Secret: f.mark}
	f.mu.Unlock()
	if err := f.renew(ctx); err != nil {
		return err
	}
	f.seen(f.id, f.self)
	f.resume()
	f.work.Go(f.renewAlways)
	return f.host.Accounts.EnsureConfigured()
}

// fitting refuses an address that another member has, because requests for its accounts would
// arrive here, and a secret that another member does not have, because the two would refuse each
// other's requests. It waits for the entries of crashed servers to expire.
func (f *Fleet) fitting(ctx context.Context, url string) error {
	soon, cancel := context.WithTimeout(ctx, memberTTL+grace)
	defer cancel()
	for {
		changed, err := f.next(), f.unfit(url)
		if err == nil {
			return nil
		}
		select {
		case <-changed:
		case <-soon.Done():
			return err
		}
	}
}

// unfit is the reason why this server cannot be a member at an address now; nil for none.
func (f *Fleet) unfit(url string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(f.alive)) {
		switch m := f.alive[id]; {
		case id == f.id:
		case m.URL == url:
			return fmt.Errorf("fleet: server %q advertises %s as well: each server of a fleet needs an address of its own, which --advertise URL names", id, url)
		case f.estranged(m):
			return fmt.Errorf("fleet: server %q at %s has another --fleet-secret: all servers of a fleet must have the same; to change it, stop all of them first", id, m.URL)
		}
	}
	return nil
}

// estranged reports whether a member has another secret. One of an older version does not say.
func (f *Fleet) estranged(m member) bool { return m.Secret != "" && m.Secret != f.mark }

// Serve starts taking and giving accounts, until End.
func (f *Fleet) Serve() { f.serving.Do(func() { f.work.Go(f.serve) }) }

// giveAll gives all accounts to the others, at most until ctx ends. Until the end, this server still
// finds the accounts, and passes on those that it gets from a server that does not know yet.
func (f *Fleet) giveAll(ctx context.Context) {
	if !f.joined() {
		return
	}
	f.mu.Lock()
	f.self.Leaving = true
	f.alive[f.id] = f.self
	f.mu.Unlock()
	f.Serve() // a server that could not start has accounts too
	if err := f.renew(ctx); err == nil {
		f.note()
		for f.held() > 0 && f.wait(ctx) {
		}
	}
}

// joined reports whether this server has announced itself, so that the others expect it.
func (f *Fleet) joined() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.self.URL != ""
}

// held returns the number of accounts that this server still has to give away.
func (f *Fleet) held() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.busy) + len(f.spread().farewell())
}

// staying returns the members that do not leave, sorted. The caller has the lock.
func (f *Fleet) staying() []string {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(f.alive)) {
		if !f.alive[id].Leaving {
			list = append(list, id)
		}
	}
	return list
}

// note wakes all goroutines that wait for a change.
func (f *Fleet) note() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.changed)
	f.changed = make(chan struct{})
}

// next returns a channel that the next change closes.
func (f *Fleet) next() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

// wait waits for a change; false when ctx ends first.
func (f *Fleet) wait(ctx context.Context) bool {
	select {
	case <-f.next():
		return true
	case <-ctx.Done():
		return false
	}
}

func (f *Fleet) seen(id string, m member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.alive[id]; !known {
		f.cfg.Log.Info("server is in the fleet", "server", id, "url", m.URL)
		if id != f.id && m.URL == f.self.URL {
			f.cfg.Log.Error("another server advertises the address of this one: each server of a fleet needs its own, which --advertise URL names", "server", id, "url", m.URL)
		}
		if f.estranged(m) {
			f.cfg.Log.Error("another server has another --fleet-secret: all servers of a fleet must have the same", "server", id, "url", m.URL)
		}
	}
	f.alive[id] = m
	delete(f.gone, id)
}

// seeMember handles an entry of the bucket of members.
func (f *Fleet) seeMember(e jetstream.KeyValueEntry) {
	var m member
	if e.Operation() != jetstream.KeyValuePut || unmarshal(e, &m) != nil {
		f.missMember(e.Key())
		return
	}
	f.mu.Lock()
	was, known := f.alive[e.Key()]
	f.mu.Unlock()
	if known && was == m {
		return
	}
	f.seen(e.Key(), m)
	f.note()
}

// missMember handles the end of the entry of a member.
func (f *Fleet) missMember(id string) {
	f.mu.Lock()
	_, known := f.alive[id]
	delete(f.alive, id)
	if known {
		f.gone[id] = f.wall.Now()
		f.cfg.Log.Info("server has left the fleet", "server", id)
	}
	f.mu.Unlock()
	if known {
		f.note()
	}
}

// seeOwner handles an entry of the bucket of owners.
func (f *Fleet) seeOwner(e jetstream.KeyValueEntry) {
	id, ok := store.AccountOf(e.Key())
	if ok && e.Operation() == jetstream.KeyValuePut {
		f.setOwner(id, claim{string(e.Value()), e.Revision()})
	}
}

func (f *Fleet) setOwner(account string, c claim) {
	f.mu.Lock()
	was := f.owner[account]
	if c.revision > was.revision {
		f.owner[account] = c
		if was.member != "" && c.member != "" && was.member != c.member {
			f.moves++
		}
		delete(f.refused, account)
	}
	f.mu.Unlock()
	f.note()
}

// seeAccount handles an entry of the directory of accounts.
func (f *Fleet) seeAccount(e jetstream.KeyValueEntry) {
	if e.Operation() != jetstream.KeyValuePut {
		return
	}
	id, about, err := store.Entry(e)
	if about == nil && err == nil {
		return // the account is being created
	}
	known := f.host.Accounts.Known(id)
	if err == nil {
		err = f.host.Accounts.Know(id, about)
	}
	if err != nil {
		f.cfg.Log.Error("account of the fleet", "error", err)
		return
	}
	if !known {
		f.note()
	}
}

// renew writes the entry of this member.
func (f *Fleet) renew(ctx context.Context) error {
	f.mu.Lock()
	text := marshal(f.self)
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, renewWithin)
	defer cancel()
	if _, err := f.members.kv.Put(ctx, f.id, text); err != nil {
		return fmt.Errorf("fleet: entry of this server: %w", err)
	}
	return nil
}

// resume records that this process runs. After a suspension of the process or its
// machine, it first catches up with the other members.
func (f *Fleet) resume() {
	if !f.wasStopped() || f.catchUpSoon(f.ctx) {
		f.ran.Store(f.wall.Now().UnixNano())
	}
}

// catchUpSoon calls catchUp with a timeout, and reports whether it succeeded.
func (f *Fleet) catchUpSoon(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, renewWithin)
	defer cancel()
	return f.catchUp(ctx) == nil
}

// wasStopped reports whether this process was suspended for so long that others may have
// replaced it. Running without a connection to the cluster is not a suspension.
func (f *Fleet) wasStopped() bool {
	ran := f.ran.Load()
	return ran != 0 && f.wall.Now().UnixNano()-ran > int64(memberTTL)
}

// Ready returns why the cluster does not accept writes of this server; nil if it does. The
// renewals show it: each is a write, which fails within renewEvery and renewWithin.
func (f *Fleet) Ready(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut != nil {
		return fmt.Errorf("the cluster of --data does not accept writes: %w", f.cut)
	}
	return nil
}

// renewAlways renews the entry until the membership ends, also after failures: others may
// take the accounts meanwhile, and the fence of the journal detects that.
func (f *Fleet) renewAlways() {
	failed := false
	for clock.Pause(f.ctx, renewEvery) == nil {
		f.resume()
		err := f.renew(f.ctx)
		f.mu.Lock()
		f.cut = err
		f.mu.Unlock()
		f.resume() // without a connection, renew takes its whole timeout
		if (err != nil) != failed && f.ctx.Err() == nil {
			if failed = err != nil; failed {
				f.cfg.Log.Warn("fleet: this server cannot renew its entry; it continues with its accounts", "error", err)
			} else {
				f.cfg.Log.Info("fleet: this server renews its entry again")
			}
		}
	}
}
