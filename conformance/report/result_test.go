package report

import (
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// TestExitCode checks the order of the exit codes: nothing passes without being judged.
func TestExitCode(t *testing.T) {
	t.Parallel()
	results := func(vs ...Verdict) []Result {
		var out []Result
		for _, v := range vs {
			out = append(out, Result{Verdict: v})
		}
		return out
	}
	for _, c := range []struct {
		name string
		r    Report
		want int
	}{
		{"all passed", Report{Results: results(Pass, Observed)}, 0},
		{"nothing was judged", Report{}, 4},
		{"nothing applies", Report{Results: results(NotApplicable)}, 4},
		{"a warning", Report{Results: results(Pass, Warn)}, 0},
		{"a warning, strictly", Report{Results: results(Pass, Warn), Strict: true}, 1},
		{"a failure", Report{Results: results(Pass, Fail, Inconclusive)}, 1},
		{"an expected failure", Report{Results: []Result{{Verdict: Pass}, {Verdict: Fail, Expected: true}}}, 0},
		{"partial", Report{Results: results(Pass, Inconclusive)}, 4},
		{"partial, accepted", Report{Results: results(Pass, Inconclusive), AcceptPartial: true}, 0},
		{"a stale baseline", Report{Results: results(Pass, Inconclusive), Stale: []string{"x"}}, 5},
		{"a failure and a stale baseline", Report{Results: results(Fail), Stale: []string{"x"}}, 1},
		{"a budget", Report{Results: results(Pass, Inconclusive), Exhausted: "wall"}, 6},
		{"a harness error and a failure", Report{Results: results(Fail, HarnessError)}, 1},
		{"interrupted", Report{Results: results(Pass), Interrupted: true}, 130},
	} {
		if got := c.r.ExitCode(); got != c.want {
			t.Errorf("%s: exit %d; want %d", c.name, got, c.want)
		}
	}
}

// The worst run of a scenario counts; one that failed in some runs only is unreliable.
func TestRunsOfAScenario(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		runs []Verdict
		want Verdict
		says string
	}{
		{[]Verdict{Fail, Fail}, Fail, "failed 2 of 2"},
		{[]Verdict{Fail, Pass}, Unreliable, "failed 1 of 2"},
		{[]Verdict{Pass, Warn, Pass}, Warn, "failed 1 of 3"},
		{[]Verdict{Pass, Fail, Pass}, Unreliable, "failed 1 of 3"},
		{[]Verdict{Fail, Inconclusive}, Fail, "failed 1 of 2"},
		{[]Verdict{Pass, Inconclusive}, Inconclusive, "failed 0 of 2"},
		{[]Verdict{Fail, HarnessError, Pass}, HarnessError, "failed 1 of 3"},
		{[]Verdict{Pass, Pass}, Pass, "failed 0 of 2"},
	} {
		x := Result{Verdict: c.runs[0]}
		for _, v := range c.runs[1:] {
			x.Again(&Result{Verdict: v})
		}
		expect.Equal(t, "verdict", x.Verdict, c.want)
		expect.Equal(t, "text", x.Times(), c.says)
	}
}

// The scenarios whose runs differ are in a table.
func TestUnreliableScenariosAreListed(t *testing.T) {
	t.Parallel()
	r := Report{Results: []Result{{Name: "steady", Verdict: Pass, Tries: []Verdict{Pass, Pass}}, {Name: "one", Location: "a.feature:1", Verdict: Unreliable, Tries: []Verdict{Fail, Pass}}}}
	var terminal, markdown strings.Builder
	expect.Nil(t, "error", Write("terminal", &terminal, &r))
	expect.Nil(t, "error", Write("markdown", &markdown, &r))
	expect.Contains(t, "terminal", terminal.String(), "\nunreliable (1)    runs\na.feature:1 one   failed 1 of 2\n")
	expect.Contains(t, "markdown", markdown.String(), "## Unreliable\n\n| scenario | runs |\n|---|---|\n| one `a.feature:1` | failed 1 of 2 |\n")
	expect.Lacks(t, "terminal", terminal.String(), "steady")
}

// A scenario that is unreliable is not green, unless it is known to be.
func TestUnreliableIsNotGreen(t *testing.T) {
	t.Parallel()
	for known, code := range map[bool]int{false: ExitPartial, true: ExitConformant} {
		r := Report{Results: []Result{{Verdict: Pass}, {Verdict: Unreliable, Expected: known}}, AcceptPartial: true}
		expect.Equal(t, "exit code", r.ExitCode(), code)
	}
}
