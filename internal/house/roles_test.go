package house

import (
	"go/ast"
	"go/token"
	"regexp"
)

var roleRule = rule{"roles are compared in their table", eachNode(besidesRoles, roleProblem), []breach{
	{
		"roles are compared in their table",
		"engine/queue.go", "package engine\nfunc (m *Message) f() bool { return m.Role == RoleStep }",
		"engine/queue.go:2: compares roles, which is for engine/internal/state/role.go",
	},
}}

// roleTable is the file that compares roles.
const roleTable = "engine/internal/state/role.go"

func besidesRoles(s *source) bool { return inEngine(s.path) && s.product() && s.path != roleTable }

// roleName matches the role of a message and the names of all roles.
var roleName = regexp.MustCompile(`(^|\.)Role([A-Z]\w*)?$`)

// roleProblem finds comparisons of message roles.
func roleProblem(_ *source, n ast.Node) string {
	compares := false
	switch n := n.(type) {
	case *ast.BinaryExpr:
		compares = (n.Op == token.EQL || n.Op == token.NEQ) && (roleName.MatchString(expression(n.X)) || roleName.MatchString(expression(n.Y)))
	case *ast.SwitchStmt:
		compares = roleName.MatchString(expression(n.Tag))
	}
	if !compares {
		return ""
	}
	return "compares roles, which is for " + roleTable
}
