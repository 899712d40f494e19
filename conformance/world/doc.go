// Package world generates worlds: many things, such as messages, that differ in every option and
// are under way at once. A model of the interface document says what must hold for each.
//
//	plan := world.Messages.Generate(seed, 40, func(binding string) bool { return true })
//	w, err := world.Messages.Run(scenario, "", plan, patience)
//	findings := w.Judge(rule)
//
//	seed -> plan (options x choices) -> run -> lives -> rules -> findings -> the smallest thing
//
// A thing is a choice for each option and nothing else. Choice 0 is the absence of the option, so
// that a smaller thing has fewer choices, and a finding names those that are left.
//
// # What it does not do
//
// The model knows no server, and the document only: what the document leaves open has no rule. A
// rule that needs a state machine is a written scenario.
package world
