package mockserver

import (
	"encoding/json"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

var _ = registerHandlers(map[string]handler{
	"controlAccount":    (*Server).controlAccount,
	"controlAccounts":   (*Server).controlAccounts,
	"controlPutAccount": (*Server).controlPutAccount,
})

func (s *Server) controlAccounts(*call.Call) (response.Response, error) {
	ids := []string{}
	for _, w := range s.tenants.All() {
		ids = append(ids, w.ID)
	}
	return response.Response{Body: map[string]any{"accounts": ids}}, nil
}

// controlPutAccount gives a test an account of its own: its token is made from the
// id. An account that exists is told as it is.
func (s *Server) controlPutAccount(c *call.Call) (response.Response, error) {
	var body struct{ Password string }
	if len(c.Body) > 0 {
		if err := json.Unmarshal(c.Body, &body); err != nil {
			return response.Response{}, response.Invalid("body: " + err.Error())
		}
	}
	id := c.Vars["id"]
	return response.Response{Body: s.credentials(s.tenants.Put(Account{ID: id, Token: tenant.DerivedSecret(id, "token"), Password: body.Password}))}, nil
}

func (s *Server) credentials(w *tenant.Tenant) map[string]any {
	current, next := w.Account.Keys()
	return map[string]any{
		"id": w.ID, "userId": w.ID, "token": w.Token, "currentSigningKey": current, "nextSigningKey": next,
		"managementUsername": w.Username(), "managementPassword": w.Password, "vectorToken": w.VectorToken(), "kvToken": w.KVToken,
	}
}

// controlAccount tells what a client of the account needs: its credentials, the
// environment, the prefix of configuration headers.
func (s *Server) controlAccount(c *call.Call) (response.Response, error) {
	w := s.tenants.ByID(c.Vars["id"])
	if w == nil {
		return response.Response{}, refusal.Of(refusal.NotFound, "account", c.Vars["id"], "not found")
	}
	body := s.credentials(w)
	env := []map[string]string{}
	for _, v := range s.env(w) {
		env = append(env, map[string]string{"name": v.Name, "value": v.Value})
	}
	body["vectorIndexes"] = indexNames(w)
	body["env"], body["url"], body["headerPrefix"] = env, s.URL(), s.tenants.Usual(w).HeaderPrefix
	body["advertised"] = s.cfg.Advertise != nil
	return response.Response{Body: body}, nil
}

func indexNames(w *tenant.Tenant) []string {
	names := []string{}
	for _, x := range w.Indexes() {
		names = append(names, x.Name)
	}
	return names
}
