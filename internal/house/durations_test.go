package house

import (
	"go/ast"
	"go/token"
)

var durationRule = rule{"no test asserts measured time", durationProblems, []breach{
	{
		"a test asserts no time of the world",
		"engine/a_test.go", "package engine\nimport \"time\"\nfunc f(at time.Time) {\n took := time.Since(at)\n if took > time.Second {}\n}",
		"engine/a_test.go:5: compares measured time with a limit, which a slow machine exceeds: measure in a benchmark",
	},
	{
		"a test asserts no duration of a report",
		"engine/a_test.go", "package engine\nimport \"time\"\nfunc f(r report) {\n if r.Duration > time.Second {}\n}",
		"engine/a_test.go:4: compares measured time with a limit, which a slow machine exceeds: measure in a benchmark",
	},
}}

// durationProblems finds tests that compare measured time: the result of time.Since,
// directly or in a variable, or the Duration of a report.
func durationProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if s.syntax == nil || !s.test {
			continue
		}
		measured := map[string]bool{}
		isMeasured := func(e ast.Expr) bool {
			switch e := e.(type) {
			case *ast.Ident:
				return measured[e.Name]
			case *ast.SelectorExpr:
				return e.Sel.Name == "Duration"
			case *ast.CallExpr:
				on, name := method(e)
				return on == "time" && name == "Since"
			}
			return false
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if name, ok := n.Lhs[0].(*ast.Ident); ok && isMeasured(n.Rhs[0]) {
					measured[name.Name] = true
				}
			case *ast.BinaryExpr:
				compares := n.Op == token.LSS || n.Op == token.GTR || n.Op == token.LEQ || n.Op == token.GEQ
				if compares && (isMeasured(n.X) || isMeasured(n.Y)) {
					problems = append(problems, s.at(n)+": compares measured time with a limit, which a slow machine exceeds: measure in a benchmark")
				}
			}
			return true
		})
	}
	return problems
}
