package messaging

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
)

// workflowDLQEntry is the DLQ entry of a run on the wire ("DLQ entry"; names decided: 2).
func workflowDLQEntry(e *engine.DLQEntry) (out api.WorkflowDLQEntry) {
	response.CopyFields(&out, dlqEntry(e))
	return out
}

// dlqEntry is an entry of either kind. That of a message has no fields of a run.
func dlqEntry(e *engine.DLQEntry) api.DLQMessage {
	out := api.DLQMessage{DlqId: e.ID}
	response.CopyFields(&out, Message(&e.Message))
	out.Header = api.HeaderMap(notNil(e.Message.Headers.Forward().Header()))
	// The Python client requires a status: 0 if there was no response.
	out.ResponseStatus, out.ResponseHeader = new(e.Last.Status), response.HeaderMap(e.Last.Header)
	out.ResponseBody, out.ResponseBodyBase64 = lastResponse(e)
	out.ResponseBodyNote = response.Optional(e.Last.Note)
	if e.Run != nil { // the JavaScript client requires texts and headers, even empty ones
		out.Header = api.HeaderMap(notNil(e.Message.Headers.Published().Header()))
		out.WorkflowRunId, out.WorkflowUrl, out.WorkflowCreatedAt = &e.Run.ID, &e.Run.URL, response.Millis(e.Run.CreatedAt)
		out.Body, out.BodyBase64 = response.BodyText(e.Payload)
		out.Body, out.ResponseBody = textOrBase64(out.Body, out.BodyBase64), textOrBase64(out.ResponseBody, out.ResponseBodyBase64)
		out.ResponseHeader = new(api.HeaderMap(notNil(e.Last.Header)))
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

// lastResponse returns the body of the last response, or why there was none.
func lastResponse(e *engine.DLQEntry) (text, encoded *string) {
	if e.Last.Status == 0 && e.Last.Err != "" {
		return response.Optional(strings.ToValidUTF8(e.Last.Err, "?")), nil
	}
	return response.BodyText(e.Last.Body)
}

// onlyText returns a body that is text, "" for any other.
func onlyText(text, _ *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// textOrBase64 returns an empty text for a body that has neither form.
func textOrBase64(text, encoded *string) *string {
	if text == nil && encoded == nil {
		return new("")
	}
	return text
}

// notNil replaces nil by an empty header, for members that the document requires.
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
	out.RetryDelayExpr = out.RetryDelayExpression // clients use different names
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

// Message has the fields that all views of a message share; empty fields are absent.
func Message(m *engine.Message) api.Message {
	var out api.Message
	request.ShowOptions(m.Options, &out)
	out.MessageId, out.Url, out.Method, out.Header = m.ID, m.URL, m.Method, response.HeaderMap(m.Headers.Forward().Header())
	out.MaxRetries, out.NotBefore, out.CreatedAt = new(int(m.MaxRetries)), response.Millis(m.NotBefore.Time()), m.CreatedAt.UnixMilli()
	out.TopicName, out.EndpointName, out.ScheduleId = response.Optional(m.Group), response.Optional(m.EndpointName), response.Optional(m.ScheduleID)
	out.CallerIP, out.WorkflowRunId = response.Optional(m.CallerIP), response.Optional(m.RunID)
	out.Body, out.BodyBase64 = response.BodyText(m.Body)
	return out
}

// mergeHeaders copies both headers into a new one; values of over take precedence.
func mergeHeaders(over, under engine.Header) engine.Header {
	out := engine.Header{}
	maps.Copy(out, under)
	maps.Copy(out, over)
	return out
}

// appendReceipt appends the receipt of one new message outside a run, as JSON. It avoids the
// encoder because it is the most frequent answer. Ids need no escapes in JSON.
func appendReceipt(to []byte, id string) []byte {
	return append(append(append(to, `{"messageId":"`...), id...), `"}`...)
}

// appendReceipts appends the JSON of the receipts of a batch.
func appendReceipts(to []byte, all []engine.Receipts) []byte {
	to = append(to, '[')
	for i := range all {
		if i > 0 {
			to = append(to, ',')
		}
		if rs := &all[i]; rs.Group == nil && !rs.One.Deduplicated && rs.One.RunID == "" {
			to = appendReceipt(to, rs.One.MessageID)
			continue
		}
		text, _ := json.Marshal(receiptsBody(all[i])) // texts, numbers and booleans always encode
		to = append(to, text...)
	}
	return append(to, ']')
}

// receiptsBody is one receipt, or a list of receipts for a URL group.
func receiptsBody(rs engine.Receipts) any {
	if rs.Group == nil {
		return oneReceipt(&rs.One)
	}
	list := make([]api.PublishReceipt, len(rs.Group))
	for i := range rs.Group {
		list[i] = oneReceipt(&rs.Group[i])
		list[i].Url = &rs.Group[i].URL
	}
	return list
}

// oneReceipt omits deduplicated when it is false.
func oneReceipt(r *engine.Receipt) api.PublishReceipt {
	out := api.PublishReceipt{MessageId: r.MessageID, Deduplicated: response.Optional(r.Deduplicated)}
	if r.RunID != "" {
		out.WorkflowRunId, out.WorkflowCreatedAt = &r.RunID, response.Millis(r.RunCreatedAt)
	}
	return out
}

// scheduleBody is a schedule with the request that it publishes.
func scheduleBody(s *engine.Schedule) api.Schedule {
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
