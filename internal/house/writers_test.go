package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
)

// doors are functions that run commands. What they call may change the state of an
// account; their callers change it only through a command.
var doors = []string{"applyCommand", "applyDeed", "do", "doDurably", "replay", "runCommand", "runDurably"}

// writers are functions that change a state without a command, with the reason.
var writers = map[string]string{
	"Open":         "is the only one that knows a replayed account",
	"Push":         "is for container/heap",
	"Swap":         "is for container/heap",
	"advance":      "takes the time of the tick that follows",
	"checkFixture": "puts the groups of a fixture in place while it checks, and takes them back",
	"init":         "makes the table of options",
	"rekey":        "completes a snapshot in an account that nobody else knows",
	"moveTime":     "takes the time of the restore that follows",
	"stamp":        "takes the time of the command that follows",
	"standAt":      "puts a snapshot into an account that nobody else knows",
	"sum":          "adds to the points of a view",
}

// loading matches the files that make a snapshot from copies, or values that do not belong to an
// account yet.
var loading = regexp.MustCompile(`^engine/internal/state/(formula|snapshot\w*)\.go:`)

var writerRule = rule{"the state has one writer", writerProblems, []breach{
	{
		"reading writes nothing",
		"engine/queue.go", "package engine\ntype values struct{ n int }\ntype Account struct{ state values }\nfunc (a *Account) Queues() { a.state.n++ }",
		"engine/queue.go:4: Queues writes the state: only what apply of a command calls may",
	},
	{
		"nor does what it calls",
		"engine/queue.go", "package engine\ntype values struct{ n int }\ntype Account struct{ state values }\ntype c struct{}\nfunc (c) apply(a *Account) { a.pump() }\nfunc (a *Account) pump() { a.state.n++ }\nfunc (a *Account) Queues() { a.pump() }",
		"engine/queue.go:7: Queues calls pump, which writes the state: only what apply of a command calls may",
	},
}}

// statePackages are the packages of the engine in the order of their imports. Functions
// of the first one may change values: their callers are checked instead.
var statePackages = []string{"engine/internal/state", "engine"}

// engineCode is package engine and the packages below it: which functions write the
// state, and which functions they call.
type engineCode struct {
	info   *types.Info
	parts  map[string]*types.Package // by import path
	root   *types.Named              // the state of an account
	kept   map[*types.TypeName]bool  // the types that it consists of
	bodies map[*types.Func]*ast.FuncDecl
	writes map[*types.Func]bool
	calls  map[*types.Func][]*types.Func
	at     map[*types.Func]string

	positions *token.FileSet
}

// Import returns the packages of the engine. Others are empty: the rule ignores their
// types.
func (c *engineCode) Import(name string) (*types.Package, error) {
	if p := c.parts[name]; p != nil {
		return p, nil
	}
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// writerProblems finds functions that change the state of an account without being called
// by the apply of a command, and callers of those that are.
func writerProblems(tree []source) []string {
	code := readEngine(tree)
	if code == nil {
		return nil
	}
	var roots []*types.Func
	for f := range code.bodies {
		if f.Name() == "apply" || slices.Contains(doors, f.Name()) {
			roots = append(roots, f)
		}
	}
	inside, all := code.reached(roots), code.transitive()
	var problems []string
	for f := range code.bodies {
		if inside[f] || f.Pkg().Path() == module+"/"+statePackages[0] || writers[f.Name()] != "" || loading.MatchString(code.at[f]) {
			continue
		}
		if code.writes[f] {
			problems = append(problems, fmt.Sprintf("%s: %s writes the state: only what apply of a command calls may", code.at[f], f.Name()))
		}
		for _, g := range code.calls[f] {
			if (inside[g] || g.Pkg().Path() == module+"/"+statePackages[0]) && all[g] && !slices.Contains(doors, g.Name()) && writers[g.Name()] == "" && !loading.MatchString(code.at[g]) {
				problems = append(problems, fmt.Sprintf("%s: %s calls %s, which writes the state: only what apply of a command calls may", code.at[f], f.Name(), g.Name()))
			}
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}

// readEngine type-checks the packages. It returns nil when the engine is not in the tree.
func readEngine(tree []source) *engineCode {
	code := &engineCode{
		info:  &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}},
		parts: map[string]*types.Package{}, kept: map[*types.TypeName]bool{}, bodies: map[*types.Func]*ast.FuncDecl{}, writes: map[*types.Func]bool{}, calls: map[*types.Func][]*types.Func{}, at: map[*types.Func]string{},
		positions: token.NewFileSet(),
	}
	read := map[string][]*ast.File{}
	config := types.Config{Importer: code, Error: func(error) {}}
	for _, name := range statePackages {
		for i := range tree {
			if s := &tree[i]; path.Dir(s.path) == name && s.product() {
				file, err := parser.ParseFile(code.positions, s.path, s.text, 0) // parsed again: types need one set of positions
				if err != nil {
					return nil // cannot happen: readTree has parsed it
				}
				read[name] = append(read[name], file)
			}
		}
		if pkg, _ := config.Check(module+"/"+name, code.positions, read[name], code.info); pkg != nil { // errors are expected: other packages are empty
			pkg.MarkComplete()
			code.parts[module+"/"+name] = pkg
		}
	}
	if code.root = stateOf(code.parts[module+"/engine"]); code.root == nil {
		return nil
	}
	code.keep(code.root)
	for _, name := range statePackages {
		for _, file := range read[name] {
			code.readFile(file)
		}
	}
	return code
}

// stateOf is the type of the field state of Account, nil when there is none.
func stateOf(pkg *types.Package) *types.Named {
	account := pkg.Scope().Lookup("Account")
	if account == nil {
		return nil
	}
	field, _, _ := types.LookupFieldOrMethod(account.Type(), true, pkg, "state")
	if field == nil {
		return nil
	}
	named, _ := types.Unalias(field.Type()).(*types.Named)
	return named
}

// readFile records what the functions of a file write and call.
func (c *engineCode) readFile(file *ast.File) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			if defined, ok := c.info.Defs[f.Name].(*types.Func); ok {
				at := c.positions.Position(f.Pos())
				c.bodies[defined], c.at[defined] = f, fmt.Sprintf("%s:%d", at.Filename, at.Line)
				c.read(defined, f)
			}
		}
	}
}

// keep records the types that a type consists of.
func (c *engineCode) keep(t types.Type) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		name := t.Origin().Obj()
		if name.Pkg() == nil || c.parts[name.Pkg().Path()] == nil || c.kept[name] || name.Name() == "SnapshotMark" || name.Name() == "Account" {
			return
		}
		c.kept[name] = true
		for arg := range t.TypeArgs().Types() {
			c.keep(arg)
		}
		c.keep(t.Underlying())
	case *types.Struct:
		for f := range t.Fields() {
			c.keep(f.Type())
		}
	case *types.Map:
		c.keep(t.Elem())
	case interface{ Elem() types.Type }:
		c.keep(t.Elem())
	}
}

// read records what a function writes and calls.
func (c *engineCode) read(f *types.Func, decl *ast.FuncDecl) {
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				c.writes[f] = c.writes[f] || slices.ContainsFunc(n.Lhs, c.ofState)
			}
		case *ast.IncDecStmt:
			c.writes[f] = c.writes[f] || c.ofState(n.X)
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "delete" {
				c.writes[f] = c.writes[f] || c.ofState(n.Args[0])
			}
		case *ast.Ident:
			if g, ok := c.info.Uses[n].(*types.Func); ok {
				c.calls[f] = append(c.calls[f], g.Origin())
			}
		}
		return true
	})
}

// ofState reports whether an assignment to an expression changes the state behind a
// pointer.
func (c *engineCode) ofState(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.IndexExpr:
		return c.ofState(e.X)
	case *ast.ParenExpr:
		return c.ofState(e.X)
	case *ast.SelectorExpr:
		s := c.info.Selections[e]
		if s == nil || s.Kind() != types.FieldVal {
			return false
		}
		return s.Indirect() && c.owned(s) || c.ofState(e.X)
	}
	return false
}

// owned reports whether a selected field belongs to a type of the state.
func (c *engineCode) owned(s *types.Selection) bool {
	t := s.Recv()
	for _, i := range s.Index() {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		if named, ok := types.Unalias(t).(*types.Named); ok && c.kept[named.Origin().Obj()] {
			return true
		}
		fields, ok := t.Underlying().(*types.Struct)
		if !ok {
			return false
		}
		t = fields.Field(i).Type()
	}
	return types.Identical(t, c.root) // the state as a whole
}

// reached returns the functions and all that they call, directly or indirectly.
func (c *engineCode) reached(from []*types.Func) map[*types.Func]bool {
	seen := map[*types.Func]bool{}
	for len(from) > 0 {
		f := from[len(from)-1]
		from = from[:len(from)-1]
		if !seen[f] {
			seen[f] = true
			from = append(from, c.calls[f]...)
		}
	}
	return seen
}

// transitive returns the functions that write, or call one that does.
func (c *engineCode) transitive() map[*types.Func]bool {
	all := maps.Clone(c.writes)
	maps.DeleteFunc(all, func(f *types.Func, _ bool) bool { return writers[f.Name()] != "" })
	for changed := true; changed; {
		changed = false
		for f, calls := range c.calls {
			if !all[f] && slices.ContainsFunc(calls, func(g *types.Func) bool {
				return all[g] && !slices.Contains(doors, g.Name()) && writers[g.Name()] == ""
			}) {
				all[f], changed = true, true
			}
		}
	}
	return all
}
