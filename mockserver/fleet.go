package mockserver

import (
	"context"
	"net/http"

	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// Fleet shares the accounts of a store among several servers, so that each account is at one of
// them at a time. Package mockserver/fleet implements it. A server without one has all its
// accounts itself.
type Fleet interface {
	tenant.Fleet
	control.Fleet
	Attach(control.FleetHost)                       // first of all
	Join(url string) error                          // before the first request; url is how the others reach this server
	Serve()                                         // takes and gives accounts from now on
	Handler(here http.Handler) http.Handler         // what surrounds the handling of each request
	Place(http.ResponseWriter, *request.Call) error // keeps the account of a call here, or lets its server answer: request.ErrAnswered
	Sign(r *http.Request, hops string)              // marks a delivery to another server
	Part(http.ResponseWriter, *http.Request)        // before a response: makes the client of a leaving server connect again
	Leave()                                         // gives all accounts to the others
	End(shutdown func(context.Context))             // after Leave, once the responses in progress are sent
	Ready(context.Context) error                    // why changes are not durable now; nil if they are
}

// alone is the fleet of a server that shares its accounts with no other.
type alone struct{ store store.Store }

func (alone) Attach(control.FleetHost)                       {}
func (alone) Join(string) error                              { return nil }
func (alone) Serve()                                         {}
func (alone) Handler(here http.Handler) http.Handler         { return here }
func (alone) Place(http.ResponseWriter, *request.Call) error { return nil }
func (alone) Refresh(context.Context) (bool, error)          { return false, nil }
func (alone) Sign(*http.Request, string)                     {}
func (alone) Part(http.ResponseWriter, *http.Request)        {}
func (alone) Leave()                                         {}
func (alone) End(func(context.Context))                      {}
func (alone) Claim(context.Context, string) (bool, error)    { return true, nil }
func (alone) View() any                                      { return nil }
func (alone) Metrics() []control.Metric                      { return nil }

// Ready implements Fleet.
func (a alone) Ready(ctx context.Context) error {
	if st, ok := a.store.(store.Checked); ok {
		return st.Ready(ctx)
	}
	return nil
}
