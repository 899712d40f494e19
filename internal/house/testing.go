package house

import (
	"fmt"
	"path"
	"slices"
	"strconv"
)

// testPackages are packages that only tests may import.
var testPackages = []string{"net/http/httptest", "testing"}

var testingRule = rule{"the product does not import what tests are made of", testingProblems, []breach{
	{
		"a server does not import testing",
		"mockserver/listen.go", "package mockserver\nimport \"testing\"\nfunc RunT(t testing.TB) {}",
		"mockserver/listen.go:2: imports testing, which is for tests",
	},
}}

// testingProblems finds imports of testPackages in the product.
func testingProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if !s.product() || path.Dir(s.path) == "internal/effort" { // it is for tests, and reads -short
			continue
		}
		for _, spec := range s.syntax.Imports {
			if name, err := strconv.Unquote(spec.Path.Value); err == nil && slices.Contains(testPackages, name) {
				problems = append(problems, fmt.Sprintf("%s: imports %s, which is for tests", s.at(spec), name))
			}
		}
	}
	return problems
}
