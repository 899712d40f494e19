package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"
)

// touches are the functions after which an object of the state may change: a snapshot that is
// being written has kept the old value, or leaves the object out because it is new.
var touches = []string{"touch", "isNew"}

// newborns are objects that no snapshot has, by function and name.
var newborns = map[string]string{
	"append e":   "is added to the log",
	"moveWith e": "is added to the log",
	"share m":    "becomes a message of the account",
	"share run":  "is not new, but no snapshot has what the next call may share",
}

var touchRule = rule{"an object of the state is touched before it changes", touchProblems, []breach{
	{
		"a field is set without touch",
		"engine/queue.go", touchedTypes + "func (a *Account) apply(q *queue) { q.Lag++ }",
		"engine/queue.go:8: apply changes q without a.touch(q) before it: a snapshot that is being written would have the new value",
	},
	{
		"touch comes too late",
		"engine/queue.go", touchedTypes + "func (a *Account) apply(q *queue) {\n q.Lag++\n a.touch(q)\n}",
		"engine/queue.go:9: apply changes q without a.touch(q)",
	},
	{
		"another object was touched",
		"engine/queue.go", touchedTypes + "func (a *Account) apply(q, p *queue) {\n a.touch(p)\n q.Lag++\n}",
		"engine/queue.go:10: apply changes q without a.touch(q)",
	},
	{
		"a part of the object changes",
		"engine/queue.go", touchedTypes + "func (a *Account) apply(q *queue) {\n at := &q.At\n at.n = 1\n delete(q.Of, 1)\n}",
		"engine/queue.go:11: apply changes q without a.touch(q)",
	},
}}

// touchedTypes is the beginning of a file in which the rule knows a type.
const touchedTypes = "package engine\ntype place struct{ n int }\ntype queue struct { Lag int; At place; Of map[int]int }\ntype values struct{ list []*queue }\ntype Account struct{ state values }\n" +
	"func (a *Account) touch(v any) {}\nfunc (a *Account) Touch(v any) { switch v.(type) { case *queue: } }\n"

// touchProblems finds functions of the engine that change an object without a touch of it
// earlier in the same function. An object that the function has made needs none.
func touchProblems(tree []source) []string {
	code := readEngine(tree)
	if code == nil {
		return nil
	}
	t := toucher{engineCode: code, kinds: code.touchable(), writing: code.transitive()}
	var problems []string
	for f, decl := range code.bodies {
		if f.Pkg().Path() == module+"/engine" && !slices.Contains(touches, f.Name()) && writers[f.Name()] == "" {
			t.touched, t.made, t.missing = map[string]bool{}, map[types.Object]ast.Expr{}, func(at ast.Node, of string) {
				if newborns[f.Name()+" "+of] != "" {
					return
				}
				place := code.positions.Position(at.Pos())
				problems = append(problems, fmt.Sprintf("%s:%d: %s changes %s without a.touch(%s) before it: a snapshot that is being written would have the new value", place.Filename, place.Line, f.Name(), of, of))
			}
			ast.Inspect(decl.Body, t.read)
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}

// touchable returns the types that Touch knows.
func (c *engineCode) touchable() map[string]bool {
	kinds := map[string]bool{}
	for f, decl := range c.bodies {
		ast.Inspect(decl.Body, func(n ast.Node) bool {
			if clause, ok := n.(*ast.CaseClause); ok && f.Name() == "Touch" {
				for _, kind := range clause.List {
					kinds[c.kind(kind)] = true
				}
			}
			return true
		})
	}
	return kinds
}

// kind is the type that a pointer points to, "" for none.
func (c *engineCode) kind(e ast.Expr) string {
	if t := c.info.TypeOf(e); t != nil {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			return types.Unalias(p.Elem()).String()
		}
	}
	return ""
}

// toucher reads one function after another.
type toucher struct {
	*engineCode
	kinds   map[string]bool
	writing map[*types.Func]bool // functions that write the state

	touched map[string]bool // objects so far, as in the source; true for a message, whose step and turn are touched too
	made    map[types.Object]ast.Expr
	missing func(at ast.Node, of string)
}

func (t *toucher) read(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if name, ok := to.(*ast.Ident); ok && n.Tok == token.DEFINE && len(n.Lhs) == len(n.Rhs) {
				t.made[t.info.Defs[name]] = n.Rhs[i]
			} else {
				t.change(n, t.object(to))
			}
		}
	case *ast.IncDecStmt:
		t.change(n, t.object(n.X))
	case *ast.CallExpr:
		t.call(n)
	}
	return true
}

// call reads a touch, or a call of a function that changes its receiver or an argument.
func (t *toucher) call(n *ast.CallExpr) {
	if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "delete" {
		t.change(n, t.object(n.Args[0]))
	}
	f, ok := n.Fun.(*ast.SelectorExpr)
	if ok && slices.Contains(touches, f.Sel.Name) {
		t.touched[types.ExprString(n.Args[0])] = strings.HasSuffix(t.kind(n.Args[0]), ".Message")
		return
	}
	if !ok {
		return
	}
	g, ok := t.info.Uses[f.Sel].(*types.Func)
	if !ok || !t.writing[g.Origin()] || g.Pkg().Path() != module+"/"+statePackages[0] {
		return
	}
	t.change(n, t.object(f.X))
	for _, arg := range append([]ast.Expr{f.X}, n.Args...) {
		if t.kinds[t.kind(arg)] {
			t.change(n, arg)
		}
	}
}

// object returns the object, a pointer, to which an expression belongs; nil for none.
func (t *toucher) object(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.IndexExpr:
		return t.object(e.X)
	case *ast.SelectorExpr:
		switch {
		case t.kinds[t.kind(e.X)] && !t.inSnapshots(e):
			return nil
		case t.kinds[t.kind(e.X)]:
			return e.X
		}
		return t.object(e.X)
	case *ast.Ident:
		if part, ok := t.made[t.info.Uses[e]].(*ast.UnaryExpr); ok && part.Op == token.AND {
			return t.object(part.X)
		}
	}
	return nil
}

// inSnapshots reports whether a snapshot has a field of an object.
func (t *toucher) inSnapshots(e *ast.SelectorExpr) bool {
	s := t.info.Selections[e]
	if s == nil || len(s.Index()) > 1 {
		return s != nil
	}
	fields, _ := s.Recv().Underlying().(*types.Pointer).Elem().Underlying().(*types.Struct)
	return s.Obj().Exported() && reflect.StructTag(fields.Tag(s.Index()[0])).Get("saved") != "no"
}

// change reports the change of an object that was not touched, unless the function has made it.
func (t *toucher) change(at ast.Node, object ast.Expr) {
	if object == nil || t.fresh(object) {
		return
	}
	name := types.ExprString(object)
	_, ok := t.touched[name]
	for message, deep := range t.touched {
		ok = ok || deep && strings.HasPrefix(name, message+".")
	}
	if !ok {
		t.missing(at, name)
	}
}

func (t *toucher) fresh(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CompositeLit:
		return true
	case *ast.UnaryExpr:
		return t.fresh(e.X)
	case *ast.SelectorExpr:
		_, pointer := t.info.TypeOf(e).(*types.Pointer)
		return !pointer && t.fresh(e.X)
	case *ast.Ident:
		return t.made[t.info.Uses[e]] != nil && t.fresh(t.made[t.info.Uses[e]])
	}
	return false
}
