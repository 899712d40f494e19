package report

import "testing"

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
