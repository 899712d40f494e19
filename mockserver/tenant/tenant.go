package tenant

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/fault"
	"github.com/understudy-mock/understudy/mockserver/journal"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/spec"
)

// Credentials are those of an account: the token opens it.
type Credentials struct {
	ID       string
	Token    string
	Password string // of the management API; "": derived from the token
}

// Tenant is an account with what surrounds it.
type Tenant struct {
	Credentials
	Account    *engine.Account
	Requests   journal.Exchanges
	Deliveries journal.Deliveries
	Stubs      stub.List
	Rewrites   Rewrites
	Faults     fault.List
	Outside    Outside
	Meter      Meter
	KV         *kv.KV
	KVToken    string
	Public     bool // everybody knows its token, see Config.Public

	mode    string     // of the clock; guarded by Registry.mu
	opening sync.Mutex // guards indexes
	indexes []VectorAccess
	spoken  atomic.Pointer[spec.Dialect] // that clients of the account spoke first; a reset keeps it, since they stay the same
}

// DerivedSecret is a further development credential of an account.
func DerivedSecret(token, purpose string) string {
	sum := sha256.Sum256([]byte(purpose + " " + token))
	return purpose + "_" + hex.EncodeToString(sum[:12])
}

// SameSecret compares in constant time.
func SameSecret(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// DefaultIndex is the vector index that every account has unless others are
// configured; the first vector decides on its dimension.
var DefaultIndex = vector.Config{Name: "default", Type: vector.Dense, Similarity: vector.Cosine}

// VectorAccess is a vector index and the token that opens it.
type VectorAccess struct{ Name, Token string }

func vectorToken(token, index string) string {
	if index == DefaultIndex.Name {
		return DerivedSecret(token, "vector")
	}
	return DerivedSecret(token, "vector_"+index)
}

// Opens is the name of the vector index that a token opens, "" for none.
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

// OpenIndex gives a vector index that was not configured its token.
func (t *Tenant) OpenIndex(name string) {
	t.opening.Lock()
	defer t.opening.Unlock()
	if !slices.ContainsFunc(t.indexes, func(known VectorAccess) bool { return known.Name == name }) {
		t.indexes = append(t.indexes, VectorAccess{name, vectorToken(t.Token, name)})
	}
}

// Indexes are the vector indexes that clients may open, the configured ones first.
func (t *Tenant) Indexes() []VectorAccess {
	t.opening.Lock()
	defer t.opening.Unlock()
	return slices.Clone(t.indexes)
}

// HasIndex reports whether the account has a vector index of that name.
func (t *Tenant) HasIndex(name string) bool {
	return slices.ContainsFunc(t.Indexes(), func(x VectorAccess) bool { return x.Name == name })
}

// Username is that of the management API.
func (t *Tenant) Username() string { return t.ID + "@understudy.test" }

// Authorization is the credential of the account on a host of the interface.
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

// Speak remembers the first dialect that clients of the account speak.
func (t *Tenant) Speak(d *spec.Dialect) { t.spoken.CompareAndSwap(nil, d) }

// Spoken is the dialect that clients of the account spoke first; nil for none.
func (t *Tenant) Spoken() *spec.Dialect { return t.spoken.Load() }

// SetSpoken puts another dialect in the place of the one that was spoken first.
func (t *Tenant) SetSpoken(d *spec.Dialect) { t.spoken.Store(d) }

// Forget empties the journals, and what was configured for tests since the start
// is the registry's to put back.
func (t *Tenant) Forget() {
	t.Requests.Clear()
	t.Deliveries.Clear()
}
