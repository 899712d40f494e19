package mockserver_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec"
)

// noFilters are the query parameters of lists and bulk operations that select nothing, each
// with what it does. A parameter that is added must filter, or be added here.
var noFilters = map[string]string{
	"account":               "chooses the account",
	"count":                 "the size of the page",
	"counts":                "asks for numbers",
	"cursor":                "the start of the page",
	"follow":                "streams new entries",
	"groupBy":               "the form of the list",
	"limit":                 "the size of the list",
	"maxBody":               "the size of bodies",
	"sort":                  "the order",
	"trimBody":              "clients send it, it has no effect",
	"workflowRuns":          "clients send it, it has no effect",
	"workflowUrlExactMatch": "how workflowUrl is compared",
}

// impossible are values that match nothing of full, for the parameters that do not accept
// any text.
var impossible = map[string][]string{
	"fromDate":          {"32503680000000"},
	"position":          {"1000000"},
	"responseStatus":    {"299"},
	"state":             {"RUN_CANCELED", "CANCEL_REQUESTED"},
	"status":            {"299"},
	"toDate":            {"1"},
	"workflowCreatedAt": {"1"},
	"workflowState":     {"RUN_CANCELED"},
}

// halves are the two values of filters that have no other; each entry has one of them.
var halves = map[string][]string{"refused": {"true", "false"}, "source": {"workflow", "message"}}

// filters are the query parameters of an operation that select.
func filters(op *spec.Operation) []string {
	return slices.DeleteFunc(op.QueryParameters(), func(name string) bool { return noFilters[name] != "" })
}

// entries is the number of entries of a list.
func entries(a answer) int {
	if list, ok := a.json.([]any); ok {
		return len(list)
	}
	members, _ := a.json.(map[string]any)
	for _, v := range members {
		if list, ok := v.([]any); ok {
			return len(list)
		}
	}
	return 0
}

// unfiltered are queries without which an operation would list nothing, or something else.
var unfiltered = map[string][]string{
	"controlSearch":      {"q=state:created"},
	"listWorkflowEvents": {"", "groupBy=workflowRunId"},
}

func TestEveryParameterOfAListFilters(t *testing.T) {
	t.Parallel()
	_, c := full(t)
	c.do("POST", "/v2/flowControl/k/pause", "").ok()
	tested := 0
	for _, op := range declared(t) {
		if op.Method != http.MethodGet || len(filters(op)) == 0 || op.Tag == "page" || !(op.List || op.ID == "controlFlowKeys") {
			continue
		}
		bases := unfiltered[op.ID]
		if bases == nil {
			bases = []string{""}
		}
		for _, base := range bases {
			count := func(query string) int { return entries(c.do("GET", op.Path+"?"+base+query, "").ok()) }
			if count("") == 0 {
				t.Errorf("%s?%s lists nothing: nothing is tested", op.ID, base)
			}
			for _, name := range filters(op) {
				tested++
				t.Run(op.ID+" "+base+" "+name, func(t *testing.T) {
					c := *c
					c.t = t
					if two := halves[name]; two != nil {
						expect.Equal(t, "entries of both halves", count("&"+name+"="+two[0])+count("&"+name+"="+two[1]), count(""))
						return
					}
					query, _ := url.ParseQuery(base)
					a := answer{}
					for _, value := range append(slices.Clone(impossible[name]), "impossible") {
						query.Set(name, value)
						if a = c.do("GET", op.Path+"?"+query.Encode(), ""); a.status == http.StatusOK {
							break
						}
					}
					expect.Equal(t, "entries", entries(a.ok()), 0)
				})
			}
		}
	}
	expect.True(t, "at least 100 parameters", tested > 100)
}

func TestEveryParameterOfABulkOperationFilters(t *testing.T) {
	t.Parallel()
	_, c := full(t)
	before := contents(c)
	for _, op := range bulkOperations(t) {
		for _, name := range filters(op) {
			if name == "source" || op.Area == "control_url" {
				continue // see TestSourceNarrowsBulkOperations and TestLimits
			}
			values := impossible[name]
			if values == nil {
				values = []string{"impossible"}
			}
			c.do(op.Method, op.Path+"?"+url.Values{name: values[:1]}.Encode(), "").ok()
			c.do(op.Method, op.Path, `{"`+name+`":["`+values[0]+`"]}`).ok()
			if after := contents(c); after != before {
				t.Fatalf("%s with an impossible %s changed something\nbefore %s\nafter  %s", op.ID, name, before, after)
			}
		}
	}
}

var variables = regexp.MustCompile(`\{\w+\}`)

// Whatever is asked for does not exist.
func TestEveryAnswerHasADeclaredStatus(t *testing.T) {
	t.Parallel()
	_, c := full(t)
	for _, op := range declared(t) {
		if op.ID == "controlEvents" || op.Tag == "page" {
			continue
		}
		path := variables.ReplaceAllString(op.Path, "nope")
		queries := []string{""}
		for _, name := range op.QueryParameters() {
			if name != "follow" {
				queries = append(queries, name+"=nope", name+"=1")
			}
		}
		for _, query := range queries {
			if a := c.do(op.Method, path+"?"+query, ""); !op.Declares(a.status) {
				t.Errorf("%s %s?%s answers %d, which its operation does not declare: %s", op.Method, path, query, a.status, a.raw)
			}
		}
	}
}

func TestAMessageFindsItsRun(t *testing.T) {
	t.Parallel()
	_, c := full(t)
	list := c.do("GET", "/_understudy/messages?source=workflow", "").ok()
	if len(list.list("messages")) == 0 {
		t.Fatal("no message of a run")
	}
	for i := range list.list("messages") {
		id, run := list.text("messages", i, "messageId"), list.text("messages", i, "workflowRunId")
		found := c.do("GET", "/v2/workflows/logs?messageId="+id, "").ok()
		if n := len(found.list("runs")); n != 1 || found.text("runs", 0, "workflowRunId") != run {
			t.Errorf("message %s (%s) of run %s finds %d runs: %s", id, list.text("messages", i, "role"), run, n, found.raw)
		}
		for _, path := range []string{"/v2/workflows/messageLogs", "/v2/workflows/events"} {
			events := c.do("GET", path+"?messageId="+id, "").ok()
			if len(events.list("events")) == 0 {
				t.Errorf("%s lists no events of message %s", path, id)
			}
			for j := range events.list("events") {
				expect.Equal(t, "run of an event", events.text("events", j, "workflowRunId"), run)
			}
		}
	}
}
