package world

import (
	"github.com/understudy-mock/understudy/spec"
)

// Rule is what must hold for each thing of a world. A broken rule has the weakest basis of the rule
// and of the choices of the thing.
type Rule struct {
	Requirement string
	Basis       spec.Basis
	Says        string // the Then step of its scenario, without "for every ... of the world"
	judge       func(*World, *Life, *judging)
}

// Finding is a thing that breaks a rule.
type Finding struct {
	*Rule
	*Life
	Expected, Actual string
}

// Weakest is the basis of a finding.
func (f *Finding) Weakest() spec.Basis {
	if f.Rule.Basis != spec.Stated {
		return f.Rule.Basis
	}
	return f.Life.Basis()
}

// judging collects what a rule finds about one thing.
type judging struct {
	checked int
	finding *Finding
}

// that checks one condition. Only the first broken one is kept.
func (j *judging) that(holds bool, want, got string) {
	if j.checked++; !holds && j.finding == nil {
		j.finding = &Finding{Expected: want, Actual: got}
	}
}

// Judge applies a rule to all things, and returns how many things it has really judged.
func (w *World) Judge(r *Rule) (found []*Finding, judged int) {
	for _, l := range w.Lives {
		j := &judging{}
		if r.judge(w, l, j); j.checked > 0 {
			judged++
		}
		if j.finding != nil {
			j.finding.Rule, j.finding.Life = r, l
			found = append(found, j.finding)
		}
	}
	return found, judged
}
