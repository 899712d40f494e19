package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAReportIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	want := renderOf(t, "json", small("one", map[string]Verdict{"a": Pass, "b": Fail, "c": Inconclusive}))
	read, err := Read(strings.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	got := renderOf(t, "json", read)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the report has changed (-written +read):\n%s", diff)
	}
}

func TestWhatIsNoReportIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", "[]", "null", `{"run":"x"}`, "<svg/>"} {
		if _, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%q was read as a report", text)
		}
	}
}

func renderOf(t *testing.T, format string, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(format, &b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// small is a report with the given verdicts, by the name of the scenario: a, b or c.
func small(run string, verdicts map[string]Verdict) *Report {
	r := &Report{Run: run, Suite: "1", Revision: "2025-r1", Target: Target{Name: "acme"}}
	for _, name := range []string{"a", "b", "c"} {
		if v := verdicts[name]; v != "" {
			r.Results = append(r.Results, Result{Name: name, Location: "x.feature:" + map[string]string{"a": "2", "b": "10", "c": "20"}[name], Verdict: v, Requirements: []string{"REQ-PUB-001"}, Profiles: []string{"MSG"}})
		}
	}
	r.Summarise([]string{"MSG"})
	return r
}

func TestMerge(t *testing.T) {
	t.Parallel()
	t.Run("the scenarios of all runs are in the order of the features", func(t *testing.T) {
		t.Parallel()
		merged, err := Merge(small("one", map[string]Verdict{"b": Pass}), small("two", map[string]Verdict{"a": Pass, "c": Pass}))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range merged.Results {
			names = append(names, merged.Results[i].Name)
		}
		if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
			t.Errorf("scenarios (-want +got):\n%s", diff)
		}
	})
	t.Run("the worst verdict on a scenario counts", func(t *testing.T) {
		t.Parallel()
		for _, order := range [][2]Verdict{{Pass, Fail}, {Fail, Pass}} {
			merged, err := Merge(small("one", map[string]Verdict{"a": order[0]}), small("two", map[string]Verdict{"a": order[1]}))
			if err != nil {
				t.Fatal(err)
			}
			if got := merged.Results[0].Verdict; got != Fail {
				t.Errorf("%v: got %s, want %s", order, got, Fail)
			}
		}
	})
	t.Run("merged selections remain a selection until they are complete", func(t *testing.T) {
		t.Parallel()
		one, two := small("one", map[string]Verdict{"a": Pass}), small("two", map[string]Verdict{"b": Pass})
		one.Selection, two.Selection = []string{"--profile MSG"}, []string{"--profile GROUP"}
		merged, err := Merge(one, two)
		if err != nil {
			t.Fatal(err)
		}
		for _, all := range []struct {
			scenarios []string
			want      string
		}{{[]string{"a", "b", "c"}, "selection: all of it holds"}, {[]string{"a", "b"}, "conformant"}} {
			merged.Complete(all.scenarios)
			if got := merged.Verdict(); got != all.want {
				t.Errorf("of the scenarios %v: got %q, want %q", all.scenarios, got, all.want)
			}
		}
	})
	t.Run("reports of two targets are refused", func(t *testing.T) {
		t.Parallel()
		other := small("two", map[string]Verdict{"a": Pass})
		other.Target.Name = "other"
		if _, err := Merge(small("one", map[string]Verdict{"a": Pass}), other); err == nil {
			t.Error("got no error, want one")
		}
	})
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		before, after Verdict
		want          string // the list that the scenario is in
		worse         bool
	}{
		{"what passed and fails is a regression", Pass, Fail, "regressions", true},
		{"what passed and can no longer be judged is a regression", Pass, Inconclusive, "regressions", true},
		{"what could not be judged and fails is a regression", Inconclusive, Fail, "regressions", true},
		{"what failed and passes is repaired", Fail, Pass, "repaired", false},
		{"what failed and can no longer be judged is another change", Fail, Inconclusive, "other", false},
		{"a scenario that is new and passes is added", "", Pass, "added", false},
		{"a scenario that is new and fails is worse", "", Fail, "added", true},
		{"a scenario that was deleted is removed", Pass, "", "removed", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := Diff(small("one", map[string]Verdict{"a": c.before, "b": Pass}), small("two", map[string]Verdict{"a": c.after, "b": Pass}))
			lists := map[string][]Change{"regressions": d.Regressions, "repaired": d.Repaired, "other": d.Other, "added": d.Added, "removed": d.Removed}
			for name, list := range lists {
				want := 0
				if name == c.want {
					want = 1
				}
				if len(list) != want {
					t.Errorf("%s: got %d changes, want %d", name, len(list), want)
				}
			}
			if got := d.Worse(); got != c.worse {
				t.Errorf("worse: got %v, want %v", got, c.worse)
			}
		})
	}
}

func TestRegressionsArePrintedFirst(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	d := Diff(small("one", map[string]Verdict{"a": Fail, "b": Pass}), small("two", map[string]Verdict{"a": Pass, "b": Fail}))
	if err := d.Write(&b); err != nil {
		t.Fatal(err)
	}
	regression, repair := strings.Index(b.String(), "Regressions (1)"), strings.Index(b.String(), "Repaired (1)")
	if regression < 0 || repair < regression {
		t.Errorf("regressions at %d, repaired at %d:\n%s", regression, repair, b.String())
	}
}
