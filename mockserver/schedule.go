package mockserver

import (
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/view"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = registerHandlers(map[string]handler{
	"createSchedule":      (*Server).createSchedule,
	"deleteSchedule":      (*Server).deleteSchedule,
	"getSchedule":         (*Server).getSchedule,
	"listSchedules":       (*Server).listSchedules,
	"pauseSchedule":       (*Server).pauseSchedule,
	"pauseSchedulePatch":  (*Server).pauseSchedule,
	"resumeSchedule":      (*Server).resumeSchedule,
	"resumeSchedulePatch": (*Server).resumeSchedule,
})

// createSchedule replaces a schedule with the same id. All that is wrong is reported
// at once, what a publish would refuse as well.
func (s *Server) createSchedule(c *call.Call) (response.Response, error) {
	r, err := s.publishRequest(c, "destinationOrId")
	if err != nil {
		return response.Response{}, err
	}
	set := request.SettingsOf(c.Header).WithQuery(c.Query)
	var problems []spec.Problem
	cron, id := "", ""
	if given, ok := set["Cron"]; ok {
		problems = given.Read(problems, func(v string) error { return request.ReadText(&cron, v, 512) })
	} else {
		problems = append(problems, spec.Problem{In: "header", Name: "Svc-Cron", Rule: "required", Message: "missing", Accepted: "five cron fields behind an optional CRON_TZ=Zone"})
	}
	if given, ok := set["Schedule-Id"]; ok {
		problems = given.Read(problems, func(v string) error { return request.ReadText(&id, v, 256) })
	}
	if len(problems) > 0 {
		return response.Response{}, response.Refused(problems)
	}
	schedule, err := c.Account.PutSchedule(id, cron, r)
	return response.Response{Body: map[string]string{"scheduleId": schedule.ID}}, err
}

func (s *Server) listSchedules(c *call.Call) (response.Response, error) {
	schedules := c.Account.Schedules()
	list := make([]api.Schedule, len(schedules))
	for i, one := range schedules {
		list[i] = view.Schedule(one)
	}
	return response.Response{Body: list}, nil
}

func (s *Server) getSchedule(c *call.Call) (response.Response, error) {
	schedule, err := c.Account.Schedule(c.Vars["destinationOrId"])
	return response.Response{Body: view.Schedule(schedule)}, err
}

func (s *Server) deleteSchedule(c *call.Call) (response.Response, error) {
	return response.Empty, c.Account.DeleteSchedule(c.Vars["destinationOrId"])
}

// pauseSchedule skips the times that pass meanwhile; they are not made up for.
func (s *Server) pauseSchedule(c *call.Call) (response.Response, error) {
	return response.Empty, c.Account.SetSchedulePaused(c.Vars["scheduleId"], true)
}

func (s *Server) resumeSchedule(c *call.Call) (response.Response, error) {
	return response.Empty, c.Account.SetSchedulePaused(c.Vars["scheduleId"], false)
}
