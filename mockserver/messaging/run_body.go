package messaging

import (
	"encoding/base64"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
)

// WorkflowEvent is an event of a run on the wire. "Workflow log event" in the
// document defines the fields of each state.
func WorkflowEvent(e *engine.Event) api.WorkflowEvent {
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
		step := Step(e.Step)
		out.StepInfo = &step
	}
	if e.Message != nil {
		request.ShowOptions(e.Message.Options, &out)
		out.CallerIp = response.Optional(e.Message.CallerIP)
	}
	switch e.State {
	case string(engine.Errored):
		out.Error = response.Optional(e.Error)
		out.Headers = response.HeaderMap(e.Message.Headers.Forward().Header())
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

// Step is stepInfo on the wire (names decided: 4).
func Step(s *engine.Step) api.StepInfo {
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

// runCreatedBody is a run that has just been started.
func runCreatedBody(run *engine.RunRef) api.WorkflowRunCreated {
	return api.WorkflowRunCreated{WorkflowRunId: run.ID, WorkflowCreatedAt: run.CreatedAt.UnixMilli()}
}

// triggeredBody is the receipt of a trigger. If the trigger was deduplicated, the run is
// that of the earlier one.
func triggeredBody(rs *engine.Receipts) api.WorkflowTriggered {
	r := &rs.One
	return api.WorkflowTriggered{WorkflowRunId: r.RunID, WorkflowCreatedAt: r.RunCreatedAt.UnixMilli(), Deduplicated: response.Optional(r.Deduplicated)}
}

// Run is a run with its steps, grouped as they ran, and the result of its failure
// function ("List workflow runs").
func Run(v *engine.RunView) api.WorkflowRun {
	out := api.WorkflowRun{
		WorkflowRunId:          v.ID,
		WorkflowUrl:            v.URL,
		WorkflowState:          api.WorkflowRunWorkflowState(v.State),
		WorkflowRunCreatedAt:   v.CreatedAt.UnixMilli(),
		WorkflowRunCompletedAt: response.Millis(v.EndedAt),
		WorkflowRunCallerIp:    response.Optional(v.CallerIP),
		DlqId:                  response.Optional(v.DLQID),
		Steps: response.List(v.Groups, func(g *engine.StepGroup) api.RunStepGroup {
			return api.RunStepGroup{Type: api.RunStepGroupType(g.Type), Steps: response.List(g.Steps, runStepBody)}
		}),
	}
	if v.State == engine.RunSuccess {
		response := string(v.Result)
		out.WorkflowRunResponse = &response
	}
	request.ShowOptions(v.Options, &out)
	if v.Invoker != nil {
		out.Invoker = &api.RunRef{WorkflowRunId: response.Optional(v.Invoker.ID), WorkflowUrl: response.Optional(v.Invoker.URL), WorkflowRunCreatedAt: response.Millis(v.Invoker.CreatedAt)}
	}
	if e := v.Failure; e != nil {
		cb := e.Callback
		out.FailureFunction = &api.FailureFunction{
			MessageId: cb.MessageID, Url: e.Message.Options.FailureCallback.URL, State: cb.State, DlqId: e.ID,
			FailStatus: e.Last.Status, FailHeaders: api.HeaderMap(notNil(e.Last.Header)), FailResponse: onlyText(lastResponse(e)),
			ResponseStatus: response.Optional(cb.Status), ResponseHeaders: response.HeaderMap(cb.Header),
		}
		out.FailureFunction.ResponseBody, _ = response.BodyText(cb.Body)
	}
	return out
}

// runStepBody is a step with the results of its attempts. The fields that it shares
// with stepInfo are copied by name.
func runStepBody(v *engine.StepView) api.RunStep {
	var out api.RunStep
	response.CopyFields(&out, Step(&v.Step))
	if v.WaitEventID != "" && out.WaitTimeout == nil { // the wait has not ended
		out.WaitTimeout = new(false)
	}
	out.State = response.Optional(v.State)
	out.Headers = response.HeaderMap(v.Header)
	out.Retries = &v.Retries
	out.RetryDelay = response.Optional(v.RetryDelay)
	out.NextDeliveryTime = response.Millis(v.NextAt)
	if len(v.Errors) > 0 {
		out.Errors = new(response.List(v.Errors, func(e *engine.StepError) api.StepError {
			return api.StepError{Error: e.Error, Body: onlyText(response.BodyText([]byte(e.Body))), Headers: api.HeaderMap(notNil(e.Header)), Status: e.Status, Time: e.Time.UnixMilli()}
		}))
	}
	return out
}

// waiterBody is a run that waits for an event. The headers include the id of the run,
// because clients read it there.
func waiterBody(w *engine.Waiter) api.Waiter {
	deadline := w.Deadline.Unix()
	headers := mergeHeaders(w.Header, engine.Header{"Svc-Workflow-Runid": {w.ID}})
	out := api.Waiter{Url: response.Optional(w.URL), Headers: response.HeaderMap(headers), Deadline: &deadline, TimeoutUrl: response.Optional(w.TimeoutURL), TimeoutHeaders: response.HeaderMap(w.TimeoutHeader)}
	if len(w.TimeoutBody) > 0 {
		out.TimeoutBody = response.Optional(base64.StdEncoding.EncodeToString(w.TimeoutBody))
	}
	return out
}
