package kv_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"

	"github.com/understudy-mock/understudy/mockserver/kv"
)

// bombs are commands that would crash the process or never return.
var bombs = []struct {
	name, want string
	commands   [][]any
}{
	{"a value is at most 100 MB: SETRANGE", "ERR max single record size exceeded", [][]any{{"SETRANGE", "k", 100000000000, "x"}}},
	{"a value is at most 100 MB: SETBIT", "ERR max single record size exceeded", [][]any{{"SETBIT", "k", 100000000000, 1}}},
	{"an offset may overflow", "ERR", [][]any{{"SETRANGE", "k", "9223372036854775807", "x"}}},
	{"an appended value is at most 100 MB", "ERR max single record size exceeded", [][]any{{"SETRANGE", "k", 104857599, "x"}, {"APPEND", "k", strings.Repeat("y", 1000)}}},
	{"a key is at most 32 KB", "ERR max key size exceeded. Limit: 32768 bytes, Actual: 40000 bytes", [][]any{{"SET", strings.Repeat("k", 40000), "v"}}},
	{"SETRANGE in a script", "ERR max single record size exceeded", [][]any{{"EVAL", "return redis.call('SETRANGE', 'k', 1e11, 'x')", 0}}},
	{"a reply is bounded: MGET of one key many times", "ERR max request size exceeded", [][]any{{"SETRANGE", "k", 1000000, "x"}, repeated("MGET", "k", 1000)}},
	{"a reply is bounded: EVAL", "ERR", [][]any{{"EVAL", "local t={} for i=1,1000 do t[i]=ARGV[1] end return t", 0, strings.Repeat("x", 100000)}}},
	{"a negative count repeats members: SRANDMEMBER", "ERR value is out of range", [][]any{{"SADD", "s", "a"}, {"SRANDMEMBER", "s", -1000000000}}},
	{"a negative count repeats members: HRANDFIELD", "ERR value is out of range", [][]any{{"HSET", "h", "a", "b"}, {"HRANDFIELD", "h", -1000000000}}},
	{"a negative count repeats members: ZRANDMEMBER", "ERR value is out of range", [][]any{{"ZADD", "z", 1, "a"}, {"ZRANDMEMBER", "z", -1000000000}}},
	{"a number with a huge exponent: INCRBYFLOAT", "ERR value is not a valid float", [][]any{{"INCRBYFLOAT", "f", "1e600000000"}}},
	{"a stored number with a huge exponent", "ERR value is not a valid float", [][]any{{"SET", "f", "1e600000000"}, {"INCRBYFLOAT", "f", "1"}}},
	{"a field with a huge exponent", "ERR value is not a valid float", [][]any{{"HINCRBYFLOAT", "h", "f", "1e600000000"}}},
	{"another database", "ERR Command is not available: 'COPY'", [][]any{{"SET", "k", "v"}, {"COPY", "k", "k2", "DB", 3}}},
	{"MOVE", "ERR Command is not available: 'MOVE'", [][]any{{"SET", "k", "v"}, {"MOVE", "k", 3}}},
	{"a loop without end", "script killed", eval(`while true do end`)},
	{"a loop of commands", "script killed", eval(`while true do redis.call('GET', 'x') end`)},
	{"string.rep", "resulting string too large", eval(`return string.rep('a', 1e11)`)},
	{"string.rep as a method", "resulting string too large", eval(`return ('a'):rep(1e11)`)},
	{"doubling", "script killed", eval(`local a='a' while true do a=a..a end`)},
	{"kept strings", "script killed", eval(`local t,a={},string.rep('a',1e6) for i=1,1e6 do t[i]=a..i end`)},
	{"a table that grows", "script killed", eval(`local t={} for i=1,1e9 do t[i]={} end`)},
	{"a table with a far index", "script killed", eval(`local t={} for i=1,1e9 do t[i]={} t[i][4e6]=1 end`)},
	{"string.format", "width", eval(`return string.format(string.rep('%[1]999999d', 1000), 1)`)},
	{"table.concat", "resulting string too large", eval(`local t={} for i=1,2000 do t[i]=ARGV[1] end return table.concat(t)`, strings.Repeat("x", 100000))},
	{"gsub", "resulting string too large", eval(`return string.gsub(ARGV[1], 'x', ARGV[1])`, strings.Repeat("x", 60000))},
	{"gsub with a function", "string expected", eval(`return string.gsub(ARGV[1], 'x', function() return ARGV[1] end)`, strings.Repeat("x", 20000))},
	{"gsub with a table", "string expected", eval(`return string.gsub(ARGV[1], 'x', {x=ARGV[1]})`, strings.Repeat("x", 20000))},
	{"gsub of many matches", "resulting string too large", eval(`return string.gsub(ARGV[1], 'x', 'y')`, strings.Repeat("x", 1000000))},
	{"a pattern that backtracks", "pattern too complex", eval(`return string.find(ARGV[1], 'a*a*a*a*a*a*a*a*b')`, strings.Repeat("a", 5000))},
	{"a pattern on a long text", "pattern too complex", eval(`return string.match(ARGV[1], '.*')`, strings.Repeat("a", 2000000))},
	{"a pattern that recurses", "pattern too complex", eval(`return string.match(ARGV[1], '^.*$')`, strings.Repeat("a", 1000000))},
	{"deep nesting of parentheses", `"result":1`, eval("return " + strings.Repeat("(", 30000) + "1" + strings.Repeat(")", 30000))},
	{"deep nesting of operators", `"result"`, eval("return " + strings.Repeat("not ", 16000) + "1")},
	{"deep nesting of blocks", `"result"`, eval(strings.Repeat("do ", 9000) + strings.Repeat("end ", 9000))},
	{"a long text", "script of", eval("return '" + strings.Repeat("x", 2<<20) + "'")},
	{"recursion", "stack overflow", eval(`local function f() return 1 + f() end return f()`)},
	{"recursion by tail calls", "stack overflow", eval(`local function f() return f() end return f()`)},
	{"a reply that contains itself", "nest deeper", eval(`local t={} t[1]=t return t`)},
	{"a reply that doubles", "reply is over", eval(`local t={1} for i=1,60 do t={t,t} end return t`)},
	{"cjson of a deep table", "excessive depth", eval(`local t={} for i=1,100000 do t={t} end return cjson.encode(t)`)},
	{"a deep text for cjson", "", eval(`return cjson.decode(string.rep('[', 100000))`)},
	{"what no limit can stop: pcall", "nonexistent global variable 'pcall'", eval(`return pcall`)},
	{"what no limit can stop: coroutine", "nonexistent global variable 'coroutine'", eval(`return coroutine`)},
	{"what no limit can stop: loadstring", "nonexistent global variable 'loadstring'", eval(`return loadstring`)},
	{"what no limit can stop: xpcall", "nonexistent global variable 'xpcall'", eval(`return xpcall`)},
	{"files: dofile", "nonexistent global variable 'dofile'", eval(`return dofile('/etc/passwd')`)},
	{"files: loadfile", "nonexistent global variable 'loadfile'", eval(`return loadfile('/etc/passwd')`)},
	{"files: require", "nonexistent global variable 'require'", eval(`return require('os')`)},
	{"a script in a script", "not allowed from script", eval(`return redis.call('EVAL', 'while true do end', 0)`)},
	{"waiting in a script", "not allowed from script", eval(`return redis.call('BLPOP', 'l', 0)`)},
	{"DEBUG SLEEP", "ERR Command is not available", [][]any{{"DEBUG", "SLEEP", 1000}}},
}

func eval(script string, args ...any) [][]any {
	return [][]any{append([]any{"EVAL", script, 0}, args...)}
}

func repeated(command, argument string, n int) []any {
	list := []any{command}
	for range n {
		list = append(list, argument)
	}
	return list
}

func send(t *testing.T, store *kv.KV, path string, commands any) string {
	t.Helper()
	text, err := json.Marshal(commands)
	expect.NoError(t, err)
	return post(store, path, string(text)).Body.String()
}

func TestNoCommandEndsTheProcess(t *testing.T) {
	t.Parallel()
	for _, bomb := range bombs {
		t.Run(bomb.name, func(t *testing.T) {
			t.Parallel()
			store := newKV(t, kv.Config{Token: "secret"})
			if got := send(t, store, "/pipeline", bomb.commands); !strings.Contains(got[strings.LastIndex(got, "{"):], bomb.want) {
				t.Errorf("got %.300s, want %s", got, bomb.want)
			}
			expect.Equal(t, "afterwards", send(t, store, "/pipeline", [][]any{{"SET", "after", "1"}, {"EVAL", "return redis.call('GET', 'after')", 0}}), `[{"result":"OK"},{"result":"1"}]`)
		})
	}
}

func TestTheStoreIsBoundedAsAWhole(t *testing.T) {
	effort.Unraced(t, "it counts bytes")
	for name, command := range map[string]func(i int) []any{
		"strings":  func(i int) []any { return []any{"SET", fmt.Sprint("k", i), strings.Repeat("x", 1<<20)} },
		"a list":   func(int) []any { return []any{"RPUSH", "l", strings.Repeat("x", 1<<20)} },
		"a set":    func(i int) []any { return []any{"SADD", "s", fmt.Sprint(i, strings.Repeat("x", 1<<20))} },
		"a stream": func(int) []any { return []any{"XADD", "x", "*", "f", strings.Repeat("x", 1<<20)} },
		"copies": func(i int) []any {
			if i == 0 {
				return []any{"SETRANGE", "k", 50 << 20, "x"}
			}
			return []any{"COPY", "k", fmt.Sprint("k", i)}
		},
		"zero-filled strings": func(i int) []any { return []any{"SETRANGE", fmt.Sprint("k", i), 50 << 20, "x"} },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := kv.Config{Token: "secret", Capacity: kv.NewCapacity(32 << 20)} // the default would need hundreds of requests
			if command(0)[0] == "SETRANGE" {
				cfg.Capacity = nil
			}
			store := newKV(t, cfg)
			refused := ""
			for i := 0; i < 400 && refused == ""; i++ {
				if got := send(t, store, "/", command(i)); strings.Contains(got, "error") {
					refused = got
				}
			}
			if !strings.Contains(refused, "ERR DB capacity quota exceeded") && !strings.Contains(refused, "ERR max single record size exceeded") {
				t.Errorf("nothing was refused: %.200s", refused)
			}
			expect.Equal(t, "FLUSHALL", send(t, store, "/", []any{"FLUSHALL"}), `{"result":"OK"}`)
			expect.Lacks(t, "after FLUSHALL", send(t, store, "/", command(0)), "error")
		})
	}
}

// TestTheScriptsOfARequestShareItsBudget: a pipeline of endless scripts takes no longer than one.
func TestTheScriptsOfARequestShareItsBudget(t *testing.T) {
	store := newKV(t, kv.Config{Token: "secret"})
	took := func(scripts int) time.Duration {
		start := time.Now()
		var commands [][]any
		for range scripts {
			commands = append(commands, []any{"EVAL", "while true do end", 0})
		}
		got := send(t, store, "/pipeline", commands)
		if n := strings.Count(got, "script killed") + strings.Count(got, "command not run: the request takes longer than 5s"); n != scripts {
			t.Errorf("%d endless scripts: got %s", scripts, got)
		}
		return time.Since(start)
	}
	if one, twenty := took(1), took(20); twenty > 3*one {
		t.Errorf("20 endless scripts took %s, one %s", twenty, one)
	}
	expect.Equal(t, "afterwards", send(t, store, "/", []any{"PING"}), `{"result":"PONG"}`)
}

func TestARequestWhoseClientHasLeftEnds(t *testing.T) {
	t.Parallel()
	store := newKV(t, kv.Config{Token: "secret"})
	ctx, leave := context.WithCancel(t.Context())
	r := httptest.NewRequest(http.MethodPost, "/pipeline", strings.NewReader(`[["SET","before","1"],["EVAL","while true do end",0],["SET","after","1"]]`)).WithContext(ctx)
	r.Header.Set("Authorization", "Bearer secret")
	done := make(chan struct{})
	go func() { defer close(done); store.ServeHTTP(httptest.NewRecorder(), r) }()
	leave()
	select {
	case <-done:
	case <-time.After(effort.Wait(30 * time.Second)):
		t.Fatal("the request goes on")
	}
	expect.Equal(t, "a command after the client had left", send(t, store, "/", []any{"EXISTS", "after"}), `{"result":0}`)
}

// TestAResetEndsAScript: it does not wait for the budget of the script, and what still runs in the
// store of before takes no room from the new one.
func TestAResetEndsAScript(t *testing.T) {
	t.Parallel()
	capacity := kv.NewCapacity(1 << 20)
	store := newKV(t, kv.Config{Token: "secret", Capacity: capacity})
	replies := make(chan string)
	go func() {
		replies <- send(t, store, "/pipeline", [][]any{{"SET", "begun", "1"}, {"EVAL", "while true do redis.call('SET','k','v') end", 0}, {"SET", "after", strings.Repeat("x", 1000)}})
	}()
	for capacity.Used() == 0 { // until it has begun
		runtime.Gosched()
	}
	store.Reset()
	got := <-replies
	expect.Contains(t, "replies", got, "the store was reset or closed")
	expect.Lacks(t, "replies", got, "takes longer than")
	expect.Equal(t, "used capacity", capacity.Used(), 0)
	expect.Equal(t, "the new store", send(t, store, "/", []any{"DBSIZE"}), `{"result":0}`)
}

func TestExpiriesThatReadsSet(t *testing.T) {
	t.Parallel()
	c := newClock()
	store := newKV(t, kv.Config{Token: "secret", Now: c.Now})
	send(t, store, "/pipeline", [][]any{{"SET", "a", "1"}, {"GETEX", "a", "EX", 5}, {"SET", "b", "1", "EX", 5}, {"RENAME", "b", "c"}, {"SET", "d", "1", "EX", 5}, {"COPY", "d", "e"}, {"SET", "f", "1", "EX", 5}, {"GETEX", "f", "PERSIST"}})
	c.pass(3 * time.Second)
	expect.Equal(t, "TTL", send(t, store, "/pipeline", [][]any{{"TTL", "a"}, {"TTL", "c"}, {"TTL", "e"}, {"TTL", "f"}}), `[{"result":2},{"result":2},{"result":2},{"result":-1}]`)
	c.pass(2 * time.Second)
	expect.Equal(t, "keys", send(t, store, "/", []any{"KEYS", "*"}), `{"result":["f"]}`)
}

// TestTheCostOfACommandDoesNotDependOnTheNumberOfKeys reads a key at each new millisecond, among
// few keys and among 100,000 that expire.
func TestTheCostOfACommandDoesNotDependOnTheNumberOfKeys(t *testing.T) {
	effort.Unraced(t, "it compares times")
	best := func(keys int) time.Duration {
		c := newClock()
		store := newKV(t, kv.Config{Token: "secret", Now: c.Now})
		for from := 0; from < keys; from += 10_000 {
			var commands [][]any
			for i := from; i < min(keys, from+10_000); i++ {
				commands = append(commands, []any{"SET", fmt.Sprint("k", i), "v", "EX", 3600 + i%7})
			}
			send(t, store, "/pipeline", commands)
		}
		fastest := time.Hour
		for range 20 {
			start := time.Now()
			for range 50 {
				c.pass(time.Millisecond)
				post(store, "/", `["GET","k1"]`)
			}
			fastest = min(fastest, time.Since(start))
		}
		c.pass(2 * time.Hour)
		expect.Equal(t, "after all have expired", send(t, store, "/", []any{"DBSIZE"}), `{"result":0}`)
		return fastest
	}
	if few, many := best(100), best(100_000); many > 4*few {
		t.Errorf("50 commands among 100,000 keys took %s, among 100 %s", many, few)
	}
}

func TestAValueThatIsWrittenAgainTakesNoMore(t *testing.T) {
	t.Parallel()
	store := newKV(t, kv.Config{Token: "secret", Capacity: kv.NewCapacity(10 << 20)})
	for i := range 20 {
		if got := send(t, store, "/", []any{"SET", "k", strings.Repeat("x", 1<<20)}); got != `{"result":"OK"}` {
			t.Fatalf("SET number %d: %s", i, got)
		}
	}
}
