package kv_test

import (
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/mockserver/kv"
)

// shared returns two stores with different prefixes in one real server.
func shared(t *testing.T) (a, b *kv.KV) {
	t.Helper()
	url := realRedis(t)
	return newKV(t, kv.Config{Token: "secret", URL: url, Prefix: "u:a*:"}), newKV(t, kv.Config{Token: "secret", URL: url, Prefix: "u:a*b:"})
}

func TestStoresOverOneServerAreApart(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, command, want string }{
		{"GET", `["GET","k"]`, `null`},
		{"MGET", `["MGET","k","h"]`, `[null,null]`},
		{"DBSIZE", `["DBSIZE"]`, `0`},
		{"KEYS", `["KEYS","*"]`, `[]`},
		{"EXISTS", `["EXISTS","k","h","l","s","z"]`, `0`},
		{"SUNION", `["SUNION","s","s2"]`, `[]`},
		{"ZUNION", `["ZUNION",1,"z","WITHSCORES"]`, `[]`},
		{"RENAME", `["RENAME","k","k2"]`, `ERR no such key`},
		{"BITOP", `["BITOP","OR","dest","k"]`, `0`},
		{"XREAD", `["XREAD","STREAMS","x","0"]`, `null`},
		{"OBJECT", `["OBJECT","ENCODING","k"]`, `null`},
		{"MEMORY", `["MEMORY","USAGE","k"]`, `null`},
		{"a script", `["EVAL","return redis.call('GET', KEYS[1])",1,"k"]`, `null`},
		{"FLUSHALL", `["FLUSHALL"]`, `"OK"`},
		{"RANDOMKEY", `["RANDOMKEY"]`, `not available`},
		{"MOVE", `["MOVE","k",1]`, `not available`},
		{"lower case", `["get","k"]`, `null`},
	} {
		t.Run(x.name+" sees no key of the other", func(t *testing.T) {
			t.Parallel()
			a, b := shared(t)
			filled := post(a, "/pipeline", `[["SET","k","v"],["HSET","h","f","v"],["RPUSH","l","v"],["SADD","s","v"],["ZADD","z",1,"v"],["XADD","x","1-1","f","v"]]`)
			if strings.Contains(filled.Body.String(), "error") {
				t.Fatal(filled.Body)
			}
			if got := post(b, "/", x.command).Body.String(); !strings.Contains(got, x.want) {
				t.Errorf("got %s, want %s", got, x.want)
			}
			if got := post(a, "/", `["DBSIZE"]`).Body.String(); got != `{"result":6}` {
				t.Errorf("keys of the other store: got %s, want 6", got)
			}
		})
	}
}

func TestAStoreWithAPrefixShowsPlainKeys(t *testing.T) {
	t.Parallel()
	a, _ := shared(t)
	for _, x := range []struct{ command, want string }{
		{`["MSET","k1","v1","k2","v2"]`, `{"result":"OK"}`},
		{`["MGET","k1","k2"]`, `{"result":["v1","v2"]}`},
		{`["KEYS","k[1]"]`, `{"result":["k1"]}`},
		{`["SCAN",0,"MATCH","*2","COUNT",1000]`, `{"result":["0",["k2"]]}`},
		{`["SCAN",0,"COUNT",1000,"TYPE","hash"]`, `{"result":["0",[]]}`},
		{`["XADD","x","1-1","f","v"]`, `{"result":"1-1"}`},
		{`["XREAD","COUNT",1,"STREAMS","x","0"]`, `{"result":[["x",[["1-1",["f","v"]]]]]}`},
		{`["XGROUP","CREATE","x","streams","0"]`, `{"result":"OK"}`},
		{`["XREADGROUP","GROUP","streams","c","STREAMS","x",">"]`, `{"result":[["x",[["1-1",["f","v"]]]]]}`},
		{`["RPUSH","l","a"]`, `{"result":1}`},
		{`["LMPOP",2,"none","l","LEFT"]`, `{"result":["l",["a"]]}`},
		{`["ZADD","z",1,"m"]`, `{"result":1}`},
		{`["ZUNIONSTORE","z2",2,"z","none","WEIGHTS",2,1]`, `{"result":1}`},
		{`["ZSCORE","z2","m"]`, `{"result":"2"}`},
		{`["EVAL","return redis.call('GET', KEYS[1] .. ARGV[1])",1,"k",2]`, `{"result":"v2"}`},
		{`["EVAL","return 1",99,"k"]`, `{"error":"ERR Number of keys can't be greater than number of args"}`},
		{`["FLUSHDB"]`, `{"result":"OK"}`},
		{`["DBSIZE"]`, `{"result":0}`},
	} {
		if got := post(a, "/", x.command).Body.String(); got != x.want {
			t.Errorf("%s: got %s, want %s", x.command, got, x.want)
		}
	}
	if got := post(a, "/multi-exec", `[["SET","t","1"],["INCR","t"]]`).Body.String(); got != `[{"result":"OK"},{"result":2}]` {
		t.Errorf("transaction: %s", got)
	}
	if got := post(a, "/multi-exec", `[["SET","t","1"],["FLUSHALL"]]`).Body.String(); !strings.Contains(got, "EXECABORT") {
		t.Errorf("transaction with FLUSHALL: %s", got)
	}
}

func TestResetRemovesOnlyThePrefix(t *testing.T) {
	t.Parallel()
	a, b := shared(t)
	for _, s := range []*kv.KV{a, b} {
		post(s, "/", `["SET","k","v"]`)
	}
	if err := a.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := post(a, "/", `["GET","k"]`).Body.String(); got != `{"result":null}` {
		t.Errorf("after the reset: got %s, want null", got)
	}
	if got := post(b, "/", `["GET","k"]`).Body.String(); got != `{"result":"v"}` {
		t.Errorf("the other store: got %s, want v", got)
	}
}

func TestADeadServerIs503(t *testing.T) {
	t.Parallel()
	store := newKV(t, kv.Config{Token: "secret", URL: "unix:///nowhere/redis.sock", Prefix: "p:"})
	for path, body := range map[string]string{"/": `["GET","k"]`, "/pipeline": `[["GET","k"],["NOPE"]]`, "/multi-exec": `[["SET","k","v"]]`} {
		if w := post(store, path, body); w.Code != 503 || !strings.Contains(w.Body.String(), "the key-value server at /nowhere/redis.sock does not answer") {
			t.Errorf("%s: got %d %s", path, w.Code, w.Body)
		}
	}
	if err := store.Ping(t.Context()); err == nil {
		t.Error("Ping: got no error, want one")
	}
	if err := store.Reset(t.Context()); err == nil {
		t.Error("Reset: got no error, want one")
	}
}
