package explore

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/mockserver/query"
)

// Breach is what a case does other than the baseline.
type Breach struct {
	Oracle string `json:"oracle"` // effects, order, state, ends, steps, hidden, dlq, repair, check
	Text   string `json:"text"`   // in one line
}

// Order is a rule on the order of effects: what matches Then needs an earlier one that matches First, of the same key if
// the configuration names keys. * matches any text.
type Order struct {
	First string `json:"first" yaml:"first"`
	Then  string `json:"then" yaml:"then"`
}

// Allowed is a difference that is lawful, with its reason.
type Allowed struct {
	Effect     string `json:"effect" yaml:"effect"`         // an effect, in which * matches any text
	Duplicated int    `json:"duplicated" yaml:"duplicated"` // how often it may happen; 0: any number
	Lost       bool   `json:"lost" yaml:"lost"`             // it may be missing
	State      string `json:"state" yaml:"state"`           // or a place of the state, such as /orders/*/note
	DLQ        string `json:"dlq" yaml:"dlq"`               // or a message that is in the DLQ without a fault
	Because    string `json:"because" yaml:"because"`
}

// breaches compares a case with the baseline.
func (x *explorer) breaches(o *Observation) []Breach {
	if o.Unfinished != "" {
		return []Breach{{"ends", o.Unfinished}}
	}
	out := append(stepBreaches(o), x.orderBreaches(o)...)
	effects, state := "effects", "state"
	if o.Repaired {
		effects, state = "repair", "repair"
	}
	spent, unheard := x.spent(o)
	final := spent && !o.Repaired // what a message would have caused may be missing, and a run may have failed
	if lost := x.effectBreaches(effects, o, final); len(lost) > 0 {
		out = append(append(out, lost...), hiddenBreaches(o)...)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Runs)) {
		want, got := x.baseline.Runs[name], o.Runs[name]
		if got != want && (got == string(engine.RunStarted) || want != "" && !final) {
			out = append(out, Breach{"ends", fmt.Sprintf("run %s: %s, without the fault %s", name, got, orNone(want))})
		}
	}
	if !final {
		for _, name := range slices.Sorted(maps.Keys(x.baseline.Runs)) {
			if o.Runs[name] == "" {
				out = append(out, Breach{"ends", fmt.Sprintf("run %s: not started, without the fault %s", name, x.baseline.Runs[name])})
			}
		}
		x.differences("", x.baseline.State, o.State, func(place string, a, b any) {
			out = append(out, Breach{state, x.difference(place, a, b)})
		})
		for _, name := range o.DLQ {
			ordinary := func(known string) bool { return withoutNumber(handler(known)) == withoutNumber(handler(name)) }
			if !slices.ContainsFunc(x.baseline.DLQ, ordinary) { // one that fails without a fault fails again in another run
				out = append(out, Breach{"dlq", "in the DLQ, although the plan left it attempts: " + name})
			}
		}
	}
	if o.Check != "" && !unheard {
		out = append(out, Breach{"check", o.Check})
	}
	return out
}

func orNone(text string) string {
	if text == "" {
		return "not started"
	}
	return text
}

// spent reports whether the plan used up the attempts of a message: its failure is lawful then. An
// attempt that fails after a call in it that failed is the plan's as well. If the message was a failure callback, the
// application is unheard: it could not learn of the failure, so that its check may not hold.
func (x *explorer) spent(o *Observation) (spent, unheard bool) {
	failing, latest := map[string]int{}, map[string]Point{}
	for _, p := range o.Trace {
		cause, planned := p.Base, p.Fault.losesAttempt()
		if p.Kind == delivery {
			latest[cause] = p
		} else {
			cause, _ = cutLast(p.Base)
			planned = p.Fault != "" && p.Fault != Overlap && latest[cause].failed()
		}
		if !planned {
			continue
		}
		if failing[cause]++; failing[cause] > latest[cause].Retries {
			spent, unheard = true, unheard || latest[cause].Told && !o.Repaired
		}
		delete(latest, cause) // it counts once
	}
	return spent, unheard
}

// withoutNumber is a name without its number among equal names.
func withoutNumber(name string) string {
	if i := strings.LastIndexByte(name, '#'); i >= 0 {
		return name[:i]
	}
	return name
}

// stepBreaches are the calls of a run that submit other steps when they are repeated.
func stepBreaches(o *Observation) (out []Breach) {
	first := map[string]string{}
	for _, p := range o.Trace {
		cause, what := cutLast(p.Base)
		steps, submits := strings.CutPrefix(withoutNumber(what), stepPrefix)
		if !submits {
			continue
		}
		if before, known := first[cause]; !known {
			first[cause] = steps
		} else if before != steps {
			out = append(out, Breach{"steps", fmt.Sprintf("a repeated call of a run submits step %q, the first one submitted %q: %s", steps, before, cause)})
		}
	}
	return out
}

// hiddenBreaches are the calls to outside services that failed and were not repeated, although the
// handler answered 2xx in the end.
func hiddenBreaches(o *Observation) (out []Breach) {
	latest, made := map[string]Point{}, map[string]bool{}
	for _, p := range o.Trace {
		if p.Kind == delivery {
			latest[p.Base] = p
		}
		_, effect := cutLast(withoutNumber(p.Base))
		made[effect] = made[effect] || p.Kind == outside && p.Fault != OutsideDown && p.Fault != Outage
	}
	for _, p := range o.Trace {
		cause, effect := cutLast(withoutNumber(p.Base))
		if answered, known := latest[cause]; (p.Fault == OutsideDown || p.Fault == Outage) && known && !answered.failed() && !made[effect] {
			out = append(out, Breach{"hidden", fmt.Sprintf("hidden failure: %s failed and was not repeated, but %s was answered %s", effect, handler(withoutNumber(cause)), answered.Outcome)})
		}
	}
	return out
}

// failed reports whether a point is an attempt without an answer 2xx.
func (p Point) failed() bool { return p.Outcome != "" && !strings.HasPrefix(p.Outcome, "2") }

// effectBreaches compares the effects. If a failure was final, only what happened more than once is a breach.
func (x *explorer) effectBreaches(oracle string, o *Observation, final bool) []Breach {
	all := maps.Clone(x.baseline.Effects)
	maps.Copy(all, o.Effects)
	var out []Breach
	for _, effect := range slices.Sorted(maps.Keys(all)) {
		want, got := x.baseline.Effects[effect], o.Effects[effect]
		if got == want || x.allows(effect, want, got) || final && (got < want || want == 0) {
			continue
		}
		kind := "duplicated"
		switch {
		case want == 0 && got == o.ofFailures[effect]: // a failure callback is there to do something else
			continue
		case want == 0:
			kind = "unexpected"
		case got < want:
			kind = "lost"
		}
		out = append(out, Breach{oracle, fmt.Sprintf("%s effect: %s, %d instead of %d", kind, effect, got, want)})
	}
	return out
}

// orderBreaches are the effects that came before what must precede them.
func (x *explorer) orderBreaches(o *Observation) (out []Breach) {
	for _, rule := range x.cfg.Order {
		for i, effect := range o.sequence {
			if query.Like(rule.Then, effect) && !slices.ContainsFunc(o.sequence[:i], func(before string) bool {
				return query.Like(rule.First, before) && (len(x.cfg.Keys) == 0 || keyIn(before) == keyIn(effect))
			}) {
				out = append(out, Breach{"order", fmt.Sprintf("order of effects: %s without %s before it", effect, rule.First)})
				break
			}
		}
	}
	return out
}

// allows reports whether the configuration declares a difference as lawful.
func (x *explorer) allows(effect string, want, got int) bool {
	return slices.ContainsFunc(x.cfg.Allow, func(a Allowed) bool {
		if !query.Like(a.Effect, effect) {
			return false
		}
		if got < want {
			return a.Lost
		}
		return a.Duplicated == 0 && !a.Lost || got <= a.Duplicated
	})
}

// differences calls yield with each place where two JSON values differ. The order of a list is not compared:
// it may be that of arrival. Volatile places are not compared, nor are values that differ by their form in each case.
func (x *explorer) differences(place string, a, b any, yield func(place string, a, b any)) {
	if x.ignores(place) {
		return
	}
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			all := maps.Clone(a)
			maps.Copy(all, b)
			for _, name := range slices.Sorted(maps.Keys(all)) {
				x.differences(place+"/"+name, a[name], b[name], yield)
			}
			return
		}
	case []any:
		if b, ok := b.([]any); ok {
			if missing, extra := x.unlike(place+"/*", a, b); len(missing)+len(extra) == 0 {
				return
			}
		}
	}
	if jsonText(steady(a)) != jsonText(steady(b)) {
		yield(place, a, b)
	}
}

// difference says how a place of the state differs.
func (x *explorer) difference(place string, a, b any) string {
	before, isA := a.([]any)
	now, isB := b.([]any)
	if !isA || !isB {
		return fmt.Sprintf("other state: %s is %s, without the fault %s", orWhole(place), Clip(jsonText(b)), Clip(jsonText(a)))
	}
	var parts []string
	missing, extra := x.unlike(place+"/*", before, now)
	for _, one := range missing {
		parts = append(parts, "has no "+Clip(jsonText(one)))
	}
	for _, one := range extra {
		parts = append(parts, "also has "+Clip(jsonText(one)))
	}
	if len(parts) > maxListed {
		parts = append(parts[:maxListed], fmt.Sprintf("and %d more", len(parts)-maxListed))
	}
	return "other state: " + orWhole(place) + " " + strings.Join(parts, ", ")
}

// maxListed is how many elements of a list that differ are shown.
const maxListed = 4

// ignores reports whether a place of the state is not compared.
func (x *explorer) ignores(place string) bool {
	return x.volatile[place] || slices.ContainsFunc(x.cfg.Allow, func(a Allowed) bool { return a.State != "" && query.Like(a.State, place) })
}

// unlike returns the elements of each of two lists that the other has not, each as often as it has more of it.
func (x *explorer) unlike(place string, a, b []any) (missing, extra []any) {
	more := map[string]int{}
	for _, one := range b {
		more[jsonText(x.compared(place, one))]++
	}
	for _, one := range a {
		if text := jsonText(x.compared(place, one)); more[text] > 0 {
			more[text]--
		} else {
			missing = append(missing, one)
		}
	}
	for _, one := range slices.Backward(b) {
		if text := jsonText(x.compared(place, one)); more[text] > 0 {
			more[text]--
			extra = append(extra, one)
		}
	}
	slices.Reverse(extra)
	return missing, extra
}

// compared is what is compared of an element of a list.
func (x *explorer) compared(place string, value any) any {
	if x.ignores(place) {
		return nil
	}
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			out[name] = x.compared(place+"/"+name, member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = x.compared(place+"/*", one)
		}
		slices.SortFunc(out, func(a, b any) int { return strings.Compare(jsonText(a), jsonText(b)) })
		return out
	}
	return steady(value)
}

// learn makes a place volatile that differs without a fault. In a list, the members are that differ between the elements
// that are most alike.
func (x *explorer) learn(place string, a, b any) {
	before, isA := a.([]any)
	now, isB := b.([]any)
	missing, extra := x.unlike(place+"/*", before, now)
	if !isA || !isB || len(missing) != len(extra) {
		x.volatile[place] = place != "" // a state that is another as a whole is not repeatable
		return
	}
	for _, one := range missing {
		likest, fewest := 0, math.MaxInt
		for i := range extra[:min(len(extra), maxAlike)] {
			n := 0
			x.differences(place+"/*", one, extra[i], func(string, any, any) { n++ })
			if n < fewest {
				likest, fewest = i, n
			}
		}
		x.differences(place+"/*", one, extra[likest], x.learn)
		extra = slices.Delete(extra, likest, likest+1)
	}
}

// maxAlike bounds the elements among which the one most alike is looked for.
const maxAlike = 100

func orWhole(place string) string {
	if place == "" {
		return "the state"
	}
	return place
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// Clip shortens a value for a line.
func Clip(text string) string {
	return clip.Text(text, 120)
}
