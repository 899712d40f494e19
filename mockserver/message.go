package mockserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/engine"
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
	fill(messageFields(&m), &out)
	return reply{body: out}, nil
}

func (s *Server) cancelMessage(c *call) (reply, error) {
	return reply{body: map[string]int{"cancelled": 1}}, c.account.Cancel(c.vars["messageId"])
}

func (s *Server) cancelMessages(c *call) (reply, error) {
	if err := c.mergeBody(); err != nil {
		return reply{}, err
	}
	f := c.filter()
	f.IDs = c.list("messageIds", "messageId")
	n, err := c.account.CancelMessages(f)
	return reply{body: map[string]int{"cancelled": n}}, err
}

func (s *Server) getSigningKeys(c *call) (reply, error) {
	return signingKeys(c, c.account.Keys)
}

func (s *Server) rotateSigningKeys(c *call) (reply, error) {
	return signingKeys(c, c.account.RotateKeys)
}

func signingKeys(c *call, keys func() (current, next string)) (reply, error) {
	current, next := keys()
	return reply{body: api.SigningKeys{Current: c.dialect.SigningKey(current), Next: c.dialect.SigningKey(next)}}, nil
}

// filter reads the filters that lists and bulk operations share. Both
// spellings of a name are read where clients differ.
func (c *call) filter() engine.Filter {
	f := engine.Filter{
		IDs:            c.list("messageId", "messageIds"),
		DLQIDs:         c.list("dlqId", "dlqIds"),
		RunIDs:         c.list("workflowRunId", "workflowRunIds"),
		URLs:           c.urls("url"),
		RunURLs:        c.urls("workflowUrl"),
		Groups:         c.list("topicName"),
		Schedules:      c.list("scheduleId"),
		Queues:         c.list("queueName"),
		Labels:         c.list("label"),
		FlowKeys:       c.list("flowControlKey"),
		CallerIPs:      c.list("callerIp", "callerIP"),
		States:         c.list("state"),
		CallbackStates: c.list("failureCallbackState", "failureFunctionState"),
		From:           c.millis("fromDate"),
		To:             c.millis("toDate"),
		RunCreatedAt:   c.millis("workflowCreatedAt"),
		Cursor:         c.query.Get("cursor"),
		Count:          c.number("count"),
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
// clients send it so.
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
	for name, v := range fields {
		switch v := v.(type) {
		case nil:
		case []any:
			for _, one := range v {
				merged.Add(name, plain(one))
			}
		default:
			merged.Add(name, plain(v))
		}
	}
	c.query = merged
	if problems := c.op.CheckRequest(c.withQuery(), c.vars, nil); len(problems) > 0 {
		return refused(problems)
	}
	return nil
}

func plain(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// fill copies fields into an answer by their names on the wire, so that what
// messages, DLQ entries and logs share is mapped once.
func fill(from, to any) {
	b, err := json.Marshal(from)
	if err == nil {
		_ = json.Unmarshal(b, to) // both are ours; a mismatch shows as a missing field
	}
}

// messageFields is what every view of a message shows: absent rather than empty.
func messageFields(m *engine.Message) api.Message {
	o := m.Options
	out := api.Message{
		MessageId:       m.ID,
		Url:             m.URL,
		Method:          m.Method,
		Header:          headerMap(m.Forward),
		MaxRetries:      &m.MaxRetries,
		NotBefore:       ms(m.NotBefore),
		CreatedAt:       m.CreatedAt.UnixMilli(),
		Callback:        callbackOf(o.Callback),
		FailureCallback: callbackOf(o.FailureCallback),
		QueueName:       some(o.Queue),
		TopicName:       some(m.Group),
		EndpointName:    some(m.EndpointName),
		ScheduleId:      some(m.ScheduleID),
		CallerIP:        some(m.CallerIP),
		WorkflowRunId:   some(m.RunID),
	}
	out.Body, out.BodyBase64 = bodyText(m.Body)
	out.Label, out.Labels = labelsOf(o.Labels)
	if o.Flow != nil {
		f := flowParts(o.Flow)
		out.FlowControlKey, out.Rate, out.RatePerSecond, out.Parallelism, out.Period = f.key, f.rate, f.rate, f.parallelism, f.period
	}
	if o.RetryDelay != nil {
		out.RetryDelayExpression = some(o.RetryDelay.String())
	}
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

func labelsOf(labels []string) (first *string, all *[]string) {
	if len(labels) == 0 {
		return nil, nil
	}
	return &labels[0], &labels
}

func callbackOf(c *engine.Callback) *string {
	if c == nil {
		return nil
	}
	return some(c.URL)
}

type flowNumbers struct {
	key                       *string
	rate, parallelism, period *int
}

// flowParts is flow control on the wire; the period is 1 s when not given.
func flowParts(f *engine.FlowControl) flowNumbers {
	period := int(max(f.Period, time.Second) / time.Second)
	return flowNumbers{key: some(f.Key), rate: some(f.Rate), parallelism: some(f.Parallelism), period: &period}
}

// merged lays one header over another.
func merged(over, under engine.Header) engine.Header {
	out := engine.Header{}
	maps.Copy(out, under)
	maps.Copy(out, over)
	return out
}
