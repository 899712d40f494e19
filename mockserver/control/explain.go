package control

import (
	"net/url"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/trace"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = Handlers.Add(table{"controlExplain": (*Service).explain})

func reasonOf(r engine.Reason) api.Reason {
	return api.Reason{Kind: r.Kind, Reason: r.Text, Rule: r.Rule, Until: millis(r.Until), EventID: r.Event}
}

// explain reports why something has not happened yet. A manual clock is the last
// reason in the list.
func (s *Service) explain(c *request.Call) (any, error) {
	x, err := c.Account.Explain(c.Vars["id"])
	if err != nil {
		return nil, err
	}
	clock := s.clockBody(c.Tenant)
	body := map[string]any{"id": x.ID, "kind": x.Kind, "state": x.State, "dlqId": x.DLQID, "now": clock.Now,
		"reasons": reasonBodies(x.Reasons, clock.Mode), "pages": pagesOf(&x), "lineage": lineageOf(x.Lineage)}
	if f := s.failureOf(c.Tenant, x.Failure, x.DLQID); f != nil {
		body["failure"] = f
	}
	if t := s.traceOf(c.Tenant, x.Trace); t != nil {
		body["trace"] = t
	}
	return body, nil
}

// traceBody is where the trace of a message or a run is.
type traceBody struct {
	ID  string `json:"traceId"`
	URL string `json:"url,omitempty"`
}

// traceOf is nil if messages have no traces.
func (s *Service) traceOf(t *tenant.Tenant, root engine.TraceRoot) *traceBody {
	if !s.Traced || root.ID == "" {
		return nil
	}
	c := trace.Of(t.ID, root)
	return &traceBody{c.Text(), strings.ReplaceAll(s.TraceURL, "{traceId}", c.Text())}
}

// viewOf is the path of the view in the page for each kind of entity.
var viewOf = map[string]string{"message": "messages/", "run": "runs/", "DLQ entry": "dlq/", "flow-control key": "flow?key="}

// pagesOf returns the paths of the views that show the explained entity.
func pagesOf(x *engine.Explanation) []string {
	pages := []string{"/_understudy/ui/" + viewOf[x.Kind] + strings.ReplaceAll(url.QueryEscape(x.ID), "+", "%20")} // valid in a path and in a query
	if x.DLQID != "" && x.DLQID != x.ID {
		pages = append(pages, "/_understudy/ui/dlq/"+url.PathEscape(x.DLQID))
	}
	return pages
}

// reasonBodies are the reasons of the engine. With a manual clock, it adds the clock
// as a reason if one of them has a time, until the first of these times.
func reasonBodies(list []engine.Reason, clock string) []api.Reason {
	out := []api.Reason{}
	var due int64
	for _, r := range list {
		reason := reasonOf(r)
		if out = append(out, reason); due == 0 || reason.Until != 0 && reason.Until < due {
			due = reason.Until
		}
	}
	if due != 0 && clock == "manual" {
		out = append(out, api.Reason{Kind: "clock", Reason: "the clock is manual, and waits until it is advanced", Until: due})
	}
	return out
}
