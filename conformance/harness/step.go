package harness

// Step is a step of scenarios: a pattern and its implementation. Do is a method that takes
// the groups of the pattern as arguments and returns an error.
type Step struct {
	Keyword string // Given, When or Then; And and But have the keyword of the previous line
	Pattern string // a regular expression of the whole line
	Do      any
}
