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
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/spec/api"
)

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

// part is what a point has of an account: one thing, as a fixture that puts it back, or the rules.
type part struct {
	*engine.Fixture
	tenant.Rules
}

// keepUndo keeps an account as it is, or a part of it, before something is taken away.
func (s *States) keepUndo(c *request.Call) (any, error) {
	var body struct{ Label, Scope, ID string }
	if err := c.Read(&body); err != nil {
		return nil, err
	}
	w := c.Tenant
	point := Point{Account: w.ID, Seq: newestSeq(w.Account), UndoPoint: api.UndoPoint{Label: body.Label, Time: w.Account.Now().UnixMilli(), Scope: cmp.Or(body.Scope, undoAccount)}}
	thing, kept := undoThings[point.Scope], part{}
	switch {
	case thing == nil && body.ID != "":
		return nil, response.Invalid("body: id: must be without the scope " + point.Scope + ", which is of more than one thing")
	case thing != nil && body.ID == "":
		return nil, response.Invalid("body: id: must be the name or id of a " + point.Scope)
	case thing != nil:
		var err error
		if kept.Fixture, err = thing(w.Account, body.ID); err != nil {
			return nil, err
		}
		if kept.Fixture == nil {
			point.Scope = undoAccount
		}
	case point.Scope == undoRules:
		kept.Rules = w.Rules()
	}
	write := func(to io.Writer) error {
		if point.Scope == undoAccount {
			return s.save(to, []*tenant.Tenant{w})
		}
		return json.NewEncoder(to).Encode(kept)
	}
	point, err := s.Points.Keep(c.Request.Context(), point, write)
	return point.UndoPoint, err
}

// undos lists the undo points of an account, newest first.
func (s *States) undos(c *request.Call) (any, error) {
	list, points := []api.UndoPoint{}, s.Points.List(c.Tenant.ID)
	var newest []engine.SearchItem
	if len(points) > 0 {
		newest = newestEvents(c.Tenant.Account, make([]engine.SearchItem, mostLater))
	}
	for _, p := range points {
		p.Later = laterThan(&p, newest)
		list = append(list, p.UndoPoint)
	}
	return map[string]any{"points": list, "limit": s.Points.Limit()}, nil
}

// undo puts an account back, or what a point has of it; credentials stay as they are now.
// The point is used up.
func (s *States) undo(c *request.Call) (any, error) {
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
	if err = s.putBack(w, &point, document); err == nil {
		s.Points.Drop(point.ID)
		s.Points.Move(upToDate, newestSeq(w.Account))
	}
	point.Later = laterThan(&point, newest)
	return response.Response{Status: http.StatusOK, Body: point.UndoPoint}, err
}

// putBack replaces what a point has of an account.
func (s *States) putBack(w *tenant.Tenant, p *Point, document io.Reader) error {
	if p.Scope == undoAccount {
		in, err := s.readSnapshot(document)
		if err != nil {
			return err
		}
		in.accounts[0].token, in.accounts[0].password = w.Token, w.Password
		_, err = s.replace(in)
		return err
	}
	var kept part
	if err := json.NewDecoder(document).Decode(&kept); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	if p.Scope == undoRules {
		return s.Tenants.SetRules(w, &kept.Rules)
	}
	return w.Account.AddFixture(*kept.Fixture)
}
