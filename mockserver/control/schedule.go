package control

import (
	"cmp"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/view"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = registerHandlers(map[string]Handler{
	"controlFlowKeys":  (*Service).flowKeys,
	"controlSchedules": (*Service).schedules,
})

// scheduleTimes is how many times of a schedule are told in advance.
const scheduleTimes = 5

// scheduleRow is a schedule in a list.
type scheduleRow struct {
	ID          string            `json:"scheduleId"`
	Cron        string            `json:"cron"`
	Destination string            `json:"destination"`
	Paused      bool              `json:"isPaused"`
	NextTimes   []int64           `json:"nextTimes"` // Unix ms
	LastAt      *int64            `json:"lastScheduleTime,omitempty"`
	LastStates  map[string]string `json:"lastScheduleStates,omitempty"` // message id -> its state
}

func scheduleRowOf(s *engine.Schedule) scheduleRow {
	row := scheduleRow{ID: s.ID, Cron: s.Cron, Destination: cmp.Or(s.Request.URL, s.Request.Group), Paused: s.Paused, NextTimes: []int64{}, LastAt: response.Millis(s.Last), LastStates: s.LastStates}
	for _, t := range s.NextTimes(scheduleTimes) {
		row.NextTimes = append(row.NextTimes, t.UnixMilli())
	}
	return row
}

// schedules lists the schedules with their next times.
func (s *Service) schedules(c *call.Call) (response.Response, error) {
	return pageOfRows(engine.Page[engine.Schedule]{Items: c.Account.Schedules()}, "schedules", scheduleRowOf), nil
}

// maxFlowKeys is how many flow-control keys are told at once unless count says
// otherwise.
const maxFlowKeys = 200

// flowKeys lists flow-control keys, those that hold something back first:
// the paused ones, then by what waits. The interface lists all of them always.
func (s *Service) flowKeys(c *call.Call) (response.Response, error) {
	part := c.Query.Get("key")
	keys := slices.DeleteFunc(c.Account.FlowKeys(), func(k engine.FlowKey) bool { return !strings.Contains(k.Key, part) })
	all := len(keys)
	slices.SortStableFunc(keys, func(x, y engine.FlowKey) int {
		if x.Paused != y.Paused {
			return cmp.Compare(countOf(y.Paused), countOf(x.Paused))
		}
		return cmp.Compare(y.Waiting, x.Waiting)
	})
	keys = keys[:min(all, cmp.Or(c.Number("count"), maxFlowKeys))]
	list := make([]api.FlowControlKey, len(keys))
	for i, k := range keys {
		list[i] = view.FlowKey(k)
	}
	return response.Response{Body: map[string]any{"keys": list, "all": all}}, nil
}

func countOf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
