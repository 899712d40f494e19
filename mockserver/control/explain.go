package control

import (
	"net/url"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = registerHandlers(map[string]Handler{"controlExplain": (*Service).explain})

type reasonBody struct {
	Kind   string `json:"kind,omitempty"`
	Reason string `json:"reason"`
	Rule   string `json:"rule,omitempty"`
	Until  *int64 `json:"until,omitempty"` // Unix ms
}

func reasonOf(r engine.Reason) reasonBody {
	return reasonBody{r.Kind, r.Text, r.Rule, response.Millis(r.Until)}
}

// explain says why something has not happened yet. A manual clock is the
// last reason: nothing waits that it does not hold.
func (s *Service) explain(c *call.Call) (response.Response, error) {
	x, err := c.Account.Explain(c.Vars["id"])
	if err != nil {
		return response.Response{}, err
	}
	clock := s.clockBody(c.Tenant)
	return response.Response{Body: map[string]any{"id": x.ID, "kind": x.Kind, "state": x.State, "dlqId": x.DLQID, "now": clock.Now,
		"reasons": reasonBodies(x.Reasons, clock.Mode), "pages": pagesOf(&x)}}, nil
}

// viewOf is the view of the page for each kind of thing.
var viewOf = map[string]string{"message": "messages/", "run": "runs/", "DLQ entry": "dlq/", "flow-control key": "flow?key="}

// pagesOf are the views that show what has been explained, by their paths.
func pagesOf(x *engine.Explanation) []string {
	pages := []string{"/_understudy/ui/" + viewOf[x.Kind] + strings.ReplaceAll(url.QueryEscape(x.ID), "+", "%20")} // fits a path and a query
	if x.DLQID != "" && x.DLQID != x.ID {
		pages = append(pages, "/_understudy/ui/dlq/"+url.PathEscape(x.DLQID))
	}
	return pages
}

// reasonBodies are those of the engine and, with a manual clock, that one.
func reasonBodies(list []engine.Reason, clock string) []reasonBody {
	out := []reasonBody{}
	waits := false
	for _, r := range list {
		out = append(out, reasonOf(r))
		waits = waits || !r.Until.IsZero()
	}
	if waits && clock == "manual" {
		out = append(out, reasonBody{Reason: "the clock is manual: it moves by `understudy ctl advance` or the buttons of the page only"})
	}
	return out
}
