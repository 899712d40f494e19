package house

import (
	"fmt"
	"go/ast"
	"slices"
)

// clockFiles are the files that may read or wait for real time.
var clockFiles = []string{
	"conformance/harness/clock.go",
	"conformance/mutant/clock.go",
	"conformance/receiver/clock.go",
	"engine/clock/clock.go",
	"internal/effort/effort.go",
	"mockserver/kv/clock.go",
	"mockserver/pause/pause.go",
	"mockserver/ratelimit/clock.go",
}

// timeReaders are the functions of package time that read or wait for real time. A test
// may read it, to measure, but must not sleep.
var timeReaders = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}

var clockRule = rule{"only clocks read the time", clockProblems, []breach{
	{
		"only clocks read the time",
		"mockserver/publish.go", "package mockserver\nimport \"time\"\nvar now = time.Now()",
		"mockserver/publish.go:3: time.Now is for the clock files",
	},
	{
		"a test does not sleep",
		"engine/a_test.go", "package engine\nimport \"time\"\nfunc f() { time.Sleep(1) }",
		"engine/a_test.go:3: time.Sleep is for the clock files",
	},
}}

// clockProblems finds code that reads real time, and tests that sleep.
func clockProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if s.syntax == nil || s.generated || slices.Contains(clockFiles, s.path) {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			banned := slices.Contains(timeReaders, x.Sel.Name)
			if s.test {
				banned = x.Sel.Name == "Sleep" || x.Sel.Name == "Tick"
			}
			if on, ok := x.X.(*ast.Ident); ok && on.Name == "time" && banned {
				problems = append(problems, fmt.Sprintf("%s: time.%s is for the clock files", s.at(n), x.Sel.Name))
			}
			return true
		})
	}
	return problems
}
