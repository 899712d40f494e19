package messaging

import (
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
)

func (a *API) resumeFlowControlKey(c *request.Call) (any, error) {
	return response.Empty, c.Account.SetFlowPaused(c.Vars["flowControlKey"], false)
}

// pauseFlowControlKey takes keys that no message has named yet, so it checks them
// like a publish does.
func (a *API) pauseFlowControlKey(c *request.Call) (any, error) {
	key, err := flowKeyIn(c)
	if err != nil {
		return nil, err
	}
	return response.Empty, c.Account.SetFlowPaused(key, true)
}

// pinFlowControlKey fixes limits, so that later messages cannot change them.
// Zero means that a limit is not pinned, so a call without a limit is refused.
func (a *API) pinFlowControlKey(c *request.Call) (any, error) {
	f := engine.FlowControl{Parallelism: c.Number("parallelism"), Rate: c.Number("rate")}
	if period := c.Query.Get("period"); period != "" {
		if err := request.ReadDuration(&f.Period, period); err != nil || f.Period <= 0 {
			return nil, response.RefusedValue("query", "period", period, response.Unfit("", "a duration of 1s or more, such as 30s or 1m, or seconds"))
		}
	}
	if f == (engine.FlowControl{}) {
		return nil, response.Invalid("query: must have at least one of parallelism, rate, period")
	}
	key, err := flowKeyIn(c)
	if err != nil {
		return nil, err
	}
	return response.Empty, c.Account.PinFlow(key, f)
}

// flowKeyIn is the key of the path: one segment, escaped.
func flowKeyIn(c *request.Call) (key string, err error) {
	if err := request.ReadFlowKey(&key, c.Vars["flowControlKey"]); err != nil {
		return "", response.RefusedValue("path", "flowControlKey", c.Vars["flowControlKey"], err)
	}
	return key, nil
}

// unpinFlowControlKey unpins the limits that the call names. A call that names
// none would have no effect and is refused.
func (a *API) unpinFlowControlKey(c *request.Call) (any, error) {
	parallelism, rate := c.Flag("parallelism", false), c.Flag("rate", false)
	if !parallelism && !rate {
		return nil, response.Invalid("unpin: nothing to unpin: must have at least one of parallelism=true and rate=true")
	}
	return response.Empty, c.Account.UnpinFlow(c.Vars["flowControlKey"], parallelism, rate)
}

// resetFlowControlRate sets the count of the current period to zero;
// parallelism, pins and pauses stay.
func (a *API) resetFlowControlRate(c *request.Call) (any, error) {
	return response.Empty, c.Account.ResetFlow(c.Vars["flowControlKey"])
}

func (a *API) getFlowControlKey(c *request.Call) (any, error) {
	k, err := c.Account.FlowKey(c.Vars["flowControlKey"])
	return FlowKey(&k), err
}

// listFlowControlKeys lists all keys: the operation has no pages.
func (a *API) listFlowControlKeys(c *request.Call) (any, error) {
	return response.List(c.Account.FlowKeys(), FlowKey), nil
}

// getGlobalParallelism reports the parallelism of the account: clients do not
// see other accounts.
func (a *API) getGlobalParallelism(c *request.Call) (any, error) {
	o, _ := c.Account.Overview()
	return api.GlobalParallelism{ParallelismMax: o.Parallel, ParallelismCount: o.InFlight}, nil
}

// FlowKey is a flow-control key. A limit of 0 is none, as clients require numbers.
func FlowKey(k *engine.FlowKey) api.FlowControlKey {
	out := api.FlowControlKey{
		FlowControlKey:      k.Key,
		WaitListSize:        k.Waiting,
		ParallelismCount:    k.InFlight,
		ParallelismMax:      k.Parallelism,
		IsPaused:            k.Paused,
		IsPinnedParallelism: k.PinnedParallelism,
		IsPinnedRate:        k.PinnedRate,
	}
	if k.Rate > 0 {
		out.RateMax, out.RateCount, out.RatePeriod, out.RatePeriodStart = k.Rate, k.RateCount, int(k.Period/time.Second), int(k.PeriodStart.Unix())
	}
	return out
}
