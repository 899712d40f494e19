package messaging

import (
	"encoding/base64"
	"slices"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
)

// listLogs and listEvents differ only in the name of the list: older clients
// read it as events.
func (a *API) listLogs(c *request.Call) (any, error) {
	return messageLog(c, "logs")
}

// listEvents is listLogs for older clients.
func (a *API) listEvents(c *request.Call) (any, error) {
	return messageLog(c, "events")
}

// messageLog is the log of plain messages. Bodies are base64 even where they
// are text, because clients always decode them.
func messageLog(c *request.Call, name string) (any, error) {
	f, err := c.LogFilter(request.MessageStates)
	if err != nil {
		return nil, err
	}
	f.MessagesOnly = true
	p, err := c.Account.Events(f)
	return response.Page(name, p.Items, p.Cursor, func(e *engine.Event) api.LogEvent {
		out := LogEvent(e)
		out.Body, out.BodyBase64 = response.Optional(base64.StdEncoding.EncodeToString(e.Message.Body)), nil
		return out
	}), err
}

// listWorkflowMessageLogs lists the events of runs and the events of their
// messages in one order.
func (a *API) listWorkflowMessageLogs(c *request.Call) (any, error) {
	f, err := c.LogFilter(append(slices.Clone(request.MessageStates), request.RunStates...))
	if err != nil {
		return nil, err
	}
	f.WorkflowOnly = true
	p, err := c.Account.Events(f)
	return response.Page("events", p.Items, p.Cursor, WorkflowEvent), err
}
