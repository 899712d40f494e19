package mockserver

import (
	"encoding/json"

	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/fault"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = registerHandlers(map[string]handler{
	"controlClearFaults": (*Server).controlClearFaults,
	"controlFaults":      (*Server).controlFaults,
	"controlSetFaults":   (*Server).controlSetFaults,
})

// faulty lets a rule answer in place of the operation.
func (s *Server) faulty(c *call.Call) (response.Response, bool) {
	if c.Op.Area == "control_url" || c.Tenant == nil {
		return response.Response{}, false
	}
	return c.Tenant.Faults.Answer(c.Request.Context(), c.Op.ID, c.Request.URL.Path, c.Header)
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

func (s *Server) controlFaults(c *call.Call) (response.Response, error) {
	return response.Response{Body: c.Tenant.Faults.Get()}, nil
}

func (s *Server) controlSetFaults(c *call.Call) (response.Response, error) {
	var rules []fault.Rule
	if err := json.Unmarshal(c.Body, &rules); err != nil {
		return response.Response{}, response.Invalid("body: " + err.Error())
	}
	for _, w := range s.chosen(c) {
		list, err := fault.CompileAll(rules, s.knownOperation)
		if err != nil {
			return response.Response{}, err
		}
		w.Faults.Set(list, s.tenants.Seed(w.ID))
	}
	return response.Response{Body: c.Tenant.Faults.Get()}, nil
}

// knownOperation reports whether the document has an operation.
func (s *Server) knownOperation(id string) bool { return s.doc.Operation(id) != nil }

func (s *Server) controlClearFaults(c *call.Call) (response.Response, error) {
	for _, w := range s.chosen(c) {
		w.Faults.Set(nil, s.tenants.Seed(w.ID))
	}
	return response.Empty, nil
}
