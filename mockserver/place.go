package mockserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/fleet"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// patience is how long a member of a fleet waits.
type patience struct {
	place time.Duration // for an account to have a server
	last  time.Duration // for the last responses to be sent
}

// usualPatience is the patience outside of tests. An account has a server again a little before:
// that takes longest when a leader of the cluster dies with the server.
var usualPatience = patience{place: 12 * time.Second, last: 5 * time.Second}

const (
	placePause  = 100 * time.Millisecond // before an unreachable server is tried again
	waitedThere = 2 * time.Second        // a request that another server had for longer has waited there: a connection fails sooner
)

const (
	joinWithin  = 30 * time.Second
	leaveWithin = 20 * time.Second // time to hand all accounts to other servers
	cutWithin   = time.Second      // time to refuse requests that still wait
	// partingTime is how long a connection may be idle and still get a response that says that
	// the server leaves. A client that finds it closed may not know whether its request arrived.
	partingTime = 500 * time.Millisecond
)

// join makes the server a member of its fleet.
func (s *Server) join() error {
	if s.fleet == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), joinWithin)
	defer cancel()
	if err := s.fleet.Join(ctx, s.URL()); err != nil {
		return err
	}
	return s.tenants.EnsureConfigured()
}

// leaveFleet hands the accounts to other servers while this one still forwards
// requests.
func (s *Server) leaveFleet() {
	if s.fleet == nil {
		return
	}
	s.NotReady("the server leaves the fleet")
	ctx, cancel := context.WithTimeout(context.Background(), leaveWithin)
	defer cancel()
	s.leaving.Store(true)
	began := s.wall.Now()
	s.fleet.Leave(ctx)
	_ = clock.Pause(ctx, partingTime-s.wall.Now().Sub(began))
}

// finish waits for the requests in progress, which may still be forwarded, and ends the
// membership. It refuses requests that wait at another server for longer than the patience
// of this one. Without a fleet all are cut off.
func (s *Server) finish() {
	defer s.cutWaits()
	if s.fleet == nil {
		return
	}
	s.fleet.EndStreams()
	s.shutdown(s.cfg.patience.last)
	s.cutWaits()
	s.shutdown(cutWithin)
	s.fleet.End()
}

// shutdown closes the listeners, and waits for the requests in progress.
func (s *Server) shutdown(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for _, srv := range s.servers {
		_ = srv.Shutdown(ctx) // after the deadline, Close cuts them off
	}
}

// whileWaiting returns a context that ends with another one, or when this server may not wait
// for others any longer.
func (s *Server) whileWaiting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(s.waiting, cancel)
	return ctx, func() { forget(); cancel() }
}

// partFrom makes the client of a leaving server close its connection after this
// response. A connection that the server closes could be in use for the next
// request, which would then fail. Requests that other servers forward are
// exempt: those servers follow the fleet's table.
func (s *Server) partFrom(w http.ResponseWriter, c *call.Call) {
	if s.leaving.Load() && !c.Forwarded {
		w.Header().Set("Connection", "close")
	}
}

// arrive removes what another server of the fleet has added to a request.
func (s *Server) arrive(c *call.Call) (err error) {
	if s.fleet == nil {
		return nil
	}
	hops, made := s.fleet.Signed(c.Request.Header)
	if c.Made = made; made && hops != "" {
		c.Request.Header.Set(wire.HopsHeader, hops)
	}
	if c.Forwarded, err = s.fleet.Arrived(c.Request); err != nil {
		return response.Forbidden(err.Error())
	}
	return nil
}

// place finds the server that has the account of a call. It reports true when
// that is another server, whose response has been sent.
func (s *Server) place(w http.ResponseWriter, c *call.Call) (elsewhere bool, err error) {
	if s.fleet == nil || c.AsTester {
		return false, nil
	}
	if err := oneAccount(c); err != nil {
		return false, err
	}
	id := s.placedAccount(c)
	if id == "" {
		return false, nil
	}
	waiting, end := s.whileWaiting(c.Request.Context())
	defer end()
	ctx, cancel := context.WithTimeout(waiting, s.cfg.patience.place)
	defer cancel()
	for {
		at := s.fleet.Find(ctx, id)
		if at.Unknown && clock.Pause(ctx, placePause) == nil {
			continue
		}
		if t := s.tenants.ByID(id); t != nil && !at.Unknown && (at.Here || at.URL == "") && t.Enter() {
			useEntered(c, t)
			return false, nil
		}
		switch {
		case at.Reason != "" && !at.Passing:
			return false, refusal.Of(refusal.NotDurable, at.Reason, "", "")
		case at.Here || at.URL == "" && !c.Forwarded: // soon
		case c.Forwarded:
			fleet.Moved(w.Header())
			return false, refusal.Of(refusal.NotDurable, fmt.Sprintf("account %q", id), "", "another server has it")
		default:
			asked := s.wall.Now()
			if done, err := s.forward(waiting, w, c, id, at.URL); done {
				return true, err
			}
			if s.wall.Now().Sub(asked) > waitedThere {
				return s.place(w, c) // with its whole patience
			}
			if ctx.Err() == nil {
				continue // the other server may have been the one that did not know yet: no change would follow here
			}
		}
		select {
		case <-at.Changed:
		case <-ctx.Done():
			why := cmp.Or(at.Reason, "no server of the fleet has it now")
			return false, refusal.Of(refusal.NotDurable, fmt.Sprintf("account %q", id), "", why+"; repeat the request later")
		}
	}
}

// useEntered makes a call use the account that it has entered.
func useEntered(c *call.Call, t *tenant.Tenant) {
	c.Entered = t
	if c.Tenant != nil && c.Tenant.ID == t.ID {
		c.Tenant, c.Account = t, t.Account
	}
}

// forward lets another server answer. It reports false when the request had no
// effect there, so that it can be tried again.
func (s *Server) forward(ctx context.Context, w http.ResponseWriter, c *call.Call, id, at string) (done bool, err error) {
	if !c.Op.Large {
		if err := s.readBody(w, c); err != nil {
			return true, err
		}
	}
	clear(w.Header()) // all headers come from the other server
	s.partFrom(w, c)
	r := c.Arrived.WithContext(ctx)
	if s.made(c) {
		r.Header = r.Header.Clone()
		s.fleet.Sign(r.Header, r.Header.Get(wire.HopsHeader))
	}
	became, err := s.fleet.Forward(w, r, c.Body, id, at)
	switch {
	case became == fleet.Answered:
		c.Elsewhere = true
		return true, nil
	case c.Request.Context().Err() != nil: // the client has disconnected
		return true, c.Request.Context().Err()
	case ctx.Err() != nil: // this server stops
		err = errors.New("this server stops")
	case became == fleet.NotDone && !c.Op.Large:
		s.cfg.Log.Debug("request not forwarded yet", "account", id, "to", at, "error", err)
		_ = clock.Pause(ctx, placePause)
		_ = s.fleet.CatchUp(ctx) // a failure is repaired by the next update
		return false, nil
	}
	return true, refusal.Of(refusal.NotDurable, fmt.Sprintf("account %q", id), "", fmt.Sprintf("its server %s has not answered: %v; whether the request takes effect is not known, repeat it later", at, err))
}

// oneAccount refuses calls of the control API that act on all accounts: no server of a fleet
// has them.
func oneAccount(c *call.Call) error {
	if c.Op.Area != "control_url" || !slices.Contains(c.Op.QueryParameters(), "account") {
		return nil
	}
	given := c.Query.Get("account")
	if acrossServers(c) {
		return nil
	}
	if given == "*" || given == "" && slices.Contains(wholeOperations, c.Op.ID) {
		return response.Invalid("query parameter account: invalid value " + strconv.Quote(given) + ": must be the id of one account: the servers of a fleet have some of the accounts each")
	}
	return nil
}

// acrossServers reports whether a call reads all accounts from the store, wherever they are.
func acrossServers(c *call.Call) bool {
	given := c.Query.Get("account")
	return c.Op.ID == "controlExportJournal" && (given == "" || given == "*")
}

// errElsewhere is the refusal to change an account that another server has.
func errElsewhere(t *tenant.Tenant) error {
	return response.Invalid(fmt.Sprintf("account %q: another server of the fleet has it: name it by the query parameter account, in a call of its own", t.ID))
}

// wholeOperations act on all accounts unless the call names one. Sorted.
var wholeOperations = []string{"controlRestore", "controlSnapshot"}

// placedAccount is the account that a call acts on; "" for what each server answers itself.
func (s *Server) placedAccount(c *call.Call) string {
	if c.Op.Area != "control_url" {
		if id := c.Vars["userId"]; id != "" {
			return s.idOf(c, id)
		}
		if c.Tenant == nil {
			return ""
		}
		return c.Tenant.ID
	}
	switch {
	case c.Vars["account"] != "":
		return s.idOf(c, c.Vars["account"])
	case c.Op.ID == "controlAccount" || c.Op.ID == "controlPutAccount":
		return s.idOf(c, c.Vars["id"])
	case slices.Contains(c.Op.QueryParameters(), "account") && !acrossServers(c):
		return c.Tenant.ID
	}
	return ""
}

// idOf is the id of an account by any of its names; "" when there is none.
func (s *Server) idOf(c *call.Call, name string) string {
	t := s.tenants.ByID(name)
	if t == nil && s.catchUp(c) {
		t = s.tenants.ByID(name)
	}
	if t == nil {
		return ""
	}
	return t.ID
}

// catchUp loads the accounts that other servers of the fleet have created. It
// reports false without a fleet.
func (s *Server) catchUp(c *call.Call) bool {
	if s.fleet == nil {
		return false
	}
	if err := s.fleet.CatchUp(c.Request.Context()); err != nil {
		s.cfg.Log.Warn("the accounts of the fleet cannot be read", "error", err)
	}
	return true
}

// leave releases the account for other servers, after the call has ended here.
func (s *Server) leave(c *call.Call) {
	if c.Entered != nil {
		c.Entered.Exit()
		c.Entered = nil
	}
}
