package report

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// said is the text that every format for a whole report must contain.
func said(r *Report) map[string]string {
	return map[string]string{
		"the verdict": r.Verdict(), "the selection": "--requirement REQ-PUB-001", "a flag": "--accept-partial", "a binding": "Svc-Flow-Control-Key",
		"the target file": "urls: {base: http://a.test}", "the version of the suite": "1.2.3", "the commit": "0f1e2d", "the version of the target": "4.5.6", "the duration": "1.5s",
	}
}

// Every report contains what is needed to read it without the command that made it.
func TestReportsSayWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	for _, format := range Formats() {
		if slices.Contains([]string{"github", "terminal"}, format) { // each is a part on purpose
			continue
		}
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := &Report{
				Suite: "1.2.3", Commit: "0f1e2d", Run: "cf1", Duration: Span(1500 * time.Millisecond), Target: Target{Name: "acme", Version: "4.5.6"},
				Selection: []string{"--requirement REQ-PUB-001"}, Flags: []string{"--accept-partial"}, AcceptPartial: true,
				Bindings: map[string]string{"headers.flow_key": "Svc-Flow-Control-Key"}, TargetFile: "urls: {base: http://a.test}\nbindings: {flow_key: Svc-Flow-Control-Key}\n",
				Results: []Result{{Feature: "Publishing", Name: "one", Location: "a.feature:1", Verdict: Pass, Requirements: []string{"REQ-PUB-001"}, Profiles: []string{"MSG"}}},
			}
			r.Summarise([]string{"MSG"})
			var b strings.Builder
			if err := Write(format, &b, r); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			for what, want := range said(r) {
				if !strings.Contains(text, want) && !(what == "the duration" && format == "json") {
					t.Errorf("%s is missing: %q", what, want)
				}
			}
			if strings.Contains(text, ": conformant") || strings.Contains(text, "result: conformant") {
				t.Error("a selection is called conformant")
			}
		})
	}
}

// A run is conformant only if it is whole and everything was judged, whatever the exit code.
func TestVerdictWords(t *testing.T) {
	t.Parallel()
	whole := func(change func(*Report), verdicts ...Verdict) *Report {
		r := &Report{Claimed: []string{"MSG"}}
		for _, v := range verdicts {
			r.Results = append(r.Results, Result{Verdict: v, Profiles: []string{"MSG"}, Requirements: []string{"REQ-PUB-001"}})
		}
		if change != nil {
			change(r)
		}
		r.Summarise([]string{"MSG"})
		return r
	}
	for _, c := range []struct {
		name string
		r    *Report
		word string
		code int
	}{
		{"everything passes", whole(nil, Pass, Observed), "conformant", 0},
		{"an implied requirement fails", whole(nil, Pass, Warn), "conformant; 1 implied requirement does not hold: REQ-PUB-001", 0},
		{"a selection passes", whole(func(r *Report) { r.Selection = []string{"--tags @stated"} }, Pass), "selection: all of it holds", 0},
		{"a selection fails", whole(func(r *Report) { r.Selection = []string{"--tags @stated"} }, Fail), "selection: NOT conformant", 1},
		{"a partial run", whole(nil, Pass, Inconclusive), "partial: not everything could be judged", 4},
		{"a partial run is accepted", whole(func(r *Report) { r.AcceptPartial = true }, Pass, Inconclusive), "partial: not everything could be judged", 0},
		{"nothing was judged", whole(nil), "partial: nothing was judged", 4},
		{"a claimed profile was not judged", whole(func(r *Report) { r.Claimed = append(r.Claimed, "FLOW") }, Pass), "partial: not judged: FLOW", 4},
		{"the target lacks something and claims nothing", whole(func(r *Report) { r.Claimed, r.Absent = nil, []string{"dlq"} }, Pass), "partial: not judged: dlq", 4},
		{"a failure and harness errors", whole(nil, Fail, HarnessError), "NOT conformant", 1},
		{"a harness error", whole(nil, Pass, HarnessError), "no verdict: the suite or a driver failed", 7},
		{"an expected failure", whole(func(r *Report) { r.Results[0].Expected = true }, Fail, Pass), "NOT conformant, as expected: 1 in the baseline", 0},
		{"the target became unreachable", whole(func(r *Report) { r.Unreachable = "http://a does not answer" }, Pass, Fail), "no verdict: http://a does not answer", 3},
		{"a limit", whole(func(r *Report) { r.Exhausted = "limits.wall: 3s" }, Pass, Inconclusive), "a limit ended the run: limits.wall: 3s", 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.r.Verdict(); got != c.word {
				t.Errorf("verdict %q, want %q", got, c.word)
			}
			if got := c.r.ExitCode(); got != c.code {
				t.Errorf("exit %d, want %d", got, c.code)
			}
		})
	}
}
