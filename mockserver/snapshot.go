package mockserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

var _ = registerHandlers(map[string]handler{
	"controlRestore":  (*Server).controlRestore,
	"controlSnapshot": (*Server).controlSnapshot,
})

// snapshotVersion is the form of snapshots that the server writes and reads.
const snapshotVersion = 1

// snapshot is the state of a server as one document: of each account the
// credentials, what surrounds it, and its state. Journals and the key-value
// store are no part of it.
type snapshot struct {
	Version  int            `json:"version"`
	SavedAt  int64          `json:"savedAt"` // Unix ms, see Server.stamp
	Accounts []savedAccount `json:"accounts"`
	Sinks    map[string]int `json:"sinks,omitempty"`    // attempts at the flaky sink, by message
	Checksum string         `json:"checksum,omitempty"` // last, see checksumMember; "": not checked
}

type savedAccount struct {
	ID       string            `json:"id"`
	Token    string            `json:"token"`
	Password string            `json:"password"`
	Stubs    []stub.Saved      `json:"stubs,omitempty"`
	Rewrites map[string]string `json:"rewrites,omitempty"`
	Faults   []Fault           `json:"faults,omitempty"`  // with what is left of their times
	Dialect  string            `json:"dialect,omitempty"` // that its clients spoke first
	State    *engine.Snapshot  `json:"state"`
}

// Restored says what a snapshot was.
type Restored struct {
	SavedAt  time.Time
	Accounts []RestoredAccount
}

// RestoredAccount is an account that was restored, and where its clock stands.
type RestoredAccount struct {
	ID    string    `json:"id"`
	Clock string    `json:"clock"`
	Now   time.Time `json:"-"`
}

// Snapshot is the state of all accounts as one JSON document. It may be taken
// at any time, also after Close.
func (s *Server) Snapshot() ([]byte, error) { return s.save(s.all()) }

func (s *Server) save(worlds []*tenant) ([]byte, error) {
	out := snapshot{Version: snapshotVersion, SavedAt: s.stamp(s.first()), Accounts: make([]savedAccount, len(worlds)), Sinks: s.sinks.save()}
	for i, w := range worlds {
		dialect := ""
		if !s.auto() || w.first.Load() != nil {
			dialect = s.usual(w).Name
		}
		out.Accounts[i] = savedAccount{w.ID, w.Token, w.password, w.stubs.Save(), w.rewrites.get(), w.faults.get(), dialect, w.account.Snapshot()}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return append(text[:len(text)-1], checksumMember(text)...), nil
}

// checksumMember is the end of a document that has a checksum, in place of the
// brace at its end: the checksum is that of the document without.
func checksumMember(document []byte) string {
	sum := sha256.Sum256(document)
	return `,"checksum":"sha256:` + hex.EncodeToString(sum[:]) + `"}`
}

// isIntact reports whether a document is as it was saved, layout aside.
func isIntact(text []byte) bool {
	var compact bytes.Buffer
	if json.Compact(&compact, text) != nil {
		return false
	}
	text = compact.Bytes()
	at := bytes.LastIndex(text, []byte(`,"checksum":"`))
	if at < 0 {
		return false
	}
	end := string(text[at:])
	return end == checksumMember(append(text[:at:at], '}'))
}

// Restore replaces the state of the accounts in a snapshot, and makes those
// that are missing; other accounts stay as they are. A snapshot that cannot be
// changes nothing.
func (s *Server) Restore(text []byte) (Restored, error) {
	in, err := s.readSnapshot(text)
	if err != nil {
		return Restored{}, err
	}
	return s.restore(in)
}

// readSnapshot reads and checks all of a document.
func (s *Server) readSnapshot(text []byte) (*snapshot, error) {
	var form struct{ Version int }
	var in snapshot
	if err := json.Unmarshal(text, &form); err != nil {
		return nil, fmt.Errorf("snapshot is damaged: %w: %w", err, engine.ErrInvalid)
	}
	if form.Version != snapshotVersion {
		return nil, fmt.Errorf("snapshot of version %d; accepted is %d: %w", form.Version, snapshotVersion, engine.ErrInvalid)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return nil, fmt.Errorf("snapshot is damaged: %w: %w", err, engine.ErrInvalid)
	}
	if in.Checksum != "" && !isIntact(text) {
		return nil, fmt.Errorf("snapshot is damaged: its checksum does not match; to load a document that was edited, remove its member checksum: %w", engine.ErrInvalid)
	}
	s.settleDialects(in.Accounts)
	seen := map[string]bool{}
	for i := range in.Accounts {
		a := &in.Accounts[i]
		if a.ID == "" || a.Token == "" || a.State == nil || seen[a.ID] {
			return nil, fmt.Errorf("snapshot is damaged: account %q: id, token and state are needed, each account once: %w", a.ID, engine.ErrInvalid)
		}
		seen[a.ID] = true
		if err := s.acceptable(a); err != nil {
			return nil, fmt.Errorf("account %q: %w", a.ID, err)
		}
	}
	return &in, nil
}

// acceptable says why an account cannot be restored here.
func (s *Server) acceptable(a *savedAccount) error {
	s.mu.Lock()
	owner := s.tokens[digestOf(a.Token)]
	s.mu.Unlock()
	if owner != nil && owner.ID != a.ID && owner.Token == a.Token {
		return fmt.Errorf("its token opens account %q of this server: %w", owner.ID, engine.ErrInvalid)
	}
	for i := range a.Stubs {
		if err := a.Stubs[i].Check(); err != nil {
			return err
		}
	}
	if _, err := s.compileFaults(a.Faults); err != nil {
		return err
	}
	if !slices.Contains([]string{"real", "manual", "auto"}, a.State.Clock) {
		return fmt.Errorf("snapshot is damaged: clock %q; accepted are real, manual and auto: %w", a.State.Clock, engine.ErrInvalid)
	}
	return a.State.Check()
}

// restore puts a checked document in place.
func (s *Server) restore(in *snapshot) (Restored, error) {
	out := Restored{SavedAt: time.UnixMilli(in.SavedAt), Accounts: []RestoredAccount{}}
	for i := range in.Accounts {
		a := &in.Accounts[i]
		w := s.tenant(Account{ID: a.ID, Token: a.Token, Password: a.Password})
		w.stubs.Load(a.Stubs)
		w.rewrites.set(a.Rewrites)
		faults, err := s.compileFaults(a.Faults)
		if err != nil {
			return out, err // acceptable has tried
		}
		w.faults.set(faults, s.seed(w.ID))
		err = s.setMode(w, "manual") // so that no timer of the old state rings on a clock of the new one
		if err == nil {
			err = w.account.Restore(a.State)
		}
		if err == nil {
			err = s.setMode(w, a.State.Clock)
		}
		if err != nil {
			return out, fmt.Errorf("account %q: %w", a.ID, err)
		}
		for i := range a.State.Vectors {
			w.openIndex(a.State.Vectors[i].Name)
		}
		w.first.Store(s.dialects.Named(a.Dialect))
		w.requests.clear()
		w.deliveries.clear()
		out.Accounts = append(out.Accounts, RestoredAccount{w.ID, a.State.Clock, w.account.Now()})
	}
	s.sinks.load(in.Sinks)
	return out, nil
}

// controlSnapshot writes the document past the checks of answers: it is large,
// and no dialect may rename what is in it.
func (s *Server) controlSnapshot(c *call) (response.Response, error) {
	worlds := s.all()
	if id := c.query.Get("account"); id != "" && id != "*" {
		worlds = []*tenant{c.tenant}
	}
	text, err := s.save(worlds)
	if err != nil {
		return response.Response{}, err
	}
	return response.Response{Stream: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(text, '\n')) // the client may be gone
	}}, nil
}

// controlRestore loads a document; with an account, one for that account.
func (s *Server) controlRestore(c *call) (response.Response, error) {
	in, err := s.readSnapshot(c.body)
	if err != nil {
		return response.Response{}, err
	}
	if id := c.query.Get("account"); id != "" && id != "*" {
		if in.Accounts = onlyAccount(in.Accounts, id); in.Accounts == nil {
			return response.Response{}, response.Invalid(fmt.Sprintf("snapshot has no account %q, and more than one; accepted is one account, or this one among others", id))
		}
		in.Accounts[0].ID, in.Accounts[0].Token, in.Accounts[0].Password = id, c.tenant.Token, c.tenant.password
	}
	out, err := s.restore(in)
	if err != nil {
		return response.Response{}, err
	}
	type account struct {
		RestoredAccount
		Now int64 `json:"now"`
	}
	list := make([]account, len(out.Accounts))
	for i, a := range out.Accounts {
		list[i] = account{a, a.Now.UnixMilli()}
	}
	return response.Response{Body: map[string]any{"savedAt": in.SavedAt, "accounts": list}}, nil
}

// onlyAccount is the account with that id, or the only one.
func onlyAccount(accounts []savedAccount, id string) []savedAccount {
	for i := range accounts {
		if accounts[i].ID == id || len(accounts) == 1 {
			return accounts[i : i+1]
		}
	}
	return nil
}

func (s *sinks) save() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.seen)
}

func (s *sinks) load(seen map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = maps.Clone(seen)
}
