package control

import (
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

func (s *Service) faults(c *request.Call) (any, error) {
	return c.Tenant.Faults.Get(), nil
}

// setFaults checks every rule before it replaces any. Each account gets its own
// compiled rules, because they count matches.
func (s *Service) setFaults(c *request.Call) (any, error) {
	var rules []stub.Fault
	if err := c.Read(&rules); err != nil {
		return nil, err
	}
	for _, w := range c.Chosen(s.Tenants) {
		list, err := stub.CompileFaults(rules, s.Known)
		if err != nil {
			return nil, refusal.At("body ", err)
		}
		w.Faults.Set(list, s.Tenants.Seed(w.ID))
	}
	return c.Tenant.Faults.Get(), nil
}

// clearFaults also restarts the random numbers of the seed, so that a test repeats.
func (s *Service) clearFaults(c *request.Call) (any, error) {
	for _, w := range c.Chosen(s.Tenants) {
		w.Faults.Set(nil, s.Tenants.Seed(w.ID))
	}
	return response.Empty, nil
}
