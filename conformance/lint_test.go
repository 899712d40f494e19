package conformance

import (
	"encoding/json"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cucumber/godog"
	messages "github.com/cucumber/messages/go/v21"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/features"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec"
)

// tagFamilies matches every tag that is allowed.
var tagFamilies = regexp.MustCompile(`^@(REQ-[A-Z]{3}-\d{3}|stated|implied|open|extension|area-[a-z-]+|cap-[a-z-]+|needs-[a-z-]+|time-(instant|delay|retries|window|long)|last|exclusive|leak|negative|race|paging|shape|not-scored|quarantined|selftest)$`)

// TestFeatures checks the style rules of the feature files.
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
	l := linter{t: t, register: register, covered: map[string]bool{}, titles: map[string]string{}, used: map[int]bool{}}
	capabilities, bindings := map[string]bool{}, []string{}
	for _, f := range parsed {
		for _, pickle := range f.Pickles {
			picked := pick(f.Feature, f, pickle)
			if name, binding := strings.CutPrefix(pickle.Name, "bindings."); binding {
				bindings = append(bindings, name)
			}
			if picked.file == targetFeature { // its scenarios judge no requirement
				l.title(picked.result.Location, pickle.Name)
				l.matches(picked.result.Location, pickle.Steps)
				continue
			}
			for _, name := range picked.needs {
				capabilities[name] = true
			}
			l.tags(&picked.result, picked.area)
			l.title(picked.result.Location, pickle.Name)
			l.steps(picked.result.Location, pickle.Steps)
		}
	}
	var schema object
	if err := json.Unmarshal(spec.TargetSchema, &schema); err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "capabilities of the target file", slices.Sorted(maps.Keys(schema.Properties["capabilities"].Properties)), slices.Sorted(maps.Keys(capabilities)))
	named := schema.Properties["bindings"]
	delete(named.Properties, "publish") // every scenario needs it
	expect.Equal(t, "bindings of the target file", slices.Sorted(slices.Values(bindings)), slices.Sorted(slices.Values(named.names(""))))
	for _, q := range register.Requirements {
		if q.Excluded != "" || q.Basis == spec.Open || strings.HasPrefix(q.ID, "REQ-CLI-") { // the cases of clients have a test of their own
			continue
		}
		if !l.covered[q.ID] {
			t.Errorf("scenarios about %s: got none, want one, or a reason in the register: %s", q.ID, q.Text)
		}
	}
	for i, st := range Steps() {
		if !l.used[i] {
			t.Errorf("no scenario uses the step %q", st.Pattern)
		}
	}
}

// object is an object of a JSON Schema.
type object struct {
	Properties    map[string]object
	PropertyNames struct{ Enum []string }
}

// names are the members of an object that are no objects, with the names of the objects around them.
func (o object) names(prefix string) (list []string) {
	for _, name := range o.PropertyNames.Enum {
		list = append(list, prefix+name)
	}
	for name, member := range o.Properties {
		inner := member.names(prefix + name + ".")
		if inner == nil && prefix != "" {
			inner = []string{prefix + name}
		}
		list = append(list, inner...)
	}
	return list
}

// expressions are the patterns of all steps, compiled once.
var expressions = sync.OnceValue(func() []*regexp.Regexp {
	var list []*regexp.Regexp
	for _, st := range Steps() {
		list = append(list, regexp.MustCompile("^"+st.Pattern+"$"))
	}
	return list
})

// linter checks scenarios one by one.
type linter struct {
	t        *testing.T
	register *spec.Register
	covered  map[string]bool   // requirements
	titles   map[string]string // title -> location
	used     map[int]bool      // rows of the step table
}

// tags checks the tags of a scenario: all known, exactly one basis, and requirements
// that exist and are not weaker than the basis of the scenario.
func (l *linter) tags(r *report.Result, area string) {
	bases := 0
	for _, tag := range r.Tags {
		if !tagFamilies.MatchString(tag) {
			l.t.Errorf("%s: unknown tag %s", r.Location, tag)
		}
		if slices.Contains([]string{"@stated", "@implied", "@open", "@extension"}, tag) {
			bases++
		}
	}
	if bases != 1 {
		l.t.Errorf("%s: %d bases, want 1", r.Location, bases)
	}
	if len(r.Requirements) == 0 {
		l.t.Errorf("%s: no requirement", r.Location)
	}
	if area == "" {
		l.t.Errorf("%s: no area", r.Location)
	}
	for _, id := range r.Requirements {
		l.covered[id] = true
		if leak := id == "REQ-AUT-005" || id == "REQ-AUT-006"; leak && !slices.Contains(r.Tags, "@leak") {
			l.t.Errorf("%s: a scenario about %s lacks the tag @leak: it would only warn", r.Location, id)
		}
		switch q := l.register.ByID(id); {
		case q == nil:
			l.t.Errorf("%s: no requirement %s in the register", r.Location, id)
		case q.Basis == spec.Implied && r.Basis == spec.Stated, q.Basis == spec.Extension && r.Basis != spec.Extension:
			l.t.Errorf("%s: the scenario is %s, its requirement %s only %s", r.Location, r.Basis, id, q.Basis)
		}
	}
}

// title checks that a title is short, states a fact, and is unique.
func (l *linter) title(where, title string) {
	if other := l.titles[title]; other != "" {
		l.t.Errorf("%s: the title %q is also used by %s", where, title, other)
	}
	l.titles[title] = where
	if n := len(title); n > 110 {
		l.t.Errorf("%s: the title has %d characters: must be at most 110", where, n)
	}
	if strings.Contains(title, " should ") {
		l.t.Errorf("%s: the title says should: %s", where, title)
	}
}

// steps checks that each step matches one step of the table and has its keyword.
func (l *linter) steps(where string, steps []*messages.PickleStep) {
	if n := len(steps); n < 2 || n > 9 {
		l.t.Errorf("%s: %d steps: must be 2 to 9", where, n)
	}
	if whens := l.matches(where, steps); whens != 1 {
		l.t.Errorf("%s: %d When steps, want 1", where, whens)
	}
}

// matches checks the steps one by one, and returns how many are a When.
func (l *linter) matches(where string, steps []*messages.PickleStep) (whens int) {
	for _, s := range steps {
		var matches []string
		for i, st := range Steps() {
			if !expressions()[i].MatchString(s.Text) {
				continue
			}
			matches = append(matches, st.Pattern)
			l.used[i] = true
			if st.Keyword == "When" {
				whens++
			}
			if got := string(s.Type); got != map[string]string{"Given": "Context", "When": "Action", "Then": "Outcome"}[st.Keyword] {
				l.t.Errorf("%s: %q is used as %s, its step is a %s", where, s.Text, got, st.Keyword)
			}
		}
		if len(matches) != 1 {
			l.t.Errorf("%s: %q matches %d steps: %q", where, s.Text, len(matches), matches)
		}
	}
	return whens
}
