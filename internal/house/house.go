// Package house checks rules for the source of this repository: imports, locks, where
// goroutines start, what may read the clock, and what comments and pages refer to. `make test`
// runs it. Kept tools check what is not particular to this repository: golangci-lint comments and
// spelling, remark links between pages.
//
// A rule is a function over the source tree. Next to it are files that break it:
// TestHouseRules checks that they are reported. To add a rule, write a file like clocks.go
// and add the rule to allRules. A convention without a rule is a matter of taste, which
// reviews ignore.
package house

// rule is one house rule, with files that break it.
type rule struct {
	name   string
	check  func([]source) []string
	breaks []breach
}

// breach is a file that breaks a rule, and the problem that the rule must report.
type breach struct {
	name string
	path string
	text string
	want string // the beginning of one of the problems
}

// allRules are the rules for source files. The rules for imports are in imports.go.
var allRules = []rule{
	brandRule,
	clockRule,
	deadlineRule,
	durationRule,
	goroutineRule,
	guardRule,
	literalRule,
	lockRule,
	pageRule,
	referenceRule,
	refusalRule,
	roleRule,
	roomRule,
	staleRule,
	statusRule,
	testingRule,
	touchRule,
	wireRule,
	writerRule,
}
