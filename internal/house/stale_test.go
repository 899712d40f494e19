package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var staleRule = rule{"comments name what exists", staleProblems, []breach{
	{
		"a comment begins with the name of what it documents",
		"engine/flow.go", "// Package engine.\npackage engine\n\n// resume starts what waits.\nfunc resumeKey() {}\n",
		`engine/flow.go:4: the comment of resumeKey begins with "resume"`,
	},
	{
		"a function that a comment names exists",
		"engine/flow.go", "// Package engine.\npackage engine\n\n// A key is resumed by startWaiting.\nvar x = 1\n",
		"engine/flow.go:4: startWaiting: nothing has this name",
	},
	{
		"so does a test",
		"engine/flow.go", "// Package engine.\npackage engine\n\n// x is proven by TestFlow.\nvar x = 1\n",
		"engine/flow.go:4: TestFlow: nothing has this name",
	},
}}

// codeName matches words that can only be names of code.
var codeName = regexp.MustCompile(`\b(?:[a-z]+[A-Z]\w+|(?:Test|Fuzz|Benchmark|Example)[A-Z]\w*)\b`)

// word matches words of other files: each may be a name.
var word = regexp.MustCompile(`\w+`)

// staleProblems finds comments with names that no longer exist.
func staleProblems(tree []source) []string {
	known := map[string]bool{}
	for _, s := range tree {
		if s.syntax == nil {
			if path.Ext(s.path) != ".md" {
				collectWords(known, s.text)
			}
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				known[n.Name] = true
			case *ast.BasicLit:
				collectWords(known, n.Value)
			}
			return true
		})
	}
	var problems []string
	for _, s := range tree {
		if s.syntax == nil || s.generated {
			continue
		}
		for _, group := range s.syntax.Comments {
			for _, c := range group.List {
				for _, name := range codeName.FindAllString(c.Text, -1) {
					if !known[name] {
						problems = append(problems, fmt.Sprintf("%s: %s: nothing has this name", s.at(c), name))
					}
				}
			}
		}
		problems = append(problems, wrongNames(&s)...)
	}
	return problems
}

// collectWords adds the words of a text.
func collectWords(known map[string]bool, text string) {
	for _, w := range word.FindAllString(text, -1) {
		known[w] = true
	}
}

// wrongNames finds comments that begin with a name other than the declaration's. A
// comment that begins with a capital is a sentence, and is not checked.
func wrongNames(s *source) (problems []string) {
	check := func(doc *ast.CommentGroup, names ...*ast.Ident) {
		if doc == nil {
			return
		}
		first := word.FindString(doc.Text())
		if first == "" || !unicode.IsLower(rune(doc.Text()[0])) || slices.ContainsFunc(names, func(id *ast.Ident) bool { return id.Name == first }) {
			return
		}
		problems = append(problems, fmt.Sprintf("%s: the comment of %s begins with %q", s.at(doc), names[0].Name, first))
	}
	for _, d := range s.syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			check(d.Doc, d.Name)
		case *ast.GenDecl:
			var all []*ast.Ident
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					check(spec.Doc, spec.Name)
					all = append(all, spec.Name)
				case *ast.ValueSpec:
					check(spec.Doc, spec.Names...)
					all = append(all, spec.Names...)
				}
			}
			if d.Tok != token.IMPORT && len(all) > 0 && !strings.HasPrefix(d.Doc.Text(), "+") {
				check(d.Doc, all...)
			}
		}
	}
	return problems
}
