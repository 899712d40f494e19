package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/understudy-mock/understudy/internal/junit"
	"github.com/understudy-mock/understudy/internal/testkit/drift"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec"
)

// hostile is text that must neither break a report nor run in it.
const hostile = "</script><script>alert(1)</script> ]]> \x00\x1b[31m \xff & \u2028 \"'"

// sample is a report with every verdict.
func sample() *Report {
	r := &Report{Suite: "1.0", Revision: "2025-r1", Run: "cf1", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Duration: Span(1500 * time.Millisecond),
		Target: Target{Name: "acme " + hostile, Version: "1.2"}, Observations: map[string][]string{"publish.status": {"202"}}}
	for i, v := range []Verdict{Pass, Fail, Warn, Inconclusive, HarnessError, Observed, NotApplicable} {
		x := Result{
			Feature: "Publishing", Name: "scenario " + string(v), Location: "publish.feature:" + string(rune('1'+i)), Basis: spec.Stated,
			Requirements: []string{"REQ-PUB-001"}, Profiles: []string{"MSG"}, Verdict: v, Started: r.Started, Duration: Span(time.Second),
			Steps: []Step{{Text: "Given " + hostile, Verdict: Pass}, {Text: "the message arrives", Verdict: v}},
		}
		switch v {
		case Fail, Warn:
			x.Failure = &Failure{Step: "the message arrives", Message: hostile, Pointer: "/a/0", Want: "one", Got: hostile, Exchange: 0}
			x.Detail = x.Failure.Error()
			x.Exchanges = []Exchange{{Method: "POST", URL: "http://x.test/?svc_token=***", Status: 200, Answer: hostile, Curl: "curl -sS 'http://x.test/'"}}
			x.Deliveries = []Delivery{{Endpoint: "the destination", Method: "POST", Path: "/", Answered: 503, At: Span(time.Second)}}
		case Inconclusive, HarnessError:
			x.Reason, x.Detail = DriverMissing, "the target file names no driver \"run\""
		}
		r.Results = append(r.Results, x)
	}
	r.Summarise([]string{"MSG"})
	return r
}

func render(t *testing.T, format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(format, &b, sample()); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.String()
}

func TestTerminalReportPutsFailuresFirst(t *testing.T) {
	t.Parallel()
	text := render(t, "terminal")
	for _, want := range []string{"FAIL  REQ-PUB-001: ", "stated: It publishes HTTP messages to a destination URL", "publish.feature:2 scenario fail", "expected one, got ", "at /a/0", "repeat: curl -sS", "MSG", "NOT conformant", "; harness errors: 1", "INCONCLUSIVE  REQ-PUB-001: driver-missing"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	if strings.Index(text, "FAIL ") > strings.Index(text, "INCONCLUSIVE") || !strings.Contains(strings.Split(text, "\n")[0], "NOT conformant") {
		t.Errorf("the verdict and then the failures do not come first:\n%s", text)
	}
}

// The report on a terminal fits a screen, and says how much is left out.
func TestTerminalReportIsShort(t *testing.T) {
	t.Parallel()
	for _, causes := range []int{1, 4, 12, 80} {
		r := &Report{Profiles: make([]Profile, 9)}
		for i := range causes {
			message := strings.Repeat("x", i) + " " + strings.Repeat("long\n", 500)
			for range 5 {
				r.Results = append(r.Results, Result{Name: "n", Verdict: Fail, Requirements: []string{"REQ-PUB-001"}, Failure: &Failure{Message: message, Want: message, Got: message}, Exchanges: []Exchange{{Curl: "curl 'a\nb'", Notes: []string{"A: b"}}}})
			}
			r.Results = append(r.Results, Result{Name: "n", Verdict: Inconclusive, Reason: DriverMissing, Detail: message})
		}
		var b strings.Builder
		expect.Nil(t, "error", Write("terminal", &b, r))
		lines := strings.Count(b.String(), "\n")
		expect.True(t, "at most 40 lines", lines <= maxLines)
		if causes < 13 {
			expect.Equal(t, "causes", strings.Count(b.String(), "FAIL  "), causes)
		} else {
			expect.Contains(t, "report", b.String(), " more causes\n")
		}
	}
}

// Results with one cause are shown together, whatever names and numbers are in their messages.
func TestCauses(t *testing.T) {
	t.Parallel()
	failed := func(message string) Result { return Result{Verdict: Fail, Failure: &Failure{Message: message}} }
	r := Report{Results: []Result{failed("no call"), failed("the run wfr_1 did not end"), {Verdict: Warn, Detail: "a"}, failed("the run wfr_2 did not end")}}
	var got []string
	for _, c := range r.causes(bad...) {
		got = append(got, fmt.Sprintf("%s %s %d", c.Verdict, c.Message, len(c.Results)))
	}
	expect.Equal(t, "causes", got, []string{"fail the run wfr_1 did not end 2", "fail no call 1", "warn a 1"})
}

// A Markdown report shows the evidence, what was not judged, and how to repeat the run.
func TestMarkdownReport(t *testing.T) {
	t.Parallel()
	text := render(t, "markdown")
	for _, want := range []string{"| MSG | nonconformant |", "<details><summary>publish.feature:2 scenario fail</summary>", "repeat:   curl -sS", "## Not judged", "## Reproduce", "img.shields.io/badge/conformance-", "understudy conform --target target.yaml", "| suite | 1.0, commit unknown |"} {
		expect.Contains(t, "report", text, want)
	}
	expect.Lacks(t, "report outside of code", strings.Split(text, "## FAIL")[0], "<script>")
}

// Annotations are one line for each cause, whatever a target answers.
func TestGitHubAnnotations(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(render(t, "github")), "\n")
	expect.Equal(t, "number of lines", len(lines), 3)
	expect.Contains(t, "first line", lines[0], "::error title=FAIL REQ-PUB-001::")
	expect.Contains(t, "last line", lines[2], "::warning title=WARN REQ-PUB-001::")
}

// A JSON report has the form that its schema describes, and times in milliseconds.
func TestJSONReportFitsItsSchema(t *testing.T) {
	t.Parallel()
	for _, problem := range drift.Between(spec.ReportSchema, reflect.TypeFor[struct {
		Schema   string `json:"$schema"`
		Verdict  string `json:"verdict"`
		ExitCode int    `json:"exitCode"`
		Report
	}](), "json") {
		t.Error(problem)
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	expect.Nil(t, "error", c.AddResource("mem://report", bytes.NewReader(spec.ReportSchema)))
	var v any
	text := render(t, "json")
	expect.Nil(t, "error", json.Unmarshal([]byte(text), &v))
	expect.Nil(t, "error", c.MustCompile("mem://report").Validate(v))
	expect.Contains(t, "report", text, `"duration": 1500,`)
}

// All requests but those that failures are about lose their headers and bodies, in JSON.
func TestJSONReportIsShort(t *testing.T) {
	t.Parallel()
	r := sample()
	for i := range r.Results {
		r.Results[i].Exchanges = []Exchange{{Method: "GET", URL: "http://a.test", Status: 200, Body: "the body of " + string(r.Results[i].Verdict)}}
	}
	var short strings.Builder
	expect.Nil(t, "error", Write("json", &short, r))
	expect.Lacks(t, "report", short.String(), "the body of pass")
	expect.Contains(t, "report", short.String(), "the body of fail")
}

// Of several requirements, the one whose words are about the field that failed comes first.
func TestTheRequirementThatFailedComesFirst(t *testing.T) {
	t.Parallel()
	r := &Report{Results: []Result{{
		Requirements: []string{"REQ-DLQ-014", "REQ-DLQ-010"}, Basis: spec.Stated, Verdict: Fail,
		Failure: &Failure{Message: "the status of the entry", Pointer: "/messages/0/responseStatus", Exchange: -1},
	}}}
	r.Summarise(nil)
	expect.Equal(t, "first requirement", r.judgedBy(&r.Results[0])[0].ID, "REQ-DLQ-010")
	text := r.plain(&r.Results[0])
	first, _, _ := strings.Cut(text, "REQ-DLQ-014")
	expect.Contains(t, "explanation", first, "HTTP status of the last failed delivery attempt.")
}

func TestJUnitReport(t *testing.T) {
	t.Parallel()
	var suites junit.Report
	text := render(t, "junit")
	if err := xml.Unmarshal([]byte(text), &suites); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	expect.Equal(t, "number of tests", suites.Tests, 7)
	expect.Equal(t, "number of failures", suites.Failures, 1)
	expect.Equal(t, "number of errors", suites.Errors, 1)
	expect.Equal(t, "number of skipped tests", suites.Skipped, 2)
	c := suites.Suites[0].Cases[1]
	if expect.True(t, "a failure of the second case", c.Failure != nil) {
		if expect.Equal(t, "number of properties", len(c.Properties), 3) {
			expect.Equal(t, "value of the first property", c.Properties[0].Value, "REQ-PUB-001")
		}
	}
}

func TestOtherReportsAreWellFormed(t *testing.T) {
	t.Parallel()
	var features []struct{ Elements []any }
	{
		err := json.Unmarshal([]byte(render(t, "cucumber")), &features)
		expect.Nil(t, "error", err)
		if expect.Equal(t, "number of features", len(features), 1) {
			expect.Equal(t, "number of elements", len(features[0].Elements), 7)
		}
	}
	var report Report
	if err := json.Unmarshal([]byte(render(t, "json")), &report); err != nil || len(report.Results) != 7 {
		t.Errorf("json: %v", err)
	}
	page := render(t, "html")
	if strings.Contains(page, "<script>alert") || strings.Count(page, "<script>") != 1 {
		t.Error("html: a payload became markup")
	}
	for _, address := range []string{"src=", "href=", "@import", "url("} {
		if strings.Contains(page, address) {
			t.Errorf("html: it refers to another file: %s", address)
		}
	}
	if err := Write("pdf", io.Discard, sample()); err == nil || !strings.Contains(err.Error(), "must be one of cucumber, github, html, json, junit, markdown, terminal") {
		t.Errorf("an unknown format: %v", err)
	}
}

func TestAReportOfAClientNamesItsCommand(t *testing.T) {
	t.Parallel()
	r := &Report{Bindings: map[string]string{"client.adapter": "node adapter.mjs", "client.language": "Node 24"}, Results: []Result{{Name: "one", Requirements: []string{"REQ-CLI-001"}, Verdict: Pass}}}
	r.Summarise(nil)
	var b strings.Builder
	if err := Write("markdown", &b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"understudy conform --client 'node adapter.mjs'", "client.language=Node 24"} {
		expect.Contains(t, "the report", b.String(), want)
	}
	expect.True(t, "there is no target file", !strings.Contains(b.String(), "target.yaml"))
}

// The failures of a client are grouped by requirement, the gravest first, after the verdicts of its profiles.
func TestAReportOfAClientIsInTheOrderOfGravity(t *testing.T) {
	t.Parallel()
	failed := func(id, message string) Result {
		return Result{Name: message, Requirements: []string{id}, Verdict: Fail, Failure: &Failure{Message: message, Step: "call verify {}", Exchange: -1, Repeat: "understudy conform --client c --scenario " + message}}
	}
	r := &Report{Results: []Result{failed("REQ-CLI-129", "form"), failed("REQ-CLI-129", "form-2"), failed("REQ-CLI-062", "data"), failed("REQ-CLI-062", "data-2"), failed("REQ-CLI-062", "data-3"), failed("REQ-CLI-152", "security")}}
	for i := range r.Results {
		r.Results[i].Profiles = []string{"CLI-PUB"}
	}
	r.Summarise(nil)
	var b strings.Builder
	if err := Write("terminal", &b, r); err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, want := range []string{"profile ", "CLI-PUB ", "NOT conformant (6 fail)", "FAIL  REQ-CLI-152: ", "repeat: understudy conform --client c --scenario security", "# call verify {}", "FAIL  REQ-CLI-062: ", "FAIL  REQ-CLI-129: "} {
		next := strings.Index(b.String(), want)
		if next <= at {
			t.Errorf("%q is missing, or not in its place:\n%s", want, b.String())
		}
		at = next
	}
	expect.Contains(t, "the report", b.String(), "(3)\n")
}

func TestAJSONReportOfAClientFitsItsSchema(t *testing.T) {
	t.Parallel()
	r := &Report{Results: []Result{{Name: "one", Requirements: []string{"REQ-CLI-003", "REQ-CLI-005", "REQ-CLI-129", "REQ-CLI-152"}, Basis: spec.DeFacto, Verdict: Fail, Failure: &Failure{Message: "m", Exchange: -1, Repeat: "again"}}}}
	r.Summarise(nil)
	var b strings.Builder
	if err := Write("json", &b, r); err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal([]byte(b.String()), &v); err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	if err := c.AddResource("mem://report", bytes.NewReader(spec.ReportSchema)); err != nil {
		t.Fatal(err)
	}
	expect.Nil(t, "error", c.MustCompile("mem://report").Validate(v))
}
