package control

import (
	"strings"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/spec/api"
)

// forgets is what a reset of the account removes, in words.
func forgets(o *api.Overview, rewrites int) string {
	messages, runs := 0, 0
	for _, n := range o.Messages {
		messages += n
	}
	for _, n := range o.Runs {
		runs += n
	}
	var parts []string
	for _, part := range []struct {
		n         int
		one, many string
	}{
		{messages, "message", "messages"}, {runs, "run", "runs"},
		{o.DLQ, "DLQ entry", "DLQ entries"}, {o.Schedules, "schedule", "schedules"}, {o.Groups, "URL group", "URL groups"},
		{o.Queues, "queue", "queues"}, {o.FlowKeys, "flow-control key", "flow-control keys"},
		{o.Stubs, "stub", "stubs"}, {o.Faults, "fault", "faults"}, {rewrites, "rewrite", "rewrites"},
	} {
		if part.n > 0 {
			parts = append(parts, clip.Counted(part.n, part.one, part.many))
		}
	}
	return strings.Join(append(parts, "the log, the statistics and the journals, vectors and search indexes, and the key-value store"), ", ")
}

// byState names states as texts.
func byState[S ~string](counts map[S]int) map[string]int {
	texts := make(map[string]int, len(counts))
	for state, n := range counts {
		texts[string(state)] = n
	}
	return texts
}

// overviewOf reads the account first, so that later changes wake the follower again.
func (s *Service) overviewOf(w *tenant.Tenant) (api.Overview, <-chan struct{}) {
	o, more := w.Account.Overview()
	clock := s.clockBody(w)
	wall := s.Wall.Now()
	body := api.Overview{
		Account: w.ID, Clock: api.Clock{Mode: clock.Mode, Now: o.Now.UnixMilli()}, Real: wall.UnixMilli(), NextDue: millis(o.NextDue),
		Messages: byState(o.Messages), Runs: byState(o.Runs), Attempts: o.Attempts, PerSecond: w.Meter.Read(wall, o.Attempts),
		InFlight: o.InFlight, Parallel: o.Parallel, DLQ: o.DLQ, FlowKeys: o.FlowKeys, Paused: o.Paused,
		Groups: o.Groups, Queues: o.Queues, Schedules: o.Schedules, Waiters: o.Waiters,
		Stubs: len(w.Stubs.Get()), Faults: len(w.Faults.Get()), Journal: s.Store != nil, Repeats: s.Tenants.Repeats(w), Flags: s.Flags,
	}
	body.Forgets = forgets(&body, len(w.Rewrites.Get()))
	return body, more
}

// overview summarizes an account, once or whenever it changes. The minimum interval
// between two summaries is tenant.MeterSpan, so that the cost of a follower does not
// depend on the traffic.
func (s *Service) overview(c *request.Call) (any, error) {
	if !c.Flag("follow", false) {
		body, _ := s.overviewOf(c.Tenant)
		return body, nil
	}
	return s.stream(c, "overview", tenant.MeterSpan, func() ([]sent, <-chan struct{}) {
		body, more := s.overviewOf(c.Tenant)
		if body.PerSecond > 0 {
			more = givenSign // the rate falls without further changes
		}
		return []sent{{0, func() any { return body }}}, more
	}), nil
}

// givenSign is a closed channel: it signals at once.
var givenSign = func() <-chan struct{} {
	sign := make(chan struct{})
	close(sign)
	return sign
}()
