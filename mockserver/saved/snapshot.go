package saved

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// snapshot is the state of a server as one document: for each account its
// credentials, its stubs, faults and settings, and its state. Journals and the
// key-value store are not part of it. Its version is that of the states in it.
type snapshot struct {
	version  int
	savedAt  int64 // Unix ms, see Server.stamp
	accounts []*savedAccount
	sinks    map[string]int // attempts at the flaky sink, by message
	checksum string         // last, see checksumMember; "": not checked
}

// members lists the members of the document, except the checksum, which
// checksummed writes.
func (d *snapshot) members(c *codec.Codec) {
	codec.Member(c, "version", &d.version)
	if d.version != 0 && d.version != engine.SnapshotVersion {
		c.Failf("%w %d: this program reads version %d", errVersion, d.version, engine.SnapshotVersion)
	}
	codec.Member(c, "savedAt", &d.savedAt)
	codec.Member(c, "accounts", &d.accounts)
	codec.Member(c, "sinks", &d.sinks)
	codec.Member(c, "checksum", &d.checksum)
}

// ErrSnapshot marks the error of a document that cannot be restored. It adds nothing to its text.
var ErrSnapshot = errors.New("")

// errVersion is wrapped by the refusal of a snapshot of another version.
var errVersion = errors.New("snapshot of version")

type savedAccount struct {
	id, token, password string
	rules               tenant.Rules
	dialect             string                // of its first call
	account             *engine.Account       // when writing
	reader              engine.SnapshotReader // of a state
	hasState            bool
	state               *engine.Snapshot // the state that was read
}

// Members lists the members of an account. Reading and writing share the list,
// so that they cannot differ.
func (a *savedAccount) Members(c *codec.Codec) {
	codec.Member(c, "id", &a.id)
	codec.Member(c, "token", &a.token)
	codec.Member(c, "password", &a.password)
	codec.JSON(c, "stubs", len(a.rules.Stubs) == 0, &a.rules.Stubs)
	codec.Member(c, "rewrites", &a.rules.Rewrites)
	codec.JSON(c, "faults", len(a.rules.Faults) == 0, &a.rules.Faults)
	codec.Member(c, "dialect", &a.dialect)
	codec.Nested(c, "state", func(c *codec.Codec) {
		if c.Writing() {
			a.account.SnapshotMembers(c)
		} else {
			a.hasState = true
			a.reader.Members(c)
		}
	})
}

// Restored describes a snapshot that was restored.
type Restored struct {
	SavedAt  time.Time
	Accounts []RestoredAccount
}

// RestoredAccount is an account that was restored, and the time of its clock.
type RestoredAccount struct {
	ID    string    `json:"id"`
	Clock string    `json:"clock"`
	Now   time.Time `json:"-"`
}

// WriteSnapshot writes the state of all accounts as one JSON document. Accounts continue
// to work: each one is written as it is when its turn comes, so that the states
// of two accounts can be from different instants.
func (s *States) WriteSnapshot(to io.Writer) error { return s.save(to, s.Tenants.All()) }

func (s *States) save(to io.Writer, tenants []*tenant.Tenant) error {
	d := snapshot{version: engine.SnapshotVersion, savedAt: s.Tenants.Stamp(s.Tenants.First()), accounts: make([]*savedAccount, len(tenants)), sinks: s.Sinks.Save()}
	for i, w := range tenants {
		dialect := ""
		if !s.Tenants.Auto() || w.Spoken() != nil {
			dialect = s.Tenants.Usual(w).Name
		}
		d.accounts[i] = &savedAccount{id: w.ID, token: w.Token, password: w.Password, rules: w.Rules(), dialect: dialect, account: w.Account}
	}
	out := newChecksummed(to)
	c := codec.NewWriter(out)
	c.Document(d.members)
	if err := c.Close(); err != nil {
		return err
	}
	return out.end()
}

// Restore replaces the state of each account in a snapshot, and creates the
// missing ones; other accounts stay as they are. A clock mode that is not "" replaces those
// of the document. An invalid document changes nothing; the error wraps ErrSnapshot.
func (s *States) Restore(from io.Reader, clock string) (Restored, error) {
	in, err := s.readSnapshot(from)
	if err != nil {
		return Restored{}, fmt.Errorf("%w%w", ErrSnapshot, err)
	}
	for _, a := range in.accounts {
		a.state.Clock = cmp.Or(clock, a.state.Clock)
	}
	return s.replace(in)
}

// readSnapshot reads and checks a whole document.
func (s *States) readSnapshot(from io.Reader) (*snapshot, error) {
	var in snapshot
	verified := newVerified(from)
	c := codec.NewReader(verified)
	c.Document(in.members)
	if err := c.Close(); errors.Is(err, errVersion) {
		return nil, refusal.Of(refusal.Invalid, err.Error(), "", "")
	}
	for _, a := range in.accounts { // the first error is that of the document, in words of the state
		state, err := a.reader.Snapshot(c)
		if err != nil && (a.hasState || c.Err() != nil) {
			return nil, err
		}
		a.state = state
	}
	if err := c.Err(); err != nil {
		return nil, damagedSnapshot(err.Error())
	}
	if in.version == 0 {
		return nil, damagedSnapshot("no version")
	}
	if in.checksum != "" && !verified.intact() {
		return nil, damagedSnapshot("its checksum does not match; to load a document that was edited, remove its member checksum")
	}
	s.settleDialects(in.accounts)
	seen := map[string]bool{}
	for _, a := range in.accounts {
		if a.id == "" || a.token == "" || a.state == nil || seen[a.id] {
			return nil, damagedSnapshot(fmt.Sprintf("account %q: must have id, token and state, each account once", a.id))
		}
		seen[a.id] = true
		if err := s.acceptable(a); err != nil {
			return nil, refusal.At(fmt.Sprintf("account %q", a.id), err)
		}
	}
	return &in, nil
}

// acceptable returns the reason why an account cannot be restored; nil when it
// can.
func (s *States) acceptable(a *savedAccount) error {
	owner := s.Tenants.Owner(a.token)
	if owner != nil && owner.ID != a.id && owner.Token == a.token {
		return refusal.Of(refusal.Invalid, "token", "", fmt.Sprintf("opens account %q of this server", owner.ID))
	}
	return s.Tenants.CheckRules(&a.rules)
}

// replace applies a document that has been checked.
func (s *States) replace(in *snapshot) (Restored, error) {
	out := Restored{SavedAt: time.UnixMilli(in.savedAt), Accounts: []RestoredAccount{}}
	for i := range in.accounts {
		a := in.accounts[i]
		w, err := s.Tenants.PutHere(tenant.Credentials{ID: a.id, Token: a.token, Password: a.password})
		if err != nil {
			return out, err
		}
		if err := s.Tenants.SetRules(w, &a.rules); err != nil {
			return out, err // does not happen: acceptable has checked
		}
		err = s.Tenants.SetMode(w, "manual") // so that no timer of the old state fires on the clock of the new one
		if err == nil {
			err = w.Account.Restore(a.state)
		}
		if err == nil {
			err = s.Tenants.SetMode(w, a.state.Clock)
		}
		if err != nil {
			return out, refusal.At(fmt.Sprintf("account %q", a.id), err)
		}
		for _, name := range a.state.VectorIndexes {
			w.OpenIndex(name)
		}
		w.SetSpoken(s.Tenants.Dialects().Named(a.dialect))
		w.Forget()
		out.Accounts = append(out.Accounts, RestoredAccount{w.ID, a.state.Clock, w.Account.Now()})
	}
	s.Sinks.Load(in.sinks)
	return out, nil
}

// snapshot writes the document without the checks of answers: it is
// large, and names in it must stay neutral.
func (s *States) snapshot(c *request.Call) (any, error) {
	tenants := s.Tenants.All()
	if id := c.Query.Get("account"); id != "" && id != "*" {
		tenants = []*tenant.Tenant{c.Tenant}
	}
	return response.Response{Stream: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodHead {
			return
		}
		if err := s.save(w, tenants); err != nil {
			panic(http.ErrAbortHandler) // aborts the connection, so that the part that was sent does not look complete
		}
		_, _ = w.Write([]byte{'\n'}) // the client may be gone
	}}, nil
}

// restore loads a document; with an account, one for that account.
func (s *States) restore(c *request.Call) (any, error) {
	in, err := s.readSnapshot(bytes.NewReader(c.Body))
	if err != nil {
		return nil, err
	}
	if id := c.Query.Get("account"); id != "" && id != "*" {
		if in.accounts = onlyAccount(in.accounts, id); in.accounts == nil {
			return nil, response.Invalid(fmt.Sprintf("snapshot has no account %q, and more than one: must have one account, or this one among others", id))
		}
		in.accounts[0].id, in.accounts[0].token, in.accounts[0].password = id, c.Tenant.Token, c.Tenant.Password
	}
	out, err := s.replace(in)
	if err != nil {
		return nil, err
	}
	type account struct {
		RestoredAccount
		Now int64 `json:"now"`
	}
	list := make([]account, len(out.Accounts))
	for i, a := range out.Accounts {
		list[i] = account{a, a.Now.UnixMilli()}
	}
	return map[string]any{"savedAt": in.savedAt, "accounts": list}, nil
}

// onlyAccount is the account with that id, or the only one.
func onlyAccount(accounts []*savedAccount, id string) []*savedAccount {
	for i := range accounts {
		if accounts[i].id == id || len(accounts) == 1 {
			return accounts[i : i+1]
		}
	}
	return nil
}

// damagedSnapshot is the error for a snapshot that cannot be loaded.
func damagedSnapshot(why string) error {
	return refusal.Of(refusal.Invalid, "snapshot is damaged", "", why)
}

// settleDialects adapts accounts saved by a server with a single dialect: the
// development account of that dialect becomes the shared development account,
// and keeps the dialect.
func (s *States) settleDialects(accounts []*savedAccount) {
	for _, d := range s.Tenants.Dialects() {
		i := slices.IndexFunc(accounts, func(a *savedAccount) bool { return a.id == d.UserID && a.token == d.Token })
		if i < 0 || d == s.Tenants.Home() {
			continue
		}
		accounts[i].dialect = cmp.Or(accounts[i].dialect, d.Name)
		first := s.Tenants.First()
		both := slices.ContainsFunc(accounts, func(a *savedAccount) bool { return a.id == first.ID })
		if s.Tenants.TokenOf(first, d) == d.Token && !both {
			accounts[i].id, accounts[i].token = first.ID, first.Token
		}
	}
}
