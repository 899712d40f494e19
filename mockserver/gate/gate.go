// Package gate decides whether a request may pass: where it comes from, what it may do, with which
// credentials, and whether it meets a fault.
//
//	err := g.Change(c)   // a server that only shows a journal
//	err = g.Delivery(c)  // deliveries of this server to itself
//	err = g.Admit(c)     // credentials; sets the account of the call
//	out, ok := g.Fault(c) // faults that a tester has set
//
// Every page that a browser on this machine shows can send requests to a server
// on loopback. Pages of loopback and of the server itself are admitted. Pages of
// other sites are refused, also when their host name resolves to loopback (DNS
// rebinding). A request that a proxy on this machine passes on also comes from
// loopback: the headers of proxies tell. Programs other than browsers send neither
// Origin, Referer nor Sec-Fetch-Site, and pass.
//
// Which server of a fleet has the account is decided by package fleet, after Admit.
package gate

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/spec"
)

// Gate is the part of a server's configuration that decides which requests may pass.
type Gate struct {
	Accounts     *tenant.Registry
	Neutral      *spec.Dialect            // the names of the calls
	ControlToken string                   // of the control API; "": none
	NeedsToken   bool                     // programs on this machine need it, too
	ReadOnly     bool                     // the server shows a replayed journal
	HostNames    []string                 // names of this machine, besides those of loopback
	Made         func(*http.Request) bool // whether a request is a delivery of this server or of another one of its fleet
	Log          *slog.Logger
}

// readingOperations change nothing although their method is not GET. A call
// below /as/ is judged by the operation that it calls. Sorted.
var readingOperations = []string{
	"agents", "agentsEnd", "asDelete", "asPatch", "asPost", "asPut",
	"fetchVectors", "fetchVectorsIn", "getVectorInfoPost", "listVectorNamespacesPost", "pageAction", "queryVectorData", "queryVectorDataIn", "queryVectors", "queryVectorsIn",
	"randomVectorInPost", "randomVectorPost", "rangeVectors", "rangeVectorsIn",
}

// hookOperations is the prefix of their operation ids.
const hookOperations = "callHook"

// changesState reports whether an operation may change something. Commands of
// the key-value store and hooks of runs may with every method.
func changesState(op *spec.Operation) bool {
	switch {
	case op.Area == "kv_url" || strings.HasPrefix(op.ID, hookOperations):
		return true
	case op.Method == http.MethodGet || op.Method == http.MethodHead || op.Method == http.MethodOptions:
		return false
	}
	return !slices.Contains(readingOperations, op.ID)
}

// Change refuses operations that would change a server that shows a replayed
// journal.
func (g *Gate) Change(c *request.Call) error {
	if !g.ReadOnly || !changesState(c.Op) {
		return nil
	}
	text := "this server replays a journal and is read-only: nothing can be published, delivered or changed; start `understudy serve` for that"
	if c.Op.Area == "kv_url" {
		text = "this server replays a journal, which does not have the key-value store"
	}
	if strings.HasPrefix(c.Op.ID, hookOperations) { // their document declares no 403
		return refusal.Of(refusal.Closed, text, "", "")
	}
	return response.Forbidden(text)
}

// Admit authenticates the call by the rules of its area.
func (g *Gate) Admit(c *request.Call) error {
	if c.Op.Area == "control_url" {
		return g.admitControl(c)
	}
	w, err := g.authenticate(c)
	if err != nil {
		return err
	}
	if c.Op.Area == "kv_url" {
		w = g.kvTenant(c)
	}
	if w != nil && w.Public && !c.AsTester {
		if err := g.admitPublic(c); err != nil {
			return err
		}
	}
	if w == nil {
		w = g.Accounts.First()
	}
	c.Tenant, c.Account = w, w.Account
	if c.Op.Area == "vector_url" {
		return g.openVector(c)
	}
	return nil
}

// Fault answers by the first API fault that matches the call; false means that
// none does. The control API never has faults: it is how a tester removes them.
func (g *Gate) Fault(c *request.Call) (response.Response, bool) {
	if c.Op.Area == "control_url" || c.Tenant == nil {
		return response.Response{}, false
	}
	return c.Tenant.Faults.Respond(c.Request.Context(), c.Op.ID, c.Request.URL.Path, c.Header)
}
