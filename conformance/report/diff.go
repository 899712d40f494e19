package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Change is a scenario with different verdicts in two reports.
type Change struct {
	Name         string   `json:"name"`
	Requirements []string `json:"requirements"`
	Before       Verdict  `json:"before"` // not-selected: the scenario is not in the older report
	After        Verdict  `json:"after"`  // not-selected: the scenario is not in the newer report
	Detail       string   `json:"detail,omitempty"`
}

// Difference contains the changes between two reports. Each list has the order of the features.
type Difference struct {
	Before      string   `json:"before"`      // the older report in one line
	After       string   `json:"after"`       // the newer report in one line
	Regressions []Change `json:"regressions"` // passed before, and no longer does
	Repaired    []Change `json:"repaired"`    // did not pass before, and does now
	Other       []Change `json:"other"`       // other changes of the verdict
	Added       []Change `json:"added"`       // only in the newer report
	Removed     []Change `json:"removed"`     // only in the older report
}

// good reports whether the requirement holds, as far as it was judged.
func (v Verdict) good() bool { return v == Pass || v == Observed }

// Diff compares two reports, scenario by scenario.
func Diff(before, after *Report) *Difference {
	d := &Difference{Before: before.verdictLine(), After: after.verdictLine()}
	older := map[string]*Result{}
	for i := range before.Results {
		older[before.Results[i].Name] = &before.Results[i]
	}
	seen := map[string]bool{}
	for i := range after.Results {
		x := &after.Results[i]
		seen[x.Name] = true
		was := older[x.Name]
		if was == nil {
			d.Added = append(d.Added, Change{x.Name, x.Requirements, NotSelected, x.Verdict, x.Detail})
			continue
		}
		if was.Verdict == x.Verdict {
			continue
		}
		c := Change{x.Name, x.Requirements, was.Verdict, x.Verdict, x.Detail}
		switch {
		case x.Verdict.good() && !was.Verdict.good():
			d.Repaired = append(d.Repaired, c)
		case was.Verdict.good() && !x.Verdict.good(), x.Verdict == Fail, x.Verdict == HarnessError:
			d.Regressions = append(d.Regressions, c)
		default:
			d.Other = append(d.Other, c)
		}
	}
	for i := range before.Results {
		if x := &before.Results[i]; !seen[x.Name] {
			d.Removed = append(d.Removed, Change{x.Name, x.Requirements, x.Verdict, NotSelected, ""})
		}
	}
	slices.SortStableFunc(d.Regressions, func(a, b Change) int { return worse[b.After] - worse[a.After] })
	return d
}

// Worse reports whether there is a regression or a new scenario that fails.
func (d *Difference) Worse() bool {
	return len(d.Regressions) > 0 || slices.ContainsFunc(d.Added, func(c Change) bool { return worse[c.After] >= worse[Unreliable] })
}

// Write writes the difference for people, regressions first.
func (d *Difference) Write(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "before: %s\nafter:  %s\n", d.Before, d.After)
	for _, part := range []struct {
		title   string
		changes []Change
	}{
		{"Regressions", d.Regressions}, {"Repaired", d.Repaired}, {"Other changes", d.Other},
		{"Only in the newer report", d.Added}, {"Only in the older report", d.Removed},
	} {
		if len(part.changes) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s (%d)\n", part.title, len(part.changes))
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, c := range part.changes {
			_, _ = fmt.Fprintf(t, "  %s -> %s\t%s\t%s\n", c.Before, c.After, strings.Join(c.Requirements, ","), c.Name)
			if c.Detail != "" && !c.After.good() {
				_ = t.Flush() // to a buffer
				fmt.Fprintf(&b, "      %s\n", c.Detail)
			}
		}
		_ = t.Flush() // to a buffer
	}
	if len(d.Regressions)+len(d.Repaired)+len(d.Other)+len(d.Added)+len(d.Removed) == 0 {
		b.WriteString("\nNo verdict changed.\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}
