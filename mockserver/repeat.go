package mockserver

import (
	"context"

	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// serialize lets a server that repeats answer a request only when what the ones
// before have caused is done. It does not wait for a call to a real
// destination, which may be what made this request: between commands that must
// not meet such a call stands a settle.
func (s *Server) serialize(c *call.Call) {
	tenants := []*tenant.Tenant{c.Tenant}
	if c.Op.Area == "control_url" {
		tenants = s.tenants.All()
	}
	for _, w := range tenants {
		if !s.tenants.Repeats(w) {
			continue
		}
		ctx, cancel := context.WithCancel(c.Request.Context())
		if w.Outside.Tell(cancel) {
			_ = w.Account.Settle(ctx) // an attempt that leaves ends the wait
		}
		w.Outside.Forget()
		cancel()
	}
}
