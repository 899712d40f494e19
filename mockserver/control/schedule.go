package control

import (
	"cmp"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/messaging"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
)

// scheduleTimes is how many next times of a schedule are listed.
const scheduleTimes = 5

func scheduleRowOf(s *engine.Schedule) api.ScheduleRow {
	row := api.ScheduleRow{ScheduleID: s.ID, Cron: s.Cron, Words: CronWords(s.Line.Expression()), TimeZone: s.Line.Zone.String(), Destination: cmp.Or(s.Request.URL, s.Request.Group), IsPaused: s.Paused, NextTimes: []int64{}, LastScheduleTime: millis(s.Last), LastScheduleStates: s.LastStates}
	for _, t := range s.NextTimes(scheduleTimes) {
		row.NextTimes = append(row.NextTimes, t.UnixMilli())
	}
	return row
}

// schedules lists the schedules with their next times.
func (s *Service) schedules(c *request.Call) (any, error) {
	return pageOfRows(engine.Page[engine.Schedule]{Items: c.Account.Schedules()}, "schedules", scheduleRowOf), nil
}

// runSchedule publishes the message of a schedule now.
func (s *Service) runSchedule(c *request.Call) (any, error) {
	ids, err := c.Account.RunSchedule(c.Vars["scheduleId"])
	return map[string][]string{"messageIds": append([]string{}, ids...)}, err
}

// maxFlowKeys is the default for the maximum number of flow-control keys in a response.
const maxFlowKeys = 200

// flowKeys lists flow-control keys: the paused ones first, then those with the most
// waiting messages. The interface, in contrast, always lists all keys.
func (s *Service) flowKeys(c *request.Call) (any, error) {
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
	return map[string]any{"keys": response.List(keys, messaging.FlowKey), "all": all}, nil
}

func countOf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
