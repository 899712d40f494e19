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

// allRules are the rules for source files. The rules for imports are in imports_test.go.
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
	twinRule,
	wireRule,
	writerRule,
}
