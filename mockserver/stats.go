package mockserver

import (
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/view"
)

var _ = registerHandlers(map[string]handler{
	"getUsageStatistics": (*Server).getUsageStatistics,
})

func (s *Server) getUsageStatistics(c *call) (response.Response, error) {
	if id := c.vars["id"]; id != c.tenant.ID {
		return response.Response{}, refusal.Of(refusal.NotFound, "messaging user", id, "not found: must be the id of the account that the credentials belong to")
	}
	u, err := c.account.Usage(c.query.Get("period"))
	return response.Response{Body: view.Usage(&u)}, err
}
