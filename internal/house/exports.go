package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
)

// maxExported is the largest number of exported names, for packages whose API is kept
// small. Methods and fields are not counted.
var maxExported = map[string]int{
	"conformance": 25,
}

// maxSurface is the largest number of exported functions, types, and methods of exported
// types of a package. It may only be lowered.
var maxSurface = map[string]int{
	"engine": 150,
}

var surfaceRule = rule{"the surface of a package does not grow", surfaceProblems, []breach{
	{
		"functions, types and methods of exported types count",
		"engine/account.go", "// Package engine.\npackage engine\n" + strings.Repeat("func F() {}\ntype T struct{}\nfunc (*T) M() {}\n", 65),
		"engine: exports 195 functions, types and methods: must be at most 150",
	},
}}

// surfaceProblems finds packages that exceed maxSurface.
func surfaceProblems(tree []source) []string {
	return overCount(tree, surface, maxSurface, "%s: exports %d functions, types and methods: must be at most %d")
}

// overCount finds packages that exceed their limit: count counts in one declaration, form
// formats the package, the number and the limit.
func overCount(tree []source, count func(ast.Decl) int, most map[string]int, form string) []string {
	counted := map[string]int{}
	for _, s := range tree {
		if s.product() {
			for _, d := range s.syntax.Decls {
				counted[path.Dir(s.path)] += count(d)
			}
		}
	}
	var problems []string
	for _, pkg := range slices.Sorted(maps.Keys(most)) {
		if n := counted[pkg]; n > most[pkg] {
			problems = append(problems, fmt.Sprintf(form, pkg, n, most[pkg]))
		}
	}
	return problems
}

// surface counts the functions, types and methods that a declaration exports.
func surface(d ast.Decl) int {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*"))) {
			return 1
		}
	case *ast.GenDecl:
		if d.Tok == token.TYPE {
			return exported(d)
		}
	}
	return 0
}

var exportRule = rule{"the surface of a package is small", exportProblems, []breach{
	{
		"the surface of a package is small",
		"conformance/step.go", "// Package conformance.\npackage conformance\n" + strings.Repeat("type Step struct{}\n", 26),
		"conformance: 26 exported names: must be at most 25",
	},
}}

// exportProblems finds packages that exceed maxExported.
func exportProblems(tree []source) []string {
	return overCount(tree, exported, maxExported, "%s: %d exported names: must be at most %d")
}

// exported counts the names that a declaration exports.
func exported(d ast.Decl) (n int) {
	count := func(id *ast.Ident) {
		if id.IsExported() {
			n++
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			count(d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				count(spec.Name)
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					count(id)
				}
			}
		}
	}
	return n
}
