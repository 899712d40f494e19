package mockserver

import (
	"encoding/json"
)

var _ = register(map[string]handler{
	"controlAccounts":   (*Server).controlAccounts,
	"controlPutAccount": (*Server).controlPutAccount,
})

func (s *Server) controlAccounts(*call) (reply, error) {
	ids := []string{}
	for _, w := range s.all() {
		ids = append(ids, w.ID)
	}
	return reply{body: map[string]any{"accounts": ids}}, nil
}

// controlPutAccount gives a test a world of its own: its token is made from the
// id. An account that exists is told as it is.
func (s *Server) controlPutAccount(c *call) (reply, error) {
	var body struct{ Password string }
	if len(c.body) > 0 {
		if err := json.Unmarshal(c.body, &body); err != nil {
			return reply{}, invalid("body: " + err.Error())
		}
	}
	id := c.vars["id"]
	w := s.world(Account{ID: id, Token: derived(id, "token"), Password: body.Password})
	current, next := w.account.Keys()
	return reply{body: map[string]string{
		"id": w.ID, "userId": w.ID, "token": w.Token, "currentSigningKey": current, "nextSigningKey": next,
		"managementUsername": w.username(), "managementPassword": w.password, "vectorToken": w.vectorToken(), "kvToken": w.kvToken,
	}}, nil
}
