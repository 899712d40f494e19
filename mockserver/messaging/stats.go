package messaging

import (
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/bodies"
	"github.com/understudy-mock/understudy/mockserver/call"
)

var _ = Handlers.Add(table{
	"getUsageStatistics": (*API).getUsageStatistics,
})

// getUsageStatistics reports on the account of the credentials; any other id is
// not found.
func (a *API) getUsageStatistics(c *call.Call) (any, error) {
	if id := c.Vars["id"]; id != c.Tenant.ID {
		return nil, refusal.Of(refusal.NotFound, "messaging user", id, "not found: must be the id of the account that the credentials belong to")
	}
	u, err := c.Account.Usage(c.Query.Get("period"))
	return bodies.Usage(&u), err
}
