package control

import (
	"fmt"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

func (s *Service) stubs(c *request.Call) (any, error) {
	return c.Tenant.Stubs.Get(), nil
}

// setStubs checks every stub before it replaces any: a refused list changes nothing.
func (s *Service) setStubs(c *request.Call) (any, error) {
	var list []stub.Stub
	if err := c.Read(&list); err != nil {
		return nil, err
	}
	for i := range list {
		if err := list[i].Check(); err != nil {
			return nil, refusal.At(fmt.Sprint("body /", i), err)
		}
	}
	for _, w := range c.Chosen(s.Tenants) {
		w.Stubs.Set(list)
	}
	return c.Tenant.Stubs.Get(), nil
}

// addStub adds one stub before the others, so that concurrent callers do not
// overwrite each other's stubs.
func (s *Service) addStub(c *request.Call) (any, error) {
	var one stub.Stub
	if err := c.Read(&one); err != nil {
		return nil, err
	}
	for _, w := range c.Chosen(s.Tenants) {
		if err := w.Stubs.Add(one); err != nil {
			return nil, refusal.At("body ", err)
		}
	}
	return c.Tenant.Stubs.Get(), nil
}

func (s *Service) clearStubs(c *request.Call) (any, error) {
	for _, w := range c.Chosen(s.Tenants) {
		w.Stubs.Set(nil)
	}
	return response.Empty, nil
}

func (s *Service) rewrites(c *request.Call) (any, error) {
	return c.Tenant.Rewrites.Get(), nil
}

// setRewrites checks both URLs of each rewrite before it replaces any.
func (s *Service) setRewrites(c *request.Call) (any, error) {
	var m map[string]string
	if err := c.Read(&m); err != nil {
		return nil, err
	}
	for from, to := range m {
		for _, u := range []string{from, to} {
			if err := request.CheckURL("body", "/"+from, u); err != nil {
				return nil, err
			}
		}
	}
	for _, w := range c.Chosen(s.Tenants) {
		w.Rewrites.Set(m)
	}
	return c.Tenant.Rewrites.Get(), nil
}

func (s *Service) clearRewrites(c *request.Call) (any, error) {
	for _, w := range c.Chosen(s.Tenants) {
		w.Rewrites.Set(nil)
	}
	return response.Empty, nil
}
