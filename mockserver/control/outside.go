package control

import (
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

// outside answers a call of the application to a service that Understudy plays, such as
// payments. The journal of requests has the call.
func (s *Service) outside(c *request.Call) (any, error) {
	w := s.Tenants.First()
	c.Tenant = w
	d := &stub.Request{
		Method: c.Request.Method, URL: stub.OutsideURL(c.Vars["service"], c.Vars["path"], c.SentQuery), Header: c.Sent, Body: c.SentBody,
	}
	return w.Stubs.Outside(c.Request.Context(), d, s.Tenants.Mode(w) == "real"), nil
}
