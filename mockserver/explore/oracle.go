package explore

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/mockserver/query"
)

// Breach is what a case does other than the baseline.
type Breach struct {
	Oracle string `json:"oracle"` // effects, state, ends, steps, hidden, dlq, repair, check
	Text   string `json:"text"`   // in one line
}

// Allowed is a difference that is lawful, with its reason.
type Allowed struct {
	Effect     string `json:"effect" yaml:"effect"`         // an effect, in which * matches any text
	Duplicated int    `json:"duplicated" yaml:"duplicated"` // how often it may happen; 0: any number
	Lost       bool   `json:"lost" yaml:"lost"`             // it may be missing
	Because    string `json:"because" yaml:"because"`
}

// breaches compares a case with the baseline.
func (x *explorer) breaches(o *Observation) []Breach {
	if o.Unfinished != "" {
		return []Breach{{"ends", o.Unfinished}}
	}
	out := stepBreaches(o)
	effects, state := "effects", "state"
	if o.Repaired {
		effects, state = "repair", "repair"
	}
	spent, unheard := x.spent(o)
	if o.Repaired || !spent {
		if lost := x.effectBreaches(effects, o); len(lost) > 0 {
			out = append(append(out, lost...), hiddenBreaches(o)...)
		}
		if !o.told() {
			differences("", x.baseline.State, o.State, x.volatile, func(place string, a, b any) bool {
				out = append(out, Breach{state, fmt.Sprintf("other state: %s is %s, without the fault %s", orWhole(place), Clip(jsonText(b)), Clip(jsonText(a)))})
				return false
			})
		}
		for _, name := range slices.Sorted(maps.Keys(x.baseline.Runs)) {
			if got := o.Runs[name]; got != x.baseline.Runs[name] && !o.Repaired {
				out = append(out, Breach{"ends", fmt.Sprintf("run %s: %s, without the fault %s", name, orNone(got), x.baseline.Runs[name])})
			}
		}
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
		made[effect] = made[effect] || p.Kind == outside && p.Fault != OutsideDown
	}
	for _, p := range o.Trace {
		cause, effect := cutLast(withoutNumber(p.Base))
		if answered, known := latest[cause]; p.Fault == OutsideDown && known && !answered.failed() && !made[effect] {
			out = append(out, Breach{"hidden", fmt.Sprintf("hidden failure: %s failed and was not repeated, but %s was answered %s", effect, handler(withoutNumber(cause)), answered.Outcome)})
		}
	}
	return out
}

// failed reports whether a point is an attempt without an answer 2xx.
func (p Point) failed() bool { return p.Outcome != "" && !strings.HasPrefix(p.Outcome, "2") }

// told reports whether the application was told by a failure callback that an outage was final:
// what it does then is no difference that matters, even if the message is retried later.
func (o *Observation) told() bool {
	return o.Repaired && slices.ContainsFunc(o.Trace, func(p Point) bool { return p.Told })
}

// effectBreaches compares the effects.
func (x *explorer) effectBreaches(oracle string, o *Observation) []Breach {
	all := maps.Clone(x.baseline.Effects)
	maps.Copy(all, o.Effects)
	var out []Breach
	for _, effect := range slices.Sorted(maps.Keys(all)) {
		want, got := x.baseline.Effects[effect], o.Effects[effect]
		if got == want || x.allows(effect, want, got) {
			continue
		}
		kind := "duplicated"
		switch {
		case want == 0 && o.told():
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

// differences calls yield with each place where two JSON values differ, until it returns false. Places in
// ignored are not compared, nor are values that differ by their form in each case.
func differences(place string, a, b any, ignored map[string]bool, yield func(place string, a, b any) bool) bool {
	if ignored[place] {
		return true
	}
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			all := maps.Clone(a)
			maps.Copy(all, b)
			for _, name := range slices.Sorted(maps.Keys(all)) {
				if !differences(place+"/"+name, a[name], b[name], ignored, yield) {
					return false
				}
			}
			return true
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			a, b := sorted(a), sorted(b)
			for i := range a {
				if !differences(fmt.Sprintf("%s/%d", place, i), a[i], b[i], ignored, yield) {
					return false
				}
			}
			return true
		}
	}
	return jsonText(steady(a)) == jsonText(steady(b)) || yield(place, a, b)
}

// sorted returns the elements in the order of their texts: the order of a list is not compared,
// because it may be that of arrival.
func sorted(list []any) []any {
	return slices.SortedFunc(slices.Values(list), func(a, b any) int { return strings.Compare(jsonText(steady(a)), jsonText(steady(b))) })
}

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
	if len(text) > 120 {
		return strings.ToValidUTF8(text[:120], "") + "…"
	}
	return text
}
