package house

import (
	"go/ast"
	"path"
	"slices"
)

// testPackages are packages that only tests may import.
var testPackages = []string{"net/http/httptest", "testing"}

var testingRule = rule{"the product does not import what tests are made of", eachNode(shipped, testingProblem), []breach{
	{
		"a server does not import testing",
		"mockserver/listen.go", "package mockserver\nimport \"testing\"\nfunc RunT(t testing.TB) {}",
		"mockserver/listen.go:2: imports testing, which is for tests",
	},
}}

// shipped matches the product without internal/effort, which is for tests, and reads -short.
func shipped(s *source) bool { return s.product() && path.Dir(s.path) != "internal/effort" }

// testingProblem finds imports of testPackages.
func testingProblem(_ *source, n ast.Node) string {
	name := imported(n)
	if !slices.Contains(testPackages, name) {
		return ""
	}
	return "imports " + name + ", which is for tests"
}
