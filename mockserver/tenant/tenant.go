package tenant

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/traffic"
	"github.com/understudy-mock/understudy/spec"
)

// Credentials are the credentials of an account.
type Credentials struct {
	ID       string
	Token    string
	Password string // of the management API; "": derived from the token
}

// Tenant is an account with its credentials, journals, rules and further APIs.
type Tenant struct {
	Credentials
	Account    *engine.Account
	Requests   traffic.Exchanges
	Deliveries traffic.Deliveries
	Stubs      stub.List
	Rewrites   Rewrites
	Faults     stub.Faults
	Outside    Outside
	Meter      Meter
	KV         *kv.KV
	KVToken    string
	Public     bool     // anyone may know its token, see Registry.public
	Position   Position // of a journal that is replayed

	opened   chan struct{}       // closed when Account is set
	kept     store.Log           // nil without a store
	keeping  *semaphore.Weighted // held while about is written, which may wait for the store
	about    []byte              // the surroundings in the store, encoded
	reading  *semaphore.Weighted // held by readers of the journal; all of it while a snapshot replaces the journal
	settings Settings            // of the engine
	mode     string              // of the clock; guarded by Registry.mu
	opening  sync.Mutex          // guards indexes
	indexes  []VectorAccess
	moves    *gate                        // of the clock, in progress
	requests *gate                        // in progress
	attempts *gate                        // in flight
	held     atomic.Int64                 // attempts that started after the gate was shut
	spoken   atomic.Pointer[spec.Dialect] // dialect of the first client of the account; a reset keeps it, because clients stay the same
}

// leave is close for an account that another version of the program may open next: a
// snapshot replaces the records, which another version may not be able to replay. ctx limits its time.
func (t *Tenant) leave(ctx context.Context) error {
	ended, saved := t.Account.Close(), error(nil)
	if o, _ := t.Account.Overview(); t.kept != nil && o.Unsaved {
		saved = t.save(ctx)
	}
	return cmp.Or(ended, t.close(), saved)
}

// close closes the account, waits for what is in flight, and releases the store.
func (t *Tenant) close() error {
	var errs []error
	if t.Account != nil {
		errs = append(errs, t.Account.Close())
	}
	if t.KV != nil {
		errs = append(errs, t.KV.Close())
	}
	if t.kept != nil {
		errs = append(errs, t.kept.Close())
	}
	return errors.Join(errs...)
}

// DerivedSecret derives a credential for a purpose from the token of an account.
func DerivedSecret(token, purpose string) string {
	sum := sha256.Sum256([]byte(purpose + " " + token))
	return purpose + "_" + hex.EncodeToString(sum[:12])
}

// SameSecret compares in constant time.
func SameSecret(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// DefaultIndex is the vector index that every account has unless others are
// configured; its first vector determines the dimension.
var DefaultIndex = vector.Config{Name: "default", Type: vector.Dense, Similarity: vector.Cosine}

// VectorAccess is a vector index and the token that opens it.
type VectorAccess struct{ Name, Token string }

func vectorToken(token, index string) string {
	if index == DefaultIndex.Name {
		return DerivedSecret(token, "vector")
	}
	return DerivedSecret(token, "vector_"+index)
}

// Opens returns the name of the vector index that a token opens, "" for none.
func (t *Tenant) Opens(token string) string {
	t.opening.Lock()
	defer t.opening.Unlock()
	for _, x := range t.indexes {
		if SameSecret(x.Token, token) {
			return x.Name
		}
	}
	return ""
}

// VectorToken is the token of the first vector index.
func (t *Tenant) VectorToken() string { return t.Indexes()[0].Token }

// OpenIndex adds the token of a vector index that is not configured.
func (t *Tenant) OpenIndex(name string) {
	t.opening.Lock()
	defer t.opening.Unlock()
	if !slices.ContainsFunc(t.indexes, func(known VectorAccess) bool { return known.Name == name }) {
		t.indexes = append(t.indexes, VectorAccess{name, vectorToken(t.Token, name)})
	}
}

// Indexes returns the vector indexes of the account, the configured ones first.
func (t *Tenant) Indexes() []VectorAccess {
	t.opening.Lock()
	defer t.opening.Unlock()
	return slices.Clone(t.indexes)
}

// HasIndex reports whether the account has a vector index of that name.
func (t *Tenant) HasIndex(name string) bool {
	return slices.ContainsFunc(t.Indexes(), func(x VectorAccess) bool { return x.Name == name })
}

// Username is the user name for the management API.
func (t *Tenant) Username() string { return t.ID + "@understudy.test" }

// Authorization is the Authorization header of the account for an area of the
// interface. index is a vector index, "" for the first one.
func (t *Tenant) Authorization(area, index string) string {
	switch area {
	case "dev_api_url":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(t.Username()+":"+t.Password))
	case "kv_url":
		return "Bearer " + t.KVToken
	case "vector_url":
		if index == "" {
			return "Bearer " + t.VectorToken()
		}
		return "Bearer " + vectorToken(t.Token, index)
	}
	return "Bearer " + t.Token
}

// Speak records the dialect of the first client of the account.
func (t *Tenant) Speak(d *spec.Dialect) { t.spoken.CompareAndSwap(nil, d) }

// Spoken returns the dialect of the first client of the account; nil for none.
func (t *Tenant) Spoken() *spec.Dialect { return t.spoken.Load() }

// SetSpoken replaces the dialect of the first client.
func (t *Tenant) SetSpoken(d *spec.Dialect) { t.spoken.Store(d) }

// Forget empties the journals. Registry.Reset also restores the configuration.
func (t *Tenant) Forget() {
	t.Requests.Clear()
	t.Deliveries.Clear()
}
