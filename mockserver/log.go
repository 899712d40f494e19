package mockserver

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = registerHandlers(map[string]handler{
	"listEvents":              (*Server).listEvents,
	"listLogs":                (*Server).listLogs,
	"listWorkflowMessageLogs": (*Server).listWorkflowMessageLogs,
})

// messageStates and runStates are the values of the filter state. IN_PROGRESS
// stands for three of them.
var (
	messageStates = []string{"ACTIVE", "CANCELED", "CANCEL_REQUESTED", "CREATED", "DELIVERED", "ERROR", "FAILED", "RETRY"}
	runStates     = []string{"INVOKED", "RUN_CANCELED", "RUN_FAILED", "RUN_STARTED", "RUN_SUCCESS", "WAITER_ADDED"}
)

// logFilter reads the filters of a log and refuses states that do not exist.
func (c *call) logFilter(states []string) (engine.Filter, error) {
	f := c.filter()
	var wanted []string
	for _, state := range f.States {
		switch {
		case state == "IN_PROGRESS":
			wanted = append(wanted, "ACTIVE", "RETRY", "ERROR")
		case state == "CANCELLED":
			wanted = append(wanted, "CANCELED")
		case slices.Contains(states, state):
			wanted = append(wanted, state)
		default:
			return f, response.RefusedValue("query", "state", state, response.Unfit("", "one of "+strings.Join(states, ", ")))
		}
	}
	f.States = wanted
	return f, nil
}

func (s *Server) listLogs(c *call) (response.Response, error) {
	cursor, events, err := messageLog(c)
	return response.Response{Body: struct {
		Cursor string         `json:"cursor,omitempty"`
		Logs   []api.LogEvent `json:"logs"`
	}{cursor, events}}, err
}

func (s *Server) listEvents(c *call) (response.Response, error) {
	cursor, events, err := messageLog(c)
	return response.Response{Body: struct {
		Cursor string         `json:"cursor,omitempty"`
		Events []api.LogEvent `json:"events"`
	}{cursor, events}}, err
}

func messageLog(c *call) (cursor string, events []api.LogEvent, err error) {
	f, err := c.logFilter(messageStates)
	if err != nil {
		return "", nil, err
	}
	f.MessagesOnly = true
	p, err := c.account.Events(f)
	events = make([]api.LogEvent, len(p.Items))
	for i := range p.Items {
		events[i] = logBody(&p.Items[i])
		events[i].Body, events[i].BodyBase64 = response.Optional(base64.StdEncoding.EncodeToString(p.Items[i].Message.Body)), nil // clients decode it
	}
	return p.Cursor, events, err
}

// logBody is an event of a plain message on the wire.
func logBody(e *engine.Event) api.LogEvent {
	m := e.Message
	var out api.LogEvent
	response.CopyFields(&out, messageFields(m))
	out.Time = e.Time.UnixMilli()
	out.State = api.MessageState(e.State)
	out.NextDeliveryTime = response.Millis(e.NextAt)
	out.RetryDelayExpr = out.RetryDelayExpression // clients differ in the name
	out.Error, out.DlqId, out.RetryRule = response.Optional(e.Error), response.Optional(e.DLQID), response.Optional(e.Rule)
	if e.Outcome != nil {
		out.ResponseStatus, out.ResponseHeaders = response.Optional(e.Outcome.Status), response.HeaderMap(e.Outcome.Header)
		out.ResponseBody, _ = response.BodyText(e.Outcome.Body)
		out.ResponseBodyNote = response.Optional(e.Outcome.Note)
	}
	if m.Dropped > 0 || e.Outcome != nil && e.Outcome.Dropped > 0 {
		out.BodyDropped = new(true)
	}
	return out
}

func (s *Server) listWorkflowMessageLogs(c *call) (response.Response, error) {
	f, err := c.logFilter(append(slices.Clone(messageStates), runStates...))
	if err != nil {
		return response.Response{}, err
	}
	f.WorkflowOnly = true
	p, err := c.account.Events(f)
	events := make([]api.WorkflowEvent, len(p.Items))
	for i := range p.Items {
		events[i] = eventBody(&p.Items[i])
	}
	return response.Response{Body: struct {
		Cursor string              `json:"cursor,omitempty"`
		Events []api.WorkflowEvent `json:"events"`
	}{p.Cursor, events}}, err
}

// eventBody is an event of a run on the wire ("Workflow log event"): each
// field exactly when the document says so.
func eventBody(e *engine.Event) api.WorkflowEvent {
	out := api.WorkflowEvent{
		Time:              e.Time.UnixMilli(),
		State:             api.WorkflowEventState(e.State),
		WorkflowRunId:     e.Run.ID,
		WorkflowUrl:       e.Run.URL,
		WorkflowCreatedAt: e.Run.CreatedAt.UnixMilli(),
		NextDeliveryTime:  response.Millis(e.NextAt),
		DlqId:             response.Optional(e.DLQID),
	}
	if e.Step != nil {
		step := stepBody(e.Step)
		out.StepInfo = &step
	}
	if e.Message != nil {
		request.ShowOptions(e.Message.Options, &out)
		out.CallerIp = response.Optional(e.Message.CallerIP)
	}
	switch e.State {
	case string(engine.Errored):
		out.Error = response.Optional(e.Error)
		out.Headers = response.HeaderMap(e.Message.Forward)
		if o := e.Outcome; o != nil {
			out.ResponseStatus, out.ResponseHeaders = response.Optional(o.Status), response.HeaderMap(o.Header)
			out.ResponseBody, _ = response.BodyText(o.Body)
			out.ResponseBodyNote = response.Optional(o.Note)
		}
	case string(engine.RunStarted):
		if e.Invoker != nil {
			out.InvokerWorkflowRunId, out.InvokerWorkflowUrl = response.Optional(e.Invoker.ID), response.Optional(e.Invoker.URL)
			out.InvokerWorkflowCreatedAt = response.Millis(e.Invoker.CreatedAt)
		}
	case string(engine.RunSuccess):
		response := string(e.Result)
		out.WorkflowRunResponse = &response
	}
	return out
}

// stepBody is stepInfo on the wire (names decided: 4).
func stepBody(s *engine.Step) api.StepInfo {
	out := api.StepInfo{
		StepId:              response.Optional(s.ID),
		StepName:            response.Optional(s.Name),
		CallType:            response.Optional(s.CallType),
		MessageId:           response.Optional(s.MessageID),
		Out:                 response.Optional(s.Out),
		Concurrent:          response.Optional(s.Concurrent),
		TargetStep:          response.Optional(s.TargetStep),
		CreatedAt:           response.Millis(s.CreatedAt),
		SleepUntil:          response.Millis(s.SleepUntil),
		CallUrl:             response.Optional(s.CallURL),
		CallMethod:          response.Optional(s.CallMethod),
		CallHeaders:         response.HeaderMap(s.CallHeader),
		CallBody:            response.Optional(s.CallBody),
		CallResponseStatus:  response.Optional(s.CallStatus),
		CallResponseBody:    response.Optional(s.CallResponseBody),
		CallResponseHeaders: response.HeaderMap(s.CallResponseHeader),
		WaitEventId:         response.Optional(s.WaitEventID),
		WaitTimeoutDeadline: response.Millis(s.WaitDeadline),
		WaitTimeoutDuration: response.Optional(s.WaitFor),
		WaitTimeout:         s.WaitTimedOut,
	}
	if s.Type != "" {
		kind := api.StepInfoStepType(s.Type)
		out.StepType = &kind
	}
	if s.SleepFor > 0 {
		millis := int64(s.SleepFor / time.Millisecond)
		out.SleepFor = &millis
	}
	if s.Invoked != nil {
		out.InvokedWorkflowRunId, out.InvokedWorkflowUrl = response.Optional(s.Invoked.ID), response.Optional(s.Invoked.URL)
		out.InvokedWorkflowCreatedAt = response.Millis(s.Invoked.CreatedAt)
		out.InvokedWorkflowRunBody, out.InvokedWorkflowRunHeaders = response.Optional(s.InvokedBody), response.HeaderMap(s.InvokedHeader)
	}
	return out
}
