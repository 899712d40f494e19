package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// fact is a line about a run. Every report contains all of them.
type fact struct{ Name, Value string }

// took is the duration of the run and how much of it was spent waiting: for time that
// the interface document requires, and for the target.
func (r *Report) took() string {
	if r.OfClient() { // the time is that of the client and its adapter
		return r.Duration.String()
	}
	return fmt.Sprintf("%s: %s of waits, %s of the suite's own", r.Duration, r.Waited, r.Duration-r.Waited)
}

// facts describes what was judged, what was selected, and the versions, so that a
// report is complete without the command that made it.
func (r *Report) facts() []fact {
	t := &r.Target
	urls := []string{}
	for _, name := range slices.Sorted(maps.Keys(t.URLs)) {
		urls = append(urls, name+"="+t.URLs[name])
	}
	bindings := []string{}
	for _, name := range slices.Sorted(maps.Keys(r.Bindings)) {
		bindings = append(bindings, name+"="+r.Bindings[name])
	}
	return []fact{
		{"verdict", r.verdictLine()},
		{"target", strings.TrimSpace(t.Name + " " + t.Version)},
		{"urls", strings.Join(urls, " ")},
		{"claims", cmp.Or(strings.Join(r.Claimed, ", "), "no profiles: what the target lacks is not a failure")},
		{"selection", cmp.Or(strings.Join(r.Selection, "; "), "none: all that the target claims")},
		{"flags", cmp.Or(strings.Join(r.Flags, " "), "none")},
		{"bindings", cmp.Or(strings.Join(bindings, " "), "none")},
		{"suite", fmt.Sprintf("%s, commit %s", r.Suite, cmp.Or(r.Commit, "unknown"))},
		{"requirements", fmt.Sprintf("%s, document sha256 %s", r.Revision, cmp.Or(r.Document, "unknown"))},
		{"run", fmt.Sprintf("%s, %s, receiver %s", r.Run, r.Target.Mode, r.Target.Receiver)},
		{"started", r.Started.UTC().Format(time.RFC3339)},
		{"duration", r.took()},
		{"target file", cmp.Or(r.TargetFile, "none")},
	}
}
