package world

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/spec"
)

// Kind is a kind of thing: its options, its rules, and how a world of them runs.
type Kind struct {
	Name    string // of one thing: a message
	options []option
	normal  func(*Thing)            // replaces choices that others exclude
	basis   func(*Thing) spec.Basis // of several choices together; nil: stated
	run     func(*World) error
	Rules   []*Rule
}

// option is a dimension of a thing. A sentence names the options in their order.
type option struct {
	name    string
	leads   string // before the first one that has it: with, whose
	choices []choice
}

// choice is one value of an option; the first one is its absence.
type choice struct {
	says     string     // in a sentence
	n        int        // its number: of retries, of seconds
	at       place      // where it is written
	needs    string     // the binding or driver without which it is not in the plan
	requires string     // a requirement that it is about, beside that of the rule
	basis    spec.Basis // implied: the document does not mention it; "" is stated
	name     string     // of a header, or the type of a body
	values   []string   // of a header, or a body
	script   []int      // answers in turn, the last one to all further attempts; 0 breaks the connection
	twice    bool       // done again with what it has made
}

// place is where an option is written.
type place int

const (
	inHeader place = iota
	inQuery
	byDefault // a default header of the group
	inArray   // the same, as an array
)

// Thing is one thing of a world: the number of a choice for each option.
type Thing struct {
	*Kind
	Key  string // unique within its world
	Pick map[string]int
	seed uint64 // of its body
}

// on returns the choice of an option.
func (t *Thing) on(name string) *choice { return &t.choices(name)[t.Pick[name]] }

// choices returns the choices of an option.
func (k *Kind) choices(name string) []choice {
	i := slices.IndexFunc(k.options, func(o option) bool { return o.name == name })
	return k.options[i].choices
}

// candidates is how many random things compete for a place in a world.
const candidates = 60

// Generate returns n things. Each is the best of several random ones, by the number of pairs of
// choices, and of options that are set, that no earlier one has. has reports whether the target has a binding or a driver.
func (k *Kind) Generate(seed uint64, n int, has func(need string) bool) []*Thing {
	r := rand.New(rand.NewPCG(seed, 1))
	seen := map[pair]bool{}
	var things []*Thing
	for i := range n {
		var best *Thing
		most := -1
		for range candidates {
			t := &Thing{Kind: k, Key: fmt.Sprintf("t%d", i), Pick: map[string]int{}, seed: seed}
			for _, o := range k.options {
				c := r.IntN(len(o.choices))
				if r.IntN(3) > 0 && o.choices[c].lacks(has) == "" { // absence is frequent
					t.Pick[o.name] = c
				}
			}
			k.normal(t)
			if fresh := len(t.pairs(seen)); fresh > most {
				best, most = t, fresh
			}
		}
		for _, p := range best.pairs(seen) {
			seen[p] = true
		}
		things = append(things, best)
	}
	return things
}

// lacks returns what a target has not, of what the choice needs.
func (c *choice) lacks(has func(need string) bool) string {
	for _, need := range []string{c.needs, map[bool]string{true: "capabilities.publish-query-config"}[c.at == inQuery]} {
		if need != "" && !has(need) {
			return need
		}
	}
	return ""
}

// Missing says which options a target cannot have, and why: "delay (delay.format is not bound)".
func (k *Kind) Missing(has func(need string) bool) (list []string) {
	for _, o := range k.options {
		for _, c := range o.choices {
			need := c.lacks(has)
			if text := o.name + " (" + need + " is not bound)"; need != "" && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return list
}

// pair is two options, by their numbers, each with the number of a choice, or -1 for any that is set.
type pair [4]int

// pairs returns the pairs of choices that are not in seen, and of options that are set.
func (t *Thing) pairs(seen map[pair]bool) (list []pair) {
	add := func(p pair) {
		if !seen[p] {
			list = append(list, p)
		}
	}
	for i, a := range t.options {
		x := t.Pick[a.name]
		for j, b := range t.options[:i] {
			y := t.Pick[b.name]
			if add(pair{i, x, j, y}); x*y > 0 {
				add(pair{i, -1, j, -1})
			}
		}
	}
	return list
}

// With returns a copy with only some of the options, under another key.
func (t *Thing) With(key string, keep []string) *Thing {
	n := &Thing{Kind: t.Kind, Key: key, Pick: map[string]int{}, seed: t.seed}
	for _, name := range keep {
		n.Pick[name] = t.Pick[name]
	}
	t.normal(n)
	return n
}

// Set returns the names of the options that are set.
func (t *Thing) Set() (names []string) {
	for _, o := range t.options {
		if t.Pick[o.name] != 0 {
			names = append(names, o.name)
		}
	}
	return names
}

// Basis is the weakest basis of its choices.
func (t *Thing) Basis() spec.Basis {
	for _, name := range t.Set() {
		if b := t.on(name).basis; b != "" {
			return b
		}
	}
	if t.basis != nil {
		return t.basis(t)
	}
	return spec.Stated
}

// Says is a sentence: "a message with a delay of 2 s and 2 retries whose destination answers 503 twice".
func (t *Thing) Says() string {
	var leads []string
	parts := map[string][]string{}
	for _, o := range t.options {
		if c := t.on(o.name); c.says != "" {
			if parts[o.leads] == nil {
				leads = append(leads, o.leads)
			}
			parts[o.leads] = append(parts[o.leads], c.says)
		}
	}
	text := []string{t.Name}
	for _, lead := range leads {
		list := parts[lead]
		if n := len(list); n > 1 {
			list = append(list[:n-2:n-2], list[n-2]+" and "+list[n-1])
		}
		text = append(text, strings.TrimRight(" "+lead, " ")+" "+strings.Join(list, ", "))
	}
	return strings.Join(text, "")
}
