// Package house holds the rules of this repository's source: who may import
// whom, what locks, where goroutines start, who reads the clock, sizes, names
// and comments. `make house` checks them.
//
// A rule is a function over the source tree. Beside it is a file that breaks it,
// so that the rule is seen failing. To add one, write a file like sizes.go and
// add its rule to allRules. A convention that is not worth a rule is a matter of
// taste: reviews leave it alone.
package house

// rule is one house rule, with files that break it.
type rule struct {
	name   string
	check  func([]source) []string
	breaks []breach
}

// breach is a file that breaks a rule, and what the rule then reports.
type breach struct {
	name string
	path string
	text string
	want string // begins one of the problems
}

// allRules are the rules over the source. Who imports whom is in imports.go.
var allRules = []rule{
	brandRule,
	clockRule,
	commentRule,
	durationRule,
	exportRule,
	goroutineRule,
	guardRule,
	literalRule,
	lockRule,
	nameRule,
	packageSizeRule,
	pageRule,
	referenceRule,
	refusalRule,
	roleRule,
	roomRule,
	sizeRule,
	staleRule,
	statusRule,

	surfaceRule,
	testingRule,
	wireRule,
	writerRule,
}
