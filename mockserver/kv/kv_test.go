package kv_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/kv"
)

// exchanges are successive requests and their responses.
var exchanges = []struct {
	path, body string
	header     []string
	status     int
	want       string
}{
	{"/", `["SET", "k", "v"]`, nil, 200, `{"result":"OK"}`},
	{"/", `["GET", "k"]`, nil, 200, `{"result":"v"}`},
	{"/", `["GET", "nothing"]`, nil, 200, `{"result":null}`},
	{"/", `["ping"]`, nil, 200, `{"result":"PONG"}`},
	{"/", `["SET", "big", 1767225600123]`, nil, 200, `{"result":"OK"}`},
	{"/", `["INCRBY", "big", 9007199254740993]`, nil, 200, `{"result":9008966480341116}`},
	{"/", `["MSET", "a", true, "b", null, "c", 1.50]`, nil, 200, `{"result":"OK"}`},
	{"/", `["MGET", "a", "b", "c", "d"]`, nil, 200, `{"result":["true","null","1.50",null]}`},
	{"/", `["HSET", "h", "f", "ü<"]`, nil, 200, `{"result":1}`},
	{"/", `["HGETALL", "h"]`, nil, 200, `{"result":["f","ü<"]}`},
	{"/", `["HGETALL", "none"]`, nil, 200, `{"result":[]}`},
	{"/", `["INCR", "k"]`, nil, 400, `{"error":"ERR value is not an integer or out of range"}`},
	{"/pipeline", `[["SET", "p", "1"], ["INCR", "k"], ["GET", "none"], ["INCR", "p"]]`, nil, 200, `[{"result":"OK"},{"error":"ERR value is not an integer or out of range"},{"result":null},{"result":2}]`},
	{"/pipeline", `[["MULTI"], ["GET", "p"]]`, nil, 200, `[{"error":"ERR Command is not available: 'MULTI'"},{"result":"2"}]`},
	{"/multi-exec", `[["INCR", "m"], ["GET", "k"], ["INCR", "k"]]`, nil, 200, `[{"result":1},{"result":"v"},{"error":"ERR value is not an integer or out of range"}]`},
	{"/", `["GET", "m"]`, nil, 200, `{"result":"1"}`},
	{"/", `["GET", "k"]`, []string{"Svc-Encoding", "base64"}, 200, `{"result":"dg=="}`},
	{"/", `["SET", "ok", "OK"]`, []string{"Svc-Encoding", "base64"}, 200, `{"result":"OK"}`},
	{"/", `["INCR", "k"]`, []string{"Svc-Encoding", "base64"}, 400, `{"error":"ERR value is not an integer or out of range"}`},
	{"/pipeline", `[["MGET", "k", "none"], ["INCR", "p"]]`, []string{"Svc-Encoding", "base64"}, 200, `[{"result":["dg==",null]},{"result":3}]`},
	{"/", `["MGET", "k", "none"]`, []string{"Svc-Response-Format", "resp2"}, 200, "*2\r\n$1\r\nv\r\n$-1\r\n"},
	{"/", `["INCR", "k"]`, []string{"Svc-Response-Format", "resp2"}, 400, "-ERR value is not an integer or out of range\r\n"},
	{"/pipeline", `[["SET", "k", "v"], ["INCR", "p"]]`, []string{"Svc-Response-Format", "resp2"}, 200, "*2\r\n+OK\r\n:4\r\n"},
	{"/", `["GET", "k"]`, []string{"Svc-Response-Format", "xml"}, 400, `{"error":"ERR response format \"xml\": must be json or resp2"}`},
	{"/", `["GET", "k"]`, []string{"Svc-Response-Format", "resp2", "Svc-Encoding", "base64"}, 400, `{"error":"ERR response format \"resp2\" does not go together with the encoding base64"}`},
	{"/set/path/x%2Fy%20z?EX=100&NX", "", nil, 200, `{"result":"OK"}`},
	{"/get/path", "", nil, 200, `{"result":"x/y z"}`},
	{"/set/body", "raw\nbytes", nil, 200, `{"result":"OK"}`},
	{"/get/body", "", nil, 200, `{"result":"raw\nbytes"}`},
	{"/", `["EVALSHA", "ffffffffffffffffffffffffffffffffffffffff", 0]`, nil, 400, `{"error":"NOSCRIPT No matching script. Please use EVAL."}`},
	{"/", `["EVAL", "return {KEYS[1], ARGV[1], tonumber(ARGV[1]) + 1, false}", 1, "k", 1767225600123]`, nil, 200, `{"result":["k","1767225600123",1767225600124,null]}`},
	{"/", `["SELECT", 1]`, nil, 400, `{"error":"ERR Command is not available: 'SELECT'"}`},
	{"/", `["BLPOP", "l", 0]`, nil, 400, `{"error":"ERR Command is not available: 'BLPOP'"}`},
	{"/", `["XREAD", "block", 0, "STREAMS", "s", "0"]`, nil, 400, `{"error":"ERR Command is not available: 'XREAD'"}`},
	{"/", `[]`, nil, 400, `{"error":"ERR empty command"}`},
	{"/", `[""]`, nil, 400, `{"error":"ERR empty command"}`},
	{"/", `["GET", ["k"]]`, nil, 400, `{"error":"ERR argument 1 is an object or array: must be a string, a number, a boolean or null"}`},
	{"/", `["GET", "k"] x`, nil, 400, `{"error":"ERR body: not a command, which is a JSON array: something follows the array"}`},
	{"/", ``, nil, 400, `{"error":"ERR body: not a command, which is a JSON array: line 1, column 1: the text ends too early"}`},
	{"/pipeline", `[]`, nil, 400, `{"error":"ERR empty pipeline request"}`},
	{"/pipeline", `["GET", "k"]`, nil, 400, `{"error":"ERR body: not a command, which is a JSON array: received a string (command 0)"}`},
}

func TestExchanges(t *testing.T) {
	t.Parallel()
	store := newKV(t, kv.Config{Token: "secret", Now: newClock().Now})
	for _, x := range exchanges {
		w := post(store, x.path, x.body, x.header...)
		if w.Code != x.status || w.Body.String() != x.want {
			t.Errorf("%s %s %v:\n got %d %q\nwant %d %q", x.path, x.body, x.header, w.Code, w.Body, x.status, x.want)
		}
	}
}

func TestATransactionIsDiscardedAsAWhole(t *testing.T) {
	t.Parallel()
	store := newKV(t, kv.Config{Token: "secret", Now: newClock().Now})
	for _, body := range []string{`[["SET", "t", "1"], ["NOSUCHCOMMAND"]]`, `[["SET", "t", "1"], ["WATCH", "t"]]`, `[["SET", "t", "1"], ["GET"]]`} {
		w := post(store, "/multi-exec", body)
		if w.Code != 400 || !strings.HasPrefix(w.Body.String(), `{"error":"`) {
			t.Errorf("%s: got %d %s", body, w.Code, w.Body)
		}
	}
	if w := post(store, "/", `["EXISTS", "t"]`); w.Body.String() != `{"result":0}` {
		t.Errorf("part of it was run: %s", w.Body)
	}
}

func TestScriptsThatNameTheirLanguage(t *testing.T) {
	t.Parallel()
	const script = "#!lua flags=allow-key-locking\nreturn redis.call('INCR', KEYS[1])"
	hash := digestOf(script)
	store := newKV(t, kv.Config{Token: "secret", Now: newClock().Now})
	for _, want := range []string{`{"result":1}`, `{"result":2}`} {
		expect.Equal(t, "EVAL", send(t, store, "/", []any{"EVAL", script, 1, "n"}), want)
	}
	t.Run("the hash is that of the text as sent", func(t *testing.T) {
		t.Parallel()
		store := newKV(t, kv.Config{Token: "secret"})
		for _, step := range []struct {
			command []any
			want    string
		}{
			{[]any{"EVALSHA", hash, 1, "n"}, `{"error":"NOSCRIPT No matching script. Please use EVAL."}`},
			{[]any{"EVAL", script, 1, "n"}, `{"result":1}`},
			{[]any{"EVALSHA", hash, 1, "n"}, `{"result":2}`},
			{[]any{"EVALSHA", strings.ToUpper(hash), 1, "n"}, `{"result":3}`},
			{[]any{"SCRIPT", "EXISTS", hash, "ffffffffffffffffffffffffffffffffffffffff"}, `{"result":[1,0]}`},
			{[]any{"SCRIPT", "FLUSH"}, `{"result":"OK"}`},
			{[]any{"EVALSHA", hash, 1, "n"}, `{"error":"NOSCRIPT No matching script. Please use EVAL."}`},
			{[]any{"script", "load", script}, `{"result":"` + hash + `"}`},
			{[]any{"evalsha", hash, 1, "n"}, `{"result":4}`},
		} {
			if got := send(t, store, "/", step.command); got != step.want {
				t.Errorf("%v: got %s, want %s", step.command, got, step.want)
			}
		}
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	store := newKV(t, kv.Config{Token: "secret"})
	const denied = "{\"error\":\"WRONGPASS invalid or missing auth token; `understudy env` prints the credentials\"}"
	for _, c := range []struct {
		path, body, authorization string
		status                    int
		want                      string
	}{
		{"/", `["PING"]`, "Bearer secret", 200, `{"result":"PONG"}`},
		{"/", `["PING"]`, "bearer secret", 200, `{"result":"PONG"}`},
		{"/?_token=secret", `["PING"]`, "", 200, `{"result":"PONG"}`},
		{"/set/k/v?_token=secret", "", "", 200, `{"result":"OK"}`},
		{"/", `["PING"]`, "", 401, denied},
		{"/", `["PING"]`, "Bearer wrong", 401, denied},
		{"/?_token=secret", `["PING"]`, "Bearer wrong", 401, denied},
		{"/", `["PING"]`, "Basic secret", 401, denied},
		{"/?_token=", `["PING"]`, "", 401, denied},
	} {
		w := ask(store, "POST", c.path, c.body, "Authorization", c.authorization)
		if c.authorization == "" {
			w = ask(store, "POST", c.path, c.body)
		}
		if w.Code != c.status || w.Body.String() != c.want {
			t.Errorf("%s %s %q: got %d %s, want %d %s", c.path, c.body, c.authorization, w.Code, w.Body, c.status, c.want)
		}
	}
}

func TestMethodsAndLimits(t *testing.T) {
	t.Parallel()
	store := newKV(t, kv.Config{Token: "secret"})
	for _, method := range []string{"GET", "HEAD", "PUT", "POST"} {
		if w := ask(store, method, "/ping", "", "Authorization", "Bearer secret"); w.Code != 200 {
			t.Errorf("%s: got %d %s", method, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/", "/get/k"} {
		w := ask(store, http.MethodDelete, path, "", "Authorization", "Bearer secret")
		if w.Code != 405 || w.Header().Get("Allow") == "" {
			t.Errorf("DELETE %s: got %d %s", path, w.Code, w.Body)
		}
	}
	if w := ask(store, "GET", "/pipeline", "", "Authorization", "Bearer secret"); w.Code != 405 {
		t.Errorf("GET /pipeline: got %d %s", w.Code, w.Body)
	}
	big := `["SET", "k", "` + strings.Repeat("x", 10<<20) + `"]`
	if w := post(store, "/", big); w.Code != 400 || w.Body.String() != `{"error":"ERR max request size exceeded"}` {
		t.Errorf("over the limit: got %d %.80s", w.Code, w.Body)
	}
	if w := post(store, "/", big[:10<<20-2]+`"]`); w.Body.String() != `{"result":"OK"}` {
		t.Errorf("at the limit: got %d %.80s", w.Code, w.Body)
	}
	a, b := post(store, "/", `["PING"]`).Header().Get("Svc-Sync-Token"), post(store, "/", `["PING"]`).Header().Get("Svc-Sync-Token")
	if a == "" || a == b {
		t.Errorf("sync tokens %q, %q: want two different ones", a, b)
	}
}

func TestTheClockMovesExpiryAndTime(t *testing.T) {
	t.Parallel()
	c := newClock()
	store := newKV(t, kv.Config{Token: "secret", Now: c.Now})
	want := func(body, want string) {
		t.Helper()
		if got := post(store, "/", body).Body.String(); got != `{"result":`+want+`}` {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	want(`["SET", "k", "v", "PX", 1000]`, `"OK"`)
	want(`["SET", "at", "v", "EXAT", 1767225660]`, `"OK"`)
	want(`["TIME"]`, `["1767225600","0"]`)
	c.pass(999 * time.Millisecond)
	want(`["PTTL", "k"]`, `1`)
	c.pass(time.Millisecond)
	want(`["GET", "k"]`, `null`)
	want(`["TTL", "at"]`, `59`)
	want(`["SETEX", "session", 60, "v"]`, `"OK"`)
	c.pass(5 * time.Millisecond)
	want(`["TTL", "session"]`, `60`)
	c.pass(495 * time.Millisecond)
	want(`["TTL", "session"]`, `60`)
	c.pass(time.Millisecond)
	want(`["TTL", "session"]`, `59`)
	c.pass(-501 * time.Millisecond)
	c.pass(24 * time.Hour)
	want(`["EXISTS", "k", "at"]`, `0`)
	want(`["TIME"]`, `["1767312001","0"]`)
	c.pass(-time.Hour) // a clock may be set back
	want(`["SET", "k", "v", "EX", 10]`, `"OK"`)
	c.pass(10 * time.Second)
	want(`["GET", "k"]`, `null`)
}

func TestOwnersDoNotMeet(t *testing.T) {
	t.Parallel()
	a, b := newKV(t, kv.Config{Token: "secret"}), newKV(t, kv.Config{Token: "secret"})
	post(a, "/", `["SET", "k", "v"]`)
	if got := post(b, "/", `["GET", "k"]`).Body.String(); got != `{"result":null}` {
		t.Errorf("got %s, want null", got)
	}
}

func TestAStoreThatCannotBe(t *testing.T) {
	t.Parallel()
	if _, err := kv.New(kv.Config{}); err == nil {
		t.Error("no token: accepted")
	}
	closed := newKV(t, kv.Config{Token: "secret"})
	expect.NoError(t, closed.Close())
	if w := post(closed, "/", `["PING"]`); w.Code != 503 {
		t.Errorf("a closed store: got %d %s, want 503", w.Code, w.Body)
	}
}

func FuzzRequests(f *testing.F) {
	for _, x := range exchanges {
		f.Add(x.path, x.body)
	}
	store := newKV(f, kv.Config{Token: "secret"})
	f.Fuzz(func(t *testing.T, path, body string) {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \t\r\n#") || strings.Contains(strings.ToUpper(body), "EVAL") || strings.Contains(strings.ToUpper(path), "EVAL") {
			return // no scripts: one may never end
		}
		r, err := http.NewRequest(http.MethodPost, "http://h"+path, strings.NewReader(body))
		if err != nil {
			return
		}
		w := ask(store, "POST", r.URL.RequestURI(), body, "Authorization", "Bearer secret")
		if !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q %q: %d %q", path, body, w.Code, w.Body)
		}
	})
}
