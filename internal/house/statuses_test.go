package house

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// statusFiles are the files of mockserver that may name failing statuses: the first one
// maps errors to statuses, the others imitate a failing service or destination.
var statusFiles = []string{"mockserver/response/error.go", "mockserver/stub/fault.go", "mockserver/control/sink.go", "mockserver/explore/conductor.go"}

// ownStatuses are packages below mockserver with their own HTTP handlers.
var ownStatuses = []string{"mockserver/help", "mockserver/kv", "mockserver/ratelimit", "mockserver/ui"}

// successes are statuses that a handler may name.
var successes = []string{"StatusOK", "StatusCreated", "StatusAccepted", "StatusNoContent", "StatusText"}

var statusRule = rule{"one place chooses a status", eachNode(besidesStatuses, statusProblem), []breach{
	{
		"one place chooses a status",
		"mockserver/flow.go", "package mockserver\nimport \"net/http\"\nvar s = http.StatusConflict",
		"mockserver/flow.go:3: http.StatusConflict is for mockserver/response/error.go",
	},
}}

func besidesStatuses(s *source) bool {
	return s.product() && strings.HasPrefix(s.path, "mockserver/") && !slices.Contains(ownStatuses, path.Dir(s.path)) && !slices.Contains(statusFiles, s.path)
}

// statusProblem finds names of failing statuses.
func statusProblem(_ *source, n ast.Node) string {
	name := selected(n, "http")
	if !strings.HasPrefix(name, "Status") || slices.Contains(successes, name) {
		return ""
	}
	return "http." + name + " is for " + statusFiles[0]
}
