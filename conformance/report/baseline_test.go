package report

import (
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func TestBaseline(t *testing.T) {
	t.Parallel()
	today := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	report := func() *Report {
		return &Report{Results: []Result{
			{Name: "one", Requirements: []string{"REQ-PUB-001"}, Verdict: Fail},
			{Name: "two", Requirements: []string{"REQ-PUB-002"}, Verdict: Pass},
		}}
	}
	for _, c := range []struct {
		text  string
		flaky bool
		exit  int
		want  string // part of the error, or the stale entries
	}{
		{"", false, 1, ""},
		{"- {id: REQ-PUB-001, reason: being fixed}", false, 0, ""},
		{"- {id: REQ-PUB-*, reason: being fixed}", false, 0, ""},
		{"- {id: 'o*', reason: x}", false, 0, ""},
		{"- {id: one}", false, -1, "b.yaml:1: [0].reason: missing: must say why"},
		{"- {id: two, reason: x}\n- {id: one, reason: x}", false, 5, "b.yaml:1: two: it was expected to fail, and passes"},
		{"- {id: 'REQ-PUB-002:No answer breaks REQ-PUB-002', reason: x}\n- {id: one, reason: x}", false, 5, "b.yaml:1: REQ-PUB-002:No answer breaks REQ-PUB-002: it was expected to fail, and passes"},
		{"- {id: one, issue: 'https://x.test/1', expires: 2026-12-31}", true, 0, ""},
		{"- {id: one, issue: 'https://x.test/1', expires: 2026-01-31}", true, 5, "b.yaml:1: one: expired on 2026-01-31"},
		{"- {id: one, expires: 2026-12-31}", true, -1, "b.yaml:1: [0].issue: missing: must be"},
		{"- {id: one, issue: x, expires: soon}", true, -1, "b.yaml:1: [0].expires: invalid value \"soon\": must be a date"},
		{"- {reason: x}", false, -1, "b.yaml:1: [0].id: missing: must be"},
		{"- {id: one, resaon: x}", false, -1, "b.yaml:1: [0].resaon: unknown key: must be one of id, reason, issue, depends; did you mean"},
		{"id: one", false, -1, "b.yaml:1: must be a list"},
		{"- {", false, -1, "b.yaml:"},
	} {
		b := &target.Baseline{File: "b.yaml", Flaky: c.flaky}
		err := b.Parse([]byte(c.text))
		if refused := c.exit == -1; (err != nil) != refused {
			t.Errorf("%q: got error %v, want one: %t", c.text, err, refused)
			continue
		}
		if err != nil {
			expect.Contains(t, "the error of "+c.text, err.Error(), c.want)
			continue
		}
		r := report()
		r.Apply(b, today)
		expect.Equal(t, "the exit code with "+c.text, r.ExitCode(), c.exit)
		expect.Equal(t, "the stale entries with "+c.text, strings.Join(r.Stale, ""), c.want)
	}
}
