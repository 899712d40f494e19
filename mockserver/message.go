package mockserver

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = register(map[string]handler{
	"cancelMessage":     (*Server).cancelMessage,
	"cancelMessages":    (*Server).cancelMessages,
	"getMessage":        (*Server).getMessage,
	"getSigningKeys":    (*Server).getSigningKeys,
	"rotateSigningKeys": (*Server).rotateSigningKeys,
})

func (s *Server) getMessage(c *call) (reply, error) {
	m, err := c.account.Message(c.vars["messageId"])
	if err != nil {
		return reply{}, err
	}
	state := api.MessageState(m.State)
	out := api.Message{State: &state, Retried: some(m.Retried), NextDeliveryTime: ms(m.NextAt)}
	copyFields(&out, messageFields(&m))
	return reply{body: out}, nil
}

func (s *Server) cancelMessage(c *call) (reply, error) {
	return reply{body: map[string]int{"cancelled": 1}}, c.account.Cancel(c.vars["messageId"])
}

func (s *Server) cancelMessages(c *call) (reply, error) {
	if err := c.mergeBody(); err != nil {
		return reply{}, err
	}
	n, err := c.account.CancelMessages(c.filter())
	return reply{body: map[string]int{"cancelled": n}}, err
}

func (s *Server) getSigningKeys(c *call) (reply, error) {
	current, next := c.account.Keys()
	return signingKeys(c, current, next), nil
}

func (s *Server) rotateSigningKeys(c *call) (reply, error) {
	current, next, err := c.account.RotateKeys()
	return signingKeys(c, current, next), err
}

func signingKeys(c *call, current, next string) reply {
	return reply{body: api.SigningKeys{Current: c.dialect.SigningKey(current), Next: c.dialect.SigningKey(next)}}
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
		return invalid("body: " + err.Error())
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
			text, ok := plain(one)
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
		return refused(problems)
	}
	return nil
}

// plain is a value of JSON as it is written in a query.
func plain(v any) (text string, ok bool) {
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

// copyFields copies the fields of one response body into another by name, so
// that what messages, DLQ entries and logs share is mapped once. A field may be
// optional in one of the two; what only one has stays as it is.
func copyFields(to, from any) {
	source, target := reflect.ValueOf(from), reflect.ValueOf(to).Elem()
	for i := range source.NumField() {
		value := source.Field(i)
		optional := value.Kind() == reflect.Pointer
		if optional && value.IsNil() {
			continue
		}
		field := target.FieldByName(source.Type().Field(i).Name)
		switch {
		case !field.IsValid():
		case value.CanConvert(field.Type()):
			field.Set(value.Convert(field.Type()))
		case optional:
			field.Set(value.Elem().Convert(field.Type()))
		default:
			pointer := reflect.New(field.Type().Elem())
			pointer.Elem().Set(value.Convert(field.Type().Elem()))
			field.Set(pointer)
		}
	}
}

// messageFields is what every view of a message shows: absent rather than empty.
func messageFields(m *engine.Message) api.Message {
	var out api.Message
	showOptions(m.Options, &out)
	out.MessageId, out.Url, out.Method, out.Header = m.ID, m.URL, m.Method, headerMap(m.Forward)
	out.MaxRetries, out.NotBefore, out.CreatedAt = &m.MaxRetries, ms(m.NotBefore), m.CreatedAt.UnixMilli()
	out.TopicName, out.EndpointName, out.ScheduleId = some(m.Group), some(m.EndpointName), some(m.ScheduleID)
	out.CallerIP, out.WorkflowRunId = some(m.CallerIP), some(m.RunID)
	out.Body, out.BodyBase64 = bodyText(m.Body)
	return out
}

// bodyText is a body as text, or as base64 when it is not UTF-8.
func bodyText(b []byte) (text, encoded *string) {
	if len(b) == 0 {
		return nil, nil
	}
	if utf8.Valid(b) {
		return some(string(b)), nil
	}
	return nil, some(base64.StdEncoding.EncodeToString(b))
}

// merged lays one header over another.
func merged(over, under engine.Header) engine.Header {
	out := engine.Header{}
	maps.Copy(out, under)
	maps.Copy(out, over)
	return out
}
