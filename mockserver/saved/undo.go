package saved

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = Handlers.Add(table{
	"controlKeepUndo": (*States).controlKeepUndo,
	"controlUndo":     (*States).controlUndo,
	"controlUndos":    (*States).controlUndos,
})

// The scopes of a point besides the things of undoThings.
const (
	undoAccount = "account" // everything
	undoRules   = "rules"   // stubs, faults and rewrites
)

// undoThings read one thing of an account as a fixture that puts it back; nil where it is
// more than that. This point is small, whatever else the account has, and going back to it
// leaves everything else as it is.
var undoThings = map[string]func(a *engine.Account, id string) (*engine.Fixture, error){
	"group": func(a *engine.Account, id string) (*engine.Fixture, error) {
		g, err := a.Group(id)
		return &engine.Fixture{Groups: []engine.Group{g}}, err
	},
	"queue": func(a *engine.Account, id string) (*engine.Fixture, error) {
		q, err := a.Queue(id)
		if q.Lag > 0 {
			return nil, err // its messages go with it
		}
		return &engine.Fixture{Queues: []engine.Queue{q}}, err
	},
	"schedule": func(a *engine.Account, id string) (*engine.Fixture, error) {
		one, err := a.Schedule(id)
		return &engine.Fixture{Schedules: []engine.Schedule{one}}, err
	},
}

func undoOf(p *Point, later int) api.UndoPoint {
	return api.UndoPoint{ID: p.ID, Label: p.Label, Time: p.Time, Scope: p.Scope, Bytes: p.Bytes, Later: later}
}

// mostLater is the largest number of later events that is counted: what is beyond does not
// change the question.
const mostLater = 100

// newestEvents returns the newest events of the log, at most as many as there is room for.
func newestEvents(a *engine.Account, room []engine.SearchItem) []engine.SearchItem {
	n, _, _ := a.Search("log", &engine.Filter{}, room) // no cursor that could be invalid
	return room[:n]
}

// newestSeq is the sequence number of the newest event of the log, 0 for none.
func newestSeq(a *engine.Account) uint64 {
	for _, e := range newestEvents(a, make([]engine.SearchItem, 1)) {
		return e.Seq
	}
	return 0
}

// laterThan counts the newest events of the log that a point of the whole account does not
// have. Those of a cancellation do not count: it is what the point undoes. After a reset, the
// numbers of events start again.
func laterThan(p *Point, newest []engine.SearchItem) (n int) {
	if p.Scope != undoAccount {
		return 0
	}
	for i := range newest {
		if newest[i].Seq <= p.Seq && newest[0].Seq >= p.Seq {
			break
		}
		switch newest[i].State {
		case string(engine.CancelRequested), string(engine.Canceled), string(engine.RunCanceled):
		default:
			n++
		}
	}
	return n
}

// savedRules are the stubs, faults and rewrites of an account.
type savedRules struct {
	Stubs    []stub.Saved
	Rewrites map[string]string
	Faults   []stub.Fault // with what is left of their times
}

// controlKeepUndo keeps an account as it is, or a part of it, before something is taken away.
func (s *States) controlKeepUndo(c *request.Call) (any, error) {
	var body struct{ Label, Scope, ID string }
	if err := c.Read(&body); err != nil {
		return nil, err
	}
	w := c.Tenant
	point := Point{Account: w.ID, Label: body.Label, Time: w.Account.Now().UnixMilli(), Scope: cmp.Or(body.Scope, undoAccount), Seq: newestSeq(w.Account)}
	write := func(to io.Writer) error { return s.save(to, []*tenant.Tenant{w}) }
	thing := undoThings[point.Scope]
	switch {
	case thing == nil && body.ID != "":
		return nil, response.Invalid("body: id: must be without the scope " + point.Scope + ", which is of more than one thing")
	case thing != nil && body.ID == "":
		return nil, response.Invalid("body: id: must be the name or id of a " + point.Scope)
	case thing != nil:
		fixture, err := thing(w.Account, body.ID)
		if err != nil {
			return nil, err
		}
		if fixture == nil {
			point.Scope = undoAccount
			break
		}
		write = func(to io.Writer) error { return json.NewEncoder(to).Encode(fixture) }
	case point.Scope == undoRules:
		write = func(to io.Writer) error {
			return json.NewEncoder(to).Encode(savedRules{w.Stubs.Save(), w.Rewrites.Get(), w.Faults.Get()})
		}
	}
	point, err := s.Points.Keep(c.Request.Context(), point, write)
	return undoOf(&point, 0), err
}

// controlUndos lists the undo points of an account, newest first.
func (s *States) controlUndos(c *request.Call) (any, error) {
	list, points := []api.UndoPoint{}, s.Points.List(c.Tenant.ID)
	var newest []engine.SearchItem
	if len(points) > 0 {
		newest = newestEvents(c.Tenant.Account, make([]engine.SearchItem, mostLater))
	}
	for _, p := range points {
		list = append(list, undoOf(&p, laterThan(&p, newest)))
	}
	return map[string]any{"points": list, "limit": s.Points.Limit()}, nil
}

// controlUndo puts an account back, or what a point has of it; credentials stay as they are now.
// The point is used up.
func (s *States) controlUndo(c *request.Call) (any, error) {
	w := c.Tenant
	point, document, err := s.Points.Read(w.ID, c.Vars["id"])
	if err != nil {
		return nil, err
	}
	newest := newestEvents(w.Account, make([]engine.SearchItem, mostLater))
	var upToDate []string // points that lose nothing but this undo
	for _, p := range s.Points.List(w.ID) {
		if laterThan(&p, newest) == 0 {
			upToDate = append(upToDate, p.ID)
		}
	}
	switch point.Scope {
	case undoAccount:
		err = s.putAccountBack(w, document)
	case undoRules:
		err = s.putRulesBack(w, document)
	default:
		err = putThingBack(w, document)
	}
	if err == nil {
		s.Points.Drop(point.ID)
		s.Points.Move(upToDate, newestSeq(w.Account))
	}
	return response.Response{Status: http.StatusOK, Body: undoOf(&point, laterThan(&point, newest))}, err
}

func (s *States) putAccountBack(w *tenant.Tenant, document io.Reader) error {
	in, err := s.readSnapshot(document)
	if err != nil {
		return err
	}
	in.accounts[0].token, in.accounts[0].password = w.Token, w.Password
	_, err = s.restore(in)
	return err
}

func putThingBack(w *tenant.Tenant, document io.Reader) error {
	var thing engine.Fixture
	if err := json.NewDecoder(document).Decode(&thing); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	return w.Account.AddFixture(thing)
}

func (s *States) putRulesBack(w *tenant.Tenant, document io.Reader) error {
	var rules savedRules
	if err := json.NewDecoder(document).Decode(&rules); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	faults, err := stub.CompileFaults(rules.Faults, s.Known)
	if err != nil {
		return err
	}
	w.Stubs.Load(rules.Stubs)
	w.Rewrites.Set(rules.Rewrites)
	w.Faults.Set(faults, s.Tenants.Seed(w.ID))
	return nil
}
