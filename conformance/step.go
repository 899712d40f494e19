package conformance

import "github.com/understudy-mock/understudy/conformance/step"

// Step is one step that a scenario can use.
type Step = step.Listed

// Steps returns all steps, area by area.
func Steps() []Step { return step.List() }
