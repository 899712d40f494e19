// Package house holds the rules of this repository's source: who may import
// whom, what locks, where goroutines start, who reads the clock, sizes, names
// and comments. `make house` checks them.
//
// A rule is a function over the source tree and one row of a table: beside the
// rule stands a file that breaks it, so that the rule is seen failing. To add
// one, write a file like sizes.go and add its table to allRules. A convention
// that is not worth a rule is a matter of taste: reviews leave it alone.
package house

import "slices"

// rule is one house rule, with a file that breaks it and what it then reports.
type rule struct {
	name  string
	check func([]source) []string
	path  string // of the file that breaks the rule
	text  string
	want  string // begins one of the problems that the check reports
}

// allRules are the rules over the source. Who imports whom is in imports.go.
var allRules = slices.Concat(
	brandRules,
	clockRules,
	commentRules,
	durationRules,
	exportRules,
	goroutineRules,
	lockRules,
	pageRules,
	roleRules,
	roomRules,
	sizeRules,
	statusRules,
)
