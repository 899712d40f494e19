package mockserver

import (
	"context"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/mockserver/messaging"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/saved"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// Version is the version that the server reports; the release build sets it by
// -ldflags.
var Version = "0.1.0-dev"

// NotReady makes the readiness check fail with the reason, until NotReady is
// called with "".
func (s *Server) NotReady(reason string) { s.trouble.Store(&reason) }

// Explain reports why a message, run, DLQ entry or flow-control key of the
// default account is in its state, and what it waits for.
func (s *Server) Explain(id string) (engine.Explanation, error) {
	return s.tenants.First().Account.Explain(id)
}

// Fault adds a rule to the default account, after its other rules.
func (s *Server) Fault(rule stub.Fault) error {
	compiled, err := rule.Compile(s.knownOperation)
	if err != nil {
		return refusal.At("fault", err)
	}
	s.tenants.First().Faults.Add(compiled)
	return s.tenants.Keep(context.Background(), s.tenants.First())
}

// knownOperation reports whether the OpenAPI document has an operation with
// this id.
func (s *Server) knownOperation(id string) bool { return s.doc.Operation(id) != nil }

// reason is why the server is not ready; "" when it is.
func (s *Server) reason(ctx context.Context) string {
	if reason := s.trouble.Load(); reason != nil && *reason != "" {
		return *reason
	}
	if err := s.fleet.Ready(ctx); err != nil {
		return err.Error()
	}
	return ""
}

// access describes how clients reach an account: URLs, credentials and
// environment.
func (s *Server) access(w *tenant.Tenant) control.Access {
	env := []map[string]string{}
	for _, v := range s.env(w) {
		env = append(env, map[string]string{"name": v.Name, "value": v.Value})
	}
	return control.Access{URL: s.URL(), Advertised: s.cfg.Advertise != nil, Env: env}
}

// The handlers of the other packages join those of this one.
func init() {
	bind(messaging.Handlers, func(s *Server) *messaging.API { return s.messaging })
	bind(saved.Handlers, func(s *Server) *saved.States { return s.states })
	bind(control.Handlers, func(s *Server) *control.Service { return s.control })
}

// bind adds the handlers of a part of the server.
func bind[T any](rows request.Table[T], part func(*Server) T) {
	for id, h := range rows {
		handlerTable[id] = func(s *Server, c *request.Call) (any, error) { return h(part(s), c) }
	}
}
