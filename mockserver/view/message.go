package view

import (
	"cmp"
	"maps"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
)

// DLQEntry is a DLQ entry on the wire ("DLQ entry"; names decided: 2).
func DLQEntry(e *engine.DLQEntry) api.WorkflowDLQEntry {
	out := api.WorkflowDLQEntry{DlqId: e.ID}
	response.CopyFields(&out, Message(&e.Message))
	out.Header = api.HeaderMap(notNil(e.Message.Header))
	if e.Run == nil {
		out.Header = api.HeaderMap(notNil(e.Message.Forward))
	} else {
		out.WorkflowRunId, out.WorkflowUrl = e.Run.ID, e.Run.URL
		out.WorkflowCreatedAt = e.Run.CreatedAt.UnixMilli()
		out.Body, out.BodyBase64 = response.BodyText(e.Payload)
	}
	// The Python client reads no entry without a status: 0 if nothing answered.
	out.ResponseStatus, out.ResponseHeader = new(e.Last.Status), response.HeaderMap(e.Last.Header)
	out.ResponseBody, out.ResponseBodyBase64 = response.BodyText(e.Last.Body)
	out.ResponseBodyNote = response.Optional(e.Last.Note)
	if e.Last.Status == 0 && e.Last.Err != "" {
		out.ResponseBody = response.Optional(strings.ToValidUTF8(e.Last.Err, "?"))
	}
	if cb := e.Callback; cb != nil {
		info := api.FailureCallbackInfo{ResponseStatus: response.Optional(cb.Status), ResponseHeaders: response.HeaderMap(cb.Header), RequestHeaders: response.HeaderMap(cb.RequestHeader)}
		state := api.FailureCallbackInfoState(cb.State)
		info.State = &state
		info.ResponseBody, _ = response.BodyText(cb.Body)
		out.FailureCallbackInfo, out.FailureFunctionState, out.FailureCallbackHeader = &info, response.Optional(cb.State), response.HeaderMap(cb.RequestHeader)
	}
	return out
}

// notNil is for members that the document requires, even when they are empty.
func notNil(h engine.Header) engine.Header {
	if h == nil {
		return engine.Header{}
	}
	return h
}

// LogEvent is an event of a plain message on the wire.
func LogEvent(e *engine.Event) api.LogEvent {
	m := e.Message
	var out api.LogEvent
	response.CopyFields(&out, Message(m))
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

// Message is what every view of a message shows: absent rather than empty.
func Message(m *engine.Message) api.Message {
	var out api.Message
	request.ShowOptions(m.Options, &out)
	out.MessageId, out.Url, out.Method, out.Header = m.ID, m.URL, m.Method, response.HeaderMap(m.Forward)
	out.MaxRetries, out.NotBefore, out.CreatedAt = &m.MaxRetries, response.Millis(m.NotBefore), m.CreatedAt.UnixMilli()
	out.TopicName, out.EndpointName, out.ScheduleId = response.Optional(m.Group), response.Optional(m.EndpointName), response.Optional(m.ScheduleID)
	out.CallerIP, out.WorkflowRunId = response.Optional(m.CallerIP), response.Optional(m.RunID)
	out.Body, out.BodyBase64 = response.BodyText(m.Body)
	return out
}

// mergeHeaders lays one header over another.
func mergeHeaders(over, under engine.Header) engine.Header {
	out := engine.Header{}
	maps.Copy(out, under)
	maps.Copy(out, over)
	return out
}

// Receipts is one receipt, or for a group a list of them.
func Receipts(rs engine.Receipts) any {
	if !rs.Group {
		return oneReceipt(&rs.List[0])
	}
	list := make([]api.PublishReceipt, len(rs.List))
	for i := range rs.List {
		list[i] = oneReceipt(&rs.List[i])
		list[i].Url = &rs.List[i].URL
	}
	return list
}

// oneReceipt has deduplicated only when it is true.
func oneReceipt(r *engine.Receipt) api.PublishReceipt {
	out := api.PublishReceipt{MessageId: r.MessageID, Deduplicated: response.Optional(r.Deduplicated)}
	if r.RunID != "" {
		out.WorkflowRunId, out.WorkflowCreatedAt = &r.RunID, response.Millis(r.RunCreatedAt)
	}
	return out
}

// Schedule is a schedule with what it publishes.
func Schedule(s engine.Schedule) api.Schedule {
	r := s.Request
	out := api.Schedule{
		ScheduleId:       s.ID,
		Cron:             s.Cron,
		Destination:      cmp.Or(r.URL, r.Group),
		CreatedAt:        s.CreatedAt.UnixMilli(),
		Header:           response.HeaderMap(mergeHeaders(r.Forward, r.Options.Forward)),
		CallerIP:         response.Optional(r.CallerIP),
		IsPaused:         s.Paused,
		NextScheduleTime: response.Millis(s.Next),
		LastScheduleTime: response.Millis(s.Last),
	}
	request.ShowOptions(&r.Options, &out)
	out.Body, out.BodyBase64 = response.BodyText(r.Body)
	if len(s.LastStates) > 0 {
		out.LastScheduleStates = &s.LastStates
	}
	return out
}
