package tenant

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/wire"
	"github.com/understudy-mock/understudy/spec"
)

// Config configures the accounts of a server.
type Config struct {
	Accounts   []Credentials // the first is the default account
	AnyAccount bool          // every unknown token creates an account
	Dialects   spec.Dialects // all known ones, the configured one first
	Auto       bool          // none is configured: requests choose the dialect

	ClockGiven bool   // Clock was set explicitly: it also applies to accounts of the store
	Clock      string // mode of each account's clock: real, manual, auto
	Start      time.Time
	Seed       uint64
	Wall       *clock.Real

	Stubs    []stub.Stub
	Rewrites map[string]string

	// Store keeps the accounts permanently; nil: they are in memory only.
	Store          store.Store
	Reading        func(account string, records int) // receives the progress of reading the data of an account; nil: none
	KnownOperation func(operation string) bool       // checks the operations of stored faults
	Replay         *Until                            // the accounts are replayed up to this point and do not change; nil: they work normally

	// Fleet decides which accounts of the store are here; nil: all of them.
	Fleet Fleet

	KVCapacity *kv.Capacity
	Memory     *engine.Ledger

	// Engine is the common configuration of all accounts; the registry adds the
	// settings of each account.
	Engine  engine.Config
	Deliver func(*Registry, *Tenant) func(context.Context, engine.Attempt) engine.Outcome
	Failed  func(*Tenant, engine.FailedAttempt)

	Observe func(account string, e *engine.Event) // receives the events of the accounts as they happen; nil: none
}

// Registry finds accounts by their credentials.
type Registry struct {
	cfg     Config
	mu      sync.Mutex         // guards the maps, resumed and the modes of clocks; taken before all others
	opening singleflight.Group // opens each account once: that may wait for the store
	tenants map[string]*Tenant // by account id
	tokens  map[digest]string  // account id, by access token

	walk    *walk
	begun   chan struct{} // closed by Begin
	resumed bool          // the store had accounts

	ctx  context.Context // until stop
	stop func()          // ends compact and observe
	work sync.WaitGroup
}

// New opens the accounts of the store and the configured ones. They make no attempts
// before Begin.
func New(cfg Config) (*Registry, error) {
	r := &Registry{cfg: cfg, tenants: map[string]*Tenant{}, tokens: map[digest]string{}, walk: newWalk(), begun: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	r.ctx, r.stop = ctx, stop
	var err error
	for _, a := range cfg.Accounts {
		switch {
		case cfg.Fleet != nil:
			r.place(r.remote(a, nil)) // until EnsureConfigured
		case err == nil:
			_, err = r.Put(a)
		}
	}
	if err == nil && cfg.Fleet == nil {
		err = r.loaded(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if cfg.Store != nil && cfg.Replay == nil {
		r.work.Go(func() { r.compact(ctx) })
	}
	return r, nil
}

// Begin starts the attempts of all accounts. It must be called at most once.
func (r *Registry) Begin() { close(r.begun) }

// Resumed reports whether the store had accounts.
func (r *Registry) Resumed() bool { return r.resumed }

// seededStart is where a seeded manual clock begins, so that runs repeat.
var seededStart = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// mostID is the largest length of the id of an account, in bytes.
const mostID = 256

// CheckID refuses ids of accounts that could not be written everywhere: in a path, a query,
// a flag and a log.
func CheckID(id string) error {
	name := func(r rune) bool { return r != utf8.RuneError && unicode.IsPrint(r) && r != '*' && r != ':' }
	if id == "" || len(id) > mostID || id == "." || id == ".." || strings.TrimSpace(id) != id || strings.ContainsFunc(id, func(r rune) bool { return !name(r) }) {
		return refusal.OfValue("account", id, "", fmt.Sprintf("1 to %d bytes of printable characters, without * and :, without blanks at its ends, and neither . nor ..", mostID))
	}
	return nil
}

// Put returns the tenant of an account, and creates the account if there is none. An
// account of the store, which has no token here, keeps the id that it has.
func (r *Registry) Put(a Credentials) (*Tenant, error) {
	ctx := context.Background()
	if a.Token != "" && r.byID(a.ID) == nil {
		if err := CheckID(a.ID); err != nil {
			return nil, err
		}
	}
	switch {
	case r.cfg.Fleet == nil:
		return r.opened(ctx, a)
	case r.Known(a.ID):
		return r.byID(a.ID), nil
	}
	return r.create(ctx, a)
}

// opened is Put for an account in this server. It opens the account if necessary.
func (r *Registry) opened(ctx context.Context, a Credentials) (*Tenant, error) {
	t, err, _ := r.opening.Do(a.ID, func() (any, error) {
		if t := r.byID(a.ID); t != nil && !t.Elsewhere() {
			return t, nil
		}
		t, err := r.load(ctx, a)
		if err != nil {
			return t, err
		}
		if r.cfg.Observe != nil && r.ctx.Err() == nil {
			from := t.Account.Logged()
			r.work.Go(func() { r.observe(t, from) })
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.place(t)
		return t, nil
	})
	found, _ := t.(*Tenant) // nil with an error
	return found, err
}

// load creates a tenant, with its data in the store if there are any.
func (r *Registry) load(ctx context.Context, a Credentials) (*Tenant, error) {
	kept, about, err := r.keptOf(ctx, &a)
	if err != nil {
		return nil, ofData(a.ID, err)
	}
	if a.Token == "" {
		return nil, cmp.Or(ofData(a.ID, fmt.Errorf("%w: its credentials are missing", store.ErrDamaged)), kept.Close())
	}
	t, cfg := r.furnished(a)
	t.kept = kept
	if err := r.open(ctx, t, cfg, about); err != nil {
		return nil, cmp.Or(ofData(a.ID, err), t.close())
	}
	r.complete(t)
	if err := r.Keep(ctx, t); err != nil {
		return nil, cmp.Or(err, t.close())
	}
	return t, nil
}

// observed is the largest number of events that observe reads at once.
const observed = 256

// observe passes on the events of an account after a sequence number, until the account leaves or
// the server stops, with those that were there before.
func (r *Registry) observe(t *Tenant, after uint64) {
	for ends := false; ; {
		events, more := t.Account.Follow(after, observed)
		for i := range events {
			after = events[i].Seq
			r.cfg.Observe(t.ID, &events[i])
		}
		if ends && len(events) == 0 {
			return
		}
		select {
		case <-more:
		case <-t.Staying().Done():
			ends = true
		case <-r.ctx.Done():
			ends = true
		}
	}
}

// ofData adds the account to an error of the store. If the disk does not answer, is
// full or has lost its files, the server is not at fault: the error says that the request may be repeated.
func ofData(id string, err error) error {
	place := fmt.Sprintf("data of account %q", id)
	if errors.Is(err, store.ErrUnanswered) || errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrGone) {
		return refusal.Of(refusal.NotDurable, place, "", err.Error()+"; repeat the request later")
	}
	return refusal.At(place, err)
}

func (r *Registry) byID(id string) *Tenant {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tenants[id]
}

// Trial returns a tenant that no request reaches and no store keeps. The caller must
// close it.
func (r *Registry) Trial(a Credentials) *Tenant {
	t, cfg := r.furnished(a)
	t.Account = engine.New(cfg)
	r.complete(t)
	return t
}

// furnished returns a tenant without an account, and the configuration for its account.
func (r *Registry) furnished(a Credentials) (*Tenant, engine.Config) {
	t := &Tenant{Credentials: a, mode: r.cfg.Clock, Public: r.public(a), opened: make(chan struct{}), keeping: semaphore.NewWeighted(1), moves: newGate(), requests: newGate(), attempts: newGate(), reading: semaphore.NewWeighted(maxReaders)}
	if t.Password == "" {
		t.Password = DerivedSecret(a.Token, "management")
	}
	for _, x := range r.cfg.Engine.VectorIndexes {
		t.indexes = append(t.indexes, VectorAccess{x.Name, vectorToken(a.Token, x.Name)})
	}
	t.Requests.CountIn(r.cfg.Memory)
	t.Deliveries.CountIn(r.cfg.Memory)
	t.Stubs.Set(r.cfg.Stubs)
	t.Rewrites.Set(r.cfg.Rewrites)
	cfg := r.cfg.Engine
	cfg.Clock, cfg.Auto, cfg.Seed = r.newClock(r.cfg.Clock), r.cfg.Clock == "auto", r.Seed(a.ID)
	cfg.Memory = r.cfg.Memory
	deliver := r.cfg.Deliver(r, t)
	cfg.Deliver = func(ctx context.Context, a engine.Attempt) engine.Outcome {
		select { // an account of a store may start attempts before its tenant is complete
		case <-t.opened:
		case <-ctx.Done():
			return engine.Outcome{Err: "the server has stopped"}
		}
		select {
		case <-r.begun:
		case <-ctx.Done():
			return engine.Outcome{Err: "the server has stopped"}
		}
		if !t.attempts.enter() { // the next server of the account makes the attempt
			t.held.Add(1)
			<-ctx.Done()
			return engine.Outcome{Err: "the account has left"}
		}
		defer t.attempts.exit()
		return deliver(ctx, a)
	}
	cfg.CurrentKey, cfg.NextKey = r.signingKeys(a)
	cfg = r.named(t, cfg)
	cfg.Failed = func(f engine.FailedAttempt) { r.cfg.Failed(t, f) }
	return t, cfg
}

// named sets the names that an account uses on the wire. Some become part of its
// state.
func (r *Registry) named(t *Tenant, cfg engine.Config) engine.Config {
	cfg.ID, cfg.Wire, cfg.HeaderName = t.ID, wire.Format{}, r.headerName(t)
	cfg.InDialect = func(dialect string, json []byte) []byte { return r.Dialect(t, dialect).BrandJSON(json) }
	return cfg
}

// complete adds the parts of a tenant that need its account.
func (r *Registry) complete(t *Tenant) {
	t.KVToken = DerivedSecret(t.Token, "kv")
	t.KV, _ = kv.New(kv.Config{Token: t.KVToken, Capacity: r.cfg.KVCapacity, Now: t.Account.Now}) // it has a token
	close(t.opened)
}

// closeWithin is how long Close waits until the data of all accounts are durable.
const closeWithin = 10 * time.Second

// Close closes all accounts and waits for the attempts in flight. It closes them
// concurrently, so that it waits only once for a disk that hangs.
func (r *Registry) Close() error {
	r.stop()
	r.work.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	all := r.All()
	errs := make([]error, len(all))
	var closing sync.WaitGroup
	for i, t := range all {
		closing.Go(func() {
			kept := r.Keep(ctx, t)
			if err := cmp.Or(kept, t.leave(ctx)); err != nil {
				errs[i] = fmt.Errorf("account %q: closing it: %w", t.ID, err)
			}
		})
	}
	closing.Wait()
	return oneLine(errs)
}

// oneLine returns the first error, with the number of the others; nil for none.
func oneLine(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return fmt.Errorf("%w; and %d more accounts", errs[0], len(errs)-1)
}

// Seed returns the seed of an account, which differs by id; 0 without a configured one.
func (r *Registry) Seed(id string) uint64 {
	if r.cfg.Seed == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return max(1, r.cfg.Seed^h.Sum64())
}

// signingKeys returns the initial signing keys of an account: those of the dialect for
// its development token, otherwise keys derived from id and token, so that no account
// can sign as another one.
func (r *Registry) signingKeys(a Credentials) (current, next string) {
	if d := r.Home(); a.Token == d.Token {
		return d.CurrentSigningKey, d.NextSigningKey
	}
	return signingKey(a, "current"), signingKey(a, "next")
}

func signingKey(a Credentials, purpose string) string {
	sum := sha256.Sum256([]byte("signing " + purpose + " " + a.ID + " " + a.Token))
	return "sig_" + hex.EncodeToString(sum[:14])
}

// public reports whether anyone may know or derive a token: a development token, one
// that is derived from the account's id, or any token with Config.AnyAccount.
func (r *Registry) public(a Credentials) bool {
	return r.cfg.AnyAccount || spec.DevelopmentToken(a.Token) || a.Token == DerivedSecret(a.ID, "token")
}

// digest is the key of a token in a map. It is a hash, so that the time of a lookup
// reveals nothing about the token.
type digest [sha256.Size]byte

func digestOf(token string) digest {
	const usual = 256 // longer tokens need an allocation
	return sha256.Sum256(append(make([]byte, 0, usual), token...))
}

// All lists the tenants of this server by id.
func (r *Registry) All() []*Tenant {
	return r.sorted(func(t *Tenant) bool { return !t.Elsewhere() })
}

func (r *Registry) sorted(want func(*Tenant) bool) []*Tenant {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*Tenant, 0, len(r.tenants))
	for _, t := range r.tenants {
		if want(t) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *Tenant) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// First returns the default account, on which the control API acts.
func (r *Registry) First() *Tenant { return r.byID(r.cfg.Accounts[0].ID) }

// Find returns the tenant, here or elsewhere, for which holds is true; nil for none.
func (r *Registry) Find(holds func(*Tenant) bool) *Tenant {
	for _, t := range r.Everywhere() {
		if holds(t) {
			return t
		}
	}
	return nil
}

// Owner returns the account of an access token; nil for none.
func (r *Registry) Owner(token string) *Tenant {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tenants[r.tokens[digestOf(token)]]
}

// ByToken returns the account of an access token; nil for none. With AnyAccount, it
// creates an account for an unknown token.
func (r *Registry) ByToken(token string) (*Tenant, error) {
	t := r.Owner(token)
	if t != nil || !r.cfg.AnyAccount || token == "" {
		return t, nil
	}
	return r.Put(Credentials{ID: DerivedSecret(token, "account"), Token: token})
}

// ByUser returns the account of a user of the management API; nil for none.
func (r *Registry) ByUser(name, password string) *Tenant {
	return r.Find(func(t *Tenant) bool { return t.Username() == name && SameSecret(t.Password, password) })
}

// ByID returns the account with an id, or with the user id that clients read in the
// development token of a dialect; nil for none.
func (r *Registry) ByID(id string) *Tenant {
	if t := r.byID(id); t != nil {
		return t
	}
	for _, d := range r.Spoken() {
		if d.UserID == id {
			return r.Owner(d.Token)
		}
	}
	return nil
}
