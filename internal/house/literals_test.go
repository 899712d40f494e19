package house

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// clientFolder matches the folders of the clients of the interface, and of code that calls
// destinations. They must take paths and header names from spec/route and spec/header.
var clientFolder = regexp.MustCompile(`^(cmd/understudy(-conform)?|conformance(/\w+)?|mockserver/(ui(/templates)?|wire))$`)

var literalRule = rule{"clients take routes and header names from the constants", literalProblems, []breach{
	{
		"a client states no path",
		"mockserver/ui/dlq.go", "package ui\n\nvar path = \"/v2/dlq/\"\n",
		"mockserver/ui/dlq.go:3: states /v2/: take it from spec/route",
	},
	{
		"a client states no header name",
		"mockserver/ui/dlq.go", "package ui\n\nvar name = `Svc-Retries`\n",
		"mockserver/ui/dlq.go:3: states Svc-: take it from spec/header",
	},
	{
		"a template states no path",
		"mockserver/ui/templates/dlq.html", "<p>\n/v2/dlq</p>",
		"mockserver/ui/templates/dlq.html:2: states /v2/: take it from spec/route",
	},
}}

// wireNames matches the prefixes of paths (first group) and header names (second group).
var wireNames = regexp.MustCompile(`(/v2/)|\b([Ss]vc-)`)

// literalProblems finds paths and header names in clients. Tests and comments may contain
// them.
func literalProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if !clientFolder.MatchString(path.Dir(s.path)) || !slices.Contains([]string{".go", ".html", ".js"}, path.Ext(s.path)) || s.test || s.generated {
			continue
		}
		if s.syntax == nil {
			for i, line := range strings.Split(s.text, "\n") {
				problems = append(problems, literalProblem(s.line(i+1), line)...)
			}
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				problems = append(problems, literalProblem(s.at(n), text.Value)...)
			}
			_, tag := n.(*ast.Field) // help texts of flags are documentation
			return !tag
		})
	}
	return problems
}

func literalProblem(at, text string) []string {
	switch found := wireNames.FindStringSubmatch(text); {
	case found == nil:
		return nil
	case found[1] != "":
		return []string{at + ": states /v2/: take it from spec/route"}
	default:
		return []string{at + ": states " + found[2] + ": take it from spec/header"}
	}
}
