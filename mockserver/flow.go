package mockserver

import (
	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/view"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = registerHandlers(map[string]handler{
	"getFlowControlKey":    (*Server).getFlowControlKey,
	"getGlobalParallelism": (*Server).getGlobalParallelism,
	"listFlowControlKeys":  (*Server).listFlowControlKeys,
	"pauseFlowControlKey":  (*Server).pauseFlowControlKey,
	"pinFlowControlKey":    (*Server).pinFlowControlKey,
	"resetFlowControlRate": (*Server).resetFlowControlRate,
	"resumeFlowControlKey": (*Server).resumeFlowControlKey,
	"unpinFlowControlKey":  (*Server).unpinFlowControlKey,
})

func (s *Server) resumeFlowControlKey(c *call) (response.Response, error) {
	return emptyObject, c.account.SetFlowPaused(c.vars["flowControlKey"], false)
}

func (s *Server) pauseFlowControlKey(c *call) (response.Response, error) {
	key, err := flowKeyIn(c)
	if err != nil {
		return response.Response{}, err
	}
	return emptyObject, c.account.SetFlowPaused(key, true)
}

func (s *Server) pinFlowControlKey(c *call) (response.Response, error) {
	f := engine.FlowControl{Parallelism: c.number("parallelism"), Rate: c.number("rate")}
	if period := c.query.Get("period"); period != "" {
		if err := request.ReadDuration(&f.Period, period); err != nil || f.Period <= 0 {
			return response.Response{}, response.RefusedValue("query", "period", period, response.Unfit("", "a duration from 1s up, such as 30s or 1m, or seconds"))
		}
	}
	if f == (engine.FlowControl{}) {
		return response.Response{}, response.Invalid("pin: nothing to pin: must have at least one of parallelism, rate and period")
	}
	key, err := flowKeyIn(c)
	if err != nil {
		return response.Response{}, err
	}
	return emptyObject, c.account.PinFlow(key, f)
}

// flowKeyIn is the key of the path: one segment, escaped.
func flowKeyIn(c *call) (key string, err error) {
	if err := request.ReadFlowKey(&key, c.vars["flowControlKey"]); err != nil {
		return "", response.RefusedValue("path", "flowControlKey", c.vars["flowControlKey"], err)
	}
	return key, nil
}

func (s *Server) unpinFlowControlKey(c *call) (response.Response, error) {
	parallelism, rate := c.flag("parallelism", false), c.flag("rate", false)
	if !parallelism && !rate {
		return response.Response{}, response.Invalid("unpin: nothing to unpin: must have at least one of parallelism=true and rate=true")
	}
	return emptyObject, c.account.UnpinFlow(c.vars["flowControlKey"], parallelism, rate)
}

func (s *Server) resetFlowControlRate(c *call) (response.Response, error) {
	return emptyObject, c.account.ResetFlow(c.vars["flowControlKey"])
}

func (s *Server) getFlowControlKey(c *call) (response.Response, error) {
	k, err := c.account.FlowKey(c.vars["flowControlKey"])
	return response.Response{Body: view.FlowKey(k)}, err
}

func (s *Server) listFlowControlKeys(c *call) (response.Response, error) {
	keys := c.account.FlowKeys()
	list := make([]api.FlowControlKey, len(keys))
	for i, k := range keys {
		list[i] = view.FlowKey(k)
	}
	return response.Response{Body: list}, nil
}

func (s *Server) getGlobalParallelism(c *call) (response.Response, error) {
	o, _ := c.account.Overview()
	return response.Response{Body: api.GlobalParallelism{ParallelismMax: o.Parallel, ParallelismCount: o.InFlight}}, nil
}
