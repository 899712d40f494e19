package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode"
)

// largePackage is the number of lines, without tests and generated files, above which
// unexported functions, variables and constants need two words: a reader does not see
// which file a name is in. Types are exempt, because they are nouns of the field.
const largePackage = 3000

// cutPackages were split from large packages and keep the rule. Sorted.
var cutPackages = []string{
	"engine/internal/snapshot",
	"engine/internal/state",
	"mockserver/call",
	"mockserver/control",
	"mockserver/delivery",
	"mockserver/fault",
	"mockserver/fixture",
	"mockserver/journal",
	"mockserver/listener",
	"mockserver/origin",
	"mockserver/pause",
	"mockserver/request",
	"mockserver/response",
	"mockserver/stub",
	"mockserver/tenant",
	"mockserver/ui",
	"mockserver/vectors",
	"mockserver/view",
	"mockserver/wire",
}

var nameRule = rule{"names in large packages have two words", nameProblems, []breach{
	{
		"a private function of a large package has two words",
		"mockserver/option.go", "package mockserver\nfunc text() {}" + strings.Repeat("\n", largePackage),
		"mockserver/option.go:2: text: a private name at package level has at least two words here",
	},
	{
		"so has a constant",
		"mockserver/option.go", "package mockserver\nconst most = 1" + strings.Repeat("\n", largePackage),
		"mockserver/option.go:2: most: a private name at package level has at least two words here",
	},
}}

// givenNames are given by the language, or by builds, which set main.version.
var givenNames = []string{"_", "init", "main", "version"}

// nameProblems finds unexported names of one word at package level in these packages.
func nameProblems(tree []source) []string {
	lines := map[string]int{}
	for _, s := range tree {
		if s.product() {
			lines[path.Dir(s.path)] += s.positions.File(s.syntax.FileStart).LineCount()
		}
	}
	var problems []string
	for _, s := range tree {
		if pkg := path.Dir(s.path); !s.product() || lines[pkg] <= largePackage && !slices.Contains(cutPackages, pkg) {
			continue
		}
		for _, id := range packageNames(s.syntax) {
			if !id.IsExported() && !slices.Contains(givenNames, id.Name) && !strings.ContainsFunc(id.Name, unicode.IsUpper) {
				problems = append(problems, fmt.Sprintf("%s: %s: a private name at package level has at least two words here", s.at(id), id.Name))
			}
		}
	}
	return problems
}

// packageNames are the functions, variables and constants of a file.
func packageNames(f *ast.File) []*ast.Ident {
	var list []*ast.Ident
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				list = append(list, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && d.Tok != token.TYPE {
					list = append(list, v.Names...)
				}
			}
		}
	}
	return list
}
