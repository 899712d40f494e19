package mockserver

import (
	"slices"

	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// serialize makes a seeded server deterministic: a request is handled only
// after everything that earlier requests caused has ended. It does not wait for
// a call to a real destination, because that destination may have made this
// request: tests call settle between commands that must not overlap with that
// call.
func (s *Server) serialize(c *call.Call) {
	if isProbe(c) {
		return
	}
	tenants := []*tenant.Tenant{c.Tenant}
	if c.Op.Area == "control_url" {
		tenants = s.tenants.All()
	}
	for _, w := range tenants {
		if !s.tenants.Repeats(w) {
			continue
		}
		ctx, cancel := c.WhileHere(c.Request.Context())
		if w.Outside.Tell(cancel) {
			_ = w.Account.Settle(ctx) // ends early when an attempt calls a real destination
		}
		w.Outside.Forget()
		cancel()
	}
}

// probeOperations are the operations that monitors call. They never wait for an account. Sorted.
var probeOperations = []string{"controlHealth", "controlLivez", "controlMetrics", "controlReadyz"}

// isProbe reports whether a call is one of probeOperations.
func isProbe(c *call.Call) bool { return c.Op != nil && slices.Contains(probeOperations, c.Op.ID) }
