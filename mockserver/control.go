package mockserver

import (
	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/mockserver/fault"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// Version is what the server says of itself; the build sets it.
var Version = "0.1.0-dev"

// NotReady makes the server report that it is not ready, and why, until it is
// called with "".
func (s *Server) NotReady(reason string) { s.trouble.Store(&reason) }

// Explain says why a message, a run or a flow-control key of the default account
// is as it is.
func (s *Server) Explain(id string) (engine.Explanation, error) {
	return s.tenants.First().Account.Explain(id)
}

// faulty lets a rule answer in place of the operation.
func (s *Server) faulty(c *call.Call) (response.Response, bool) {
	if c.Op.Area == "control_url" || c.Tenant == nil {
		return response.Response{}, false
	}
	return c.Tenant.Faults.Respond(c.Request.Context(), c.Op.ID, c.Request.URL.Path, c.Header)
}

// Fault adds a rule to those of the default account.
func (s *Server) Fault(rule fault.Rule) error {
	compiled, err := rule.Compile(s.knownOperation)
	if err != nil {
		return err
	}
	s.tenants.First().Faults.Add(compiled)
	return nil
}

// knownOperation reports whether the document has an operation.
func (s *Server) knownOperation(id string) bool { return s.doc.Operation(id) != nil }

// reason is why the server is not ready; "" when it is.
func (s *Server) reason() string {
	if reason := s.trouble.Load(); reason != nil {
		return *reason
	}
	return ""
}

// access is how clients reach an account.
func (s *Server) access(w *tenant.Tenant) control.Access {
	env := []map[string]string{}
	for _, v := range s.env(w) {
		env = append(env, map[string]string{"name": v.Name, "value": v.Value})
	}
	return control.Access{URL: s.URL(), Advertised: s.cfg.Advertise != nil, Env: env}
}

var _ = registerHandlers(controlRows())

// controlRows are the handlers of the control API.
func controlRows() map[string]handler {
	rows := map[string]handler{}
	for id, h := range control.Handlers() {
		rows[id] = func(s *Server, c *call.Call) (response.Response, error) { return h(s.control, c) }
	}
	return rows
}
