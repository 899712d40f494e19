package messaging

import (
	"errors"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
)

// createSchedule replaces a schedule with the same id. One error reports all
// problems, including those that a publish would have.
func (a *API) createSchedule(c *request.Call) (any, error) {
	r, err := a.publishRequest(c, "destinationOrId")
	if err != nil {
		return nil, err
	}
	set := request.SettingsOf(c.Header).WithQuery(c.Query)
	var problems []spec.Problem
	cron, id := "", ""
	if given, ok := set.Find("Cron"); ok {
		problems = given.Read(problems, func(v string) error { return request.ReadText(&cron, v, 512) })
	} else {
		problems = append(problems, spec.Problem{In: "header", Name: "Svc-Cron", Rule: "required", Message: "missing", Accepted: "five cron fields after an optional CRON_TZ=Zone"})
	}
	if given, ok := set.Find("Schedule-Id"); ok {
		problems = given.Read(problems, func(v string) error { return request.ReadText(&id, v, 256) })
	}
	if len(problems) > 0 {
		return nil, response.Refused(problems)
	}
	schedule, err := c.Account.PutSchedule(id, cron, r)
	if wrong, ok := errors.AsType[*refusal.Error](err); ok && wrong.What == "cron" {
		given, _ := set.Find("Cron")
		err = response.RefusedValue(given.In, given.Name, cron, wrong)
	}
	return map[string]string{"scheduleId": schedule.ID}, err
}

func (a *API) listSchedules(c *request.Call) (any, error) {
	return response.List(c.Account.Schedules(), scheduleBody), nil
}

func (a *API) getSchedule(c *request.Call) (any, error) {
	schedule, err := c.Account.Schedule(c.Vars["destinationOrId"])
	return scheduleBody(&schedule), err
}

func (a *API) deleteSchedule(c *request.Call) (any, error) {
	return response.Empty, c.Account.DeleteSchedule(c.Vars["destinationOrId"])
}

// pauseSchedule makes the schedule skip the times that pass while it is paused;
// a resume does not repeat them.
func (a *API) pauseSchedule(c *request.Call) (any, error) {
	return response.Empty, c.Account.SetSchedulePaused(c.Vars["scheduleId"], true)
}

func (a *API) resumeSchedule(c *request.Call) (any, error) {
	return response.Empty, c.Account.SetSchedulePaused(c.Vars["scheduleId"], false)
}
