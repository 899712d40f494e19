package kv

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// Limits of a script's text: its bytes, and the depth of its parts, because compiling
// is recursive.
const (
	maxScript        = 1 << 20
	maxScriptNesting = 1000
)

// concatName is the global function that replaces the operator .., so that its result
// can be limited. No script can contain that name.
const concatName = "\x00concat"

// compileScript compiles a script, with the operator .. replaced.
func compileScript(text string) (*lua.FunctionProto, error) {
	if len(text) > maxScript {
		return nil, fmt.Errorf("script of %d bytes: must have at most %d", len(text), maxScript)
	}
	chunk, err := parse.Parse(strings.NewReader(text), "user_script")
	if err != nil {
		return nil, err
	}
	r := rewriter{}
	r.block(chunk, 0)
	if r.deep {
		return nil, errors.New("user_script: chunk has too many syntax levels")
	}
	proto, err := lua.Compile(chunk, "user_script")
	if err == nil {
		plainCalls(proto)
	}
	return proto, err
}

// plainCalls replaces tail calls by plain calls. When a script fails, the interpreter
// writes a line for each tail call: after endless recursion, this took a gigabyte and
// 25 s.
func plainCalls(proto *lua.FunctionProto) {
	const operands = 1<<26 - 1 // of an instruction; the operation is above them
	for i, instruction := range proto.Code {
		if instruction>>26 == uint32(lua.OP_TAILCALL) {
			proto.Code[i] = uint32(lua.OP_CALL)<<26 | instruction&operands
		}
	}
	for _, inner := range proto.FunctionPrototypes {
		plainCalls(inner)
	}
}

// rewriter replaces concatenations, and detects parts that are nested too deeply.
type rewriter struct{ deep bool }

// block stops beyond maxScriptNesting, because the compiler recurses as deeply as the
// parts are nested.
func (r *rewriter) block(list []ast.Stmt, depth int) {
	if r.deep = r.deep || depth > maxScriptNesting; r.deep {
		return
	}
	for _, s := range list {
		r.statement(s, depth+1)
	}
}

func (r *rewriter) statement(s ast.Stmt, depth int) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		r.list(s.Lhs, depth)
		r.list(s.Rhs, depth)
	case *ast.LocalAssignStmt:
		r.list(s.Exprs, depth)
	case *ast.FuncCallStmt:
		r.expression(&s.Expr, depth)
	case *ast.DoBlockStmt:
		r.block(s.Stmts, depth)
	case *ast.WhileStmt:
		r.expression(&s.Condition, depth)
		r.block(s.Stmts, depth)
	case *ast.RepeatStmt:
		r.expression(&s.Condition, depth)
		r.block(s.Stmts, depth)
	case *ast.IfStmt:
		r.expression(&s.Condition, depth)
		r.block(s.Then, depth)
		r.block(s.Else, depth)
	case *ast.NumberForStmt:
		r.expression(&s.Init, depth)
		r.expression(&s.Limit, depth)
		r.expression(&s.Step, depth)
		r.block(s.Stmts, depth)
	case *ast.GenericForStmt:
		r.list(s.Exprs, depth)
		r.block(s.Stmts, depth)
	case *ast.FuncDefStmt:
		r.expression(&s.Name.Func, depth)
		r.expression(&s.Name.Receiver, depth)
		r.block(s.Func.Stmts, depth)
	case *ast.ReturnStmt:
		r.list(s.Exprs, depth)
	}
}

func (r *rewriter) list(list []ast.Expr, depth int) {
	for i := range list {
		r.expression(&list[i], depth)
	}
}

func (r *rewriter) expression(at *ast.Expr, depth int) {
	if r.deep = r.deep || depth > maxScriptNesting; r.deep || *at == nil {
		return
	}
	depth++
	switch x := (*at).(type) {
	case *ast.AttrGetExpr:
		r.expression(&x.Object, depth)
		r.expression(&x.Key, depth)
	case *ast.TableExpr:
		for _, field := range x.Fields {
			r.expression(&field.Key, depth)
			r.expression(&field.Value, depth)
		}
	case *ast.FuncCallExpr:
		r.expression(&x.Func, depth)
		r.expression(&x.Receiver, depth)
		r.list(x.Args, depth)
	case *ast.LogicalOpExpr:
		r.expression(&x.Lhs, depth)
		r.expression(&x.Rhs, depth)
	case *ast.RelationalOpExpr:
		r.expression(&x.Lhs, depth)
		r.expression(&x.Rhs, depth)
	case *ast.ArithmeticOpExpr:
		r.expression(&x.Lhs, depth)
		r.expression(&x.Rhs, depth)
	case *ast.StringConcatOpExpr:
		*at = r.concatenation(x, depth)
	case *ast.UnaryMinusOpExpr:
		r.expression(&x.Expr, depth)
	case *ast.UnaryNotOpExpr:
		r.expression(&x.Expr, depth)
	case *ast.UnaryLenOpExpr:
		r.expression(&x.Expr, depth)
	case *ast.FunctionExpr:
		r.block(x.Stmts, depth)
	}
}

// maxOperands is the largest number of arguments of one concatenation: the registers
// of a function are limited.
const maxOperands = 32

// concatenation returns a call that replaces a..b..c.
func (r *rewriter) concatenation(x *ast.StringConcatOpExpr, depth int) ast.Expr {
	name := &ast.IdentExpr{Value: concatName}
	call := &ast.FuncCallExpr{Func: name, AdjustRet: true}
	for _, position := range []ast.PositionHolder{name, call} {
		position.SetLine(x.Line())
		position.SetLastLine(x.LastLine())
	}
	var rest ast.Expr = x
	for {
		pair, ok := rest.(*ast.StringConcatOpExpr)
		if !ok || len(call.Args) == maxOperands {
			break
		}
		call.Args = append(call.Args, pair.Lhs)
		rest = pair.Rhs
	}
	call.Args = append(call.Args, rest)
	r.list(call.Args, depth)
	switch last := call.Args[len(call.Args)-1].(type) { // must give one value, as an operand does
	case *ast.FuncCallExpr:
		last.AdjustRet = true
	case *ast.Comma3Expr:
		last.AdjustRet = true
	}
	return call
}
