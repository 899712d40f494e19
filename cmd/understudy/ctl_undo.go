package main

import (
	"encoding/json"
	"net/http"
	"net/url"
)

type (
	ctlUndo struct {
		ID   string `arg:"" optional:"" help:"The undo point to go back to, such as undo_1. Without it, the points are listed, newest first."`
		Keep string `env:"-" placeholder:"LABEL" help:"Create an undo point now, labelled with the action that follows, such as 'reset'."`
	}
	ctlSchedule struct {
		List ctlScheduleList `cmd:"" default:"1" help:"List schedules with their next run times."`
		Run  ctlScheduleRun  `cmd:"" help:"Run a schedule now; its next run time stays the same."`
	}
	ctlScheduleList struct{}
	ctlScheduleRun  struct {
		ID string `arg:"" help:"Id of the schedule."`
	}
)

// The tables of ctl undo and ctl schedules.
var (
	undoTable = listing{"points", []column{
		{"POINT", memberText("id")}, {"TIME (UTC)", memberTime("time")}, {"SCOPE", memberText("scope")}, {"BYTES", memberText("bytes")}, {"LATER", memberText("later")}, {"BEFORE", memberText("label")},
	}}
	scheduleTable = listing{"schedules", []column{
		{"SCHEDULE", memberText("scheduleId")}, {"PAUSED", memberText("isPaused")}, {"NEXT (UTC)", nextTime}, {"LAST (UTC)", memberTime("lastScheduleTime")}, {"CRON", memberText("cron")},
		{"ZONE", memberText("timeZone")}, {"DESTINATION", memberText("destination")},
	}}
)

// nextTime is the next run time of a schedule.
func nextTime(r row) string {
	times, _ := r["nextTimes"].([]any)
	if len(times) == 0 {
		return ""
	}
	return memberTime("next")(row{"next": times[0]})
}

// Run lists the undo points, creates one, or goes back to one.
func (k *ctlUndo) Run(e *env, c *cli) error {
	switch {
	case k.ID != "" && k.Keep != "":
		return usageError("--keep: must be without the id of a point")
	case k.Keep != "":
		return c.Ctl.show(e, http.MethodPost, "undo", nil, map[string]string{"label": k.Keep})
	case k.ID != "":
		return c.Ctl.show(e, http.MethodPost, "undo/"+url.PathEscape(k.ID), nil, nil)
	}
	return c.Ctl.table(e, "undo", nil, &undoTable)
}

// Run lists schedules.
func (*ctlScheduleList) Run(e *env, c *cli) error {
	return c.Ctl.table(e, "schedules", nil, &scheduleTable)
}

// Run runs a schedule now.
func (k *ctlScheduleRun) Run(e *env, c *cli) error {
	var answer json.RawMessage
	if err := c.Ctl.call(e, http.MethodPost, "schedules/"+url.PathEscape(k.ID)+"/run", nil, nil, &answer); err != nil {
		return err
	}
	return c.Ctl.print(e, answer, nil)
}
