package spec

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// parts are the types of the server with a handler for each operation, by their package.
var parts = map[string]struct{ receiver, table string }{
	"mockserver":           {"Server", "handlerTable"},
	"mockserver/control":   {"Service", "Handlers"},
	"mockserver/messaging": {"API", "Handlers"},
	"mockserver/saved":     {"States", "Handlers"},
}

// TestGeneratedHandlers compares the handlers of each operation with the methods that have its
// name: control of the control API is left out, and one method serves all operations that it
// begins, such as publishMessage for publishMessageGet, unless another one is longer.
func TestGeneratedHandlers(t *testing.T) {
	t.Parallel()
	handlers, rows := map[string][]string{}, map[string][]string{}
	for folder, of := range parts {
		handlers[folder] = handlersOf(t, "../"+folder, of.receiver)
	}
	for _, load := range []func() (*Document, error){Load, LoadControl} {
		doc, err := load()
		expect.NoError(t, err)
		for _, op := range doc.Operations() {
			in, name := "", ""
			for folder, names := range handlers {
				for _, one := range names {
					if begins(op.ID, one) && len(one) > len(name) {
						in, name = folder, one
					}
				}
			}
			if name == "" {
				t.Errorf("operation %s has no handler", op.ID)
				continue
			}
			rows[in] = append(rows[in], fmt.Sprintf("%q: (*%s).%s,\n", op.ID, parts[in].receiver, name))
		}
	}
	for folder, of := range parts {
		slices.Sort(rows[folder])
		text := "// " + of.table + " has the handlers by operation.\nvar " + of.table + " = table{\n" + strings.Join(rows[folder], "") + "}\n"
		expect.Generated(t, "../"+folder+"/handlers.gen.go", goFile(t, path.Base(folder), text))
	}
}

// begins reports whether the id of an operation is the name of a method, or begins with it.
func begins(id, name string) bool {
	id = strings.ToLower(strings.TrimPrefix(id, "control"))
	return strings.HasPrefix(id, strings.ToLower(name))
}

// handlersOf are the methods of a type that have the form of a handler.
func handlersOf(t *testing.T, folder, receiver string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.go")
	expect.NoError(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		expect.NoError(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || types.ExprString(f.Recv.List[0].Type) != "*"+receiver || f.Type.Params.NumFields() != 1 || f.Type.Results.NumFields() != 2 {
				continue
			}
			if types.ExprString(f.Type.Params.List[0].Type) == "*request.Call" && types.ExprString(f.Type.Results.List[0].Type) == "any" {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}
