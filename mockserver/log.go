package mockserver

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = register(map[string]handler{
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
			return f, invalid(fmt.Sprintf("query state %q: accepted are %s", state, strings.Join(states, ", ")),
				problem("query", "state", fmt.Sprintf("%q", state), "is not a state", strings.Join(states, ", ")))
		}
	}
	f.States = wanted
	return f, nil
}

func (s *Server) listLogs(c *call) (reply, error) {
	cursor, events, err := messageLog(c)
	return reply{body: struct {
		Cursor string         `json:"cursor,omitempty"`
		Logs   []api.LogEvent `json:"logs"`
	}{cursor, events}}, err
}

func (s *Server) listEvents(c *call) (reply, error) {
	cursor, events, err := messageLog(c)
	return reply{body: struct {
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
		events[i].Body, events[i].BodyBase64 = some(base64.StdEncoding.EncodeToString(p.Items[i].Message.Body)), nil // clients decode it
	}
	return p.Cursor, events, err
}

// logBody is an event of a plain message on the wire.
func logBody(e *engine.Event) api.LogEvent {
	m := e.Message
	var out api.LogEvent
	copyFields(&out, messageFields(m))
	out.Time = e.Time.UnixMilli()
	out.State = api.MessageState(e.State)
	out.NextDeliveryTime = ms(e.NextAt)
	out.RetryDelayExpr = out.RetryDelayExpression // clients differ in the name
	out.Error, out.DlqId, out.RetryRule = some(e.Error), some(e.DLQID), some(e.Rule)
	if e.Outcome != nil {
		out.ResponseStatus, out.ResponseHeaders = some(e.Outcome.Status), headerMap(e.Outcome.Header)
		out.ResponseBody, _ = bodyText(e.Outcome.Body)
		out.ResponseBodyNote = some(e.Outcome.Note)
	}
	if m.Dropped > 0 || e.Outcome != nil && e.Outcome.Dropped > 0 {
		out.BodyDropped = new(true)
	}
	return out
}

func (s *Server) listWorkflowMessageLogs(c *call) (reply, error) {
	f, err := c.logFilter(append(slices.Clone(messageStates), runStates...))
	if err != nil {
		return reply{}, err
	}
	f.WorkflowOnly = true
	p, err := c.account.Events(f)
	events := make([]api.WorkflowEvent, len(p.Items))
	for i := range p.Items {
		events[i] = eventBody(&p.Items[i])
	}
	return reply{body: struct {
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
		NextDeliveryTime:  ms(e.NextAt),
		DlqId:             some(e.DLQID),
	}
	if e.Step != nil {
		step := stepBody(e.Step)
		out.StepInfo = &step
	}
	if e.Message != nil {
		showOptions(e.Message.Options, &out)
		out.CallerIp = some(e.Message.CallerIP)
	}
	switch e.State {
	case string(engine.Errored):
		out.Error = some(e.Error)
		out.Headers = headerMap(e.Message.Forward)
		if o := e.Outcome; o != nil {
			out.ResponseStatus, out.ResponseHeaders = some(o.Status), headerMap(o.Header)
			out.ResponseBody, _ = bodyText(o.Body)
			out.ResponseBodyNote = some(o.Note)
		}
	case string(engine.RunStarted):
		if e.Invoker != nil {
			out.InvokerWorkflowRunId, out.InvokerWorkflowUrl = some(e.Invoker.ID), some(e.Invoker.URL)
			out.InvokerWorkflowCreatedAt = ms(e.Invoker.CreatedAt)
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
		StepId:              some(s.ID),
		StepName:            some(s.Name),
		CallType:            some(s.CallType),
		MessageId:           some(s.MessageID),
		Out:                 some(s.Out),
		Concurrent:          some(s.Concurrent),
		TargetStep:          some(s.TargetStep),
		CreatedAt:           ms(s.CreatedAt),
		SleepUntil:          ms(s.SleepUntil),
		CallUrl:             some(s.CallURL),
		CallMethod:          some(s.CallMethod),
		CallHeaders:         headerMap(s.CallHeader),
		CallBody:            some(s.CallBody),
		CallResponseStatus:  some(s.CallStatus),
		CallResponseBody:    some(s.CallResponseBody),
		CallResponseHeaders: headerMap(s.CallResponseHeader),
		WaitEventId:         some(s.WaitEventID),
		WaitTimeoutDeadline: ms(s.WaitDeadline),
		WaitTimeoutDuration: some(s.WaitFor),
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
		out.InvokedWorkflowRunId, out.InvokedWorkflowUrl = some(s.Invoked.ID), some(s.Invoked.URL)
		out.InvokedWorkflowCreatedAt = ms(s.Invoked.CreatedAt)
		out.InvokedWorkflowRunBody, out.InvokedWorkflowRunHeaders = some(s.InvokedBody), headerMap(s.InvokedHeader)
	}
	return out
}
