package house

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
)

const (
	maxFunction = 80   // lines
	maxFile     = 500  // lines
	maxPackage  = 6000 // lines, without tests and generated code
)

var packageSizeRule = rule{"packages are of one subject", packageSizeProblems, []breach{
	{
		"packages are of one subject",
		"engine/flow.go", "package engine" + strings.Repeat("\n", maxPackage+1),
		"engine: 6001 lines: must be at most 6000",
	},
}}

// packageSizeProblems finds packages longer than maxPackage.
func packageSizeProblems(tree []source) []string {
	lines := map[string]int{}
	for _, s := range tree {
		if s.product() {
			lines[path.Dir(s.path)] += strings.Count(s.text, "\n")
		}
	}
	var problems []string
	for _, pkg := range slices.Sorted(maps.Keys(lines)) {
		if n := lines[pkg]; n > maxPackage {
			problems = append(problems, fmt.Sprintf("%s: %d lines: must be at most %d", pkg, n, maxPackage))
		}
	}
	return problems
}

var sizeRule = rule{"files and functions are short", sizeProblems, []breach{
	{
		"functions fit a screen",
		"engine/flow.go", "package engine\nfunc f() {" + strings.Repeat("\n", maxFunction) + "}",
		"engine/flow.go:2: f has 81 lines: must be at most 80",
	},
	{
		"files are short",
		"engine/flow.go", "package engine" + strings.Repeat("\n", maxFile+1),
		"engine/flow.go: 501 lines: must be at most 500",
	},
}}

// sizeProblems finds files and functions that are too long, including tests.
func sizeProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if s.syntax == nil || s.generated {
			continue
		}
		if n := s.positions.File(s.syntax.FileStart).LineCount(); n > maxFile {
			problems = append(problems, fmt.Sprintf("%s: %d lines: must be at most %d", s.path, n, maxFile))
		}
		for _, d := range s.syntax.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.lines(f) > maxFunction {
				problems = append(problems, fmt.Sprintf("%s: %s has %d lines: must be at most %d", s.at(f), f.Name.Name, s.lines(f), maxFunction))
			}
		}
	}
	return problems
}
