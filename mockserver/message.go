package mockserver

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/view"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = registerHandlers(map[string]handler{
	"cancelMessage":     (*Server).cancelMessage,
	"cancelMessages":    (*Server).cancelMessages,
	"getMessage":        (*Server).getMessage,
	"getSigningKeys":    (*Server).getSigningKeys,
	"rotateSigningKeys": (*Server).rotateSigningKeys,
})

func (s *Server) getMessage(c *call) (response.Response, error) {
	m, err := c.account.Message(c.vars["messageId"])
	if err != nil {
		return response.Response{}, err
	}
	state := api.MessageState(m.State)
	out := api.Message{State: &state, Retried: response.Optional(m.Retried), NextDeliveryTime: response.Millis(m.NextAt)}
	response.CopyFields(&out, view.Message(&m))
	return response.Response{Body: out}, nil
}

func (s *Server) cancelMessage(c *call) (response.Response, error) {
	return response.Response{Body: map[string]int{"cancelled": 1}}, c.account.Cancel(c.vars["messageId"])
}

func (s *Server) cancelMessages(c *call) (response.Response, error) {
	if err := c.mergeBody(); err != nil {
		return response.Response{}, err
	}
	n, err := c.account.CancelMessages(c.filter())
	return response.Response{Body: map[string]int{"cancelled": n}}, err
}

func (s *Server) getSigningKeys(c *call) (response.Response, error) {
	current, next := c.account.Keys()
	return signingKeys(c, current, next), nil
}

func (s *Server) rotateSigningKeys(c *call) (response.Response, error) {
	current, next, err := c.account.RotateKeys()
	return signingKeys(c, current, next), err
}

func signingKeys(c *call, current, next string) response.Response {
	return response.Response{Body: api.SigningKeys{Current: c.dialect.SigningKey(current), Next: c.dialect.SigningKey(next)}}
}

// filter reads the filters that lists and bulk operations share. Both
// spellings of a name are read where clients differ.
func (c *call) filter() engine.Filter {
	f := engine.Filter{
		IDs:            c.list("messageId", "messageIds"),
		DLQIDs:         c.list("dlqId", "dlqIds"),
		RunIDs:         c.list("workflowRunId", "workflowRunIds"),
		URLs:           c.urls("url"),
		Hosts:          c.list("host"),
		Paths:          c.urls("path"),
		RunURLs:        c.urls("workflowUrl"),
		Groups:         c.list("topicName"),
		Schedules:      c.list("scheduleId"),
		Queues:         c.list("queueName"),
		Labels:         c.list("label"),
		FlowKeys:       c.list("flowControlKey"),
		CallerIPs:      c.list("callerIp", "callerIP"),
		States:         c.list("state", "workflowState"),
		CallbackStates: c.list("failureCallbackState", "failureFunctionState"),
		From:           c.millis("fromDate"),
		To:             c.millis("toDate"),
		RunCreatedAt:   c.millis("workflowCreatedAt"),
		Cursor:         c.query.Get("cursor"),
		Count:          c.number("count"),
		WorkflowOnly:   c.query.Get("source") == "workflow",
		MessagesOnly:   c.query.Get("source") == "message",
		Nothing:        c.nothing,
	}
	for _, status := range c.list("responseStatus") {
		n, err := strconv.Atoi(status)
		if err != nil {
			n = -1 // matches nothing
		}
		f.Statuses = append(f.Statuses, n)
	}
	return f
}

// mergeBody reads a JSON body of filters as if it stood in the query: older
// clients send it so. An empty list asks for nothing, not for everything.
func (c *call) mergeBody() error {
	if len(c.body) == 0 {
		return nil
	}
	var fields map[string]any
	if err := json.Unmarshal(c.body, &fields); err != nil {
		return response.Invalid("body: " + err.Error())
	}
	merged := url.Values{}
	maps.Copy(merged, c.query)
	var problems []spec.Problem
	for name, v := range fields {
		list, many := v.([]any)
		if !many {
			list = []any{v}
		}
		c.nothing = c.nothing || len(list) == 0
		for _, one := range list {
			text, ok := queryText(one)
			if !ok {
				problems = append(problems, spec.Problem{In: "body", Name: "/" + name, Rule: "type", Message: "must be a string, a number, a boolean or a list of these"})
				break
			}
			merged[name] = append(slices.Clip(merged[name]), text)
		}
		if len(list) == 0 {
			problems = append(problems, c.op.CheckFilters(url.Values{name: nil})...)
		}
	}
	c.query = merged
	problems = append(problems, c.op.CheckRequest(c.withQuery(), c.vars, nil)...)
	for i, p := range problems {
		if _, ok := fields[p.Name]; ok && p.In == "query" {
			problems[i].In, problems[i].Name = "body", "/"+p.Name
		}
	}
	if len(problems) > 0 {
		return response.Refused(problems)
	}
	return nil
}

// queryText is a value of JSON as it is written in a query.
func queryText(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}
