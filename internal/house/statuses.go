package house

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// statusFiles are the files of mockserver that may name failing statuses: the first one
// maps errors to statuses, the others imitate a failing service or destination.
var statusFiles = []string{"mockserver/response/error.go", "mockserver/fault/fault.go", "mockserver/control/sink.go"}

// ownStatuses are packages below mockserver with their own HTTP handlers.
var ownStatuses = []string{"mockserver/help", "mockserver/kv", "mockserver/ratelimit", "mockserver/ui"}

// successes are statuses that a handler may name.
var successes = []string{"StatusOK", "StatusCreated", "StatusAccepted", "StatusNoContent", "StatusText"}

var statusRule = rule{"one place chooses a status", statusProblems, []breach{
	{
		"one place chooses a status",
		"mockserver/flow.go", "package mockserver\nimport \"net/http\"\nvar s = http.StatusConflict",
		"mockserver/flow.go:3: http.StatusConflict is for mockserver/response/error.go",
	},
}}

// statusProblems finds other files that name a failing status.
func statusProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if !s.product() || !strings.HasPrefix(s.path, "mockserver/") || slices.Contains(ownStatuses, path.Dir(s.path)) || slices.Contains(statusFiles, s.path) {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if on, ok := x.X.(*ast.Ident); ok && on.Name == "http" && strings.HasPrefix(x.Sel.Name, "Status") && !slices.Contains(successes, x.Sel.Name) {
				problems = append(problems, fmt.Sprintf("%s: http.%s is for %s", s.at(n), x.Sel.Name, statusFiles[0]))
			}
			return true
		})
	}
	return problems
}
