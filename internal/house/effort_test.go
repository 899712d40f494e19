package house

import (
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

const effortBegin, effortEnd = "<!-- written by `make generate` -->\n", "<!-- end -->\n"

// TestGeneratedEfforts compares the table of docs/contributing/development.md with the tests that do less,
// or nothing, in their short form.
func TestGeneratedEfforts(t *testing.T) {
	t.Parallel()
	tree, err := readTree(expect.Repository(root))
	expect.NoError(t, err)
	var rows []string
	for i := range tree {
		if s := &tree[i]; s.test && !strings.HasPrefix(s.path, "internal/testkit/") {
			rows = append(rows, effortRows(s)...)
		}
	}
	slices.Sort(rows)
	table := "| package | test, or function that tests call | in `make test` | in `make verify` |\n|---|---|---|---|\n" + strings.Join(slices.Compact(rows), "")
	expect.GeneratedPart(t, root+"/docs/contributing/development.md", effortBegin, effortEnd, table)
}

// effortRows are the rows for the functions of a file.
func effortRows(s *source) (rows []string) {
	for _, d := range s.syntax.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			var short, full string
			switch types.ExprString(call.Fun) {
			case "effort.Long":
				short, full = "left out: "+literal(call.Args[1]), "runs"
			case "programs.Need", "processes.Need":
				var tools []string
				for _, tool := range call.Args[2:] {
					tools = append(tools, literal(tool))
				}
				short, full = "left out: needs "+strings.Join(tools, ", "), "runs"
			case "effort.Amount":
				name := literal(call.Args[1])
				short, full = fmt.Sprintf("%s=%s", name, literal(call.Args[2])), fmt.Sprintf("%s=%s", name, literal(call.Args[3]))
			default:
				return true
			}
			rows = append(rows, fmt.Sprintf("| `%s` | `%s` | %s | %s |\n", path.Dir(s.path), f.Name.Name, short, full))
			return true
		})
	}
	return rows
}

// literal is the value of a literal, or the expression.
func literal(e ast.Expr) string {
	text := types.ExprString(e)
	if value, err := strconv.Unquote(text); err == nil {
		return value
	}
	return strings.ReplaceAll(text, "_", "")
}
