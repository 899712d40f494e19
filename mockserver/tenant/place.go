package tenant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/traffic"
)

// Fleet assigns accounts to the servers of a fleet. In a registry without one, every
// account is here.
type Fleet interface {
	// Claim makes this server the owner of a new account. If another server has
	// created it, Claim returns false once Known is true for the account.
	Claim(ctx context.Context, id string) (own bool, err error)
}

// errElsewhere is the error for an account that another server has.
var errElsewhere = errors.New("another server has the account")

// Elsewhere reports whether another server has the account: here are only its
// credentials, and Account is nil.
func (t *Tenant) Elsewhere() bool { return t.Account == nil }

// Here refuses accounts that another server has.
func (t *Tenant) Here() error {
	if t.Elsewhere() {
		return refusal.Of(refusal.Invalid, fmt.Sprintf("account %q", t.ID), "", "another server of the fleet has it: name it by the query parameter account, in a call of its own")
	}
	return nil
}

// PutHere is Put for an account that must be at this server.
func (r *Registry) PutHere(a Credentials) (*Tenant, error) {
	t, err := r.Put(a)
	if err == nil {
		err = t.Here()
	}
	return t, err
}

// The following do nothing for an account elsewhere, whose server does it.

// Touch notifies followers of the account that something about it has changed.
func (t *Tenant) Touch() {
	if !t.Elsewhere() {
		t.Account.Touch()
	}
}

// Record adds a request to the journal of the account.
func (t *Tenant) Record(x *traffic.Exchange) {
	if !t.Elsewhere() {
		t.Requests.Add(x)
	}
}

// Glance returns the account's time without waiting for its lock; that of this machine for an
// account elsewhere.
func (r *Registry) Glance(t *Tenant) time.Time {
	if t.Elsewhere() {
		return r.cfg.Wall.Now()
	}
	now, _ := t.Account.Glance()
	return now
}

// Enter keeps the account here until Exit; false when the account is elsewhere or
// about to leave. Each call that returns true needs an Exit.
func (t *Tenant) Enter() bool { return !t.Elsewhere() && t.requests.enter() }

// Exit must follow an Enter that returned true.
func (t *Tenant) Exit() { t.requests.exit() }

// Staying ends when the account is about to leave this server: requests that wait must
// end then, because the account leaves after them.
func (t *Tenant) Staying() context.Context { return t.requests.open }

// ErrLeaves is the error of a request that did not wait any longer, because its account moves
// to another server of the fleet. It had no effect, and can be made there.
var ErrLeaves = errors.New("the account moves to another server")

// WhileHere returns a context that ends with another one, or with the cause ErrLeaves when
// the account leaves this server. Whatever waits for long needs it.
func (t *Tenant) WhileHere(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(t.Staying(), func() { cancel(ErrLeaves) })
	return ctx, func() { forget(); cancel(nil) }
}

// EnterMove keeps the account here while its clock is moved, until ExitMove: another server
// could not continue. It returns false when the account is about to leave.
func (t *Tenant) EnterMove() bool { return t.moves.enter() }

// ExitMove must follow an EnterMove that returned true.
func (t *Tenant) ExitMove() { t.moves.exit() }

// gate counts the requests or attempts inside, and admits no more once it is shut.
type gate struct {
	open  context.Context // until shut
	end   context.CancelFunc
	empty chan struct{} // closed when it is shut and nothing is inside

	mu     sync.Mutex
	inside int
	isShut bool
}

func newGate() *gate {
	g := &gate{empty: make(chan struct{})}
	g.open, g.end = context.WithCancel(context.Background())
	return g
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isShut {
		g.inside++
	}
	return !g.isShut
}

func (g *gate) exit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.isShut && g.inside == 0 {
		close(g.empty)
	}
}

// shut makes enter return false from now on.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isShut {
		return
	}
	g.isShut = true
	g.end()
	if g.inside == 0 {
		close(g.empty)
	}
}

// wait returns when the gate is shut and nothing is inside, or when ctx ends.
func (g *gate) wait(ctx context.Context) {
	select {
	case <-g.empty:
	case <-ctx.Done():
	}
}

// Know records the credentials of an account that another server may have. about are
// its stored surroundings.
func (r *Registry) Know(id string, about []byte) error {
	s := surroundings{}
	if err := json.Unmarshal(about, &s); err != nil {
		return fmt.Errorf("account %q: %w", id, err)
	}
	if t := r.byID(id); t != nil && (!t.Elsewhere() || bytes.Equal(t.about, about)) {
		return nil
	}
	t := r.remote(Credentials{ID: id, Token: s.Token, Password: s.Password}, &s)
	t.about = about
	r.mu.Lock()
	defer r.mu.Unlock()
	if was := r.tenants[id]; was == nil || was.Elsewhere() {
		r.place(t)
	}
	return nil
}

// remote returns a tenant whose account another server has.
func (r *Registry) remote(a Credentials, s *surroundings) *Tenant {
	t, _ := r.furnished(a)
	t.KVToken = DerivedSecret(t.Token, "kv")
	if s != nil {
		t.SetSpoken(r.cfg.Dialects.Named(s.Dialect))
		for _, name := range s.Indexes {
			t.OpenIndex(name)
		}
	}
	return t
}

// place puts a tenant where requests find it. The caller has the lock.
func (r *Registry) place(t *Tenant) {
	if was := r.tenants[t.ID]; was != nil && was.Token != t.Token {
		delete(r.tokens, digestOf(was.Token))
	}
	r.tenants[t.ID], r.tokens[digestOf(t.Token)] = t, t.ID
}

// EnsureConfigured creates the configured accounts that the fleet does not have.
func (r *Registry) EnsureConfigured() error {
	for i, a := range r.cfg.Accounts {
		known := r.Known(a.ID)
		t, err := r.Put(a)
		if err != nil {
			return err
		}
		if t.Token != a.Token {
			r.cfg.Engine.Log.Warn("the account has another token in the fleet, which holds", "account", a.ID)
		}
		r.mu.Lock()
		r.resumed = r.resumed || i == 0 && (known || t.Elsewhere())
		r.mu.Unlock()
	}
	return nil
}

// Known reports whether an account is here, or recorded from the store.
func (r *Registry) Known(id string) bool {
	t := r.byID(id)
	return t != nil && (!t.Elsewhere() || t.about != nil)
}

// Has reports whether the account is here.
func (r *Registry) Has(id string) bool {
	t := r.byID(id)
	return t != nil && !t.Elsewhere()
}

// Keys returns the signing keys of an account; the initial ones if it is elsewhere.
func (r *Registry) Keys(t *Tenant) (current, next string) {
	if t.Elsewhere() {
		return r.signingKeys(t.Credentials)
	}
	return t.Account.Keys()
}

// Take opens an account of the store in this server.
func (r *Registry) Take(ctx context.Context, id string) error {
	_, err := r.opened(ctx, Credentials{ID: id})
	return err
}

// Lost reports whether another server has taken an account that is here.
func (r *Registry) Lost(id string) bool {
	t := r.byID(id)
	if t == nil || t.kept == nil {
		return false
	}
	select {
	case <-t.kept.Lost(): // never for a store that is not shared
		return true
	default:
		return false
	}
}

// IDs returns the ids of all accounts, sorted, including those of other servers.
func (r *Registry) IDs() []string {
	ids := []string{}
	for _, t := range r.sorted(func(t *Tenant) bool { return !t.Elsewhere() || t.about != nil }) {
		ids = append(ids, t.ID)
	}
	return ids
}

// Give releases an account for another server. It stops moves of the clock, which need
// attempts, new attempts and then new requests, waits for those in progress, at most until
// ctx ends, and makes all data durable. Then the account is elsewhere. An error means that
// data are not durable.
func (r *Registry) Give(ctx context.Context, id string) error {
	t := r.byID(id)
	if t == nil || t.Elsewhere() {
		return nil
	}
	t.moves.shut()
	moving, cancel := context.WithTimeout(ctx, movesWithin)
	t.moves.wait(moving)
	cancel()
	t.attempts.shut()
	t.calm(ctx) // requests are still accepted: endpoints may send some during an attempt
	t.requests.shut()
	t.requests.wait(ctx)
	err := r.Keep(ctx, t)
	return errors.Join(err, r.drop(t, func() error { return t.leave(ctx) }))
}

// movesWithin is how long Give waits for moves of the clock.
const movesWithin = 5 * time.Second

// Drop closes an account that another server has taken.
func (r *Registry) Drop(id string) {
	t := r.byID(id)
	if t == nil || t.Elsewhere() {
		return
	}
	t.requests.shut()
	t.attempts.shut()
	ctx, cancel := context.WithTimeout(context.Background(), dropWithin)
	defer cancel()
	t.requests.wait(ctx)   // they receive the error of the journal
	_ = r.drop(t, t.close) // changes that were not durable are lost
}

// dropWithin is how long Drop waits for the requests in progress.
const dropWithin = time.Second

// drop closes an account by calling end, and keeps its credentials.
func (r *Registry) drop(t *Tenant, end func() error) error {
	s := r.surroundings(t)
	err := end()
	there := r.remote(t.Credentials, &s)
	there.about = t.about
	t.Forget()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tenants[t.ID] == t {
		r.place(there)
	}
	return err
}

// calmPause is the interval between checks for attempts in flight.
const calmPause = 5 * time.Millisecond

// calm waits until no attempts are in flight except those that are held.
func (t *Tenant) calm(ctx context.Context) {
	for {
		if o, _ := t.Account.Overview(); o.InFlight <= int(t.held.Load()) || clock.Pause(ctx, calmPause) != nil {
			return
		}
	}
}

// create creates an account here, or returns the one that another server has created.
func (r *Registry) create(ctx context.Context, a Credentials) (*Tenant, error) {
	own, err := r.cfg.Fleet.Claim(ctx, a.ID)
	if err != nil {
		return nil, refusal.Of(refusal.NotDurable, fmt.Sprintf("account %q", a.ID), "", err.Error())
	}
	if own {
		return r.opened(ctx, a)
	}
	if t := r.byID(a.ID); t != nil {
		return t, nil
	}
	return nil, refusal.Of(refusal.NotDurable, fmt.Sprintf("account %q", a.ID), "", errElsewhere.Error())
}

// Everywhere lists all tenants by id, including those of other servers.
func (r *Registry) Everywhere() []*Tenant { return r.sorted(func(*Tenant) bool { return true }) }
