package control

import (
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/traffic"
)

func (s *Service) health(c *request.Call) (any, error) {
	return response.Response{Body: map[string]any{
		"status": "ok", "version": s.Version(), "dialect": s.Tenants.DialectName(), "clock": s.clockBody(c.Tenant),
		"journal": map[string]int{"limit": traffic.Limit}, "memory": s.Memory(),
	}}, nil
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
