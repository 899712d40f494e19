package mockserver

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/view"
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
		events[i] = view.LogEvent(&p.Items[i])
		events[i].Body, events[i].BodyBase64 = response.Optional(base64.StdEncoding.EncodeToString(p.Items[i].Message.Body)), nil // clients decode it
	}
	return p.Cursor, events, err
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
		events[i] = view.WorkflowEvent(&p.Items[i])
	}
	return response.Response{Body: struct {
		Cursor string              `json:"cursor,omitempty"`
		Events []api.WorkflowEvent `json:"events"`
	}{p.Cursor, events}}, err
}
