package house

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// source is one file of the repository.
type source struct {
	path      string
	text      string
	syntax    *ast.File // nil when it is not Go
	positions *token.FileSet
	generated bool
	test      bool
}

// at is the file and line of a node: file:line.
func (s *source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.positions.Position(n.Pos()).Line)
}

// line is file:line for a line number.
func (s *source) line(n int) string { return fmt.Sprintf("%s:%d", s.path, n) }

// product reports whether a file is part of the product: Go, not generated, not a test.
func (s *source) product() bool { return s.syntax != nil && !s.generated && !s.test }

// textFiles are the extensions of the files that readTree reads.
var textFiles = []string{".go", ".md", ".yaml", ".json", ".feature", ".html", ".css", ".js", ".mjs", ".tmpl", ".txtar", ".py", ".ts", ".mts"}

// sharedTests are folders of test code that several packages run, in files without
// _test.go.
var sharedTests = []string{"engine/store/storetest/", "internal/testkit/"}

// readTree reads and parses the source files below a folder.
func readTree(root fs.FS) ([]source, error) {
	var tree []source
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains(textFiles, path.Ext(name)) {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		s := source{path: name, text: string(text), test: strings.HasSuffix(name, "_test.go") || slices.ContainsFunc(sharedTests, func(folder string) bool { return strings.HasPrefix(name, folder) })}
		if path.Ext(name) == ".go" && !strings.Contains(name, "testdata/") {
			s.positions = token.NewFileSet()
			if s.syntax, err = parser.ParseFile(s.positions, name, text, parser.ParseComments); err != nil {
				return err
			}
			s.generated = ast.IsGenerated(s.syntax)
		}
		tree = append(tree, s)
		return nil
	})
	if err == nil && len(tree) == 0 {
		err = errors.New("no source file found")
	}
	return tree, err
}

// eachNode is a check that asks for the problem with each node of the Go files for which in is
// true; "" is none.
func eachNode(in func(*source) bool, problem func(*source, ast.Node) string) func([]source) []string {
	return func(tree []source) (problems []string) {
		for i := range tree {
			s := &tree[i]
			if s.syntax == nil || !in(s) {
				continue
			}
			ast.Inspect(s.syntax, func(n ast.Node) bool {
				if n != nil {
					if text := problem(s, n); text != "" {
						problems = append(problems, s.at(n)+": "+text)
					}
				}
				return true
			})
		}
		return problems
	}
}

// selected is the name that a node takes from a package, "" for none: Now of time.Now.
func selected(n ast.Node, pkg string) string {
	if x, ok := n.(*ast.SelectorExpr); ok {
		if on, ok := x.X.(*ast.Ident); ok && on.Name == pkg {
			return x.Sel.Name
		}
	}
	return ""
}

// imported is the path that a node imports, "" for none.
func imported(n ast.Node) string {
	if spec, ok := n.(*ast.ImportSpec); ok {
		name, _ := strconv.Unquote(spec.Path.Value) // it was parsed
		return name
	}
	return ""
}

// receiverType is the name of the receiver's type, without pointer and type parameters; "" for a
// function.
func receiverType(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*"), "[")
	return name
}

// method splits a call x.name(). on is "" when x is not an identifier.
func method(call *ast.CallExpr) (on, name string) {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if x, ok := selector.X.(*ast.Ident); ok {
		on = x.Name
	}
	return on, selector.Sel.Name
}
