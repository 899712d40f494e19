package control

import (
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

func (s *Service) accounts(*request.Call) (any, error) {
	return map[string]any{"accounts": s.Tenants.IDs()}, nil
}

// putAccount creates an account, for example one per test; its token is derived
// from the id. An existing account is returned unchanged.
func (s *Service) putAccount(c *request.Call) (any, error) {
	var body struct{ Password string }
	if len(c.Body) > 0 {
		if err := c.Read(&body); err != nil {
			return nil, err
		}
	}
	id := c.Vars["id"]
	made, err := s.Tenants.Put(tenant.Credentials{ID: id, Token: tenant.DerivedSecret(id, "token"), Password: body.Password})
	if err != nil {
		return nil, err
	}
	return s.credentials(made), nil
}

// credentials returns the credentials of an account unmasked, for tests to use, see
// unmaskedOperations of the server.
func (s *Service) credentials(w *tenant.Tenant) map[string]any {
	current, next := s.Tenants.Keys(w)
	d := s.Tenants.Usual(w)
	return map[string]any{
		"id": w.ID, "userId": w.ID, "token": s.Tenants.Token(w), "currentSigningKey": d.SigningKey(current), "nextSigningKey": d.SigningKey(next),
		"managementUsername": w.Username(), "managementPassword": w.Password, "vectorToken": w.VectorToken(), "kvToken": w.KVToken,
	}
}

// account returns what a client of the account needs: its credentials, the
// environment, the prefix of configuration headers.
func (s *Service) account(c *request.Call) (any, error) {
	w := s.Tenants.ByID(c.Vars["id"])
	if w == nil {
		return nil, refusal.Of(refusal.NotFound, "account", c.Vars["id"], "not found")
	}
	body := s.credentials(w)
	body["vectorIndexes"] = indexNames(w)
	access := s.Access(w)
	body["env"], body["url"], body["advertised"] = access.Env, access.URL, access.Advertised
	body["headerPrefix"] = s.Tenants.Usual(w).HeaderPrefix
	return body, nil
}

func indexNames(w *tenant.Tenant) []string {
	names := []string{}
	for _, x := range w.Indexes() {
		names = append(names, x.Name)
	}
	return names
}
