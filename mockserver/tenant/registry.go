package tenant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/memory"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/wire"
	"github.com/understudy-mock/understudy/spec"
)

// Config is what the accounts of a server are made of.
type Config struct {
	Accounts   []Credentials // the first is the default account
	AnyAccount bool          // every unknown token gets an account of its own
	Dialects   spec.Dialects // all that are known; the configured one first
	Auto       bool          // none is configured: requests choose the dialect

	Clock string // mode of each account's clock: real, manual, auto
	Start time.Time
	Seed  uint64
	Wall  *clock.Real

	Stubs    []stub.Stub
	Rewrites map[string]string

	KVURL      string
	KVCapacity *kv.Capacity
	Memory     *memory.Ledger

	// Engine is what all accounts have in common; the registry adds what is the
	// account's own.
	Engine  engine.Config
	Deliver func(*Registry, *Tenant) func(context.Context, engine.Attempt) engine.Outcome
	Failed  func(*Tenant, engine.FailedAttempt)
}

// Registry finds accounts by their credentials.
type Registry struct {
	cfg     Config
	mu      sync.Mutex         // guards the maps and the modes of clocks; comes before all others
	tenants map[string]*Tenant // by account id
	tokens  map[digest]*Tenant // by access token
}

// New has the configured accounts.
func New(cfg Config) *Registry {
	r := &Registry{cfg: cfg, tenants: map[string]*Tenant{}, tokens: map[digest]*Tenant{}}
	for _, a := range cfg.Accounts {
		r.Put(a)
	}
	return r
}

// seededStart is where a seeded manual clock begins, so that runs repeat.
var seededStart = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// kvPrefix and an account's id are in front of its keys in a real server, which
// accounts and other applications may share.
const kvPrefix = "understudy:"

// Put finds or makes the home of an account.
func (r *Registry) Put(a Credentials) *Tenant {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.tenants[a.ID]; t != nil {
		return t
	}
	t := r.Trial(a)
	r.tenants[a.ID], r.tokens[digestOf(a.Token)] = t, t
	return t
}

// Trial makes a tenant that nobody can reach. It is the caller's to close.
func (r *Registry) Trial(a Credentials) *Tenant {
	t := &Tenant{Credentials: a, mode: r.cfg.Clock, Public: r.public(a)}
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
	cfg.ID, cfg.Clock, cfg.Auto, cfg.Seed = a.ID, r.newClock(r.cfg.Clock), r.cfg.Clock == "auto", r.Seed(a.ID)
	cfg.Wire, cfg.Memory, cfg.Deliver = wire.Format{}, r.cfg.Memory, r.cfg.Deliver(r, t)
	cfg.CurrentKey, cfg.NextKey = r.signingKeys(a)
	cfg.HeaderName = r.headerName(t)
	cfg.InDialect = func(dialect string, json []byte) []byte { return r.Dialect(t, dialect).BrandJSON(json) }
	cfg.Failed = func(f engine.FailedAttempt) { r.cfg.Failed(t, f) }
	t.Account = engine.New(cfg)
	t.KVToken = DerivedSecret(a.Token, "kv")
	t.KV, _ = kv.New(kv.Config{Token: t.KVToken, URL: r.cfg.KVURL, Prefix: kvPrefix + a.ID + ":", Capacity: r.cfg.KVCapacity, Now: t.Account.Now}) // the server has tried the URL
	return t
}

// Close ends all accounts, and waits for what is in flight.
func (r *Registry) Close() error {
	var errs []error
	for _, t := range r.All() {
		errs = append(errs, t.Account.Close(), t.KV.Close())
	}
	return errors.Join(errs...)
}

// Seed is that of an account: each has a sequence of its own; 0 without a seed.
func (r *Registry) Seed(id string) uint64 {
	if r.cfg.Seed == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return max(1, r.cfg.Seed^h.Sum64())
}

// signingKeys are those that an account begins with: the dialect's own for its
// development account, and others, which follow from the token, for any other,
// so that no account can sign as another one.
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

// public reports whether a token is known to everybody, or can be made by
// everybody: a development token, one that is derived from the account's id, or
// any token where each opens an account.
func (r *Registry) public(a Credentials) bool {
	return r.cfg.AnyAccount || spec.DevelopmentToken(a.Token) || a.Token == DerivedSecret(a.ID, "token")
}

// digest stands for a token in a map: what a lookup takes says nothing about
// the token.
type digest [sha256.Size]byte

func digestOf(token string) digest { return sha256.Sum256([]byte(token)) }

// All lists the tenants by id.
func (r *Registry) All() []*Tenant {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*Tenant, 0, len(r.tenants))
	for _, t := range r.tenants {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *Tenant) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// First is the default account: the one that the control API acts on.
func (r *Registry) First() *Tenant { return r.Put(r.cfg.Accounts[0]) }

// Find is the tenant for which a credential holds; nil for none.
func (r *Registry) Find(holds func(*Tenant) bool) *Tenant {
	for _, t := range r.All() {
		if holds(t) {
			return t
		}
	}
	return nil
}

// Owner is the account that an access token opens now; nil for none.
func (r *Registry) Owner(token string) *Tenant {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tokens[digestOf(token)]
}

// ByToken is the account of an access token; with AnyAccount a new one.
func (r *Registry) ByToken(token string) *Tenant {
	t := r.Owner(token)
	if t != nil || !r.cfg.AnyAccount || token == "" {
		return t
	}
	return r.Put(Credentials{ID: DerivedSecret(token, "account"), Token: token})
}

// ByUser is the account of a user of the management API.
func (r *Registry) ByUser(name, password string) *Tenant {
	return r.Find(func(t *Tenant) bool { return t.Username() == name && SameSecret(t.Password, password) })
}

// ByID is the account with an id, or with the user id in the development token
// of a dialect, which clients read.
func (r *Registry) ByID(id string) *Tenant {
	if t := r.Find(func(t *Tenant) bool { return t.ID == id }); t != nil {
		return t
	}
	for _, d := range r.Spoken() {
		if d.UserID == id {
			return r.Owner(d.Token)
		}
	}
	return nil
}
