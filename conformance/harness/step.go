package harness

// Step is a line that a scenario can use: a pattern, and what it runs. Do is a
// method whose arguments are the groups of the pattern, and which returns an error.
type Step struct {
	Keyword string // Given, When or Then: And and But take that of the line before
	Pattern string // a regular expression of the whole line
	Do      any
}
