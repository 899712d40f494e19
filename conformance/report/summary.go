package report

import (
	"slices"

	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/spec"
)

// worse orders verdicts: a larger number is worse.
var worse = map[Verdict]int{NotSelected: 0, NotApplicable: 1, Pass: 2, Observed: 3, Inconclusive: 4, Warn: 5, Unreliable: 6, Fail: 7, HarnessError: 8}

// Summarise fills Profiles and Requirements from the results. profiles are the selected ones; nil for
// those of the results.
func (r *Report) Summarise(profiles []string) {
	names := slices.Clone(profiles)
	for i := range r.Results {
		if profiles == nil {
			names = union(names, r.Results[i].Profiles)
		}
	}
	order := slices.Concat(target.ProfileNames, target.ClientProfiles)
	slices.SortFunc(names, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	for _, name := range names {
		r.Profiles = append(r.Profiles, r.profile(name))
	}
	byID := map[string]*Covered{}
	var ids []string
	for i := range r.Results {
		x := &r.Results[i]
		for _, id := range x.Requirements {
			c := byID[id]
			if c == nil {
				c = &Covered{Requirement: requirement(id, x), Verdict: NotSelected}
				byID[id] = c
				ids = append(ids, id)
			}
			c.Scenarios = append(c.Scenarios, x.Name)
			if worse[x.Verdict] > worse[c.Verdict] {
				c.Verdict = x.Verdict
			}
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		r.Requirements = append(r.Requirements, *byID[id])
	}
}

// profile summarises one profile. It is conformant when nothing failed and nothing is inconclusive.
func (r *Report) profile(name string) Profile {
	p := Profile{Name: name}
	counts := map[Verdict]*int{Pass: &p.Passed, Observed: &p.Passed, Fail: &p.Failed, HarnessError: &p.Errors, Warn: &p.Warned, Inconclusive: &p.Inconclusive, Unreliable: &p.Unreliable}
	for i := range r.Results {
		x := &r.Results[i]
		if !slices.Contains(x.Profiles, name) {
			continue
		}
		if n := counts[x.Verdict]; n != nil {
			*n++
		}
	}
	switch {
	case p.Failed > 0:
		p.Verdict = "nonconformant"
	case p.Inconclusive+p.Unreliable+p.Errors > 0:
		p.Verdict = "partial"
	case p.Passed+p.Warned == 0:
		p.Verdict = "not-run"
	case len(r.Selection) > 0:
		p.Verdict = "selection"
	default:
		p.Verdict = "conformant"
	}
	return p
}

// requirement returns the requirement from the register. An unknown one has the basis
// of the scenario.
func requirement(id string, x *Result) spec.Requirement {
	if register, err := spec.LoadRequirements(); err == nil && register.ByID(id) != nil {
		return *register.ByID(id)
	}
	return spec.Requirement{ID: id, Basis: x.Basis, Profile: target.ProfileOf(id)}
}
