package kv

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"

	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/understudy-mock/understudy/internal/clip"
)

// Bounds of scripts. The library's own runner has none: it stops no endless script, keeps every
// text for ever, and opens files.
const (
	maxScript      = 64 << 10  // bytes of its text: compiling is recursive
	maxScripts     = 500       // cached; beyond, the cache starts again
	maxScriptHeap  = 128 << 20 // bytes by which the heap of the process may grow
	maxScriptText  = 16 << 20  // bytes of a string that a function makes
	maxScriptCalls = 4096      // nested
	maxScriptStack = 1 << 17   // arguments and local variables
	heapInterval   = 8         // instructions between two looks at the heap
	maxReplyDepth  = 128       // tables in tables
)

// maxScriptSteps is the number of instructions for each request. Tests have fewer.
var maxScriptSteps = 50_000_000

// scriptCommands replace those of the library.
var scriptCommands map[string]func(e *embedded, c *connection, name string, args []string) any

func init() {
	lua.MaxArrayIndex = 1 << 22 // a table has room for all smaller indexes: one assignment must not take a gigabyte
	scriptCommands = map[string]func(e *embedded, c *connection, name string, args []string) any{
		"EVAL": (*embedded).eval, "EVALSHA": (*embedded).eval, "EVALSHA_RO": (*embedded).eval, "EVAL_RO": (*embedded).eval, "SCRIPT": (*embedded).script,
	}
}

// scriptCache has compiled scripts by the hash of their text.
type scriptCache map[string]*lua.FunctionProto

// compiled returns the hash of a script, and the script, from the cache or compiled now.
func (e *embedded) compiled(text string) (string, *lua.FunctionProto, error) {
	sum := sha1.Sum([]byte(text))
	hash := hex.EncodeToString(sum[:])
	if proto := e.scripts[hash]; proto != nil {
		return hash, proto, nil
	}
	if len(text) > maxScript {
		return "", nil, fmt.Errorf("script of %d bytes: must have at most %d", len(text), maxScript)
	}
	if strings.HasPrefix(text, "#!") { // "#!lua flags=...", as newer clients send it
		text = "--" + text
	}
	chunk, err := parse.Parse(strings.NewReader(text), "user_script")
	if err != nil {
		return "", nil, err
	}
	proto, err := lua.Compile(chunk, "user_script")
	if err != nil {
		return "", nil, err
	}
	plainCalls(proto)
	if len(e.scripts) >= maxScripts || e.scripts == nil {
		e.scripts = scriptCache{} // clients send the text of an unknown script again
	}
	e.scripts[hash] = proto
	return hash, proto, nil
}

// plainCalls replaces tail calls by plain calls: the interpreter describes an error with a line
// for each tail call, which took a gigabyte after endless recursion.
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

// script implements SCRIPT LOAD, EXISTS and FLUSH.
func (e *embedded) script(c *connection, _ string, args []string) any {
	switch sub := strings.ToUpper(args[0]); {
	case sub == "LOAD" && len(args) == 2:
		hash, _, err := e.compiled(args[1])
		if err != nil {
			return failure("ERR Error compiling script (new function): " + oneLine(err.Error()))
		}
		return hash
	case sub == "EXISTS" && len(args) > 1:
		var found []any
		for _, hash := range args[1:] {
			found = append(found, map[bool]int64{true: 1}[e.scripts[strings.ToLower(hash)] != nil])
		}
		return found
	case sub == "FLUSH":
		e.scripts = nil
	}
	return e.dispatch(c, append([]string{"SCRIPT"}, args...)) // checks the other arguments
}

// eval runs a script.
func (e *embedded) eval(c *connection, name string, args []string) any {
	if len(args) < 2 {
		return failure(fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(name)))
	}
	keys, err := strconv.Atoi(args[1])
	switch {
	case err != nil:
		return failure("ERR value is not an integer or out of range")
	case keys < 0:
		return failure("ERR Number of keys can't be negative")
	case keys > len(args)-2:
		return failure("ERR Number of keys can't be greater than number of args")
	}
	hash := strings.ToLower(args[0])
	proto := e.scripts[hash]
	switch bySHA := strings.HasPrefix(name, "EVALSHA"); {
	case bySHA && proto == nil:
		return failure("NOSCRIPT No matching script. Please use EVAL.")
	case !bySHA:
		if hash, proto, err = e.compiled(args[0]); err != nil {
			return failure("ERR Error compiling script (new function): " + oneLine(err.Error()))
		}
	}
	reply, err := e.runScript(c, proto, strings.HasSuffix(name, "_RO"), args[2:2+keys], args[2+keys:])
	if err == nil {
		return reply
	}
	text := err.Error()
	if fault, ok := errors.AsType[*lua.ApiError](err); ok {
		text = fault.Object.String()
		if table, ok := fault.Object.(*lua.LTable); ok {
			if own := table.RawGetString("err"); own != lua.LNil {
				return failure(oneLine(own.String()))
			}
		}
	}
	return failure(fmt.Sprintf("ERR Error running script (call to f_%s): %s", hash, oneLine(text)))
}

// oneLine removes line breaks from a text and shortens it.
func oneLine(text string) string {
	const longest = 4096
	return clip.Line(text[:min(len(text), longest)])
}

// withheld are functions of the base library that read files, write to the terminal, or run
// code that no bound stops.
var withheld = strings.Fields("_printregs collectgarbage dofile getfenv load loadfile loadstring module newproxy pcall print require setfenv xpcall")

// runScript runs a script within its bounds.
func (e *embedded) runScript(c *connection, proto *lua.FunctionProto, readOnly bool, keys, args []string) (reply any, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%v", fault)
		}
	}()
	l := lua.NewState(lua.Options{SkipOpenLibs: true, CallStackSize: maxScriptCalls, MinimizeStackMemory: true, RegistryMaxSize: maxScriptStack})
	defer l.Close()
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		l.Push(l.NewFunction(open))
		l.Call(0, 0)
	}
	for _, name := range withheld {
		l.SetGlobal(name, lua.LNil)
	}
	l.Push(l.NewFunction(luajson.Loader))
	l.Call(0, 1)
	l.SetGlobal("cjson", l.Get(-1))
	l.Pop(1)
	for _, row := range guards {
		guard(l, row.library, row.name, row.check)
	}
	l.SetGlobal("redis", e.module(l, c, readOnly))
	for name, list := range map[string][]string{"KEYS": keys, "ARGV": args} {
		table := l.CreateTable(len(list), 0)
		for _, text := range list {
			table.Append(lua.LString(text))
		}
		l.SetGlobal(name, table)
	}
	unknown := func(verb string) *lua.LFunction {
		return l.NewFunction(func(l *lua.LState) int {
			l.RaiseError("Script attempted to %s global variable '%s'", verb, l.ToStringMeta(l.Get(2)).String())
			return 0
		})
	}
	meta := l.NewTable()
	meta.RawSetString("__index", unknown("access nonexistent"))
	meta.RawSetString("__newindex", unknown("create"))
	l.SetMetatable(l.Get(lua.GlobalsIndex), meta)
	l.SetContext(newMeter(e, c))
	l.Push(l.NewFunctionFromProto(proto))
	if err := l.PCall(0, 1, nil); err != nil {
		return nil, err
	}
	return fromLua(l.Get(-1), 0, new(int))
}

// module returns the library redis.
func (e *embedded) module(l *lua.LState, c *connection, readOnly bool) *lua.LTable {
	functions := map[string]lua.LGFunction{
		"call": func(l *lua.LState) int {
			reply := e.called(l, c, readOnly)
			if text, failed := reply.(failure); failed {
				l.Error(lua.LString(text), 1)
			}
			l.Push(toLua(l, reply))
			return 1
		},
		"pcall": func(l *lua.LState) int {
			l.Push(toLua(l, e.called(l, c, readOnly)))
			return 1
		},
		"error_reply": func(l *lua.LState) int {
			text := strings.TrimPrefix(l.CheckString(1), "-")
			if !strings.Contains(text, " ") {
				text = "ERR " + text
			}
			l.Push(toLua(l, failure(text)))
			return 1
		},
		"status_reply": func(l *lua.LState) int {
			l.Push(toLua(l, status(l.CheckString(1))))
			return 1
		},
		"sha1hex": func(l *lua.LState) int {
			sum := sha1.Sum([]byte(l.CheckString(1)))
			l.Push(lua.LString(hex.EncodeToString(sum[:])))
			return 1
		},
		"log":                func(*lua.LState) int { return 0 },
		"replicate_commands": func(l *lua.LState) int { l.Push(lua.LTrue); return 1 },
	}
	module := l.NewTable()
	l.SetFuncs(module, functions)
	for i, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		module.RawSetString(name, lua.LNumber(i))
	}
	return module
}

// called runs the command of redis.call or redis.pcall.
func (e *embedded) called(l *lua.LState, c *connection, readOnly bool) any {
	command := make([]string, l.GetTop())
	for i := range command {
		switch v := l.Get(i + 1).(type) {
		case lua.LString:
			command[i] = string(v)
		case lua.LNumber:
			command[i] = strings.ToLower(strconv.FormatFloat(float64(v), 'g', 17, 64))
		default:
			return failure("ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	if len(command) == 0 {
		return failure("ERR Please specify at least one argument for this redis.call()")
	}
	switch name := strings.ToUpper(command[0]); {
	case scriptCommands[name] != nil || unavailable[name]:
		return failure("ERR This Redis command is not allowed from script")
	case readOnly && e.server.IsRegisteredCommand(name) && !e.server.IsReadOnlyCommand(name):
		return failure("ERR Write commands are not allowed from read-only scripts.")
	}
	if err := e.ended(c); err != nil {
		return failure("script killed: " + err.Error())
	}
	return e.do(c, command)
}

// toLua converts a reply for scripts: null becomes false, a status or an error becomes a table.
func toLua(l *lua.LState, reply any) lua.LValue {
	table := func(name, value string) lua.LValue {
		t := l.CreateTable(0, 1)
		t.RawSetString(name, lua.LString(value))
		return t
	}
	switch v := reply.(type) {
	case int64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case status:
		return table("ok", string(v))
	case failure:
		return table("err", string(v))
	case []any:
		list := l.CreateTable(len(v), 0)
		for _, item := range v {
			list.Append(toLua(l, item))
		}
		return list
	}
	return lua.LFalse
}

// fromLua converts the result of a script to a reply; size counts its bytes. A table is an
// error, a status, or a list up to the first nil.
func fromLua(value lua.LValue, depth int, size *int) (any, error) {
	if *size += 16; *size > maxReplies || depth > maxReplyDepth {
		return nil, fmt.Errorf("the reply is over %d bytes, or its tables nest deeper than %d", maxReplies, maxReplyDepth)
	}
	switch v := value.(type) {
	case lua.LBool:
		if v {
			return int64(1), nil
		}
	case lua.LNumber:
		return int64(v), nil
	case lua.LString:
		*size += len(v)
		return string(v), nil
	case *lua.LTable:
		if text, ok := v.RawGetString("err").(lua.LString); ok {
			return failure(oneLine(string(text))), nil
		}
		if text, ok := v.RawGetString("ok").(lua.LString); ok {
			return status(oneLine(string(text))), nil
		}
		list := []any{}
		for i := 1; v.RawGetInt(i) != lua.LNil; i++ {
			reply, err := fromLua(v.RawGetInt(i), depth+1, size)
			if err != nil {
				return nil, err
			}
			list = append(list, reply)
		}
		return list, nil
	}
	return nil, nil
}

// meter is the context of a running script. The interpreter calls Done before each instruction,
// so that the meter can count them.
type meter struct {
	context.Context
	e    *embedded
	c    *connection
	heap []metrics.Sample
	most uint64 // the script is stopped when the heap is larger, in bytes
	why  error
}

// newMeter limits the growth of the heap from its current size. Memory that other goroutines
// allocate meanwhile counts too.
func newMeter(e *embedded, c *connection) *meter {
	m := &meter{Context: c.ctx, e: e, c: c, heap: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
	m.most = m.size() + maxScriptHeap
	return m
}

// size reads a metric of the runtime, without stopping any goroutine.
func (m *meter) size() uint64 {
	metrics.Read(m.heap)
	return m.heap[0].Value.Uint64()
}

var closedChannel = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done counts an instruction.
func (m *meter) Done() <-chan struct{} {
	switch m.c.steps++; {
	case m.why != nil:
	case m.e.closed.Load():
		m.why = fmt.Errorf("script killed: %w", errReset)
	case m.c.steps > maxScriptSteps:
		m.why = fmt.Errorf("script killed: the scripts of the request take more than %d instructions", maxScriptSteps)
	case m.c.steps%heapInterval == 0 && m.size() > m.most:
		if runtime.GC(); m.size() > m.most { // otherwise most of it was garbage
			m.why = fmt.Errorf("script killed: it needs more than %d bytes", maxScriptHeap)
		}
	}
	if m.why != nil {
		return closedChannel
	}
	return m.Context.Done()
}

// Err returns why the script is stopped.
func (m *meter) Err() error {
	if m.why == nil && m.Context.Err() != nil {
		return fmt.Errorf("script killed: %w", context.Cause(m.Context))
	}
	return m.why
}

// guards check the arguments of functions of the libraries that no instruction interrupts and
// whose work or result has no bound. Sorted by library and name.
var guards = []struct {
	library, name string
	check         func(l *lua.LState)
}{
	{"cjson", "encode", func(l *lua.LState) { checkNesting(l, l.Get(1), map[lua.LValue]bool{}, 0) }},
	{"string", "find", guardPattern},
	{"string", "format", func(l *lua.LState) {
		length := 0
		for i := 1; i <= l.GetTop(); i++ {
			length += 4 * len(lua.LVAsString(l.Get(i))) // %q may write a byte as four
		}
		checkText(l, float64(length))
		if wideFormat.MatchString(l.CheckString(1)) {
			l.RaiseError("invalid format (width or precision too long)")
		}
	}},
	{"string", "gfind", guardPattern},
	{"string", "gmatch", guardPattern},
	{"string", "gsub", func(l *lua.LState) { // the library copies the text for each match
		guardPattern(l)
		length := float64(len(l.CheckString(1)) + 1)
		checkText(l, length*length/256)
		checkText(l, length*float64(1+len(l.CheckString(3)))) // a function or table could give any length
	}},
	{"string", "match", guardPattern},
	{"string", "rep", func(l *lua.LState) { checkText(l, float64(len(l.CheckString(1)))*float64(l.CheckNumber(2))) }},
	{"table", "concat", func(l *lua.LState) {
		table, length := l.CheckTable(1), 0.0
		for i := 1; i <= table.Len(); i++ {
			length += float64(len(lua.LVAsString(table.RawGetInt(i))) + len(l.OptString(2, "")))
		}
		checkText(l, length)
	}},
}

// guard makes a function of a library run a check first.
func guard(l *lua.LState, library, name string, check func(l *lua.LState)) {
	table := l.GetGlobal(library).(*lua.LTable)
	original := table.RawGetString(name).(*lua.LFunction)
	table.RawSetString(name, l.NewFunction(func(l *lua.LState) int {
		check(l)
		l.Insert(original, 1)
		l.Call(l.GetTop()-1, lua.MultRet)
		return l.GetTop()
	}))
}

// checkText raises an error for a string that would become too long.
func checkText(l *lua.LState, length float64) {
	if length > maxScriptText {
		l.RaiseError("resulting string too large: must have at most %d bytes", maxScriptText)
	}
}

// wideFormat is a width or precision of three digits, or one that an argument gives.
var wideFormat = regexp.MustCompile(`%[-+ #0.\d]*(?:\d{3}|[*\[])`)

// repetition is a part of a pattern that matches texts of several lengths.
var repetition = regexp.MustCompile(`%.|[*+?-]`)

// guardPattern refuses a pattern that may take too many steps, which nothing interrupts: each
// repetition may match from any character of the text to any other.
func guardPattern(l *lua.LState) {
	const most = 50_000_000
	text, steps := l.CheckString(1), 1.0
	for _, item := range append(repetition.FindAllString(l.CheckString(2), -1), "*") {
		if len(item) == 1 || strings.ContainsAny(item[1:], "b0123456789") {
			steps *= float64(len(text) + 1)
		}
	}
	if steps > most && !lua.LVAsBool(l.Get(4)) { // plain text has no pattern
		l.RaiseError("pattern too complex: it may take %.0f steps on a string of %d bytes", steps, len(text))
	}
}

// checkNesting refuses tables that are nested too deeply to be encoded.
func checkNesting(l *lua.LState, value lua.LValue, seen map[lua.LValue]bool, depth int) {
	const most = 1000
	if depth > most {
		l.RaiseError("Cannot serialise, excessive depth (%d)", depth)
	}
	table, ok := value.(*lua.LTable)
	if !ok || seen[value] { // the encoder refuses repeated tables
		return
	}
	seen[value] = true
	table.ForEach(func(_, v lua.LValue) { checkNesting(l, v, seen, depth+1) })
}
