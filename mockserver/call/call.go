package call

import (
	"encoding/json"
	"maps"
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
	Vars     map[string]string // path variables, unescaped; greedy ones as they stood
	Header   http.Header
	Query    url.Values
	Raw      string // the raw query
	Body     []byte
	Tenant   *tenant.Tenant
	Account  *engine.Account
	Index    string   // name of the vector index that the credentials open
	Asked    string   // name of the vector index in the URL, "" for none
	AsTester bool     // a tester's, see as
	Hops     int      // deliveries to this server that led here, see admitDelivery
	Head     bool     // HEAD: answered as GET, without the body
	nothing  bool     // an empty list of ids or of values asks for nothing
	Turn     bool     // it has taken its turn as a list
	Taken    int64    // bytes of the server's room for bodies on their way in
	Warnings []string // for the answer and the log, such as names that nobody knows

	Sent      http.Header // as it came, with the names of its dialect
	SentQuery string
	SentBody  []byte
	Named     spec.Spoken // the dialect that the names of the request show
	Mixed     error       // names of two dialects
	Dialect   *spec.Dialect
}

// list collects the values of a filter: repeated, or separated by commas.
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

// urls collects URLs, which may hold commas themselves.
func (c *Call) urls(name string) []string { return c.Query[name] }

// Number is an integer parameter that the document has checked; 0 when absent.
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
	ms, _ := strconv.ParseInt(v, 10, 64) // checked by the document
	return time.UnixMilli(ms)
}

// Flag is a boolean parameter; a bare name means true.
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
	host, _, ok := cutLast(c.Request.RemoteAddr, ":")
	if !ok {
		return c.Request.RemoteAddr
	}
	return strings.Trim(host, "[]")
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// withQuery is the request with the query as it was merged.
func (c *Call) withQuery() *http.Request {
	r := *c.Request
	u := *r.URL
	u.RawQuery = c.Query.Encode()
	r.URL = &u
	return &r
}

// Warning is what the answer warns of, in one line; "" for nothing.
func (c *Call) Warning() string { return strings.Join(c.Warnings, "; ") }

// BearerToken is the token of an Authorization header.
func BearerToken(h http.Header) string {
	_, token, _ := strings.Cut(h.Get("Authorization"), " ")
	return strings.TrimSpace(token)
}

// MessageStates and RunStates are the values of the filter state. IN_PROGRESS
// stands for three of them.
var (
	MessageStates = []string{"ACTIVE", "CANCELED", "CANCEL_REQUESTED", "CREATED", "DELIVERED", "ERROR", "FAILED", "RETRY"}
	RunStates     = []string{"INVOKED", "RUN_CANCELED", "RUN_FAILED", "RUN_STARTED", "RUN_SUCCESS", "WAITER_ADDED"}
)

// LogFilter reads the filters of a log and refuses states that do not exist.
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

// Filter reads the filters that lists and bulk operations share. Both
// spellings of a name are read where clients differ.
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
		n, err := strconv.Atoi(status)
		if err != nil {
			n = -1 // matches nothing
		}
		f.Statuses = append(f.Statuses, n)
	}
	return f
}

// MergeBody reads a JSON body of filters as if it stood in the query: older
// clients send it so. An empty list asks for nothing, not for everything.
func (c *Call) MergeBody() error {
	if len(c.Body) == 0 {
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
			problems = append(problems, c.Op.CheckFilters(url.Values{name: nil})...)
		}
	}
	c.Query = merged
	problems = append(problems, c.Op.CheckRequest(c.withQuery(), c.Vars, nil)...)
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

// Chosen are the accounts that a call of the control API acts on.
func (c *Call) Chosen(r *tenant.Registry) []*tenant.Tenant {
	if c.Query.Get("account") == "*" {
		return r.All()
	}
	return []*tenant.Tenant{c.Tenant}
}
