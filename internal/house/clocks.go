package house

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
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

var deadlineRule = rule{"deadlines of tests grow on a busy machine", deadlineProblems, []breach{
	{
		"a deadline that is the same on every machine",
		"engine/a_test.go", "package engine\nimport (\"context\"; \"time\")\nfunc f() { context.WithTimeout(nil, 5*time.Second) }",
		"engine/a_test.go:3: a fixed deadline: use effort.Wait",
	},
}}

// deadlineProblems finds contexts of tests with a fixed deadline of seconds or more. Shorter ones
// are there to pass.
func deadlineProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if s.syntax == nil || !s.test || strings.HasPrefix(s.path, "conformance/clients/") || strings.HasPrefix(s.path, "packaging/oci/") || s.path == "mockserver/listener/fresh_test.go" {
			continue // the first two are modules of their own; the third waits less than net/http
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || types.ExprString(call.Fun) != "context.WithTimeout" || len(call.Args) != 2 {
				return true
			}
			if d := types.ExprString(call.Args[1]); !strings.HasPrefix(d, "effort.") && (strings.Contains(d, "time.Second") || strings.Contains(d, "time.Minute")) {
				problems = append(problems, fmt.Sprintf("%s: a fixed deadline: use effort.Wait", s.at(n)))
			}
			return true
		})
	}
	return problems
}

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
