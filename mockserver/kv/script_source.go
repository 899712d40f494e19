package kv

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
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
	chunk, err := parse.Parse(strings.NewReader(plainScript(text)), "user_script")
	if err != nil {
		return nil, err
	}
	r := rewriter{}
	r.walk(reflect.ValueOf(chunk), 0)
	if r.deep {
		return nil, errors.New("user_script: chunk has too many syntax levels")
	}
	proto, err := lua.Compile(chunk, "user_script")
	if err == nil {
		plainCalls(proto)
	}
	return proto, err
}

// plainScript makes a first line that names the language, as newer clients send it
// ("#!lua flags=..."), a comment: no backend accepts their flags.
func plainScript(text string) string {
	if strings.HasPrefix(text, "#!") {
		return "--" + text
	}
	return text
}

func scriptDigest(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
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

// rewriter replaces concatenations, and detects parts that are nested too deeply: the
// compiler recurses as deeply as the parts are nested.
type rewriter struct{ deep bool }

// walk visits the parts of a syntax tree. Expressions and statements are interfaces.
func (r *rewriter) walk(part reflect.Value, depth int) {
	switch part.Kind() {
	case reflect.Interface:
		if depth++; depth > maxScriptNesting {
			r.deep = true
			return
		}
		if x, ok := reflect.TypeAssert[*ast.StringConcatOpExpr](part); ok {
			part.Set(reflect.ValueOf(concatenation(x)))
		}
		r.walk(part.Elem(), depth)
	case reflect.Pointer:
		r.walk(part.Elem(), depth)
	case reflect.Slice:
		for i := range part.Len() {
			r.walk(part.Index(i), depth)
		}
	case reflect.Struct:
		for _, field := range part.Fields() {
			r.walk(field, depth)
		}
	}
}

// maxOperands is the largest number of arguments of one concatenation: the registers
// of a function are limited.
const maxOperands = 32

// concatenation returns a call that replaces a..b..c.
func concatenation(x *ast.StringConcatOpExpr) ast.Expr {
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
	switch last := call.Args[len(call.Args)-1].(type) { // must give one value, as an operand does
	case *ast.FuncCallExpr:
		last.AdjustRet = true
	case *ast.Comma3Expr:
		last.AdjustRet = true
	}
	return call
}
