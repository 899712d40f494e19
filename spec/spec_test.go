package spec

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func load(t testing.TB) *Document {
	t.Helper()
	d, err := Load()
	expect.NoError(t, err)
	return d
}

func TestDocumentsAreValidOpenAPI(t *testing.T) {
	t.Parallel()
	for _, d := range eager {
		doc, err := read(d.text)
		expect.NoError(t, err)
		if err := doc.Validate(t.Context()); err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
	}
}

func TestEveryOperationSaysWhereItComesFromAndWhoServesIt(t *testing.T) {
	t.Parallel()
	origins := []string{"documented", "extension"}
	documented := 0
	for _, o := range load(t).Operations() {
		if expect.True(t, fmt.Sprintf("%s: slices.Contains(origins, o.Origin)", o.ID), slices.Contains(origins, o.Origin)) {
			expect.True(t, fmt.Sprintf("%s: o.Area that is not empty", o.ID), o.Area != "")
			expect.True(t, fmt.Sprintf("%s: o.Tag that is not empty", o.ID), o.Tag != "")
		}
		if o.Origin == "documented" {
			documented++
		}
	}
	law, err := os.ReadFile("../docs/reference/interface.md")
	expect.NoError(t, err)
	_, endpoints, _ := strings.Cut(string(law), "\n## Endpoints\n")
	endpoints, _, _ = strings.Cut(endpoints, "\n## ")
	expect.Equal(t, "number of documented operations", documented, strings.Count(endpoints, "\n### "))
}

// The generated reference describes an operation by its summary.
func TestEveryOperationHasASummary(t *testing.T) {
	t.Parallel()
	control, err := LoadControl()
	expect.NoError(t, err)
	for _, o := range slices.Concat(load(t).Operations(), control.Operations()) {
		if o.Summary == "" || strings.HasSuffix(o.Summary, ".") {
			t.Errorf("%s: summary %q: must be a sentence without its full stop", o.ID, o.Summary)
		}
	}
}

// Each operation's own URL must reach that operation, not a greedier one, in any case
// of its fixed segments.
func TestEveryRouteReachesItsOperation(t *testing.T) {
	t.Parallel()
	d := load(t)
	for _, o := range d.Operations() {
		vars := map[string]string{}
		for _, p := range o.rules().parameters {
			if p.in == "path" {
				vars[p.name] = "aA1"
				if p.greedy && o.Tag != "vector" && o.Tag != "kv" {
					vars[p.name] = "https://example.com/a//B"
				}
			}
		}
		for _, write := range []func(string) string{func(s string) string { return s }, strings.ToUpper, strings.ToLower, strings.Title} { //nolint:staticcheck // ASCII
			cased := Operation{Path: variable.ReplaceAllStringFunc(write(o.Path), func(string) string { return "{}" }), greedy: o.greedy}
			for _, name := range variable.FindAllString(o.Path, -1) {
				cased.Path = strings.Replace(cased.Path, "{}", name, 1)
			}
			path := cased.URL(vars, nil)
			found, values := first(d, o.Method, path)
			if found != o {
				t.Errorf("%s %s does not reach %s", o.Method, path, o.ID)
			} else if !maps.Equal(values, vars) {
				t.Errorf("%s %s: variables %v, want %v", o.Method, path, values, vars)
			}
		}
	}
}

func first(d *Document, method, path string) (*Operation, map[string]string) {
	for _, o := range d.Operations() {
		if vars, ok := o.Match(path); ok && o.Method == method {
			return o, vars
		}
	}
	return nil, nil
}

func TestProblemsAreOneReadableLine(t *testing.T) {
	t.Parallel()
	d := load(t)
	cases := []struct{ name, op, target, body, want string }{
		{"count below the minimum", "listWorkflowDLQ", "/v2/workflows/dlq?count=0", "", `query count: invalid value "0": must be an integer of 1 or more`},
		{"count that is not a number", "listWorkflowDLQ", "/v2/workflows/dlq?count=abc", "", `query count: invalid value "abc": must be an integer of 1 or more`},
		{"a filter twice where one is allowed", "listWorkflowDLQ", "/v2/workflows/dlq?count=1&count=2", "", `query count: invalid value "1": given 2 times: must be one value, an integer of 1 or more`},
		{"unknown period", "getUsageStatistics", "/v2/qstash/stats/u?period=2h", "", `query period: invalid value "2h": must be 1h, 3h, 12h, 1d, 3d, 7d or 30d`},
		{"broken JSON", "updateURLGroup", "/v2/topics/g", "{\"headers\":\n {\"a\": }}", `body: invalid JSON at line 2, column 8: unexpected '}': must be a value: an object, a list, a string in double quotes, a number, true, false or null`},
		{"JSON that continues", "updateURLGroup", "/v2/topics/g", `{"headers":{}} {}`, `body: more text after the JSON at line 1, column 16: must be one JSON value`},
		{"missing member", "updateURLGroup", "/v2/topics/g", `{}`, `body /headers: missing: must be an object`},
		{"neither of two shapes", "updateURLGroup", "/v2/topics/g", `{"headers":{"a":1}}`, `body /headers/a: invalid value 1: must be a string or an array`},
		{"empty body", "updateURLGroup", "/v2/topics/g", ``, `body: empty: must be JSON, an object`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := d.Operation(c.op)
			vars := map[string]string{"urlGroupName": "g", "id": "u"}
			r := httptest.NewRequest(o.Method, c.target, http.NoBody)
			problems := o.CheckRequest(r, vars, r.URL.Query(), []byte(c.body))
			if len(problems) != 1 {
				t.Fatalf("%d problems: %v", len(problems), problems)
			}
			if got := problems[0].String(); got != c.want || strings.Contains(got, "\n") {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestResponsesAreHeldToTheDocument(t *testing.T) {
	t.Parallel()
	d := load(t)
	h := http.Header{"Content-Type": {"application/json"}}
	o := d.Operation("restartWorkflowRun")
	if p := o.CheckResponse(200, h, []byte(`{"workflowRunId":"wfr_1","workflowCreatedAt":1}`)); len(p) != 0 {
		t.Error(p)
	}
	for name, body := range map[string]string{
		"a wrong type":    `{"workflowRunId":"wfr_1","workflowCreatedAt":"1"}`,
		"a missing field": `{"workflowRunId":"wfr_1"}`,
		"a surplus field": `{"workflowRunId":"wfr_1","workflowCreatedAt":1,"x":1}`,
		"another type":    `[]`,
		"no JSON":         `<html>`,
	} {
		if p := o.CheckResponse(200, h, []byte(body)); len(p) == 0 {
			t.Errorf("%s passes", name)
		}
	}
	if p := o.CheckResponse(204, h, nil); len(p) == 0 {
		t.Error("an undeclared status passes")
	}
}

func BenchmarkCheckPublish(b *testing.B) {
	o := load(b).Operation("publishMessage")
	r := httptest.NewRequest("POST", "/v2/publish/https://example.com/x?svc-delay=1s", http.NoBody)
	r.Header.Set("Svc-Retries", "3")
	r.Header.Set("Content-Type", "application/json")
	vars := map[string]string{"destination": "https://example.com/x"}
	for b.Loop() {
		if p := o.CheckRequest(r, vars, r.URL.Query(), []byte(`{}`)); len(p) > 0 {
			b.Fatal(p)
		}
	}
}

// A document must not have paths that Match does not support.
func TestPathsOfWholeSegments(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/a/{b}.json":                          "segment {b}.json: a variable must be a whole segment",
		"/a/x{b}":                              "segment x{b}: a variable must be a whole segment",
		"/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}": "9 variables: must be at most 8",
	} {
		_, err := parse("openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths: {\"" + path + "\": {get: {operationId: o, responses: {}}}}")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", path, err, want)
		}
	}
}
