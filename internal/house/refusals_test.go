package house

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

var refusalRule = rule{"refusals are values", eachNode(refuses, refusalProblem), []breach{
	{
		"a refusal of the engine is a value",
		"engine/queue.go", "package engine\nvar err = fmt.Errorf(\"queue %q: %w\", name, ErrNotFound)",
		"engine/queue.go:2: a refusal made of text: refusal.Of and refusal.OfValue make values",
	},
	{
		"a refusal of the server is a value",
		"mockserver/queue.go", "package mockserver\nvar err = fmt.Errorf(\"queue %q: %w\", name, engine.ErrNotFound)",
		"mockserver/queue.go:2: a refusal made of text",
	},
	{
		"a room refuses by a value",
		"engine/search/index.go", "package search\nvar err = fmt.Errorf(\"index %q: %w\", name, refusal.NotFound)",
		"engine/search/index.go:2: a refusal made of text",
	},
	{
		"a refusal is not read as text",
		"mockserver/queue.go", "package mockserver\nvar kind = strings.TrimSuffix(err.Error(), engine.ErrNotFound.Error())",
		"mockserver/queue.go:2: reads the text of a refusal",
	},
}}

// kindName matches the kinds of refusals, as named in package engine and in package
// refusal.
var kindName = regexp.MustCompile(`^(engine\.)?Err(NotFound|Exists|Invalid|Ended|Full|Unfit|Closed|NotDurable)$|^refusal\.(NotFound|Exists|Invalid|Ended|Full|Unfit|Closed|NotDurable)$`)

func refuses(s *source) bool {
	return s.product() && (strings.HasPrefix(s.path, "engine/") || path.Dir(s.path) == "mockserver")
}

// refusalProblem finds refusals that are formatted or read as text, which loses their
// parts.
func refusalProblem(_ *source, n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	isKind := func(e ast.Expr) bool { return kindName.MatchString(expression(e)) }
	switch on, name := method(call); {
	case on == "fmt" && name == "Errorf" && slices.ContainsFunc(call.Args, isKind):
		return "a refusal made of text: refusal.Of and refusal.OfValue make values"
	case name == "Error" && isKind(call.Fun.(*ast.SelectorExpr).X):
		return "reads the text of a refusal: errors.AsType finds its parts"
	}
	return ""
}

// expression is an identifier or a selector as source text, "" for any other expression.
func expression(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return expression(e.X) + "." + e.Sel.Name
	}
	return ""
}
