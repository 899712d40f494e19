package mockserver

import (
	"cmp"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = register(map[string]handler{
	"createSchedule":      (*Server).createSchedule,
	"deleteSchedule":      (*Server).deleteSchedule,
	"getSchedule":         (*Server).getSchedule,
	"listSchedules":       (*Server).listSchedules,
	"pauseSchedule":       (*Server).pauseSchedule,
	"pauseSchedulePatch":  (*Server).pauseSchedule,
	"resumeSchedule":      (*Server).resumeSchedule,
	"resumeSchedulePatch": (*Server).resumeSchedule,
})

func (s *Server) createSchedule(c *call) (reply, error) {
	r, err := s.publishRequest(c, "destinationOrId")
	if err != nil {
		return reply{}, err
	}
	set := headerSettings(c.header).withQuery(c.query)
	var problems []spec.Problem
	cron, id := "", ""
	if given, ok := set["Cron"]; ok {
		problems = given.read(problems, func(v string) error { return text(&cron, v, 512) })
	} else {
		problems = append(problems, spec.Problem{In: "header", Name: "Svc-Cron", Rule: "required", Message: "is missing", Accepted: "five cron fields behind an optional CRON_TZ=Zone"})
	}
	if given, ok := set["Schedule-Id"]; ok {
		problems = given.read(problems, func(v string) error { return text(&id, v, 256) })
	}
	if len(problems) > 0 {
		return reply{}, refused(problems)
	}
	schedule, err := c.account.PutSchedule(id, cron, r)
	return reply{body: map[string]string{"scheduleId": schedule.ID}}, err
}

func (s *Server) listSchedules(c *call) (reply, error) {
	schedules := c.account.Schedules()
	list := make([]api.Schedule, len(schedules))
	for i, one := range schedules {
		list[i] = scheduleBody(one)
	}
	return reply{body: list}, nil
}

func (s *Server) getSchedule(c *call) (reply, error) {
	schedule, err := c.account.Schedule(c.vars["destinationOrId"])
	return reply{body: scheduleBody(schedule)}, err
}

func (s *Server) deleteSchedule(c *call) (reply, error) {
	return empty, c.account.DeleteSchedule(c.vars["destinationOrId"])
}

func (s *Server) pauseSchedule(c *call) (reply, error) {
	return empty, c.account.PauseSchedule(c.vars["scheduleId"])
}

func (s *Server) resumeSchedule(c *call) (reply, error) {
	return empty, c.account.ResumeSchedule(c.vars["scheduleId"])
}

func scheduleBody(s engine.Schedule) api.Schedule {
	r := s.Request
	out := api.Schedule{
		ScheduleId:       s.ID,
		Cron:             s.Cron,
		Destination:      cmp.Or(r.URL, r.Group),
		CreatedAt:        s.CreatedAt.UnixMilli(),
		Header:           headerMap(merged(r.Forward, r.Options.Forward)),
		CallerIP:         some(r.CallerIP),
		IsPaused:         s.Paused,
		NextScheduleTime: ms(s.Next),
		LastScheduleTime: ms(s.Last),
	}
	showOptions(&r.Options, &out)
	out.Body, out.BodyBase64 = bodyText(r.Body)
	if len(s.LastStates) > 0 {
		out.LastScheduleStates = &s.LastStates
	}
	return out
}
