package control

import (
	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/messaging"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/traffic"
	"github.com/understudy-mock/understudy/spec/api"
)

// summaryOf is a row of a list, with the reason why the message has not ended.
func summaryOf(m *engine.MessageSummary) api.MessageRow {
	row := rowOf(&m.Message)
	row.Carries = m.Carries
	if m.Why != nil {
		why := reasonOf(*m.Why)
		row.Why = &why
	}
	return row
}

// rowOf includes the time of the next attempt only if the message waits for one.
func rowOf(m *engine.Message) api.MessageRow {
	row := api.MessageRow{
		MessageID: m.ID, Role: string(m.Role), State: string(m.State), Method: m.Method, URL: m.URL, CreatedAt: m.CreatedAt.UnixMilli(), Attempts: m.Attempts(),
		Retried: int(m.Retried), MaxRetries: int(m.MaxRetries), Bytes: len(m.Body) + int(m.Dropped), BodyDropped: m.Dropped > 0, Labels: m.Options.Labels, FlowControlKey: m.FlowKey(),
		TopicName: m.Group, QueueName: m.Options.Queue, ScheduleID: m.ScheduleID, WorkflowRunID: m.RunID, SourceMessageID: m.SourceID,
		Asleep: m.Asleep(), Cause: m.Cause(),
	}
	if m.State == engine.Created || m.State == engine.Retry {
		row.NextDeliveryTime = millis(m.NextAt.Time())
	}
	return row
}

// pageOfRows converts a page of an account into a response.
func pageOfRows[T, R any](p engine.Page[T], name string, row func(*T) R) response.Response {
	body := response.Page(name, p.Items, p.Cursor, row)
	if p.Counts != nil {
		body["counts"] = p.Counts
	}
	return response.Response{Body: body}
}

// messages lists messages with their current states, including ended ones.
func (s *Service) messages(c *request.Call) (any, error) {
	f, err := c.LogFilter(request.MessageStates)
	if err != nil {
		return nil, err
	}
	f.URLPrefix, f.Sort, f.CountAll = true, c.Query.Get("sort"), c.Flag("counts", false)
	p, err := c.Account.Messages(f)
	return pageOfRows(p, "messages", summaryOf), err
}

// message returns the details of a message: its log events, its attempts from the
// journal, its callbacks, and the reasons for its state.
func (s *Service) message(c *request.Call) (any, error) {
	id := c.Vars["messageId"]
	t, err := c.Account.Trace(id)
	if err != nil {
		return nil, err
	}
	type eventRow struct {
		api.LogEvent
		Cause   string  `json:"cause,omitempty"`              // the error in words
		Base64  *string `json:"responseBodyBase64,omitempty"` // of an answer that is not UTF-8
		Dropped int     `json:"responseDropped,omitempty"`    // bytes of the answer and its headers that were dropped to free memory
	}
	events := make([]eventRow, len(t.Events))
	for i := range t.Events {
		events[i].LogEvent = messaging.LogEvent(&t.Events[i])
		if o := t.Events[i].Outcome; o != nil {
			events[i].Cause, events[i].Dropped = o.Cause(), o.Dropped
			_, events[i].Base64 = response.BodyText(o.Body)
		}
		events[i].Body, events[i].BodyBase64, events[i].Header = nil, nil, nil // they repeat those of the message
	}
	most := c.Number("maxBody")
	deliveries, _ := c.Tenant.Deliveries.List(0, traffic.Filter{ID: id})
	for i := range deliveries {
		deliveries[i].Clip(most)
	}
	clock := s.clockBody(c.Tenant)
	state := api.MessageState(t.Message.State)
	m := api.Message{State: &state, Retried: new(int(t.Message.Retried)), NextDeliveryTime: response.Millis(t.Message.NextAt.Time())}
	content := traffic.Message{Body: t.Message.Body}
	content.Clip(most)
	row := rowOf(&t.Message)
	t.Message.Body = content.Body
	response.CopyFields(&m, messaging.Message(&t.Message))
	m.NextDeliveryTime = response.Millis(t.Message.NextAt.Time())
	d := s.Tenants.Dialect(c.Tenant, t.Message.Options.Dialect)
	return response.Response{Body: map[string]any{
		"message": inDialect(d, m), "row": row, "published": response.HeaderMap(brandHeader(d, t.Message.Headers.Published().Header())), "events": inDialect(d, events), "deliveries": deliveries,
		"callbacks": response.List(t.Reports, rowOf), "reasons": reasonBodies(t.Reasons, &clock), "dlqId": t.DLQID, "now": clock.Now,
		"failure": s.failureOf(c.Tenant, t.Failure, t.DLQID), "lineage": response.List(t.Lineage, linkOf), "trace": s.traceOf(c.Tenant, t.Message.TraceRoot()),
	}}, nil
}

// cancelFamily cancels a message with all that follow from it.
func (s *Service) cancelFamily(c *request.Call) (any, error) {
	n, err := c.Account.CancelFamily(c.Vars["messageId"])
	return map[string]int{"cancelled": n}, err
}

// hurry makes the next attempt of a message due now.
func (s *Service) hurry(c *request.Call) (any, error) {
	return response.Empty, c.Account.DeliverNow(c.Vars["messageId"])
}
