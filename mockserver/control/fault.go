package control

import (
	"encoding/json"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

var _ = registerHandlers(map[string]Handler{
	"controlClearFaults": (*Service).clearFaults,
	"controlFaults":      (*Service).faults,
	"controlSetFaults":   (*Service).setFaults,
})

func (s *Service) faults(c *call.Call) (response.Response, error) {
	return response.Response{Body: c.Tenant.Faults.Get()}, nil
}

// setFaults checks every rule before it replaces any. Each account gets its own
// compiled rules, because they count matches.
func (s *Service) setFaults(c *call.Call) (response.Response, error) {
	var rules []stub.Fault
	if err := json.Unmarshal(c.Body, &rules); err != nil {
		return response.Response{}, response.Invalid("body: " + err.Error())
	}
	for _, w := range c.Chosen(s.Tenants) {
		list, err := stub.CompileFaults(rules, s.Known)
		if err != nil {
			return response.Response{}, refusal.At("body ", err)
		}
		w.Faults.Set(list, s.Tenants.Seed(w.ID))
	}
	return response.Response{Body: c.Tenant.Faults.Get()}, nil
}

// clearFaults also restarts the random numbers of the seed, so that a test repeats.
func (s *Service) clearFaults(c *call.Call) (response.Response, error) {
	for _, w := range c.Chosen(s.Tenants) {
		w.Faults.Set(nil, s.Tenants.Seed(w.ID))
	}
	return response.Empty, nil
}
