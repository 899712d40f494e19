package control

import (
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/traffic"
	"github.com/understudy-mock/understudy/spec/api"
)

func (s *Service) health(c *request.Call) (any, error) {
	return HealthOf(s.Version(), s.Tenants.DialectName(), s.clockBody(c.Tenant), s.Memory()), nil
}

// HealthOf is the health of a server that is alive.
func HealthOf(version, dialect string, clock api.Clock, memory Memory) any {
	return map[string]any{
		"status": "ok", "version": version, "dialect": dialect, "clock": clock, "journal": map[string]int{"limit": traffic.Limit}, "memory": memory,
	}
}

// livez checks nothing: a busy server is alive too.
func (s *Service) livez(*request.Call) (any, error) {
	return map[string]string{"status": "ok"}, nil
}

// readyz is for load balancers: a server that cannot write its state is alive, but
// not ready.
func (s *Service) readyz(c *request.Call) (any, error) {
	if reason := s.Trouble(c.Request.Context()); reason != "" {
		return nil, response.NotReady(reason)
	}
	return map[string]string{"status": "ok"}, nil
}

// reset resets the accounts and their key-value stores.
func (s *Service) reset(c *request.Call) (any, error) {
	for _, w := range c.Chosen(s.Tenants) {
		if err := s.Tenants.Reset(w); err != nil {
			return nil, err
		}
		w.KV.Reset()
	}
	return map[string]string{"status": "ok"}, nil
}
