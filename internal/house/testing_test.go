package house

import (
	"go/ast"
	"slices"
)

// testPackages are packages that only tests may import.
var testPackages = []string{"net/http/httptest", "testing"}

var testingRule = rule{"the product does not import what tests are made of", eachNode((*source).product, testingProblem), []breach{
	{
		"a server does not import testing",
		"mockserver/listen.go", "package mockserver\nimport \"testing\"\nfunc RunT(t testing.TB) {}",
		"mockserver/listen.go:2: imports testing, which is for tests",
	},
}}

// testingProblem finds imports of testPackages.
func testingProblem(_ *source, n ast.Node) string {
	name := imported(n)
	if !slices.Contains(testPackages, name) {
		return ""
	}
	return "imports " + name + ", which is for tests"
}
