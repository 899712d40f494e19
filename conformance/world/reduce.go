package world

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/spec"
)

// Smallest is the smallest thing that breaks a rule.
type Smallest struct {
	*Thing
	Beside bool // it breaks the rule only beside others
}

// Says is the thing in a sentence.
func (s *Smallest) Says() string {
	text := s.Thing.Says()
	if s.Beside {
		text += ", only beside others"
	}
	return text
}

// Has reports whether a thing has all choices of the smallest one.
func (s *Smallest) Has(t *Thing) bool {
	return !slices.ContainsFunc(s.Set(), func(name string) bool { return s.Pick[name] != t.Pick[name] })
}

// reduction looks for the smallest thing that breaks one rule.
type reduction struct {
	s        *harness.Scenario
	rule     *Rule
	patience time.Duration
	worlds   int
}

// Reduce returns the smallest thing that breaks a rule, nil when nothing breaks it again. It runs few
// worlds of many variants: the thing alone, all its pairs of options, and without each single one. It
// goes on while it may.
func Reduce(s *harness.Scenario, w *World, findings []*Finding, patience time.Duration, may func() bool) (*Smallest, error) {
	r := &reduction{s: s, rule: findings[0].Rule, patience: patience}
	best := slices.MinFunc(findings, func(a, b *Finding) int { // what the document says comes before what it implies
		return cmp.Or(weight(a.Thing)-weight(b.Thing), len(a.Set())-len(b.Set()))
	}).Thing
	if broken, err := r.broken(best.With("alone", best.Set())); err != nil || len(broken) == 0 {
		if err != nil {
			return nil, err
		}
		again, err := w.Again(s, &Smallest{best, true}, patience)
		if err != nil {
			return nil, err
		}
		if found, _ := again.Judge(r.rule); len(found) > 0 {
			return &Smallest{best, true}, nil
		}
		return nil, nil
	}
	for may() {
		next, err := r.smaller(best)
		if err != nil || next == nil {
			return &Smallest{Thing: best}, err
		}
		best = next
	}
	return &Smallest{Thing: best}, nil
}

// Again runs the smallest thing, or the world in which it was found.
func (w *World) Again(s *harness.Scenario, small *Smallest, patience time.Duration) (*World, error) {
	things := []*Thing{small.Thing}
	if small.Beside {
		things = w.things()
	}
	return w.Kind.Run(s, fmt.Sprintf("a%d-", s.Last()), things, patience)
}

// Requirements are those of the places where the options of a thing are written.
func (t *Thing) Requirements() (ids []string) {
	for _, name := range t.Set() {
		c := t.on(name)
		if id := cmp.Or(c.requires, map[place]string{inQuery: "REQ-PUB-005", byDefault: "REQ-GRP-003", inArray: "REQ-GRP-003"}[c.at]); id != "" && name != "token" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func weight(t *Thing) int {
	if t.Basis() == spec.Stated {
		return 0
	}
	return 1
}

// things are the things of a world, without those that others have brought.
func (w *World) things() (list []*Thing) {
	for _, l := range w.Lives {
		if !l.guest && !l.again {
			list = append(list, l.Thing)
		}
	}
	return list
}

func (r *reduction) tag() string {
	r.worlds++
	return fmt.Sprintf("r%d%s%d-", r.s.Last(), r.rule.Requirement[4:], r.worlds)
}

// broken returns the things that break the rule in worlds of their own.
func (r *reduction) broken(things ...*Thing) (list []*Thing, err error) {
	if len(things) == 0 {
		return nil, nil
	}
	w, err := things[0].Kind.Run(r.s, r.tag(), things, r.patience)
	if err != nil {
		return nil, err
	}
	found, _ := w.Judge(r.rule)
	for _, f := range found {
		if !f.guest {
			list = append(list, f.Thing)
		}
	}
	return list, nil
}

// size orders variants: fewer options first, then those that come first among the choices.
func (t *Thing) size() (n int) {
	for _, name := range t.Set() {
		n += 1000 + t.Pick[name]
	}
	return n
}

// smaller returns a smaller thing that breaks the rule alone, nil for none: with one or two of the
// options, without one of them, or with the first choice of one.
func (r *reduction) smaller(t *Thing) (*Thing, error) {
	set := t.Set()
	variants := []*Thing{t.With("none", nil)}
	for i, a := range set {
		for c := range t.Pick[a] { // the first one, and for a choice that is only implied every stated one
			if c == 1 || c > 1 && t.on(a).basis != "" && t.choices(a)[c].basis == "" {
				other := t.With(fmt.Sprintf("f%d-%d", i, c), set)
				other.Pick[a] = c
				t.normal(other)
				variants = append(variants, other)
			}
		}
		variants = append(variants, t.With(fmt.Sprintf("v%d", i), []string{a}), t.With(fmt.Sprintf("w%d", i), slices.Delete(slices.Clone(set), i, i+1)))
		for j, b := range set[:i] {
			variants = append(variants, t.With(fmt.Sprintf("v%d-%d", i, j), []string{a, b}))
		}
	}
	variants = slices.DeleteFunc(variants, func(v *Thing) bool { return v.size() >= t.size() })
	broken, err := r.broken(variants...)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(broken, func(a, b *Thing) int { return a.size() - b.size() })
	if len(broken) > 1 && len(broken[0].Set()) >= len(set)-1 { // several are needless: perhaps all at once
		most := t.With("most", set)
		for _, v := range broken {
			for _, name := range set {
				most.Pick[name] = min(most.Pick[name], v.Pick[name])
			}
		}
		t.normal(most)
		broken = slices.Insert(broken, 0, most)
	}
	for _, v := range broken[:min(2, len(broken))] {
		if alone, err := r.broken(v); err != nil || len(alone) > 0 {
			return v, err
		}
	}
	return nil, nil
}
