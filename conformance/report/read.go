package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/internal/jsonsyntax"
)

// Read parses a report in the format json.
func Read(r io.Reader) (*Report, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var read Report
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, errors.New("not a JSON report of the suite: " + jsonsyntax.Explain(text, err))
	}
	if read.Run == "" || read.Results == nil {
		return nil, errors.New("not a JSON report of the suite: run and results must be present (--report json=FILE writes them)")
	}
	return &read, nil
}

// Merge combines reports of one target, such as one for each profile. Where several
// reports judge a scenario, the worst verdict counts, so that merging cannot hide a
// failure. Reports of different targets, claims, suites or revisions are refused. If
// all reports are of selections, so is the merged one, until [Report.Complete] finds
// nothing missing.
func Merge(reports ...*Report) (*Report, error) {
	if len(reports) == 0 {
		return nil, errors.New("merge: at least one report is needed")
	}
	merged := *reports[0]
	merged.Results, merged.Observations, merged.Profiles, merged.Requirements = nil, map[string][]string{}, nil, nil
	merged.Duration, merged.Waited, merged.Stale, merged.Leftovers, merged.Selection, merged.Flags, merged.Absent = 0, 0, nil, nil, nil, nil, nil
	results := map[string]*Result{}
	whole := false
	var runs, exhausted []string
	for _, r := range reports {
		if err := sameTarget(reports[0], r); err != nil {
			return nil, err
		}
		if r.Started.Before(merged.Started) {
			merged.Started = r.Started
		}
		merged.Duration += r.Duration
		merged.Waited += r.Waited
		merged.Interrupted = merged.Interrupted || r.Interrupted
		merged.Strict = merged.Strict || r.Strict
		merged.AcceptPartial = merged.AcceptPartial && r.AcceptPartial
		merged.Stale = union(merged.Stale, r.Stale)
		merged.Leftovers = union(merged.Leftovers, r.Leftovers)
		merged.Selection = union(merged.Selection, r.Selection)
		merged.Flags = union(merged.Flags, r.Flags)
		merged.Absent = union(merged.Absent, r.Absent)
		merged.Unreachable = cmp.Or(merged.Unreachable, r.Unreachable)
		whole = whole || len(r.Selection) == 0
		runs = union(runs, []string{r.Run})
		if r.Exhausted != "" {
			exhausted = union(exhausted, []string{r.Exhausted})
		}
		for point, seen := range r.Observations {
			merged.Observations[point] = union(merged.Observations[point], seen)
		}
		for i := range r.Results {
			x := &r.Results[i]
			if known := results[x.Name]; known == nil || worse[x.Verdict] > worse[known.Verdict] {
				results[x.Name] = x
			}
		}
	}
	if whole {
		merged.Selection = nil
	}
	merged.Run, merged.Exhausted = strings.Join(runs, "+"), strings.Join(exhausted, "; ")
	for _, name := range slices.Sorted(maps.Keys(results)) {
		merged.Results = append(merged.Results, *results[name])
	}
	slices.SortStableFunc(merged.Results, byLocation)
	merged.Summarise(nil)
	return &merged, nil
}

// Complete marks the report as that of a whole run if it has a result for each of the
// named scenarios. These must be all that the target claims.
func (r *Report) Complete(scenarios []string) {
	has := map[string]bool{}
	for i := range r.Results {
		has[r.Results[i].Name] = true
	}
	if !slices.ContainsFunc(scenarios, func(name string) bool { return !has[name] }) {
		r.Selection = nil
	}
}

// sameTarget returns an error for reports that cannot be merged.
func sameTarget(a, b *Report) error {
	for _, is := range []struct{ what, a, b string }{
		{"target", a.Target.Name + " " + a.Target.Version, b.Target.Name + " " + b.Target.Version},
		{"list of claimed profiles", strings.Join(a.Claimed, ", "), strings.Join(b.Claimed, ", ")},
		{"revision of the requirements", a.Revision, b.Revision},
		{"version of the suite", a.Suite, b.Suite},
	} {
		if is.a != is.b {
			return fmt.Errorf("merge: run %s has the %s %q, run %s has %q: must be equal", a.Run, is.what, is.a, b.Run, is.b)
		}
	}
	return nil
}

// byLocation orders results by feature file and line.
func byLocation(a, b Result) int {
	fileA, lineA, _ := strings.Cut(a.Location, ":")
	fileB, lineB, _ := strings.Cut(b.Location, ":")
	numberA, _ := strconv.Atoi(lineA)
	numberB, _ := strconv.Atoi(lineB)
	return cmp.Or(strings.Compare(fileA, fileB), cmp.Compare(numberA, numberB))
}

// union adds the items of more that list lacks.
func union(list, more []string) []string {
	for _, one := range more {
		if !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}
