package mockserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/fault"
	"github.com/understudy-mock/understudy/mockserver/journal"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/wire"
	"github.com/understudy-mock/understudy/spec"
)

// tenant is an account with what surrounds it: journals, stubs and rewrites.
type tenant struct {
	Account
	account    *engine.Account
	requests   journal.Exchanges
	deliveries journal.Deliveries
	stubs      stub.List
	rewrites   rewrites
	faults     fault.List
	mode       string // of the clock; guarded by Server.mu
	password   string // of the management API
	attempts   outside
	meter      meter
	opening    sync.Mutex // guards indexes
	indexes    []vectorAccess
	kv         *kv.KV
	kvToken    string
	public     bool                         // see publicToken
	first      atomic.Pointer[spec.Dialect] // that clients of the account spoke; a reset keeps it, since they stay the same
}

// seededStart is where a seeded manual clock begins, so that runs repeat.
var seededStart = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// tenant finds or makes the home of an account.
func (s *Server) tenant(a Account) *tenant {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.tenants[a.ID]; w != nil {
		return w
	}
	w := s.newTenant(a)
	s.tenants[a.ID], s.tokens[digestOf(a.Token)] = w, w
	return w
}

// newTenant makes a tenant that nobody can reach yet.
func (s *Server) newTenant(a Account) *tenant {
	w := &tenant{Account: a, mode: s.cfg.Clock, password: a.Password, public: s.publicToken(a)}
	current, next := s.signingKeys(a)
	if w.password == "" {
		w.password = derivedSecret(a.Token, "management")
	}
	for _, x := range s.cfg.VectorIndexes {
		w.indexes = append(w.indexes, vectorAccess{x.Name, vectorToken(a.Token, x.Name)})
	}
	w.requests.CountIn(s.memory)
	w.deliveries.CountIn(s.memory)
	w.stubs.Set(s.cfg.Stubs)
	w.rewrites.set(s.cfg.Rewrites)
	w.account = engine.New(engine.Config{
		ID:              a.ID,
		Clock:           s.newClock(s.cfg.Clock),
		Auto:            s.cfg.Clock == "auto",
		Wire:            wire.Format{},
		Deliver:         s.delivery.to(w),
		Seed:            s.seed(a.ID),
		Parallel:        s.cfg.Parallel,
		MaxCreated:      s.cfg.MaxMessages,
		CurrentKey:      current,
		NextKey:         next,
		Log:             s.cfg.Log,
		HeaderName:      s.headerName(w),
		InDialect:       func(dialect string, json []byte) []byte { return s.dialectOf(w, dialect).BrandJSON(json) },
		Failed:          func(f engine.FailedAttempt) { s.tellFailure(w, f) },
		PricePerMessage: s.cfg.PricePerMessage,
		VectorLag:       s.cfg.VectorLag,
		VectorIndexes:   s.cfg.VectorIndexes,
		Memory:          s.memory,
		Strict:          strictEngine,
	})
	w.kvToken = derivedSecret(a.Token, "kv")
	w.kv, _ = kv.New(kv.Config{Token: w.kvToken, URL: s.cfg.KVURL, Prefix: kvPrefix + a.ID + ":", Capacity: s.kvCapacity, Now: w.account.Now}) // New has tried the URL
	return w
}

// strictEngine makes faults of the engine panic; the tests of this package set it.
var strictEngine = false

// seed gives each account a sequence of its own.
func (s *Server) seed(id string) uint64 {
	if s.cfg.Seed == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return max(1, s.cfg.Seed^h.Sum64())
}

func (s *Server) newClock(mode string) clock.Clock {
	if mode == "real" {
		return clock.NewReal()
	}
	start := s.cfg.Start
	switch {
	case !start.IsZero():
	case s.cfg.Seed != 0:
		start = seededStart
	default:
		start = s.wall.Now()
	}
	return clock.NewManual(start)
}

// derivedSecret is a further development credential of an account.
func derivedSecret(token, purpose string) string {
	sum := sha256.Sum256([]byte(purpose + " " + token))
	return purpose + "_" + hex.EncodeToString(sum[:12])
}

// signingKeys are those that an account begins with: the dialect's own for its
// development account, and others, which follow from the token, for any other,
// so that no account can sign as another one.
func (s *Server) signingKeys(a Account) (current, next string) {
	if d := s.home(); a.Token == d.Token {
		return d.CurrentSigningKey, d.NextSigningKey
	}
	return signingKey(a, "current"), signingKey(a, "next")
}

func signingKey(a Account, purpose string) string {
	sum := sha256.Sum256([]byte("signing " + purpose + " " + a.ID + " " + a.Token))
	return "sig_" + hex.EncodeToString(sum[:14])
}

// digest stands for a token in a map: what a lookup takes says nothing about
// the token.
type digest [sha256.Size]byte

func digestOf(token string) digest { return sha256.Sum256([]byte(token)) }

// sameSecret compares in constant time.
func sameSecret(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// defaultIndex is the vector index that every account has unless others are
// configured; the first vector decides on its dimension.
var defaultIndex = vector.Config{Name: "default", Type: vector.Dense, Similarity: vector.Cosine}

// vectorAccess is a vector index and the token that opens it.
type vectorAccess struct{ name, token string }

func vectorToken(token, index string) string {
	if index == defaultIndex.Name {
		return derivedSecret(token, "vector")
	}
	return derivedSecret(token, "vector_"+index)
}

// opens is the name of the vector index that a token opens, "" for none.
func (w *tenant) opens(token string) string {
	w.opening.Lock()
	defer w.opening.Unlock()
	for _, x := range w.indexes {
		if sameSecret(x.token, token) {
			return x.name
		}
	}
	return ""
}

// vectorToken is the token of the first vector index.
func (w *tenant) vectorToken() string {
	w.opening.Lock()
	defer w.opening.Unlock()
	return w.indexes[0].token
}

// openIndex gives a vector index that was not configured its token.
func (w *tenant) openIndex(name string) {
	w.opening.Lock()
	defer w.opening.Unlock()
	if !slices.ContainsFunc(w.indexes, func(known vectorAccess) bool { return known.name == name }) {
		w.indexes = append(w.indexes, vectorAccess{name, vectorToken(w.Token, name)})
	}
}

// all lists the tenants by id.
func (s *Server) all() []*tenant {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*tenant, 0, len(s.tenants))
	for _, w := range s.tenants {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b *tenant) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// first is the default account: the one that the control API acts on.
func (s *Server) first() *tenant { return s.tenant(s.cfg.Accounts[0]) }

// find is the tenant for which a credential holds.
func (s *Server) find(holds func(*tenant) bool) *tenant {
	for _, w := range s.all() {
		if holds(w) {
			return w
		}
	}
	return nil
}

// byToken is the account of an access token; with AnyAccount a new one.
func (s *Server) byToken(token string) *tenant {
	s.mu.Lock()
	w := s.tokens[digestOf(token)]
	s.mu.Unlock()
	if w != nil || !s.cfg.AnyAccount || token == "" {
		return w
	}
	return s.tenant(Account{ID: derivedSecret(token, "account"), Token: token})
}

// authenticate finds the account by the operation's security schemes. A
// credential that is given must be right, even beside another that is.
func (s *Server) authenticate(c *call) (*tenant, error) {
	op := c.op
	if len(op.Security) == 0 || op.Area == "kv_url" { // the store has its own rules for tokens
		return nil, nil
	}
	var found *tenant
	for _, scheme := range op.Security {
		w, given, err := s.credential(scheme, c)
		if err != nil {
			return nil, err
		}
		if given && found != nil && found != w {
			return nil, unauthorizedFor(op, "two credentials that belong to different accounts")
		}
		if given {
			found = w
		}
	}
	if found == nil {
		return nil, unauthorizedFor(op, "no credentials: must be "+credentialForms(op.Security)+"; "+whereTokens)
	}
	return found, nil
}

// credentialForms names the credentials of the schemes.
func credentialForms(schemes []string) string {
	words := map[string]string{
		"bearer":       "Authorization: Bearer TOKEN",
		"queryToken":   "the query parameter svc_token",
		"basic":        "Authorization: Basic base64(USERNAME:PASSWORD)",
		"vectorBearer": "Authorization: Bearer VECTOR_TOKEN",
		"control":      "Authorization: Bearer CONTROL_TOKEN",
	}
	list := make([]string, len(schemes))
	for i, scheme := range schemes {
		list[i] = words[scheme]
	}
	return strings.Join(list, ", or ")
}

// credential looks for one scheme's credential in a request.
func (s *Server) credential(scheme string, c *call) (w *tenant, given bool, err error) {
	kind, value, _ := strings.Cut(c.header.Get("Authorization"), " ")
	value = strings.TrimSpace(value)
	switch scheme {
	case "queryToken":
		token := s.queryToken(c)
		if len(token) == 0 {
			return nil, false, nil
		}
		if w = s.byToken(token[0]); w == nil || len(token) > 1 {
			return nil, true, response.Unauthorized("Bearer", "query parameter svc_token: not a token of this server; "+whereTokens)
		}
	case "basic":
		if kind == "" {
			return nil, false, nil
		}
		if w = s.byBasic(kind, value); w == nil {
			return nil, true, response.Unauthorized("Basic", "Authorization: wrong user name or password: must be "+credentialForms([]string{scheme})+"; "+whereTokens)
		}
	default:
		if kind == "" {
			return nil, false, nil
		}
		holds := func(w *tenant) bool { return w.opens(value) != "" }
		if scheme == "bearer" {
			w = s.byToken(value)
		} else {
			w = s.find(holds)
		}
		if !strings.EqualFold(kind, "Bearer") || w == nil {
			return nil, true, response.Unauthorized("Bearer", wrongToken(scheme))
		}
	}
	return w, true, nil
}

// whereTokens is for those who have none, or that of another server.
const whereTokens = "`understudy env` prints the credentials"

// bearerToken is the token of an Authorization header.
func bearerToken(h http.Header) string {
	_, token, _ := strings.Cut(h.Get("Authorization"), " ")
	return strings.TrimSpace(token)
}

// wrongToken is the text for a wrong token; clients of vector indexes know theirs.
func wrongToken(scheme string) string {
	if scheme == "vectorBearer" {
		return "Unauthorized: Invalid auth token; " + whereTokens
	}
	return "Authorization: not a token of this server: must be " + credentialForms([]string{scheme}) + "; " + whereTokens
}

// byBasic splits at the first colon: a password may hold others.
func (s *Server) byBasic(kind, value string) *tenant {
	text, err := base64.StdEncoding.DecodeString(value)
	user, password, ok := strings.Cut(string(text), ":")
	if err != nil || !ok || !strings.EqualFold(kind, "Basic") {
		return nil
	}
	return s.find(func(w *tenant) bool { return w.username() == user && sameSecret(w.password, password) })
}

// username is that of the management API.
func (w *tenant) username() string { return w.ID + "@understudy.test" }

func unauthorizedFor(op *spec.Operation, text string) error {
	challenge := "Bearer"
	if slices.Contains(op.Security, "basic") {
		challenge = "Basic"
	}
	if slices.Contains(op.Security, "vectorBearer") {
		text = wrongToken("vectorBearer")
		return response.Unauthorized(challenge, text)
	}
	return response.Unauthorized(challenge, op.ID+": "+text)
}
