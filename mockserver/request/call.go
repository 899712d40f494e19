package request

import (
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/spec"
)

// Call is one request to an operation, with neutral names.
type Call struct {
	Op       *spec.Operation
	Request  *http.Request
	Vars     map[string]string // path variables, unescaped; greedy ones as received
	Header   http.Header
	Query    url.Values
	Raw      string // the raw query
	Body     []byte
	Buffer   []byte // room for a short response, valid until the request has been recorded
	Tenant   *tenant.Tenant
	Account  *engine.Account
	Index    string            // name of the vector index that the credentials open
	Asked    string            // name of the vector index in the URL, "" for none
	AsTester bool              // made for the tester, see as in package mockserver
	Original string            // the message that the tester publishes again, "" for none
	Hops     int               // length of the chain of deliveries that led to this call, see Delivery of package gate
	Family   string            // the message from which these deliveries follow
	Head     bool              // the method is HEAD: handled as GET, without a body in the response
	nothing  bool              // a filter is an empty list, which selects nothing
	Turn     bool              // holds a turn to build a large list
	Taken    int64             // bytes reserved of the server's memory for incoming bodies
	Warnings []string          // for the response and the log, such as unknown names
	Redact   *engine.Redaction // of the messages that it publishes or reads, where the request is shown; nil for nothing

	Sent      http.Header // as received, with the names of its dialect
	SentQuery string
	SentBody  []byte
	Named     spec.Spoken // the dialect of the names in the request
	Mixed     error       // error for names of two dialects
	Dialect   *spec.Dialect
}

// ErrAnswered is the error of a call whose response has been sent by another server of the fleet.
var ErrAnswered = errors.New("another server has answered")

// list collects the values of a filter, repeated or separated by commas.
func (c *Call) list(names ...string) []string {
	var out []string
	for _, name := range names {
		for _, v := range c.Query[name] {
			for part := range strings.SplitSeq(v, ",") {
				if part = strings.TrimSpace(part); part != "" {
					out = append(out, part)
				}
			}
		}
	}
	return out
}

// urls collects URLs. They are not split at commas, which a URL may contain.
func (c *Call) urls(name string) []string { return c.Query[name] }

// Number is an integer parameter, already checked against the OpenAPI document;
// 0 when absent.
func (c *Call) Number(name string) int {
	n, _ := strconv.Atoi(c.Query.Get(name))
	return n
}

// millis is a time parameter in Unix ms; zero when absent.
func (c *Call) millis(name string) time.Time {
	v := c.Query.Get(name)
	if v == "" {
		return time.Time{}
	}
	ms, _ := strconv.ParseInt(v, 10, 64) // already checked against the document
	return time.UnixMilli(ms)
}

// Flag is a boolean parameter; a name without a value means true.
func (c *Call) Flag(name string, absent bool) bool {
	v, ok := c.Query[name]
	if !ok {
		return absent
	}
	yes, err := strconv.ParseBool(v[0])
	return err != nil || yes
}

// CallerIP is the address of the client.
func (c *Call) CallerIP() string {
	host, _, err := net.SplitHostPort(c.Request.RemoteAddr)
	if err != nil {
		return c.Request.RemoteAddr
	}
	return host
}

// Warning is the text of the warnings in one line; "" for none.
func (c *Call) Warning() string { return strings.Join(c.Warnings, "; ") }

// BearerToken is the token of an Authorization header.
func BearerToken(h http.Header) string {
	_, token, _ := strings.Cut(h.Get("Authorization"), " ")
	return strings.TrimSpace(token)
}

// MessageStates and RunStates are the accepted values of the filter state.
// LogFilter also accepts IN_PROGRESS, for ACTIVE, RETRY and ERROR, and CANCELLED.
var (
	MessageStates = []string{"ACTIVE", "CANCELED", "CANCEL_REQUESTED", "CREATED", "DELIVERED", "ERROR", "FAILED", "RETRY"}
	RunStates     = []string{"INVOKED", "RUN_CANCELED", "RUN_FAILED", "RUN_STARTED", "RUN_SUCCESS", "WAITER_ADDED"}
)

// LogFilter reads the filters of a log. It refuses states that are not in states.
func (c *Call) LogFilter(states []string) (engine.Filter, error) {
	f := c.Filter()
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

// Filter reads the filters that lists and bulk operations share. Where clients
// use different names for a filter, it reads both.
func (c *Call) Filter() engine.Filter {
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
		Cursor:         c.Query.Get("cursor"),
		Count:          c.Number("count"),
		WorkflowOnly:   c.Query.Get("source") == "workflow",
		MessagesOnly:   c.Query.Get("source") == "message",
		Nothing:        c.nothing,
	}
	for _, status := range c.list("responseStatus") {
		n, _ := strconv.Atoi(status) // CheckStatuses refuses others
		f.Statuses = append(f.Statuses, n)
	}
	return f
}

// CheckStatuses refuses a filter by status that is not a number: it would match nothing.
func (c *Call) CheckStatuses() error {
	const name = "responseStatus"
	for _, status := range c.list(name) {
		if _, err := strconv.ParseUint(status, 10, 16); err != nil {
			return response.RefusedValue("query", name, status, response.Unfit("", "an HTTP status such as 500, or a list of them separated by commas"))
		}
	}
	return nil
}

// MergeBody adds the filters of a JSON body to the query, because older clients
// send filters there. An empty list selects nothing, not everything.
func (c *Call) MergeBody() error {
	if len(c.Body) == 0 {
		if path := c.Request.URL.Path; len(c.Query) == 0 && strings.HasSuffix(path, "/") {
			return response.Invalid("path " + path + ": no id after the slash: must have one, or a filter in the query or the body, or end without the slash to act on all")
		}
		return nil
	}
	var fields map[string]any
	if err := json.Unmarshal(c.Body, &fields); err != nil {
		return response.Invalid("body: " + err.Error())
	}
	merged := url.Values{}
	maps.Copy(merged, c.Query)
	var problems []spec.Problem
	for name, v := range fields {
		list, many := v.([]any)
		if !many {
			list = []any{v}
		}
		values := slices.Clip(c.Query[name])
		c.nothing = c.nothing || len(list) == 0
		for _, one := range list {
			text, ok := queryText(one)
			if !ok {
				problems = append(problems, spec.Problem{In: "body", Name: "/" + name, Rule: "type", Message: "must be a string, a number, a boolean or a list of these"})
				break
			}
			values = append(values, text)
		}
		if len(values) > 0 {
			merged[name] = values
		}
		if len(list) == 0 {
			problems = append(problems, c.Op.CheckFilters(url.Values{name: nil})...)
		}
	}
	c.Query = merged
	problems = append(problems, c.Op.CheckRequest(c.Request, c.Vars, c.Query, nil)...)
	for i, p := range problems {
		if _, ok := fields[p.Name]; ok && p.In == "query" {
			problems[i].In, problems[i].Name = "body", "/"+p.Name
		}
	}
	if len(problems) > 0 {
		return response.Refused(problems)
	}
	return c.CheckStatuses()
}

// queryText formats a JSON value as in a query; false for null, lists and objects.
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

// Chosen returns the accounts that a call of the control API acts on.
func (c *Call) Chosen(r *tenant.Registry) []*tenant.Tenant {
	if c.Query.Get("account") == "*" {
		return r.All()
	}
	return []*tenant.Tenant{c.Tenant}
}

// Read reads the body as JSON.
func (c *Call) Read(to any) error {
	if err := json.Unmarshal(c.Body, to); err != nil {
		return response.Invalid("body: " + err.Error())
	}
	return nil
}
