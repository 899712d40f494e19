package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/expect"
	"github.com/understudy-mock/understudy/spec"
)

// hostile is text that must neither break a report nor run in it.
const hostile = "</script><script>alert(1)</script> ]]> \x00\x1b[31m \xff & \u2028 \"'"

// sample is a report with every verdict.
func sample() *Report {
	r := &Report{Suite: "1.0", Revision: "2025-r1", Run: "cf1", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Duration: 1500 * time.Millisecond,
		Target: Target{Name: "acme " + hostile, Version: "1.2"}, Observations: map[string][]string{"publish.status": {"202"}}}
	for i, v := range []Verdict{Pass, Fail, Warn, Inconclusive, HarnessError, Observed, NotApplicable} {
		x := Result{
			Feature: "Publishing", Name: "scenario " + string(v), Location: "publish.feature:" + string(rune('1'+i)), Basis: spec.Stated,
			Requirements: []string{"REQ-PUB-001"}, Profiles: []string{"MSG"}, Verdict: v, Started: r.Started, Duration: time.Second,
			Steps: []Step{{Text: "Given " + hostile, Verdict: Pass}, {Text: "the message arrives", Verdict: v}},
		}
		switch v {
		case Fail, Warn:
			x.Failure = &Failure{Step: "the message arrives", Message: hostile, Pointer: "/a/0", Want: "one", Got: hostile, Exchange: 0}
			x.Detail = x.Failure.Error()
			x.Exchanges = []Exchange{{Method: "POST", URL: "http://x.test/?svc_token=***", Status: 200, Answer: hostile, Curl: "curl -sS 'http://x.test/'"}}
			x.Deliveries = []Delivery{{Endpoint: "the destination", Method: "POST", Path: "/", Answered: 503, At: time.Second}}
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
	for _, want := range []string{"REQ-PUB-001 (stated) A message that is published", "problem:", "pointer:  /a/0", "expected: one", "actual:", "repeat:   curl -sS", "received: +1s the destination: POST /, answered 503", "driver-missing", "MSG", "NOT conformant", "; harness errors: 1", `interface document, "What the service does": "It publishes HTTP messages to a destination URL"`, "INCONCLUSIVE  driver-missing: 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	if strings.Index(text, "FAIL ") > strings.Index(text, "INCONCLUSIVE") {
		t.Error("failures do not come first")
	}
}

func TestJUnitReport(t *testing.T) {
	t.Parallel()
	var suites junitSuites
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
	var features []cucumberFeature
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
	var short published
	{
		err := yaml.Unmarshal([]byte(render(t, "yaml")), &short)
		expect.Nil(t, "error", err)
		expect.Equal(t, "kind", short.Kind, "ConformanceReport")
		if expect.Equal(t, "number of profiles", len(short.Profiles), 1) {
			expect.Equal(t, "number of failed scenarios", len(short.Failed), 2)
		}
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
	if err := Write("pdf", io.Discard, sample()); err == nil || !strings.Contains(err.Error(), "must be one of badge, cucumber, html, json, junit, terminal, yaml") {
		t.Errorf("an unknown format: %v", err)
	}
}
