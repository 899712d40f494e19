package mockserver

import (
	"encoding/json"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = registerHandlers(map[string]handler{
	"controlAccount":    (*Server).controlAccount,
	"controlAccounts":   (*Server).controlAccounts,
	"controlPutAccount": (*Server).controlPutAccount,
})

func (s *Server) controlAccounts(*call) (response.Response, error) {
	ids := []string{}
	for _, w := range s.all() {
		ids = append(ids, w.ID)
	}
	return response.Response{Body: map[string]any{"accounts": ids}}, nil
}

// controlPutAccount gives a test an account of its own: its token is made from the
// id. An account that exists is told as it is.
func (s *Server) controlPutAccount(c *call) (response.Response, error) {
	var body struct{ Password string }
	if len(c.body) > 0 {
		if err := json.Unmarshal(c.body, &body); err != nil {
			return response.Response{}, response.Invalid("body: " + err.Error())
		}
	}
	id := c.vars["id"]
	return response.Response{Body: s.credentials(s.tenant(Account{ID: id, Token: derivedSecret(id, "token"), Password: body.Password}))}, nil
}

func (s *Server) credentials(w *tenant) map[string]any {
	current, next := w.account.Keys()
	return map[string]any{
		"id": w.ID, "userId": w.ID, "token": w.Token, "currentSigningKey": current, "nextSigningKey": next,
		"managementUsername": w.username(), "managementPassword": w.password, "vectorToken": w.vectorToken(), "kvToken": w.kvToken,
	}
}

// controlAccount tells what a client of the account needs: its credentials, the
// environment, the prefix of configuration headers.
func (s *Server) controlAccount(c *call) (response.Response, error) {
	w := s.byID(c.vars["id"])
	if w == nil {
		return response.Response{}, refusal.Of(refusal.NotFound, "account", c.vars["id"], "not found")
	}
	body := s.credentials(w)
	env := []map[string]string{}
	for _, v := range s.env(w) {
		env = append(env, map[string]string{"name": v.Name, "value": v.Value})
	}
	body["vectorIndexes"] = w.indexNames()
	body["env"], body["url"], body["headerPrefix"] = env, s.URL(), s.usual(w).HeaderPrefix
	body["advertised"] = s.cfg.Advertise != nil
	return response.Response{Body: body}, nil
}
