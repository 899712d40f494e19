package control

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/trace"
	"github.com/understudy-mock/understudy/spec/api"
	"github.com/understudy-mock/understudy/spec/route"
)

func reasonOf(r engine.Reason) api.Reason {
	return api.Reason{Kind: r.Kind, Reason: r.Text, Rule: r.Rule, Until: millis(r.Until)}
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
		"reasons": reasonBodies(x.Reasons, &clock), "pages": pagesOf(&x), "lineage": response.List(x.Lineage, linkOf)}
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
var viewOf = map[string]string{"message": "messages/", "run": "runs/", "DLQ entry": "dlq/", "flow-control key": "flow?flowControlKey="}

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
func reasonBodies(list []engine.Reason, clock *api.Clock) []api.Reason {
	out := []api.Reason{}
	last := api.Reason{Kind: "clock", Reason: "the clock is manual, and waits until it is advanced"}
	moved := false // by the next step of a reason
	for _, r := range list {
		one := reasonOf(r)
		if one.Next = nextStep(r); one.Until > clock.Now && clock.Mode == "manual" {
			if last.Until == 0 || one.Until < last.Until {
				last.Until = one.Until
			}
			if one.Next == nil {
				one.Next, moved = advance(one.Until-clock.Now), true
			}
		}
		out = append(out, one)
	}
	if last.Until == 0 {
		return out
	}
	if !moved {
		last.Next = advance(last.Until - clock.Now)
	}
	return append(out, last)
}

// advance is the step that moves a manual clock by some ms.
func advance(wait int64) *api.Remedy {
	const second = 1000 // the resolution of a move
	by := strings.Replace(strings.Replace((time.Duration((wait+second-1)/second)*time.Second).String(), "m0s", "m", 1), "h0m", "h", 1)
	return &api.Remedy{Do: "advance", Method: http.MethodPost, Path: "/_understudy/clock/advance", Command: "understudy ctl advance " + by, Does: "moves the clock to that time", Subject: by}
}

// nextStep is what ends a reason; nil if only time or an attempt does.
func nextStep(r engine.Reason) *api.Remedy {
	step := api.Remedy{}
	switch {
	case r.Event != "":
		step = remedyOf("notify", route.NotifyEvent, r.Event)
	case r.Key != "":
		step = remedyOf("unpause key", route.ResumeFlowControlKey, r.Key)
	case r.Queue != "":
		step = remedyOf("unpause queue", route.ResumeQueue, r.Queue)
	default:
		return nil
	}
	return &step
}
