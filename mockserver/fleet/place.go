package fleet

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
	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// Patience is how long a member waits.
type Patience struct {
	Place time.Duration // for an account to have a server
	Last  time.Duration // for the last responses to be sent
}

// usualPatience is the patience outside of tests. An account has a server again a little before:
// that takes longest when a leader of the cluster dies with the server.
var usualPatience = Patience{Place: 12 * time.Second, Last: 5 * time.Second}

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

// Attach connects the fleet with the server that it makes a member. It must be called before Join.
func (f *Fleet) Attach(host control.FleetHost) { f.host, f.accounts = host, host.Accounts }

// Join makes the server a member that the others reach at url.
func (f *Fleet) Join(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), joinWithin)
	defer cancel()
	if err := f.join(ctx, url); err != nil {
		return err
	}
	return f.host.Accounts.EnsureConfigured()
}

// Leave hands the accounts to other servers while this one still forwards requests.
func (f *Fleet) Leave() {
	if f.host.Leaving == nil { // the server has not come so far
		return
	}
	f.host.Leaving()
	ctx, cancel := context.WithTimeout(context.Background(), leaveWithin)
	defer cancel()
	f.leaving.Store(true)
	began := f.wall.Now()
	f.giveAll(ctx)
	_ = clock.Pause(ctx, partingTime-f.wall.Now().Sub(began))
}

// End waits for the requests in progress, which may still be forwarded, by calling shutdown, and
// ends the membership. It refuses requests that wait at another server for longer than the
// patience of this one.
func (f *Fleet) End(shutdown func(context.Context)) {
	f.endStreams()
	within(f.cfg.Patience.Last, shutdown)
	f.cutWaits()
	within(cutWithin, shutdown)
	f.end()
}

// within calls f with a context that ends after a time.
func within(d time.Duration, f func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	f(ctx)
}

// whileWaiting returns a context that ends with another one, or when this server may not wait
// for others any longer.
func (f *Fleet) whileWaiting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(f.waiting, cancel)
	return ctx, func() { forget(); cancel() }
}

// Part makes the client of a leaving server close its connection after this
// response. A connection that the server closes could be in use for the next
// request, which would then fail. Requests that other servers forward are
// exempt: those servers follow the fleet's table.
func (f *Fleet) Part(w http.ResponseWriter, c *call.Call) {
	if f.leaving.Load() && !c.Forwarded {
		w.Header().Set("Connection", "close")
	}
}

// Arrive removes what another server of the fleet has added to a request.
func (f *Fleet) Arrive(c *call.Call) (err error) {
	hops, made := f.signed(c.Request.Header)
	if c.Made = made; made && hops != "" {
		c.Request.Header.Set(wire.HopsHeader, hops)
	}
	if c.Forwarded, err = f.arrived(c.Request); err != nil {
		return response.Forbidden(err.Error())
	}
	return nil
}

// Place finds the server that has the account of a call. It reports true when
// that is another server, whose response has been sent.
func (f *Fleet) Place(w http.ResponseWriter, c *call.Call) (elsewhere bool, err error) {
	if c.AsTester {
		return false, nil
	}
	if err := oneAccount(c); err != nil {
		return false, err
	}
	id := f.placedAccount(c)
	if id == "" {
		return false, nil
	}
	waiting, end := f.whileWaiting(c.Request.Context())
	defer end()
	ctx, cancel := context.WithTimeout(waiting, f.cfg.Patience.Place)
	defer cancel()
	for {
		at := f.find(ctx, id)
		if at.Unknown && clock.Pause(ctx, placePause) == nil {
			continue
		}
		if t := f.host.Accounts.ByID(id); t != nil && !at.Unknown && (at.Here || at.URL == "") && t.Enter() {
			useEntered(c, t)
			return false, nil
		}
		switch {
		case at.Reason != "" && !at.Passing:
			return false, refusal.Of(refusal.NotDurable, at.Reason, "", "")
		case at.Here || at.URL == "" && !c.Forwarded: // soon
		case c.Forwarded:
			markMoved(w.Header())
			return false, refusal.Of(refusal.NotDurable, fmt.Sprintf("account %q", id), "", "another server has it")
		default:
			asked := f.wall.Now()
			if done, err := f.forward(waiting, w, c, id, at.URL); done {
				return true, err
			}
			if f.wall.Now().Sub(asked) > waitedThere {
				return f.Place(w, c) // with its whole patience
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
func (f *Fleet) forward(ctx context.Context, w http.ResponseWriter, c *call.Call, id, at string) (done bool, err error) {
	if !c.Op.Large {
		if err := f.host.ReadBody(w, c); err != nil {
			return true, err
		}
	}
	clear(w.Header()) // all headers come from the other server
	f.Part(w, c)
	r := c.Arrived.WithContext(ctx)
	if f.host.Made(c) {
		r.Header = r.Header.Clone()
		f.sign(r.Header, r.Header.Get(wire.HopsHeader))
	}
	became, err := f.pass(w, r, c.Body, id, at)
	switch {
	case became == answered:
		c.Elsewhere = true
		return true, nil
	case c.Request.Context().Err() != nil: // the client has disconnected
		return true, c.Request.Context().Err()
	case ctx.Err() != nil: // this server stops
		err = errors.New("this server stops")
	case became == notDone && !c.Op.Large:
		f.cfg.Log.Debug("request not forwarded yet", "account", id, "to", at, "error", err)
		_ = clock.Pause(ctx, placePause)
		_ = f.catchUp(ctx) // a failure is repaired by the next update
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

// wholeOperations act on all accounts unless the call names one. Sorted.
var wholeOperations = []string{"controlRestore", "controlSnapshot"}

// placedAccount is the account that a call acts on; "" for what each server answers itself.
func (f *Fleet) placedAccount(c *call.Call) string {
	if c.Op.Area != "control_url" {
		if id := c.Vars["userId"]; id != "" {
			return f.idOf(c, id)
		}
		if c.Tenant == nil {
			return ""
		}
		return c.Tenant.ID
	}
	switch {
	case c.Vars["account"] != "":
		return f.idOf(c, c.Vars["account"])
	case c.Op.ID == "controlAccount" || c.Op.ID == "controlPutAccount":
		return f.idOf(c, c.Vars["id"])
	case slices.Contains(c.Op.QueryParameters(), "account") && !acrossServers(c):
		return c.Tenant.ID
	}
	return ""
}

// idOf is the id of an account by any of its names; "" when there is none.
func (f *Fleet) idOf(c *call.Call, name string) string {
	t := f.host.Accounts.ByID(name)
	if t == nil {
		_, _ = f.Refresh(c.Request.Context()) // what is known is used
		t = f.host.Accounts.ByID(name)
	}
	if t == nil {
		return ""
	}
	return t.ID
}

// Refresh loads the accounts that other servers of the fleet have created.
func (f *Fleet) Refresh(ctx context.Context) (others bool, err error) {
	if err = f.catchUp(ctx); err != nil {
		f.cfg.Log.Warn("the accounts of the fleet cannot be read", "error", err)
	}
	return true, err
}
