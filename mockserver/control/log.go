package control

import (
	"cmp"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = registerHandlers(map[string]Handler{
	"controlDLQ": (*Service).dlq,
	"controlLog": (*Service).log,
})

// dlqRow is a DLQ entry in a list.
type dlqRow struct {
	ID       string      `json:"dlqId"`
	At       int64       `json:"failedAt"` // Unix ms
	Message  string      `json:"messageId"`
	Role     engine.Role `json:"role"`   // of the message
	Source   string      `json:"source"` // workflow: a failed run; message: others, such as the failure callback of a run
	RunID    string      `json:"workflowRunId,omitempty"`
	URL      string      `json:"url"`
	Retried  int         `json:"retried"`
	Attempts int         `json:"attempts"` // started attempts
	Status   int         `json:"responseStatus,omitempty"`
	Cause    string      `json:"cause"`            // why the message failed, in words
	Answer   string      `json:"answer,omitempty"` // start of the last answer, or the error
	Labels   []string    `json:"labels,omitempty"`
	FlowKey  string      `json:"flowControlKey,omitempty"`
	Callback string      `json:"failureFunctionState,omitempty"`
}

// responseShown is how much of an answer or error a list shows, in bytes.
const responseShown = 200

// dlqRowOf includes the start of the last answer, so that the failures in a list can
// be distinguished.
func dlqRowOf(e *engine.DLQEntry) dlqRow {
	m := &e.Message
	row := dlqRow{
		ID: e.ID, At: e.At.UnixMilli(), Message: m.ID, Role: m.Role, Source: "message", RunID: m.RunID, URL: m.URL, Retried: int(m.Retried), Attempts: m.Attempts(), Status: e.Last.Status,
		Labels: m.Options.Labels, FlowKey: m.FlowKey(), Cause: m.Cause(),
	}
	row.Answer = cmp.Or(e.Last.Err, string(e.Last.Body[:min(len(e.Last.Body), responseShown)])) // the JSON encoder replaces invalid UTF-8
	if e.Run != nil {
		row.Source = "workflow"
	}
	if e.Callback != nil {
		row.Callback = e.Callback.State
	}
	return row
}

// dlq lists the DLQ without bodies and headers.
func (s *Service) dlq(c *call.Call) (response.Response, error) {
	f := c.Filter()
	f.URLPrefix, f.CountAll, f.Sort = true, true, c.Query.Get("sort")
	p, err := c.Account.DLQ(f)
	out := pageOfRows(p, "entries", dlqRowOf)
	out.Body.(map[string]any)["all"] = p.All
	return out, err
}

// logRow is an event of a message or a run in a list.
type logRow struct {
	Seq     uint64 `json:"sequence"`
	At      int64  `json:"time"` // Unix ms
	State   string `json:"state"`
	Message string `json:"messageId,omitempty"`
	URL     string `json:"url"`
	RunID   string `json:"workflowRunId,omitempty"`
	Step    string `json:"stepName,omitempty"`
	Status  int    `json:"responseStatus,omitempty"`
	Error   string `json:"error,omitempty"`
	Cause   string `json:"cause,omitempty"`            // the error in words
	Asleep  bool   `json:"asleep,omitempty"`           // the step sleeps until nextDeliveryTime
	NextAt  *int64 `json:"nextDeliveryTime,omitempty"` // Unix ms
}

// logRowOf names the step that was tried if an attempt failed, because the message
// still carries the result of the previous step.
func logRowOf(e *engine.Event) logRow {
	row := logRow{Seq: e.Seq, At: e.Time.UnixMilli(), State: e.State, Error: strings.ToValidUTF8(e.Error[:min(len(e.Error), responseShown)], "?"), NextAt: response.Millis(e.NextAt)}
	if e.Message != nil {
		row.Message, row.URL = e.Message.ID, e.Message.URL
	}
	if e.Run != nil {
		row.RunID, row.URL = e.Run.ID, e.Run.URL
	}
	if e.Step != nil {
		row.Step, row.Asleep = e.Step.Name, e.Asleep()
	}
	if e.Outcome != nil {
		row.Status, row.Cause = e.Outcome.Status, e.Outcome.Cause()
	}
	if row.Cause != "" && e.Step != nil {
		row.Step = e.Tried
	}
	return row
}

// log lists the events of messages and runs without bodies and headers.
func (s *Service) log(c *call.Call) (response.Response, error) {
	f, err := c.LogFilter(append(slices.Clone(call.MessageStates), call.RunStates...))
	if err != nil {
		return response.Response{}, err
	}
	f.URLPrefix = true
	p, err := c.Account.Events(f)
	return pageOfRows(p, "events", logRowOf), err
}
