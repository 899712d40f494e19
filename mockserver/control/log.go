package control

import (
	"cmp"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/spec/api"
)

// responseShown is how much of an answer or error a list shows, in bytes.
const responseShown = 200

// dlqRowOf includes the start of the last answer, so that the failures in a list can
// be distinguished.
func dlqRowOf(e *engine.DLQEntry) api.DLQRow {
	m := &e.Message
	row := api.DLQRow{
		DLQID: e.ID, FailedAt: e.At.UnixMilli(), MessageID: m.ID, Role: string(m.Role), Source: "message", WorkflowRunID: m.RunID, URL: m.URL, Retried: int(m.Retried), Attempts: m.Attempts(), ResponseStatus: e.Last.Status,
		Labels: m.Options.Labels, FlowControlKey: m.FlowKey(), Cause: m.Cause(),
	}
	row.Answer = cmp.Or(e.Last.Err, string(e.Last.Body[:min(len(e.Last.Body), responseShown)])) // the JSON encoder replaces invalid UTF-8
	if e.Run != nil {
		row.Source = "workflow"
	}
	if e.Callback != nil {
		row.FailureFunctionState = e.Callback.State
	}
	return row
}

// dlq lists the DLQ without bodies and headers.
func (s *Service) dlq(c *request.Call) (any, error) {
	f := c.Filter()
	f.URLPrefix, f.CountAll, f.Sort = true, true, c.Query.Get("sort")
	p, err := c.Account.DLQ(f)
	out := pageOfRows(p, "entries", dlqRowOf)
	out.Body.(map[string]any)["all"] = p.Counts["message"] + p.Counts["workflow"]
	return out, err
}

// logRowOf names the step that was tried if an attempt failed, because the message
// still carries the result of the previous step.
func logRowOf(e *engine.Event) api.LogRow {
	row := api.LogRow{Sequence: int64(e.Seq), Time: e.Time.UnixMilli(), State: e.State, Error: strings.ToValidUTF8(e.Error[:min(len(e.Error), responseShown)], "?"), NextDeliveryTime: millis(e.NextAt)}
	if e.Message != nil {
		row.MessageID, row.URL = e.Message.ID, e.Message.URL
	}
	if e.Run != nil {
		row.WorkflowRunID, row.URL = e.Run.ID, e.Run.URL
	}
	if e.Step != nil {
		row.StepName, row.Asleep = e.Step.Name, e.Asleep()
	}
	if e.Outcome != nil {
		row.ResponseStatus, row.Cause = e.Outcome.Status, e.Outcome.Cause()
	}
	if row.Cause != "" && e.Step != nil {
		row.StepName = e.Tried
	}
	return row
}

// log lists the events of messages and runs without bodies and headers.
func (s *Service) log(c *request.Call) (any, error) {
	f, err := c.LogFilter(append(slices.Clone(request.MessageStates), request.RunStates...))
	if err != nil {
		return nil, err
	}
	f.URLPrefix = true
	p, err := c.Account.Events(f)
	return pageOfRows(p, "events", logRowOf), err
}
