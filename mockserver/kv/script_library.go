package kv

import (
	"regexp"
	"strings"

	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/pm"
)

// withheldFunctions are functions of the base library that scripts cannot use: they read
// files, write to the terminal, or bypass the limits.
var withheldFunctions = []string{"_printregs", "collectgarbage", "dofile", "getfenv", "load", "loadfile", "module", "newproxy", "print", "require", "setfenv"}

// open loads the libraries of a script.
func (r *scriptRun) open(meter *scriptMeter) {
	l := r.state
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.BaseLibName, lua.OpenBase}, {lua.CoroutineLibName, lua.OpenCoroutine}, {lua.TabLibName, lua.OpenTable}, {lua.StringLibName, lua.OpenString}, {lua.MathLibName, lua.OpenMath}} {
		l.Push(l.NewFunction(library.open))
		l.Push(lua.LString(library.name))
		l.Call(1, 0)
	}
	for _, name := range withheldFunctions {
		l.SetGlobal(name, lua.LNil)
	}
	l.SetGlobal(concatName, l.NewFunction(concatenateOperands))
	l.SetGlobal("loadstring", l.NewFunction(loadString))
	l.Push(l.NewFunction(luajson.Loader))
	l.Call(0, 1)
	l.SetGlobal("cjson", l.Get(-1))
	l.Pop(1)
	for _, name := range []string{"redis", "server"} {
		l.SetGlobal(name, r.module())
	}
	system := l.NewTable()
	system.RawSetString("clock", l.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LNumber(float64(meter.steps) / 1e7)) // advances with the steps of the script
		return 1
	}))
	l.SetGlobal("os", system)
	for _, row := range argumentGuards {
		guardFunction(l, row.library, row.name, row.check)
	}
	for _, name := range []string{"create", "wrap"} {
		meterCoroutine(l, name, meter)
	}
	for _, name := range []string{"pcall", "xpcall"} {
		meterProtected(l, name, meter)
	}
}

// protect makes unknown globals an error.
func (r *scriptRun) protect() {
	l := r.state
	meta := l.NewTable()
	meta.RawSetString("__index", l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", l.ToStringMeta(l.Get(2)).String())
		return 0
	}))
	meta.RawSetString("__newindex", l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Script attempted to create global variable '%s'", l.ToStringMeta(l.Get(2)).String())
		return 0
	}))
	l.SetMetatable(l.Get(lua.GlobalsIndex), meta)
}

// module returns the library redis, which is also named server.
func (r *scriptRun) module() *lua.LTable {
	l := r.state
	module := l.NewTable()
	for name, f := range map[string]lua.LGFunction{
		"call": func(l *lua.LState) int {
			value, fault := r.call(l)
			if fault != "" {
				l.Error(lua.LString(fault), 1)
			}
			l.Push(value)
			return 1
		},
		"pcall": func(l *lua.LState) int {
			value, fault := r.call(l)
			if fault != "" {
				value = tableWith(l, "err", fault)
			}
			l.Push(value)
			return 1
		},
		"error_reply": func(l *lua.LState) int {
			text := strings.TrimPrefix(l.CheckString(1), "-")
			if !strings.Contains(text, " ") {
				text = "ERR " + text
			}
			l.Push(tableWith(l, "err", text))
			return 1
		},
		"status_reply": func(l *lua.LState) int {
			l.Push(tableWith(l, "ok", l.CheckString(1)))
			return 1
		},
		"sha1hex": func(l *lua.LState) int {
			l.Push(lua.LString(scriptDigest(l.CheckString(1))))
			return 1
		},
		"log": func(*lua.LState) int { return 0 },
		"replicate_commands": func(l *lua.LState) int {
			l.Push(lua.LTrue)
			return 1
		},
		"set_repl": func(*lua.LState) int { return 0 },
		"setresp":  func(*lua.LState) int { return 0 },
	} {
		module.RawSetString(name, l.NewFunction(f))
	}
	for i, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		module.RawSetString(name, lua.LNumber(i))
	}
	return module
}

// loadString implements loadstring: it compiles a text with the limits of scripts.
func loadString(l *lua.LState) int {
	proto, err := compileScript(l.CheckString(1))
	if err != nil {
		l.Push(lua.LNil)
		l.Push(lua.LString(oneLine(err.Error())))
		return 2
	}
	l.Push(l.NewFunctionFromProto(proto))
	return 1
}

// concatenateOperands implements the operator .., from right to left.
func concatenateOperands(l *lua.LState) int {
	rest := l.Get(l.GetTop())
	for i := l.GetTop() - 1; i > 0; i-- {
		left := l.Get(i)
		if lua.LVCanConvToString(left) && lua.LVCanConvToString(rest) {
			a, b := lua.LVAsString(left), lua.LVAsString(rest)
			checkText(l, float64(len(a))+float64(len(b)))
			rest = lua.LString(a + b)
			continue
		}
		meta := l.GetMetaField(left, "__concat")
		if meta == lua.LNil {
			meta = l.GetMetaField(rest, "__concat")
		}
		if meta == lua.LNil {
			bad := left
			if lua.LVCanConvToString(left) {
				bad = rest
			}
			l.RaiseError("attempt to concatenate a %s value", bad.Type())
		}
		l.Push(meta)
		l.Push(left)
		l.Push(rest)
		l.Call(2, 1)
		rest = l.Get(-1)
		l.Pop(1)
	}
	l.Push(rest)
	return 1
}

// checkText raises an error for a string that would become too long.
func checkText(l *lua.LState, length float64) {
	if length > maxScriptText {
		l.RaiseError("resulting string too large: must have at most %d bytes", maxScriptText)
	}
}

// argumentGuards check the arguments of functions whose work or result has no limit.
// Sorted by library and name.
var argumentGuards = []struct {
	library, name string
	check         func(l *lua.LState)
}{
	{"cjson", "encode", func(l *lua.LState) { checkNesting(l, l.Get(1), map[lua.LValue]bool{}, 0) }},
	{"string", "find", func(l *lua.LState) {
		if !lua.LVAsBool(l.Get(4)) {
			guardPattern(l)
		}
	}},
	{"string", "format", guardFormat},
	{"string", "gfind", guardPattern},
	{"string", "gmatch", guardPattern},
	{"string", "gsub", guardReplace},
	{"string", "match", guardPattern},
	{"string", "rep", func(l *lua.LState) { checkText(l, float64(len(l.CheckString(1)))*float64(l.CheckNumber(2))) }},
	{"table", "concat", guardJoin},
}

// guardFunction makes a library function run a check first.
func guardFunction(l *lua.LState, library, name string, check func(l *lua.LState)) {
	table := l.GetGlobal(library).(*lua.LTable)
	original := table.RawGetString(name).(*lua.LFunction)
	table.RawSetString(name, l.NewFunction(func(l *lua.LState) int {
		check(l)
		l.Insert(original, 1)
		l.Call(l.GetTop()-1, lua.MultRet)
		return l.GetTop()
	}))
}

// meterCoroutine makes the meter of a script count in its coroutines too, and limits
// their number.
func meterCoroutine(l *lua.LState, name string, meter *scriptMeter) {
	table := l.GetGlobal(lua.CoroutineLibName).(*lua.LTable)
	original := table.RawGetString(name).(*lua.LFunction)
	table.RawSetString(name, l.NewFunction(func(l *lua.LState) int {
		if meter.coroutines++; meter.coroutines > maxCoroutines {
			l.RaiseError("too many coroutines: a script can create %d", maxCoroutines)
		}
		l.Push(original)
		l.Push(l.CheckFunction(1))
		l.Call(1, 1)
		created := l.Get(-1)
		if f, ok := created.(*lua.LFunction); ok { // from wrap: its upvalue is the coroutine
			created = f.Upvalues[0].Value()
		}
		created.(*lua.LState).SetContext(meter)
		return 1
	}))
}

// maxCoroutines is how many coroutines a script can create; each takes 100 kB.
const maxCoroutines = 1000

// maxProtected is how many calls of pcall and xpcall can be nested, as in Redis.
const maxProtected = 200

// meterProtected makes pcall or xpcall return only while the script may continue, and
// limits how deep they nest. The interpreter describes the stack for each error that it
// catches; for a killed script with thousands of nested calls, that would take minutes.
// An error that has a description keeps it.
func meterProtected(l *lua.LState, name string, meter *scriptMeter) {
	original := l.GetGlobal(name)
	l.SetGlobal(name, l.NewFunction(func(l *lua.LState) int {
		if meter.protected == maxProtected {
			l.RaiseError("C stack overflow: more than %d calls of pcall and xpcall are nested", maxProtected)
		}
		meter.protected++
		defer func() { meter.protected-- }()
		l.CheckAny(1)
		if name == "xpcall" {
			l.CheckFunction(1)
			handler := l.CheckFunction(2)
			l.Replace(2, l.NewFunction(func(l *lua.LState) int {
				if meter.Err() == nil {
					l.Insert(handler, 1)
					l.Call(1, 1)
				}
				return 1
			}))
		}
		l.Insert(original, 1)
		l.Call(l.GetTop()-1, lua.MultRet)
		if err := meter.Err(); err != nil {
			panic(&lua.ApiError{Type: lua.ApiErrorRun, Object: lua.LString(err.Error()), StackTrace: err.Error()})
		}
		return l.GetTop()
	}))
}

// guardPattern checks a pattern before the library matches it without a limit.
func guardPattern(l *lua.LState) {
	if err := checkPattern(l.CheckString(2), l.CheckString(1)); err != nil {
		l.RaiseError("%s", err.Error())
	}
}

// wideFormat is a width or precision of three digits, or one that an argument gives.
var wideFormat = regexp.MustCompile(`%[-+ #0.\d]*(?:\d{3}|[*\[])`)

// guardFormat checks an upper bound of the length of the result.
func guardFormat(l *lua.LState) {
	format := l.CheckString(1)
	if wideFormat.MatchString(format) {
		l.RaiseError("invalid format (width or precision too long)")
	}
	length := len(format) + 128*strings.Count(format, "%")
	for i := 2; i <= l.GetTop(); i++ {
		length += 4 * len(lua.LVAsString(l.Get(i))) // %q may write a byte as four
	}
	checkText(l, float64(length))
}

// maxReplaceWork is how many bytes a replacement may copy: the library copies
// the text for each match.
const maxReplaceWork = 4 << 30

// guardReplace finds the matches first, because their number determines the length
// of the result.
func guardReplace(l *lua.LState) {
	guardPattern(l)
	text := l.CheckString(1)
	found, err := pm.Find(l.CheckString(2), []byte(text), 0, l.OptInt(4, -1))
	if err != nil {
		l.RaiseError("%s", err.Error())
	}
	n := float64(len(found))
	length := float64(len(text))
	switch with := l.Get(3).(type) {
	case lua.LString: // captures are parts of the text; matches do not overlap
		length += n*float64(len(with)) + length*float64(strings.Count(string(with), "%"))
	case *lua.LTable:
		longest := 0
		with.ForEach(func(_, v lua.LValue) { longest = max(longest, len(lua.LVAsString(v))) })
		length += n * float64(longest)
	case *lua.LFunction:
		var made float64
		l.Replace(3, l.NewFunction(func(l *lua.LState) int {
			l.Insert(with, 1)
			l.Call(l.GetTop()-1, 1)
			made += float64(len(lua.LVAsString(l.Get(-1))))
			checkText(l, made)
			return 1
		}))
	}
	checkText(l, length)
	if n*length > maxReplaceWork {
		l.RaiseError("too many replacements (%d) in a string of %d bytes", len(found), len(text))
	}
}

// guardJoin checks the length of the result before the parts are joined.
func guardJoin(l *lua.LState) {
	table, separator := l.CheckTable(1), float64(len(l.OptString(2, "")))
	length := 0.0
	for i := 1; i <= table.Len(); i++ {
		length += float64(len(lua.LVAsString(table.RawGetInt(i)))) + separator
	}
	checkText(l, length)
}

// maxJSONDepth is the largest depth of tables that are encoded as JSON.
const maxJSONDepth = 1000

// checkNesting refuses tables that are nested too deeply to be encoded.
func checkNesting(l *lua.LState, value lua.LValue, seen map[lua.LValue]bool, depth int) {
	if depth > maxJSONDepth {
		l.RaiseError("Cannot serialise, excessive depth (%d)", depth)
	}
	table, ok := value.(*lua.LTable)
	if !ok || seen[value] { // the encoder refuses repeated tables
		return
	}
	seen[value] = true
	table.ForEach(func(_, v lua.LValue) { checkNesting(l, v, seen, depth+1) })
}
