package house

import (
	"go/ast"
	"go/token"
	"regexp"
)

var roleRule = rule{"roles are compared in their table", roleProblems, []breach{
	{
		"roles are compared in their table",
		"engine/queue.go", "package engine\nfunc (m *Message) f() bool { return m.Role == RoleStep }",
		"engine/queue.go:2: compares roles, which is for engine/internal/state/role.go",
	},
}}

// roleTable is the file that compares roles.
const roleTable = "engine/internal/state/role.go"

// roleProblems finds comparisons of message roles outside of roleTable.
func roleProblems(tree []source) []string {
	var problems []string
	role := regexp.MustCompile(`^Role([A-Z]|$)`)
	names := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.Ident:
			return role.MatchString(e.Name)
		case *ast.SelectorExpr:
			return role.MatchString(e.Sel.Name)
		}
		return false
	}
	for _, s := range tree {
		if !inEngine(s.path) || !s.product() || s.path == roleTable {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			compares := false
			switch n := n.(type) {
			case *ast.BinaryExpr:
				compares = (n.Op == token.EQL || n.Op == token.NEQ) && (names(n.X) || names(n.Y))
			case *ast.SwitchStmt:
				compares = names(n.Tag)
			}
			if compares {
				problems = append(problems, s.at(n)+": compares roles, which is for "+roleTable)
			}
			return true
		})
	}
	return problems
}
