package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/internal/clip"
)

// Text describes a finding in a few lines.
func (f *Finding) Text() string {
	var b strings.Builder
	for i, breach := range f.Breaches {
		if i == 3 {
			fmt.Fprintf(&b, "      and %s\n", clip.Counted(len(f.Breaches)-i, "further difference", "further differences"))
			break
		}
		fmt.Fprintf(&b, "%s  %s\n", map[bool]string{true: "FAIL", false: "    "}[i == 0], breach.Text)
	}
	for _, c := range f.Plan {
		fmt.Fprintf(&b, "      %s at %s\n      %s\n", c.Fault, c.Point, c.Fault.Why())
	}
	if len(f.Others) > 0 {
		fmt.Fprintf(&b, "      %s: %s\n", clip.Counted(len(f.Others), "further plan shows a difference of this one", "further plans show a difference of this one"), f.others())
	}
	fmt.Fprintf(&b, "      case %s, seen in %d of %d tries\n", f.ID, f.Seen, f.Tried)
	return b.String()
}

// others are the kinds of the further plans: "overlap, lost-receipt at /checkout".
func (f *Finding) others() string {
	var kinds []string
	for _, plan := range f.Others {
		var parts []string
		for _, c := range plan {
			parts = append(parts, string(c.Fault)+" at "+strings.TrimSpace(handler(c.Point)))
		}
		if kind := strings.Join(parts, " and "); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) > maxListed {
		kinds = append(kinds[:maxListed], "…")
	}
	return strings.Join(kinds, "; ")
}

// Summary is what was tried, in one line: "all 40 single faults, 118 of 204 pairs; 2 findings".
func (r *Result) Summary() string {
	var parts []string
	for _, l := range r.Levels {
		what := map[int]string{1: "single faults", 2: "pairs"}[l.Faults]
		if l.Done == l.All {
			parts = append(parts, fmt.Sprintf("all %d %s", l.All, what))
		} else {
			parts = append(parts, fmt.Sprintf("%d of %d %s", l.Done, l.All, what))
		}
	}
	if len(r.Levels) == 0 {
		parts = append(parts, clip.Counted(len(r.Cases), "case", "cases"))
	}
	if r.Stopped != "" {
		parts = append(parts, "stopped: "+r.Stopped)
	}
	return fmt.Sprintf("%s; %s; %.1f s", strings.Join(parts, ", "), clip.Counted(len(r.Findings), "finding", "findings"), r.Took)
}

// CountEffects is the number of calls to outside services.
func (o *Observation) CountEffects() (n int) {
	for _, count := range o.Effects {
		n += count
	}
	return n
}

// CountDeliveries is the number of attempts.
func (o *Observation) CountDeliveries() (n int) {
	for _, p := range o.Trace {
		if p.Kind == delivery {
			n++
		}
	}
	return n
}
