package house

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// clockFiles are the files that may read or wait for real time.
var clockFiles = []string{
	"conformance/harness/clock.go",
	"conformance/receiver/clock.go",
	"engine/clock/clock.go",
	"internal/testkit/effort/effort.go",
	"mockserver/stub/pause.go",
	"mockserver/explore/clock.go",
	"mockserver/kv/kv.go",
	"mockserver/ratelimit/clock.go",
}

// timeReaders are the functions of package time that read or wait for real time. A test
// may read it, to measure, but must not sleep.
var timeReaders = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}

var clockRule = rule{"only clocks read the time", eachNode(readsClock, clockProblem), []breach{
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

var deadlineRule = rule{"deadlines of tests grow on a busy machine", eachNode(waits, deadlineProblem), []breach{
	{
		"a deadline that is the same on every machine",
		"engine/a_test.go", "package engine\nimport (\"context\"; \"time\")\nfunc f() { context.WithTimeout(nil, 5*time.Second) }",
		"engine/a_test.go:3: a fixed deadline: use effort.Wait",
	},
}}

// waits matches the tests that wait for this machine. Two folders are modules of their own; the file
// waits less than net/http.
func waits(s *source) bool {
	return s.test && !strings.HasPrefix(s.path, "conformance/clients/") && !strings.HasPrefix(s.path, "packaging/oci/") && s.path != "mockserver/listener/fresh_test.go"
}

// deadlineProblem finds contexts of tests with a fixed deadline of seconds or more. Shorter ones
// are there to pass.
func deadlineProblem(_ *source, n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok || types.ExprString(call.Fun) != "context.WithTimeout" || len(call.Args) != 2 {
		return ""
	}
	if d := types.ExprString(call.Args[1]); strings.HasPrefix(d, "effort.") || !strings.Contains(d, "time.Second") && !strings.Contains(d, "time.Minute") {
		return ""
	}
	return "a fixed deadline: use effort.Wait"
}

func readsClock(s *source) bool { return !s.generated && !slices.Contains(clockFiles, s.path) }

// clockProblem finds code that reads real time, and tests that sleep.
func clockProblem(s *source, n ast.Node) string {
	name := selected(n, "time")
	if !slices.Contains(timeReaders, name) || s.test && name != "Sleep" && name != "Tick" {
		return ""
	}
	return "time." + name + " is for the clock files"
}
