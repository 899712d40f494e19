package messaging

import (
	"encoding/base64"
	"slices"

	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
)

// listLogs and listEvents differ only in the name of the list: older clients
// read it as events.
func (a *API) listLogs(c *request.Call) (any, error) {
	cursor, events, err := messageLog(c)
	return response.Response{Body: struct {
		Cursor string         `json:"cursor,omitempty"`
		Logs   []api.LogEvent `json:"logs"`
	}{cursor, events}}, err
}

// listEvents is listLogs for older clients.
func (a *API) listEvents(c *request.Call) (any, error) {
	cursor, events, err := messageLog(c)
	return response.Response{Body: struct {
		Cursor string         `json:"cursor,omitempty"`
		Events []api.LogEvent `json:"events"`
	}{cursor, events}}, err
}

// messageLog is the log of plain messages. Bodies are base64 even where they
// are text, because clients always decode them.
func messageLog(c *request.Call) (cursor string, events []api.LogEvent, err error) {
	f, err := c.LogFilter(request.MessageStates)
	if err != nil {
		return "", nil, err
	}
	f.MessagesOnly = true
	p, err := c.Account.Events(f)
	events = make([]api.LogEvent, len(p.Items))
	for i := range p.Items {
		events[i] = LogEvent(&p.Items[i])
		events[i].Body, events[i].BodyBase64 = response.Optional(base64.StdEncoding.EncodeToString(p.Items[i].Message.Body)), nil // clients always decode it
	}
	return p.Cursor, events, err
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
	events := make([]api.WorkflowEvent, len(p.Items))
	for i := range p.Items {
		events[i] = WorkflowEvent(&p.Items[i])
	}
	return response.Response{Body: struct {
		Cursor string              `json:"cursor,omitempty"`
		Events []api.WorkflowEvent `json:"events"`
	}{p.Cursor, events}}, err
}
