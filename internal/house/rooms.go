package house

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var roomRule = rule{"packages below the engine have no locks", roomProblems, []breach{
	{
		"packages below the engine have no locks",
		"engine/vector/index.go", "package vector\nimport \"sync\"\nvar mu sync.Mutex",
		"engine/vector/index.go:2: imports sync, but the account that keeps these values has the lock",
	},
}}

// roomProblems keeps locks out of the packages below the engine.
func roomProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if !strings.HasPrefix(s.path, "engine/") || strings.Count(s.path, "/") < 2 || !s.product() {
			continue
		}
		for _, spec := range s.syntax.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err == nil && slices.Contains([]string{"sync", "sync/atomic"}, name) {
				problems = append(problems, fmt.Sprintf("%s: imports %s, but the account that keeps these values has the lock", s.at(spec), name))
			}
		}
	}
	return problems
}
