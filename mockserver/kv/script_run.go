package kv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// scriptCommands are implemented here and not by the library, whose scripts have no
// limits.
var scriptCommands map[string]func(e *embedded, c *connection, name string, args []string) any

// maxTableIndex is the largest index of tables that are stored as arrays. An array has
// room for all smaller indexes: one assignment must not take a gigabyte.
const maxTableIndex = 1 << 22

func init() {
	lua.MaxArrayIndex = maxTableIndex
	scriptCommands = map[string]func(e *embedded, c *connection, name string, args []string) any{
		"EVAL": (*embedded).eval, "EVALSHA": (*embedded).eval, "EVALSHA_RO": (*embedded).eval, "EVAL_RO": (*embedded).eval,
		"SCRIPT": (*embedded).scriptCommand,
	}
}

// Limits of the cached scripts.
const (
	maxScripts     = 500
	maxScriptBytes = 16 << 20
)

// scriptCache has compiled scripts by the hash of their text. Beyond the limits it starts
// again, because clients send the text of an unknown script again.
type scriptCache struct {
	compiled map[string]*lua.FunctionProto
	bytes    int
}

func (s *scriptCache) add(hash, text string, proto *lua.FunctionProto) {
	if s.bytes += len(text); s.compiled == nil || s.bytes > maxScriptBytes || len(s.compiled) == maxScripts {
		s.compiled, s.bytes = map[string]*lua.FunctionProto{}, len(text)
	}
	s.compiled[hash] = proto
}

// scriptCommand implements SCRIPT LOAD, EXISTS and FLUSH.
func (e *embedded) scriptCommand(c *connection, _ string, args []string) any {
	switch sub := strings.ToUpper(args[0]); {
	case sub == "LOAD" && len(args) == 2:
		hash, _, err := e.compiled(args[1])
		if err != nil {
			return failure(compileText(err))
		}
		return hash
	case sub == "EXISTS" && len(args) > 1:
		var found []any
		for _, hash := range args[1:] {
			n := map[bool]int64{true: 1}[e.scripts.compiled[strings.ToLower(hash)] != nil]
			found = append(found, n)
		}
		return found
	case sub == "FLUSH":
		e.scripts = scriptCache{}
		return c.dispatch(append([]string{"SCRIPT"}, args...)) // checks the other arguments
	}
	return c.dispatch(append([]string{"SCRIPT"}, args...)) // reports the error
}

// compiled returns the hash of a script and the script, cached or compiled now.
func (e *embedded) compiled(text string) (string, *lua.FunctionProto, error) {
	hash := scriptDigest(text)
	if proto := e.scripts.compiled[hash]; proto != nil {
		return hash, proto, nil
	}
	proto, err := compileScript(text)
	if err == nil {
		e.scripts.add(hash, text, proto)
	}
	return hash, proto, err
}

func compileText(err error) string {
	return "ERR Error compiling script (new function): " + oneLine(err.Error())
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
	proto := e.scripts.compiled[hash]
	if strings.HasPrefix(name, "EVALSHA") && proto == nil {
		return failure("NOSCRIPT No matching script. Please use EVAL.")
	} else if !strings.HasPrefix(name, "EVALSHA") {
		if hash, proto, err = e.compiled(args[0]); err != nil {
			return failure(compileText(err))
		}
	}
	run := &scriptRun{e: e, c: c, hash: hash, readOnly: strings.HasSuffix(name, "_RO")}
	return run.run(proto, args[2:2+keys], args[2+keys:])
}

// Limits of the stack of a script.
const (
	maxScriptCalls  = 4096    // nested function calls
	maxScriptValues = 1 << 17 // arguments and local variables
)

// scriptRun is one run of a script.
type scriptRun struct {
	e        *embedded
	c        *connection
	hash     string
	readOnly bool
	state    *lua.LState
}

// run runs a script within its limits.
func (r *scriptRun) run(proto *lua.FunctionProto, keys, args []string) (reply any) {
	ctx, cancel := context.WithTimeout(r.c.ctx, maxScriptTime)
	defer cancel()
	defer context.AfterFunc(r.e.stop, cancel)()
	r.state = lua.NewState(lua.Options{SkipOpenLibs: true, CallStackSize: maxScriptCalls, MinimizeStackMemory: true, RegistryMaxSize: maxScriptValues})
	defer r.state.Close()
	defer func() {
		if fault := recover(); fault != nil {
			reply = r.failed(fmt.Errorf("%v", fault))
		}
	}()
	meter := newScriptMeter(ctx)
	r.open()
	for name, list := range map[string][]string{"KEYS": keys, "ARGV": args} {
		table := r.state.CreateTable(len(list), 0)
		for _, text := range list {
			table.Append(lua.LString(text))
		}
		r.state.SetGlobal(name, table)
	}
	r.protect()
	r.state.SetContext(meter)
	r.state.Push(r.state.NewFunctionFromProto(proto))
	if err := r.state.PCall(0, 1, nil); err != nil {
		return r.failed(err)
	}
	reply, err := fromLua(r.state.Get(-1), 0, new(int))
	if err != nil {
		return r.failed(err)
	}
	return reply
}

// failed returns the reply to a script that ended with an error.
func (r *scriptRun) failed(err error) any {
	text := err.Error()
	if fault, ok := errors.AsType[*lua.ApiError](err); ok {
		text = fault.Object.String()
		if table, ok := fault.Object.(*lua.LTable); ok {
			if own := table.RawGetString("err"); own != lua.LNil {
				return failure(oneLine(own.String()))
			}
		}
	}
	return failure(fmt.Sprintf("ERR Error running script (call to f_%s): %s", r.hash, oneLine(text)))
}

// oneLine removes line breaks from a text and shortens it.
func oneLine(text string) string {
	const longest = 4096
	return strings.Join(strings.Fields(text[:min(len(text), longest)]), " ")
}

// call runs the command of redis.call or redis.pcall; fault is an error text.
func (r *scriptRun) call(l *lua.LState) (value lua.LValue, fault string) {
	command := make([]string, l.GetTop())
	for i := range command {
		switch v := l.Get(i + 1).(type) {
		case lua.LString:
			command[i] = string(v)
		case lua.LNumber:
			command[i] = numberText(v, 17)
		default:
			return nil, "ERR Lua redis lib command arguments must be strings or integers"
		}
	}
	if len(command) == 0 {
		return nil, "ERR Please specify at least one argument for this redis.call()"
	}
	name := strings.ToUpper(command[0])
	if text := refusalOf(command); text != "" || scriptCommands[name] != nil {
		return nil, "ERR This Redis command is not allowed from script"
	}
	if r.readOnly && r.e.server.IsRegisteredCommand(name) && !r.e.server.IsReadOnlyCommand(name) {
		return nil, "ERR Write commands are not allowed from read-only scripts."
	}
	reply := r.e.do(r.c, command)
	if text, failed := reply.(failure); failed {
		return nil, string(text)
	}
	return toLua(l, reply), ""
}

// toLua converts a reply for scripts: null becomes false, a status becomes a table.
func toLua(l *lua.LState, reply any) lua.LValue {
	switch v := reply.(type) {
	case int64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case status:
		return tableWith(l, "ok", string(v))
	case failure:
		return tableWith(l, "err", string(v))
	case []any:
		table := l.CreateTable(len(v), 0)
		for _, item := range v {
			table.Append(toLua(l, item))
		}
		return table
	}
	return lua.LFalse
}

// tableWith returns a table with one field.
func tableWith(l *lua.LState, name, value string) *lua.LTable {
	table := l.CreateTable(0, 1)
	table.RawSetString(name, lua.LString(value))
	return table
}

// maxReplyDepth is the largest depth of the tables of a script's reply.
const maxReplyDepth = 128

// fromLua converts the result of a script to a reply; size counts its bytes.
func fromLua(value lua.LValue, depth int, size *int) (any, error) {
	if *size += 16; *size > maxReplies {
		return nil, errors.New("the reply is over 33554432 bytes")
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
		if depth > maxReplyDepth {
			return nil, errors.New("reached lua stack limit: the tables of the reply nest too deep")
		}
		return tableReply(v, depth, size)
	}
	return nil, nil
}

// tableReply converts a table to a reply: an error, a status, or a list up to the
// first nil.
func tableReply(table *lua.LTable, depth int, size *int) (any, error) {
	if text, ok := table.RawGetString("err").(lua.LString); ok {
		return failure(oneLine(string(text))), nil
	}
	if text, ok := table.RawGetString("ok").(lua.LString); ok {
		return status(oneLine(string(text))), nil
	}
	list := []any{}
	for i := 1; ; i++ {
		item := table.RawGetInt(i)
		if item == lua.LNil || item == nil {
			return slices.Clip(list), nil
		}
		reply, err := fromLua(item, depth+1, size)
		if err != nil {
			return nil, err
		}
		list = append(list, reply)
	}
}
