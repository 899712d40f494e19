package kv_test

import (
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/mockserver/kv"
)

// compositions are sequences of requests and their replies, for commands that the
// library of the embedded store lacks.
var compositions = []struct {
	name  string
	steps [][2]string
}{
	{"a document is written and read by paths", [][2]string{
		{`["JSON.SET","d","$","{\"a\":2,\"b\":3,\"nested\":{\"a\":4,\"b\":null}}"]`, `"OK"`},
		{`["JSON.GET","d","$..b"]`, `"[null,3]"`},
		{`["JSON.GET","d","$..a","$..b"]`, `"{\"$..a\":[4,2],\"$..b\":[null,3]}"`},
		{`["JSON.GET","d",".nested.a"]`, `"4"`},
		{`["JSON.GET","none"]`, `null`},
	}},
	{"a path that ends in a new name adds it", [][2]string{
		{`["JSON.SET","n","$","{\"f\":{},\"g\":{}}"]`, `"OK"`},
		{`["JSON.SET","n","$.f.x","1"]`, `"OK"`},
		{`["JSON.SET","n","$.h.x","1"]`, `null`},
		{`["JSON.GET","n","$"]`, `"[{\"f\":{\"x\":1},\"g\":{}}]"`},
	}},
	{"NX and XX are conditions, and a new document must be at the root", [][2]string{
		{`["JSON.SET","c","$","1","XX"]`, `null`},
		{`["JSON.SET","c","$.a","1"]`, `"ERR new objects must be created at the root"`},
		{`["JSON.SET","c","$","1","NX"]`, `"OK"`},
		{`["JSON.SET","c","$","2","NX"]`, `null`},
	}},
	{"lists grow, shrink and are searched", [][2]string{
		{`["JSON.SET","l","$","{\"a\":[80,90,100]}"]`, `"OK"`},
		{`["JSON.ARRPOP","l","$.a",0]`, `["80"]`},
		{`["JSON.ARRPOP","l"]`, `null`},
		{`["JSON.ARRAPPEND","l","$.a","\"x\"","1"]`, `[4]`},
		{`["JSON.ARRINSERT","l","$.a",-1,"true"]`, `[5]`},
		{`["JSON.ARRINDEX","l","$.a","true"]`, `[3]`},
		{`["JSON.ARRINDEX","l","$.a","7"]`, `[-1]`},
		{`["JSON.ARRTRIM","l","$.a",1,3]`, `[3]`},
		{`["JSON.ARRLEN","l","$.*"]`, `[3]`},
		{`["JSON.GET","l","$.a"]`, `"[[100,\"x\",true]]"`},
	}},
	{"numbers, texts and truth values change", [][2]string{
		{`["JSON.SET","v","$","{\"a\":\"b\",\"l\":[{\"a\":2},{\"a\":5.5}],\"t\":true}"]`, `"OK"`},
		{`["JSON.NUMINCRBY","v","$..a",2]`, `"[4,7.5,null]"`},
		{`["JSON.NUMMULTBY","v","$.l[0].a",2]`, `"[8]"`},
		{`["JSON.STRAPPEND","v","$.a","\"cd\""]`, `[3]`},
		{`["JSON.STRLEN","v","$.a"]`, `[3]`},
		{`["JSON.TOGGLE","v","$.t"]`, `[0]`},
		{`["JSON.TYPE","v","$.*"]`, `["string","array","boolean"]`},
		{`["JSON.CLEAR","v","$.*"]`, `1`},
	}},
	{"a merge follows RFC 7396", [][2]string{
		{`["JSON.SET","m","$","{\"f1\":{\"a\":1},\"f2\":{\"a\":2}}"]`, `"OK"`},
		{`["JSON.MERGE","m","$","{\"f1\":null,\"f2\":{\"b\":4},\"f3\":[2]}"]`, `"OK"`},
		{`["JSON.GET","m"]`, `"{\"f2\":{\"a\":2,\"b\":4},\"f3\":[2]}"`},
	}},
	{"values are deleted, inner and outer ones", [][2]string{
		{`["JSON.SET","x","$","[[1,2],[3],4]"]`, `"OK"`},
		{`["JSON.DEL","x","$[0:2]"]`, `2`},
		{`["JSON.GET","x"]`, `"[4]"`},
		{`["JSON.DEL","x","$..*"]`, `1`},
		{`["JSON.DEL","x"]`, `1`},
		{`["EXISTS","x"]`, `0`},
	}},
	{"several documents at once", [][2]string{
		{`["JSON.MSET","m1","$","{\"a\":1}","m2","$","{\"a\":2}"]`, `"OK"`},
		{`["JSON.MGET","m1","m2","m3","$.a"]`, `["[1]","[2]",null]`},
		{`["JSON.OBJKEYS","m1"]`, `["a"]`},
		{`["JSON.RESP","m1"]`, `["{","a",1]`},
	}},
	{"a key of another type is not a document", [][2]string{
		{`["HSET","kind","f","v"]`, `1`},
		{`["JSON.GET","kind"]`, `"WRONGTYPE Operation against a key holding the wrong kind of value"`},
		{`["JSON.SET","kind2","$","{"]`, `"ERR invalid JSON: line 1, column 2: the text ends too early"`},
	}},
	{"a document keeps its time to live", [][2]string{
		{`["JSON.SET","e","$","{\"a\":1}"]`, `"OK"`},
		{`["EXPIRE","e",100]`, `1`},
		{`["JSON.SET","e","$.a","2"]`, `"OK"`},
		{`["TTL","e"]`, `100`},
	}},
	{"fields of a hash expire", [][2]string{
		{`["HSET","h","a","1","b","2"]`, `2`},
		{`["HPEXPIRE","h",1500,"FIELDS",2,"a","c"]`, `[1,-2]`},
		{`["HEXPIRE","h",9,"NX","FIELDS",2,"a","b"]`, `[0,1]`},
		{`["HEXPIRE","h",5,"GT","FIELDS",1,"b"]`, `[0]`},
		{`["HEXPIREAT","h",1767225607,"FIELDS",1,"b"]`, `[1]`},
		{`["HEXPIRETIME","h","FIELDS",3,"b","a","c"]`, `[1767225607,1767225602,-2]`},
		{`["HPEXPIRETIME","h","FIELDS",1,"a"]`, `[1767225601500]`},
		{`["HPEXPIREAT","h",1767225600000,"FIELDS",1,"a"]`, `[2]`},
		{`["HEXPIRE","h",1,"FIELDS",2,"b"]`, "\"ERR Parameter `numFields` should match the number of arguments\""},
	}},
	{"fields are read and deleted, or expire", [][2]string{
		{`["HSET","g","a","1","b","2"]`, `2`},
		{`["HGETEX","g","PX",500,"FIELDS",2,"a","c"]`, `["1",null]`},
		{`["HPTTL","g","FIELDS",1,"a"]`, `[500]`},
		{`["HGETEX","g","PERSIST","FIELDS",1,"a"]`, `["1"]`},
		{`["HPTTL","g","FIELDS",1,"a"]`, `[-1]`},
		{`["HGETDEL","g","FIELDS",2,"a","b"]`, `["1","2"]`},
		{`["EXISTS","g"]`, `0`},
	}},
	{"bits of a string are integers", [][2]string{
		{`["BITFIELD","b","SET","u8","#0",255,"INCRBY","u8","#0",10]`, `[0,9]`},
		{`["BITFIELD","b","OVERFLOW","SAT","INCRBY","i8",100,200,"OVERFLOW","FAIL","INCRBY","i8",100,1]`, `[127,null]`},
		{`["BITFIELD","b","SET","i5",3,-3,"GET","i5",3,"GET","u4",4]`, `[9,-3,13]`},
		{`["BITFIELD","b","GET","u64",0]`, `"ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."`},
	}},
	{"positions have all their digits", [][2]string{
		{`["GEOADD","s","CH",13.361389,38.115556,"Palermo",15.087269,37.502669,"Catania"]`, `2`},
		{`["GEOADD","s","NX",1,1,"Palermo"]`, `0`},
		{`["GEOPOS","s","Palermo","x"]`, `[["13.361389338970184","38.115556395496299"],null]`},
		{`["GEODIST","s","Palermo","Catania"]`, `"166274.1516"`},
		{`["GEODIST","s","Palermo","Catania","ft"]`, `"545518.8700"`},
		{`["GEOHASH","s","Palermo"]`, `["sqc8b49rny0"]`},
		{`["GEOSEARCHSTORE","near","s","FROMMEMBER","Palermo","BYRADIUS",10,"km","ASC"]`, `1`},
		{`["ZRANGE","near",0,-1,"WITHSCORES"]`, `["Palermo","3479099956230698"]`},
	}},
	{"a difference is stored", [][2]string{
		{`["ZADD","z1",1,"a",3,"b"]`, `2`},
		{`["ZADD","z2",9,"a"]`, `1`},
		{`["ZDIFFSTORE","z3",2,"z1","z2"]`, `1`},
		{`["ZRANGE","z3",0,-1,"WITHSCORES"]`, `["b","3"]`},
	}},
	{"entries are acknowledged and deleted", [][2]string{
		{`["XADD","t","MAXLEN","~",10,"LIMIT",5,"1-1","f","v"]`, `"1-1"`},
		{`["XADD","t","1-2","f","v"]`, `"1-2"`},
		{`["XGROUP","CREATE","t","g","0"]`, `"OK"`},
		{`["XREADGROUP","GROUP","g","c","COUNT",1,"STREAMS","t",">"]`, `[["t",[["1-1",["f","v"]]]]]`},
		{`["XDELEX","t","ACKED","IDS",1,"1-1"]`, `[2]`},
		{`["XGROUP","SETID","t","g","$"]`, `"ERR XGROUP SETID: the embedded store moves only groups without pending entries"`},
		{`["XACKDEL","t","g","DELREF","IDS",2,"1-1","9-9"]`, `[1,-1]`},
		{`["XGROUP","SETID","t","g","0"]`, `"OK"`},
		{`["XDELEX","t","IDS",2,"1-2","9-9"]`, `[1,-1]`},
	}},
	{"a scan shows types", [][2]string{
		{`["SADD","only:1","x"]`, `1`},
		{`["SCAN",0,"MATCH","only:*","WITHTYPE"]`, `["0",["only:1","set"]]`},
	}},
	{"too few arguments are refused", [][2]string{
		{`["JSON.SET","k","$"]`, `"ERR wrong number of arguments for 'json.set' command"`},
		{`["HPEXPIRE","k",1]`, `"ERR wrong number of arguments for 'hpexpire' command"`},
	}},
}

func TestComposedCommands(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // 1767225600
	for _, c := range compositions {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := newKV(t, kv.Config{Token: "secret", Now: func() time.Time { return now }})
			for _, step := range c.steps {
				body := post(store, "/", step[0]).Body.String()
				if got := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(body, `{"result":`), `{"error":`), "}"); got != step[1] {
					t.Errorf("%s: got %s, want %s", step[0], got, step[1])
				}
			}
		})
	}
	t.Run("a transaction may contain them", func(t *testing.T) {
		t.Parallel()
		store := newKV(t, kv.Config{Token: "secret"})
		got := post(store, "/multi-exec", `[["JSON.SET","d","$","1"],["JSON.GET","d"]]`).Body.String()
		if want := `[{"result":"OK"},{"result":"1"}]`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("a script may call them", func(t *testing.T) {
		t.Parallel()
		store := newKV(t, kv.Config{Token: "secret"})
		got := post(store, "/", `["EVAL","redis.call('JSON.SET',KEYS[1],'$','[1]') return redis.call('JSON.ARRLEN',KEYS[1],'$')",1,"d"]`).Body.String()
		if want := `{"result":[1]}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestDocumentBounds sends commands that would need much memory or time.
func TestDocumentBounds(t *testing.T) {
	t.Parallel()
	wide := "[" + strings.Repeat("0,", 200_000) + "0]"
	for name, commands := range map[string][][]any{
		"a large document":        {{"JSON.SET", "d", "$", `"` + strings.Repeat("x", 1<<20) + `"`}},
		"a deep document":         {{"JSON.SET", "d", "$", strings.Repeat("[", 200) + strings.Repeat("]", 200)}},
		"a very deep document":    {{"JSON.SET", "d", "$", strings.Repeat("[", 500_000)}},
		"a document that grows":   {{"JSON.SET", "d", "$", `["` + strings.Repeat("x", 1<<19) + `"]`}, {"JSON.ARRAPPEND", "d", "$", `"` + strings.Repeat("x", 1<<19) + `"`}},
		"many matches":            {{"JSON.SET", "d", "$", wide}, {"JSON.TYPE", "d", "$[*]"}},
		"a value for many places": {{"JSON.SET", "d", "$", "[" + strings.Repeat("0,", 9_000) + "0]"}, {"JSON.SET", "d", "$[*]", `"` + strings.Repeat("x", 1000) + `"`}},
		"two descents":            {{"JSON.SET", "d", "$", "1"}, {"JSON.GET", "d", "$..*..*"}},
		"a union of wildcards":    {{"JSON.SET", "d", "$", "[1]"}, {"JSON.GET", "d", "$[*,*]"}},
		"a filter with the root":  {{"JSON.SET", "d", "$", "[1]"}, {"JSON.GET", "d", "$[?(@ == $[0])]"}},
		"a long path":             {{"JSON.SET", "d", "$", "[1]"}, {"JSON.GET", "d", "$" + strings.Repeat(".a", 1000)}},
		"one path many times":     {{"JSON.SET", "d", "$", `"` + strings.Repeat("x", 1<<19) + `"`}, append([]any{"JSON.GET", "d"}, repeated("$", "$", 99)...)},
		"a bit at a large offset": {{"BITFIELD", "b", "SET", "u8", "100000000000", 1}},
		"a number that overflows": {{"JSON.SET", "d", "$", "1e308"}, {"JSON.NUMMULTBY", "d", "$", "1e308"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newKV(t, kv.Config{Token: "secret"})
			var last string
			for _, command := range commands {
				last = send(t, store, "/", command)
			}
			if !strings.HasPrefix(last, `{"error":"ERR`) {
				t.Errorf("got %.100s, want a refusal", last)
			}
			if got := post(store, "/", `["PING"]`).Body.String(); got != `{"result":"PONG"}` {
				t.Errorf("afterwards: got %s", got)
			}
		})
	}
}
