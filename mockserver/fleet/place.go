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
	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/mockserver/delivery"
	"github.com/understudy-mock/understudy/mockserver/request"
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
	leaveWithin = 20 * time.Second // time to hand all accounts to other servers
	cutWithin   = time.Second      // time to refuse requests that still wait
	// partingTime is how long a connection may be idle and still get a response that says that
	// the server leaves. A client that finds it closed may not know whether its request arrived.
	partingTime = 500 * time.Millisecond
)

// Attach connects the fleet with the server that it makes a member. It must be called before Join.
func (f *Fleet) Attach(host control.FleetHost) { f.host = host }

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
	f.stop()
	f.work.Wait()
	f.transport.CloseIdleConnections()
	if !f.joined() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewWithin)
	defer cancel()
	_ = f.members.kv.Delete(ctx, f.id) // otherwise it expires
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

// visit is a request at this server. It is in the context of the request.
type visit struct {
	arrived   *http.Request  // to forward
	forwarded bool           // by another server
	err       error          // why it is refused; nil: it is not
	entered   *tenant.Tenant // the account that it keeps here; nil: none
}

type visitKey struct{}

func visitOf(r *http.Request) *visit { return r.Context().Value(visitKey{}).(*visit) }

// enter makes a call use an account that it keeps here.
func (v *visit) enter(c *request.Call, t *tenant.Tenant) {
	v.entered = t
	if c.Tenant != nil && c.Tenant.ID == t.ID {
		c.Tenant, c.Account = t, t.Account
	}
}

// leave releases the account for other servers.
func (v *visit) leave() {
	if v.entered != nil {
		v.entered.Exit()
		v.entered = nil
	}
}

// Handler removes what another server of the fleet has added to a request, and lets the account
// of the request leave once its response has been sent.
func (f *Fleet) Handler(here http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{}
		defer v.leave()
		ctx := context.WithValue(r.Context(), visitKey{}, v)
		if hops, made := f.signed(r.Header); made {
			ctx = context.WithValue(ctx, delivery.ByMember{}, true)
			if hops != "" {
				r.Header.Set(wire.HopsHeader, hops)
			}
		}
		v.arrived = r.WithContext(ctx)
		v.forwarded, v.err = f.arrived(v.arrived)
		here.ServeHTTP(w, v.arrived)
	})
}

// Part makes the client of a leaving server close its connection after this
// response. A connection that the server closes could be in use for the next
// request, which would then fail. Requests that other servers forward are
// exempt: those servers follow the fleet's table.
func (f *Fleet) Part(w http.ResponseWriter, r *http.Request) {
	if f.leaving.Load() && !visitOf(r).forwarded {
		w.Header().Set("Connection", "close")
	}
}

// Place finds the server that has the account of a call. If that is another one, Place returns
// request.ErrAnswered once it has sent the response of that server.
func (f *Fleet) Place(w http.ResponseWriter, c *request.Call) error {
	if c.AsTester {
		return nil
	}
	v := visitOf(c.Request)
	v.leave()
	if v.err != nil {
		return v.err
	}
	if err := oneAccount(c); err != nil {
		return err
	}
	id := f.placedAccount(c)
	if id == "" {
		return nil
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
			v.enter(c, t)
			return nil
		}
		switch {
		case at.Reason != "" && !at.Passing:
			return refusal.Of(refusal.NotDurable, at.Reason, "", "")
		case at.Here || at.URL == "" && !v.forwarded: // soon
		case v.forwarded:
			w.Header().Set(movedHeader, "1")
			return refusal.Of(refusal.NotDurable, fmt.Sprintf("account %q", id), "", "another server has it")
		default:
			asked := f.wall.Now()
			if err := f.forward(waiting, w, c, id, at.URL); err != nil {
				return err
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
			return refusal.Of(refusal.NotDurable, fmt.Sprintf("account %q", id), "", why+"; repeat the request later")
		}
	}
}

// forward lets another server answer: request.ErrAnswered. It returns nil when the request had no
// effect there, so that it can be tried again.
func (f *Fleet) forward(ctx context.Context, w http.ResponseWriter, c *request.Call, id, at string) error {
	if !c.Op.Large {
		if err := f.host.ReadBody(w, c); err != nil {
			return err
		}
	}
	clear(w.Header()) // all headers come from the other server
	r := visitOf(c.Request).arrived
	f.Part(w, r)
	r = r.WithContext(ctx)
	if f.host.Made(r) {
		r.Header = r.Header.Clone()
		f.sign(r.Header, r.Header.Get(wire.HopsHeader))
	}
	became, err := f.pass(w, r, c.Body, id, at)
	switch {
	case became == answered:
		return request.ErrAnswered
	case c.Request.Context().Err() != nil: // the client has disconnected
		return c.Request.Context().Err()
	case ctx.Err() != nil: // this server stops
		err = errors.New("this server stops")
	case became == notDone && !c.Op.Large:
		f.cfg.Log.Debug("request not forwarded yet", "account", id, "to", at, "error", err)
		_ = clock.Pause(ctx, placePause)
		_ = f.catchUp(ctx) // a failure is repaired by the next update
		return nil
	}
	return refusal.Of(refusal.NotDurable, fmt.Sprintf("account %q", id), "", fmt.Sprintf("its server %s has not answered: %v; whether the request takes effect is not known, repeat it later", at, err))
}

// oneAccount refuses calls of the control API that act on all accounts: no server of a fleet
// has them.
func oneAccount(c *request.Call) error {
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
func acrossServers(c *request.Call) bool {
	given := c.Query.Get("account")
	return c.Op.ID == "controlExportJournal" && (given == "" || given == "*")
}

// wholeOperations act on all accounts unless the call names one. Sorted.
var wholeOperations = []string{"controlRestore", "controlSnapshot"}

// placedAccount is the account that a call acts on; "" for what each server answers itself.
func (f *Fleet) placedAccount(c *request.Call) string {
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
func (f *Fleet) idOf(c *request.Call, name string) string {
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
