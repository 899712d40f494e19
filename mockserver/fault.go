package mockserver

import (
	"encoding/json"

	"github.com/understudy-mock/understudy/mockserver/fault"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = registerHandlers(map[string]handler{
	"controlClearFaults": (*Server).controlClearFaults,
	"controlFaults":      (*Server).controlFaults,
	"controlSetFaults":   (*Server).controlSetFaults,
})

// faulty lets a rule answer in place of the operation.
func (s *Server) faulty(c *call) (response.Response, bool) {
	if c.op.Area == "control_url" || c.tenant == nil {
		return response.Response{}, false
	}
	return c.tenant.faults.Answer(c.request.Context(), c.op.ID, c.request.URL.Path, c.header)
}

// Fault adds a rule to those of the default account.
func (s *Server) Fault(rule fault.Rule) error {
	compiled, err := rule.Compile(s.knownOperation)
	if err != nil {
		return err
	}
	s.first().faults.Add(compiled)
	return nil
}

func (s *Server) controlFaults(c *call) (response.Response, error) {
	return response.Response{Body: c.tenant.faults.Get()}, nil
}

func (s *Server) controlSetFaults(c *call) (response.Response, error) {
	var rules []fault.Rule
	if err := json.Unmarshal(c.body, &rules); err != nil {
		return response.Response{}, response.Invalid("body: " + err.Error())
	}
	for _, w := range s.chosen(c) {
		list, err := fault.CompileAll(rules, s.knownOperation)
		if err != nil {
			return response.Response{}, err
		}
		w.faults.Set(list, s.seed(w.ID))
	}
	return response.Response{Body: c.tenant.faults.Get()}, nil
}

// knownOperation reports whether the document has an operation.
func (s *Server) knownOperation(id string) bool { return s.doc.Operation(id) != nil }

func (s *Server) controlClearFaults(c *call) (response.Response, error) {
	for _, w := range s.chosen(c) {
		w.faults.Set(nil, s.seed(w.ID))
	}
	return emptyObject, nil
}
