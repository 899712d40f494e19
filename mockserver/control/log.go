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
	ID       string   `json:"dlqId"`
	At       int64    `json:"failedAt"` // Unix ms
	Message  string   `json:"messageId"`
	RunID    string   `json:"workflowRunId,omitempty"`
	URL      string   `json:"url"`
	Retried  int      `json:"retried"`
	Status   int      `json:"responseStatus,omitempty"`
	Cause    string   `json:"cause"`            // why it was given up, in words
	Answer   string   `json:"answer,omitempty"` // what it answered or the error, the beginning of it
	Labels   []string `json:"labels,omitempty"`
	FlowKey  string   `json:"flowControlKey,omitempty"`
	Callback string   `json:"failureFunctionState,omitempty"`
}

// responseShown is how much of an answer a list shows, in bytes.
const responseShown = 200

// dlqRowOf has the beginning of what the destination answered: enough to tell
// failures apart in a list.
func dlqRowOf(e *engine.DLQEntry) dlqRow {
	m := &e.Message
	row := dlqRow{
		ID: e.ID, At: e.At.UnixMilli(), Message: m.ID, RunID: m.RunID, URL: m.URL, Retried: m.Retried, Status: e.Last.Status,
		Labels: m.Options.Labels, FlowKey: m.FlowKey(), Cause: m.Cause(),
	}
	row.Answer = cmp.Or(e.Last.Err, string(e.Last.Body[:min(len(e.Last.Body), responseShown)])) // JSON makes bytes that are no text harmless
	if e.Callback != nil {
		row.Callback = e.Callback.State
	}
	return row
}

// dlq lists the DLQ without bodies and headers.
func (s *Service) dlq(c *call.Call) (response.Response, error) {
	f := c.Filter()
	f.URLPrefix, f.CountAll = true, true
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

// logRowOf names the step that was tried where an attempt failed, since the message
// still carries the result of the one before.
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
		row.Step = e.Tried // and not the one whose result the message carries
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
