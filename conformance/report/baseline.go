package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/target"
)

// Unbroken is the name of the result for a requirement that an answer breaks; there is none while
// all answers keep it.
func Unbroken(id string) string { return "No answer breaks " + id }

// Apply marks expected failures in the results, and records the stale entries of the baseline.
func (r *Report) Apply(b *target.Baseline, today time.Time) {
	for i := range b.Known {
		k := &b.Known[i]
		judged, failed := 0, 0
		for j := range r.Results {
			x := &r.Results[j]
			unbroken := x.Verdict == Pass && slices.ContainsFunc(x.Requirements, func(id string) bool { return k.About(Unbroken(id), []string{id}) })
			if !unbroken && !k.About(x.Name, x.Requirements) {
				continue
			}
			switch x.Verdict {
			case Fail:
				failed++
				x.Expected = true
			case Unreliable:
				failed++
				x.Expected = b.Flaky
			case Pass, Warn:
				judged++
			}
		}
		where := fmt.Sprintf("%s:%d: %s", b.File, k.Line, k.ID)
		if b.Flaky {
			if until, _ := time.Parse(time.DateOnly, k.Expires); today.After(until.AddDate(0, 0, 1)) {
				r.Stale = append(r.Stale, strings.TrimSpace(where+": expired on "+k.Expires))
			}
		} else if judged > 0 && failed == 0 {
			r.Stale = append(r.Stale, where+": it was expected to fail, and passes")
		}
	}
}

// Failed returns the failures as known failures, with the reasons of those that were known.
func (r *Report) Failed(known []target.Known) []target.Known {
	var list []target.Known
	for _, x := range r.byVerdict(Fail) {
		k := target.Known{ID: strings.Join(x.Requirements[:min(len(x.Requirements), 1)], "") + ":" + x.Name, Reason: oneLine(x.Detail, maxLine)}
		for i := range known {
			if was := &known[i]; was.About(x.Name, x.Requirements) {
				k = *was
			}
		}
		if !slices.ContainsFunc(list, func(other target.Known) bool { return other.ID == k.ID }) {
			list = append(list, k)
		}
	}
	return list
}
