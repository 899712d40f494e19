package house

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

var commentRule = rule{"packages and exported names have comments", commentProblems, []breach{
	{
		"every package has a manual",
		"engine/flow.go", "package engine\n",
		"engine: no file has a package comment",
	},
	{
		"what is exported is documented",
		"engine/flow.go", "// Package engine.\npackage engine\ntype Flow struct{}\n",
		"engine/flow.go:3: Flow has no comment",
	},
}}

// commentProblems finds packages without a package comment. It lists exported names
// without a comment when they are more than 5 in 100.
func commentProblems(tree []source) []string {
	manuals := map[string]bool{}
	all := 0
	var bare []string
	for _, s := range tree {
		if s.syntax == nil || s.test {
			continue
		}
		pkg := path.Dir(s.path)
		manuals[pkg] = manuals[pkg] || s.syntax.Doc != nil || s.generated
		if s.generated {
			continue
		}
		for _, d := range s.syntax.Decls {
			n, without := undocumented(d)
			all += n
			for _, id := range without {
				bare = append(bare, fmt.Sprintf("%s: %s has no comment", s.at(id), id.Name))
			}
		}
	}
	var problems []string
	for _, pkg := range slices.Sorted(maps.Keys(manuals)) {
		if !manuals[pkg] {
			problems = append(problems, pkg+": no file has a package comment")
		}
	}
	if len(bare)*20 > all {
		problems = append(problems, append(bare, strconv.Itoa(len(bare))+" of "+strconv.Itoa(all)+" exported names have no comment: must be at most 5 in 100")...)
	}
	return problems
}

// undocumented counts the exported names of a declaration and lists the ones without a
// comment. A comment on a group applies to its members.
func undocumented(d ast.Decl) (n int, without []*ast.Ident) {
	count := func(id *ast.Ident, doc ...*ast.CommentGroup) {
		if !id.IsExported() {
			return
		}
		n++
		if !slices.ContainsFunc(doc, func(c *ast.CommentGroup) bool { return c != nil }) {
			without = append(without, id)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || ast.IsExported(strings.TrimPrefix(receiver(d), "*")) {
			count(d.Name, d.Doc)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				count(spec.Name, spec.Doc, spec.Comment, d.Doc)
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					count(id, spec.Doc, spec.Comment, d.Doc)
				}
			}
		}
	}
	return n, without
}
