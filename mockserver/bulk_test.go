package mockserver_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// full is a server where every bulk operation would find something.
func full(t *testing.T) (*mockserver.TestServer, *client) {
	t.Helper()
	u := mockserver.RunT(t)
	u.Stub("*")
	u.Stub("https://fail.test/*", 404)
	c := newClient(t, u)
	for i := range 2 {
		u.Publish(fmt.Sprintf("https://app.test:8443/%d?q=1", i), nil, "Svc-Delay: 1h", "Svc-Label: kept")
		u.Publish(fmt.Sprintf("https://fail.test/%d", i), nil, "Svc-Retries: 0", "Svc-Label: kept")
		c.do("POST", fmt.Sprintf("/v2/trigger/https://app.test:8443/%d", i), "", "Svc-Label: kept", "Svc-Delay: 1h").ok()
		c.do("POST", fmt.Sprintf("/v2/trigger/https://fail.test/%d", i), "", "Svc-Label: kept", "Svc-Retries: 0", "Svc-Failure-Callback: https://callback.test/").ok()
	}
	u.Settle()
	return u, c
}

// contents is all that bulk operations could change.
func contents(c *client) string {
	runs := c.do("GET", "/_understudy/runs", "").ok()
	return fmt.Sprintf("messages %s, DLQ %s, runs %s", c.do("GET", "/_understudy/messages?state=CREATED", "").ok().raw, c.do("GET", "/v2/dlq", "").ok().raw, runs.raw)
}

// declared are the operations of both documents.
func declared(t *testing.T) []*spec.Operation {
	t.Helper()
	doc, err := spec.Load()
	expect.NoError(t, err)
	control, err := spec.LoadControl()
	expect.NoError(t, err)
	return slices.Concat(doc.Operations(), control.Operations())
}

// bulkOperations are those of both documents.
func bulkOperations(t *testing.T) []*spec.Operation {
	t.Helper()
	return slices.DeleteFunc(declared(t), func(op *spec.Operation) bool { return !op.Bulk })
}

// filteringOperations are the bulk operations of the interface, which have filters in the
// query and in the body.
func filteringOperations(t *testing.T) []*spec.Operation {
	t.Helper()
	list := slices.DeleteFunc(bulkOperations(t), func(op *spec.Operation) bool { return !op.BodyJSON })
	expect.Equal(expect.Now(t), "number of bulk operations", len(list), 7)
	return list
}

// An operation that is not in this list and acts without naming one thing is a bulk operation.
func TestTheDocumentsMarkEveryBulkOperation(t *testing.T) {
	t.Parallel()
	single := []string{"agentsEnd", "controlHurry", "rotateSigningKeys"}
	for _, op := range declared(t) {
		clears := op.Method == http.MethodDelete || op.ID == "controlReset" || strings.Contains(op.Path, "/dlq/")
		named := strings.Contains(op.Path, "{") || op.Area == "vector_url" || slices.Contains(single, op.ID)
		if op.Method != http.MethodGet && clears && !named && !op.Bulk {
			t.Errorf("%s is not marked with x-bulk", op.ID)
		}
	}
}

// A variable that its caller forgot to set arrives as null, as an empty object or as
// nothing. It must not select everything.
func TestABulkOperationRefusesAFilterWithoutAValue(t *testing.T) {
	t.Parallel()
	_, c := full(t)
	before := contents(c)
	refused := func(op *spec.Operation, query, body string) {
		t.Run(op.ID+" "+query+body, func(t *testing.T) {
			c := *c
			c.t = t
			c.do(op.Method, op.Path+query, body).refused(400)
		})
	}
	for _, op := range bulkOperations(t) {
		refused(op, "", `null`)
		refused(op, "", `[]`)
		refused(op, "", `{"unknown":null}`)
		if op.ID != "cancelWorkflowRuns" { // a published client sends it for all
			refused(op, "", `{}`)
		}
		for _, name := range op.QueryParameters() {
			for _, value := range []string{"null", "{}", `""`, "[null]", "[{}]", "[[]]", `{"$ne":null}`} {
				if name == "cursor" && value == `""` {
					continue // the first page
				}
				refused(op, "", `{"`+name+`":`+value+`}`)
				refused(op, "", `{"label":"kept","`+name+`":`+value+`}`)
			}
			for _, value := range []string{"=", "", "=%zz", "=;", "=,", "=%20"} {
				if (name == "cursor" || name == "account") && value != "=%zz" && value != "=;" {
					continue // the first page; an account that does not exist
				}
				refused(op, "?"+name+value, "")
			}
		}
	}
	if after := contents(c); after != before {
		t.Errorf("something changed\nbefore %s\nafter  %s", before, after)
	}
}

// A published client sends {} for all runs.
func TestAnEmptyObjectCancelsAllRuns(t *testing.T) {
	t.Parallel()
	_, c := full(t)
	expect.Equal(t, "cancelled", c.do("DELETE", "/v2/workflows/runs", `{}`).ok().number("cancelled"), 2)
}

func TestTheWayToCompareURLsIsNoFilter(t *testing.T) {
	t.Parallel()
	_, c := full(t)
	c.do("DELETE", "/v2/workflows/runs?workflowUrlExactMatch=true", "").refused(400, "workflowUrlExactMatch", "workflowUrl")
	c.do("DELETE", "/v2/workflows/runs", `{"workflowUrlExactMatch":false}`).refused(400, "workflowUrlExactMatch", "workflowUrl")
}

func TestBulkOperationsRefuseWhatTheyCannotRead(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, query, body string
		texts             []string
	}{
		{"an unknown filter", "labeel=zzz", "", []string{"query labeel", "unknown filter", `did you mean "label"?`}},
		{"an unknown filter in another case", "Label=kept", "", []string{"query Label", `did you mean "label"?`}},
		{"a status that is not a number", "responseStatus=ok", "", []string{"query responseStatus: "}},
		{"an unknown filter beside a known one", "label=kept&nonsense=1", "", []string{"query nonsense"}},
		{"an unknown filter without a value", "labeel", "", []string{"query labeel"}},
		{"an unknown member of the body", "", `{"labeel":"zzz"}`, []string{"body /labeel", `did you mean "label"?`}},
		{"an unknown member with an empty list", "", `{"labeel":[]}`, []string{"body /labeel", `did you mean "label"?`}},
		{"an unknown member beside a known filter in the query", "label=kept", `{"all":true}`, []string{"body /all"}},
		{"a broken escape", "label=%zz", "", []string{"query label", `"%zz"`}},
		{"a broken escape in a name", "%zz=a", "", []string{"query %zz"}},
		{"a semicolon", "label=a;b", "", []string{"query label", "%3B"}},
		{"an empty value", "label=", "", []string{"query label", "empty filter"}},
		{"a name without a value", "label", "", []string{"query label", "empty filter"}},
		{"an empty value beside another", "label=kept&label=", "", []string{"query label", "empty filter"}},
		{"nothing but commas and blanks", "label=,%20,", "", []string{"query label", "empty filter"}},
		{"an empty value in the body", "", `{"label":""}`, []string{"body /label", "empty filter"}},
		{"an empty value in a list", "", `{"label":["kept",""]}`, []string{"body /label", "empty filter"}},
		{"null in a list", "", `{"label":[null]}`, []string{"body /label", "must be a string"}},
		{"an object", "", `{"label":{"is":"kept"}}`, []string{"body /label", "must be a string"}},
		{"a date in words", "fromDate=yesterday", "", []string{"query fromDate"}},
		{"a body that is no object", "", `["a"]`, []string{"body"}},
		{"a body that is null", "", `null`, []string{"body"}},
	}
	_, c := full(t)
	before := contents(c)
	for _, op := range filteringOperations(t) {
		for _, row := range cases {
			t.Run(op.ID+": "+row.name, func(t *testing.T) {
				c := *c
				c.t = t
				c.do(op.Method, op.Path+"?"+row.query, row.body).refused(400, row.texts...)
			})
		}
	}
	if after := contents(c); after != before {
		t.Errorf("something changed\nbefore %s\nafter  %s", before, after)
	}
}

func TestAnEmptyListTouchesNothing(t *testing.T) {
	t.Parallel()
	_, c := full(t)
	before := contents(c)
	for _, op := range filteringOperations(t) {
		for _, name := range op.QueryParameters() {
			if name == "label" || strings.HasSuffix(name, "Ids") {
				c.do(op.Method, op.Path, `{"`+name+`":[]}`).ok()
				if after := contents(c); after != before {
					t.Errorf("%s with no %s changed something\nbefore %s\nafter  %s", op.ID, name, before, after)
				}
			}
		}
	}
}

// What the clients' types offer is a filter of the operation.
func TestFiltersOfClientsAreKnown(t *testing.T) {
	t.Parallel()
	shared := []string{"fromDate", "toDate", "callerIp", "label", "flowControlKey", "count"}
	want := map[string][]string{
		"cancelMessages":      {"messageIds", "url", "topicName", "scheduleId", "queueName", "host", "path"},
		"deleteDLQMessages":   {"dlqIds", "cursor", "messageId", "url", "topicName", "scheduleId", "queueName", "responseStatus"},
		"retryDLQMessages":    {"dlqIds", "cursor", "messageId", "url", "topicName", "scheduleId", "queueName", "responseStatus"},
		"deleteWorkflowDLQs":  {"dlqIds", "cursor", "workflowUrl", "workflowRunId", "workflowCreatedAt", "failureFunctionState"},
		"restartWorkflowRuns": {"dlqIds", "cursor", "workflowUrl", "workflowRunId", "workflowCreatedAt", "failureFunctionState"},
		"resumeWorkflowRuns":  {"dlqIds", "cursor", "workflowUrl", "workflowRunId", "workflowCreatedAt", "failureFunctionState"},
		"cancelWorkflowRuns":  {"workflowRunIds", "workflowUrl", "workflowUrlExactMatch", "host", "path"},
	}
	for _, op := range filteringOperations(t) {
		query := url.Values{}
		for _, name := range append(shared, want[op.ID]...) {
			query.Set(name, "1")
		}
		if problems := op.CheckFilters(query); len(problems) > 0 {
			t.Errorf("%s: %v", op.ID, problems)
		}
	}
}

func TestHostAndPathAreFilters(t *testing.T) {
	t.Parallel()
	cases := []struct {
		query string
		want  int
	}{
		{"host=app.test:8443", 2},
		{"host=APP.test", 2},
		{"host=app.test:1", 0},
		{"host=other.test,app.test", 2},
		{"path=/0", 1},
		{"path=/0&path=/1", 2},
		{"path=/", 0},
		{"path=/0%3Fq=1", 0},
		{"host=app.test&path=/1", 1},
		{"host=other.test&path=/1", 0},
	}
	for _, row := range cases {
		t.Run(row.query, func(t *testing.T) {
			t.Parallel()
			_, c := full(t)
			for path, list := range map[string]string{"/v2/events?state=CREATED&": "events", "/v2/logs?state=CREATED&": "logs"} {
				if strings.Contains(row.query, "host") {
					if got := len(c.do("GET", path+row.query, "").ok().list(list)); got != row.want {
						t.Errorf("%s lists %d, want %v", path, got, row.want)
					}
				}
			}
			if strings.Contains(row.query, "host") {
				expect.Equal(t, "lists", len(c.do("GET", "/v2/workflows/logs?"+row.query, "").ok().list("runs")), row.want)
			}
			if got := c.do("DELETE", "/v2/messages?"+row.query, "").ok().number("cancelled"); got != int64(row.want) {
				t.Errorf("cancelled %v messages, want %v", got, row.want)
			}
			if got := c.do("DELETE", "/v2/workflows/runs?"+row.query, "").ok().number("cancelled"); got != int64(row.want) {
				t.Errorf("cancelled %v runs, want %v", got, row.want)
			}
		})
	}
}

func TestSourceNarrowsBulkOperations(t *testing.T) {
	t.Parallel()
	_, c := full(t)
	c.do("DELETE", "/v2/dlq?source=workflows", "").refused(400, "source", "message or workflow")
	expect.Equal(t, "number of messages retried", len(c.do("POST", "/v2/dlq/retry?source=workflow", "").ok().list("responses")), 0)
	expect.Equal(t, "deleted", c.do("DELETE", "/v2/dlq?source=message", "").ok().number("deleted"), 2)
	expect.Equal(t, "deleted", c.do("DELETE", "/v2/dlq?source=workflow", "").ok().number("deleted"), 2)
}

func TestStateNarrowsTheCancellationOfRuns(t *testing.T) {
	t.Parallel()
	_, c := full(t)
	c.do("DELETE", "/v2/workflows/runs?workflowState=GONE", "").refused(400, "state", "GONE")
	expect.Equal(t, "cancelled", c.do("DELETE", "/v2/workflows/runs?workflowState=RUN_SUCCESS", "").ok().number("cancelled"), 0)
	expect.Equal(t, "cancelled", c.do("DELETE", "/v2/workflows/runs?workflowState=RUN_STARTED", "").ok().number("cancelled"), 2)
}

// A filter that cannot be read is refused in lists as well; behind a
// destination it belongs to the destination.
func TestUnreadableQueries(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	c := newClient(t, u)
	for _, path := range []string{"/v2/logs", "/v2/dlq", "/v2/workflows/dlq", "/v2/workflows/messageLogs", "/_understudy/messages"} {
		c.do("GET", path+"?label=%zz", "").refused(400, "query label")
		c.do("GET", path+"?label=a;b", "").refused(400, "query label")
	}
	c.do("POST", "/v2/publish/https://e.test/?svc-retries=%zz", "").refused(400, "svc-retries")
	c.do("POST", "/v2/publish/https://e.test/?q=%zz;x", "").ok()
	u.Settle()
	if got, want := u.Deliveries()[0].URL, "https://e.test/?q=%zz;x"; got != want {
		t.Errorf("delivered to %s, want %s", got, want)
	}
}

func TestACountAboveTheMaximumIsTheMaximum(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 404)
	c := newClient(t, u)
	for range 101 {
		u.Publish("https://fail.test/", nil, "Svc-Retries: 0")
	}
	u.Settle()
	t.Run("of a page", func(t *testing.T) {
		if got := len(c.do("GET", "/v2/dlq?count=1000000", "").ok().list("messages")); got != 100 {
			t.Errorf("got %d, want 100", got)
		}
	})
	t.Run("of a bulk operation", func(t *testing.T) {
		if got := c.do("DELETE", "/v2/dlq?count=101", "").ok().number("deleted"); got != 100 {
			t.Errorf("got %v, want 100", got)
		}
	})
	t.Run("of every operation", func(t *testing.T) {
		for _, path := range []string{"/v2/logs", "/v2/events", "/v2/workflows/dlq", "/v2/workflows/messageLogs", "/v2/workflows/logs", "/v2/workflows/events", "/v2/workflows/events/runs"} {
			c.do("GET", path+"?count=1000000", "").ok()
			c.do("GET", path+"?count=0", "").refused(400, "count")
		}
		for _, op := range filteringOperations(t) {
			c.do(op.Method, op.Path+"?count=1000000", "").ok()
			c.do(op.Method, op.Path+"?count=0", "").refused(400, "count")
		}
	})
}

func TestTheHostOfAFilterMayBeAnIPv6Address(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	c := newClient(t, u)
	u.Publish("http://[::2]:99/a", nil, "Svc-Delay: 1h")
	for host, want := range map[string]int{"[::2]:99": 1, "[::2]": 1, "::2": 1, "[::2]:98": 0, "[::3]": 0} {
		if got := len(c.do("GET", "/v2/logs?host="+url.QueryEscape(host), "").ok().list("logs")); got != want {
			t.Errorf("host %s: %d logs, want %d", host, got, want)
		}
	}
}

// A list answers all the same, since other clients may send names of their own,
// and says what it has ignored.
func TestAnIgnoredFilterOfAListIsNamed(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	for path, want := range map[string]string{
		"/v2/dlq?labeel=a":                                 "query labeel: unknown filter, ignored; did you mean \"label\"?",
		"/v2/logs?mesageId=a":                              "query mesageId: unknown filter, ignored; did you mean \"messageId\"?",
		"/v2/events?labl=a":                                "query labl: unknown filter, ignored; did you mean \"label\"?",
		"/v2/logs?label=a&count=1":                         "",
		"/v2/logs?" + published.TokenQuery + "=" + c.token: "",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			expect.Equal(t, "warning", c.do("GET", path, "").ok().header.Get(published.HeaderPrefix+"Warning"), want)
		})
	}
}

// A call of the control API comes from a tester: with a name that the server does not know
// it would list more than intended, or reset another account.
func TestTheControlAPIRefusesUnknownParameters(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	u.Publish("https://app.test/kept", nil)
	for call, want := range map[string]string{
		"GET messages?statee=FAILED": `query statee: unknown filter: must be one of sort, account, cursor, count, source, state, url`,
		"GET deliveries?mesageId=a":  `did you mean "messageId"?`,
		"GET flow?kee=a":             `query kee: unknown parameter: must be one of account, count, key; did you mean "key"?`,
		"GET clock?acount=b":         `query acount: unknown parameter: must be account; did you mean "account"?`,
		"POST reset?acount=b":        `query acount: unknown filter: must be account; did you mean "account"?`,
		"DELETE limits?keey=b":       `query keey: unknown filter: must be one of account, key; did you mean "key"?`,
		"DELETE stubs?":              "",
		"POST reset?account=":        `query account: invalid value "": must be an account id, or * for all`,
		"GET messages?account=":      `query account: invalid value "": must be the id of one account`,
		"GET deliveries?status=0":    `query status: invalid value "0": must be an HTTP status such as 503`,
		"GET health?verbose=1":       `query verbose: unknown parameter: must be left out: this operation has no parameters`,
		"GET sink/status/200?a=b":    "",
		"GET ui/messages?own=1":      "",
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			method, path, _ := strings.Cut(call, " ")
			a := newClient(t, u).do(method, "/_understudy/"+path, "")
			if want == "" {
				a.ok()
				return
			}
			a.refused(400, want)
		})
	}
	t.Run("nothing is reset", func(t *testing.T) {
		t.Parallel()
		expect.Equal(t, "messages", len(newClient(t, u).do("GET", "/_understudy/messages", "").ok().list("messages")), 1)
	})
}
