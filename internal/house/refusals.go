package house

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
)

var refusalRule = rule{"refusals are values", refusalProblems, []breach{
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

// refusalProblems finds refusals that are formatted or read as text, which loses their
// parts.
func refusalProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if !s.product() || !strings.HasPrefix(s.path, "engine/") && path.Dir(s.path) != "mockserver" {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if on, name := method(call); on == "fmt" && name == "Errorf" {
				for _, argument := range call.Args {
					if kindName.MatchString(expression(argument)) {
						problems = append(problems, s.at(n)+": a refusal made of text: refusal.Of and refusal.OfValue make values")
					}
				}
			} else if name == "Error" && readsKind(call) {
				problems = append(problems, s.at(n)+": reads the text of a refusal: errors.AsType finds its parts")
			}
			return true
		})
	}
	return problems
}

// readsKind reports whether a call is KIND.Error().
func readsKind(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && kindName.MatchString(expression(selector.X))
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
