package conformance

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cucumber/godog"

	"github.com/understudy-mock/understudy/features"
	"github.com/understudy-mock/understudy/spec"
)

// tagFamilies is the closed list of tags.
var tagFamilies = regexp.MustCompile(`^@(REQ-[A-Z]{3}-\d{3}|stated|implied|open|extension|area-[a-z-]+|cap-[a-z-]+|needs-[a-z-]+|time-(instant|delay|retries|window|long)|serial|exclusive|negative|race|paging|shape|not-scored|quarantined|selftest)$`)

// TestFeatures holds the feature files to the rules of their style.
func TestFeatures(t *testing.T) {
	t.Parallel()
	parsed, err := godog.TestSuite{Name: "lint", Options: &godog.Options{Format: "progress", Output: io.Discard, FS: features.FS, Paths: []string{"."}}}.RetrieveFeatures()
	if err != nil {
		t.Fatal(err)
	}
	register, err := spec.LoadRequirements()
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	names := map[string]string{}
	used := map[int]bool{}
	for _, f := range parsed {
		for _, pickle := range f.Pickles {
			p := pick(f.Feature, f.Uri, pickle)
			where := p.result.Location
			bases := 0
			for _, tag := range p.result.Tags {
				if !tagFamilies.MatchString(tag) {
					t.Errorf("%s: unknown tag %s", where, tag)
				}
				if slices.Contains([]string{"@stated", "@implied", "@open", "@extension"}, tag) {
					bases++
				}
			}
			if bases != 1 {
				t.Errorf("%s: %d bases; a scenario has one", where, bases)
			}
			if len(p.result.Requirements) == 0 || p.area == "" {
				t.Errorf("%s: no requirement, or no area", where)
			}
			for _, id := range p.result.Requirements {
				covered[id] = true
				switch q := register.ByID(id); {
				case q == nil:
					t.Errorf("%s: no requirement %s in the register", where, id)
				case q.Basis == spec.Implied && p.result.Basis == spec.Stated, q.Basis == spec.Extension && p.result.Basis != spec.Extension:
					t.Errorf("%s: the scenario is %s, its requirement %s only %s", where, p.result.Basis, id, q.Basis)
				}
			}
			if other := names[pickle.Name]; other != "" {
				t.Errorf("%s: the title %q is that of %s as well", where, pickle.Name, other)
			}
			names[pickle.Name] = where
			if len(pickle.Name) > 110 || strings.Contains(pickle.Name, " should ") {
				t.Errorf("%s: the title is too long, or says should: %s", where, pickle.Name)
			}
			if n := len(pickle.Steps); n < 2 || n > 9 {
				t.Errorf("%s: %d steps; 2 to 9 are accepted", where, n)
			}
			whens := 0
			for _, s := range pickle.Steps {
				var matches []string
				for i, st := range stepTable() {
					if st.expression.MatchString(s.Text) {
						matches = append(matches, st.pattern)
						used[i] = true
						if st.keyword == "When" {
							whens++
						}
						if got := string(s.Type); got != map[string]string{"Given": "Context", "When": "Action", "Then": "Outcome"}[st.keyword] {
							t.Errorf("%s: %q stands as %s, its step is a %s", where, s.Text, got, st.keyword)
						}
					}
				}
				if len(matches) != 1 {
					t.Errorf("%s: %q matches %d steps: %q", where, s.Text, len(matches), matches)
				}
			}
			if whens != 1 {
				t.Errorf("%s: %d When steps; a scenario has one", where, whens)
			}
		}
	}
	for _, q := range register.Requirements {
		if q.Excluded == "" && q.Basis != spec.Open && !covered[q.ID] {
			t.Errorf("no scenario is about %s, and nothing says why: %s", q.ID, q.Text)
		}
	}
	for i, st := range stepTable() {
		if !used[i] {
			t.Errorf("no scenario uses the step %q", st.pattern)
		}
	}
}

func TestTagExpressions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		tags string
		want string // true, false, or an error
	}{
		{"", "", "true"},
		{"@a", "@a @b", "true"},
		{"not @a", "@b", "true"},
		{"@a and @b", "@a", "false"},
		{"@a or @b and @c", "@a", "true"},
		{"(@a or @b) and @c", "@a", "false"},
		{"not not @a", "@a", "true"}, //nolint:dupword // tags, not words
		{"not (@a or @b)", "@c", "true"},
		{"@a &&", "", `"&" stands where`},
		{"@a @b", "", `"@b" stands where`},
		{"(@a", "", "not closed"},
		{"not", "", "ends where"},
		{"a", "", "a tag such as"},
	} {
		e, err := parseTags(c.text)
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(e(strings.Fields(c.tags)))
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%q on %q: %s; want %s", c.text, c.tags, got, c.want)
		}
	}
}

// TestExitCode goes through the table of the design: nothing that was not judged
// is ever green.
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
		{"a warning, strictly", Report{Results: results(Pass, Warn), strict: true}, 1},
		{"a failure", Report{Results: results(Pass, Fail, Inconclusive)}, 1},
		{"an expected failure", Report{Results: []Result{{Verdict: Pass}, {Verdict: Fail, Expected: true}}}, 0},
		{"partial", Report{Results: results(Pass, Inconclusive)}, 4},
		{"partial, accepted", Report{Results: results(Pass, Inconclusive), acceptPartial: true}, 0},
		{"a stale baseline", Report{Results: results(Pass, Inconclusive), Stale: []string{"x"}}, 5},
		{"a failure and a stale baseline", Report{Results: results(Fail), Stale: []string{"x"}}, 1},
		{"a budget", Report{Results: results(Pass, Inconclusive), Exhausted: "wall"}, 6},
		{"a harness error and a failure", Report{Results: results(Fail, HarnessError)}, 7},
		{"interrupted", Report{Results: results(Pass), Interrupted: true}, 130},
	} {
		if got := c.r.ExitCode(); got != c.want {
			t.Errorf("%s: exit %d; want %d", c.name, got, c.want)
		}
	}
}
