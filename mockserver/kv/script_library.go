package kv

import (
	"regexp"
	"strconv"
	"strings"

	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	lua "github.com/yuin/gopher-lua"
)

// withheldFunctions are functions of the base library that scripts cannot use: they read
// files, write to the terminal, or bypass the limits.
var withheldFunctions = []string{"_printregs", "collectgarbage", "dofile", "getfenv", "load", "loadfile", "loadstring", "module", "newproxy",
	"pcall", "print", "require", "setfenv", "xpcall"}

// open loads the libraries of a script.
func (r *scriptRun) open() {
	l := r.state
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}, {lua.StringLibName, lua.OpenString}, {lua.MathLibName, lua.OpenMath}} {
		l.Push(l.NewFunction(library.open))
		l.Push(lua.LString(library.name))
		l.Call(1, 0)
	}
	for _, name := range withheldFunctions {
		l.SetGlobal(name, lua.LNil)
	}
	l.SetGlobal(concatName, l.NewFunction(concatenateOperands))
	l.SetGlobal("tostring", l.NewFunction(toString))
	l.Push(l.NewFunction(luajson.Loader))
	l.Call(0, 1)
	l.SetGlobal("cjson", l.Get(-1))
	l.Pop(1)
	for _, name := range []string{"redis", "server"} {
		l.SetGlobal(name, r.module())
	}
	for _, row := range argumentGuards {
		guardFunction(l, row.library, row.name, row.check)
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
	} {
		module.RawSetString(name, l.NewFunction(f))
	}
	for i, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		module.RawSetString(name, lua.LNumber(i))
	}
	return module
}

// concatenateOperands implements the operator .., for strings and numbers.
func concatenateOperands(l *lua.LState) int {
	var text strings.Builder
	for i := range l.GetTop() {
		switch v := l.Get(i + 1).(type) {
		case lua.LString:
			checkText(l, float64(text.Len())+float64(len(v)))
			text.WriteString(string(v))
		case lua.LNumber:
			text.WriteString(numberText(v, 14))
		default:
			l.RaiseError("attempt to concatenate a %s value", v.Type())
		}
	}
	l.Push(lua.LString(text.String()))
	return 1
}

// numberText writes a number with significant digits, as the original interpreter does.
func numberText(n lua.LNumber, digits int) string {
	return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(float64(n), 'g', digits, 64)), "+")
}

// toString implements tostring.
func toString(l *lua.LState) int {
	text := l.ToStringMeta(l.CheckAny(1))
	if n, ok := l.Get(1).(lua.LNumber); ok {
		text = lua.LString(numberText(n, 14))
	}
	l.Push(text)
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

// maxPatternSteps limits the matching of a pattern, which backtracks and cannot be
// interrupted.
const maxPatternSteps = 50_000_000

// repetition is a part of a pattern that matches texts of several lengths.
var repetition = regexp.MustCompile(`%.|[*+?-]`)

// guardPattern refuses a pattern that may take too many steps: each repetition may
// match from any character of the text to any other.
func guardPattern(l *lua.LState) {
	text, pattern := l.CheckString(1), l.CheckString(2)
	steps := float64(len(text) + 1)
	for _, item := range repetition.FindAllString(pattern, -1) {
		if len(item) == 1 || strings.ContainsAny(item[1:], "b0123456789") {
			steps *= float64(len(text) + 1)
		}
	}
	if steps > maxPatternSteps {
		l.RaiseError("pattern too complex: it may take %.0f steps on a string of %d bytes", steps, len(text))
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

// guardReplace checks an upper bound of the length of the result. Captures are parts of
// the text, and matches do not overlap.
func guardReplace(l *lua.LState) {
	guardPattern(l)
	length, with := float64(len(l.CheckString(1))+1), l.CheckString(3)
	if length*length > maxReplaceWork {
		l.RaiseError("string of %.0f bytes is too long for replacements", length-1)
	}
	checkText(l, length*float64(1+len(with)+strings.Count(with, "%")))
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
