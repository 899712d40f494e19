package mockserver_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/ratelimit"
)

func TestKeyValueStore(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	c.url, c.token = u.KVURL(), environment(u)["UNDERSTUDY_KV_TOKEN"]
	if a := c.do("POST", "", `["SET","a",1,"EX",10]`).ok(); a.text("result") != "OK" {
		t.Errorf("%s", a.raw)
	}
	if a := c.do("GET", "/get/a", "").ok(); a.text("result") != "1" {
		t.Errorf("%s", a.raw)
	}
	{
		a := c.do("POST", "/pipeline", `[["INCR","a"],["NOPE"],["SET","big",1795230237001123]]`).ok()
		expect.Equal(t, "a.number(0, \"result\")", a.number(0, "result"), 2)
		expect.True(t, "a.text(1, \"error\") != \"\"", a.text(1, "error") != "")
		expect.Equal(t, "a.text(2, \"result\")", a.text(2, "result"), "OK")
	}
	if a := c.do("POST", "/multi-exec", `[["INCR","a"],["GET","big"]]`).ok(); a.number(0, "result") != 3 || a.text(1, "result") != "1795230237001123" {
		t.Errorf("%s", a.raw)
	}
	if a := c.do("POST", "/set/text?EX=100", "a body").ok(); a.text("result") != "OK" || c.do("GET", "/get/text", "").text("result") != "a body" {
		t.Errorf("%s", a.raw)
	}
	u.Advance(10*time.Second - time.Millisecond)
	if a := c.do("GET", "/exists/a", "").ok(); a.number("result") != 1 {
		t.Errorf("gone too early: %s", a.raw)
	}
	u.Advance(time.Millisecond)
	if a := c.do("GET", "/get/a", "").ok(); a.get("result") != nil {
		t.Errorf("it outlived the clock: %s", a.raw)
	}
	c.do("GET", "/get/text", "", "Authorization: Bearer "+u.Token()).refused(401, "WRONGPASS")
	c.do("GET", "/get/text", "", "Authorization:").refused(401, "WRONGPASS")
	c.do("GET", "/get/text?_token="+c.token, "", "Authorization:").ok()
	c.do("POST", "", `{"x":1}`).refused(400, "JSON array")
	c.do("DELETE", "/get/a", "").refused(405, "GET, OPTIONS, POST, PUT")
}

func TestKeyValueStoreForgets(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	c.url, c.token = u.KVURL(), environment(u)["UNDERSTUDY_KV_TOKEN"]
	c.do("POST", "", `["SET","a","1"]`).ok()
	response, err := http.Post(u.URL()+"/_understudy/reset", "", nil)
	expect.Nil(expect.Now(t), "error", err)
	expect.True(expect.Now(t), "response.Body.Close() == nil", response.Body.Close() == nil)
	expect.Equal(expect.Now(t), "response.StatusCode", response.StatusCode, http.StatusOK)
	if a := c.do("GET", "/get/a", "").ok(); a.get("result") != nil {
		t.Errorf("a reset left %s", a.raw)
	}
}

func TestKeyValueServerThatIsNone(t *testing.T) {
	t.Parallel()
	if s, err := mockserver.Run(mockserver.Config{KVURL: "ftp://127.0.0.1"}); err == nil {
		_ = s.Close()
		t.Error("an ftp server was taken for a key-value store")
	}
}

func TestPluginCountsByTheTimeOfTheServer(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"fixed-window", "sliding-window", "token-bucket"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			limit, err := ratelimit.Parse([]byte(`{"token":"` + u.KVToken() + `","url":"` + u.KVURL() + `","strategy":[{"methods":["ALL"],"path":"*","identifierSource":"ip",
				"limiter":{"algorithm":"` + algorithm + `","tokens":1,"window":"1h"}}]}`))
			if err != nil {
				t.Fatal(err)
			}
			plugin, err := ratelimit.New(limit)
			if err != nil {
				t.Fatal(err)
			}
			app := plugin(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			for i, want := range []int{200, 429, 429} {
				w := httptest.NewRecorder()
				if app.ServeHTTP(w, httptest.NewRequest("GET", "/", nil)); w.Code != want {
					t.Errorf("request %d: status %d, want %d", i, w.Code, want)
				}
			}
			c := newClient(t, u)
			if a := c.do("GET", "/_understudy/limits", "").ok(); a.number("limits", 0, "left") != 0 {
				t.Errorf("listed as %s", a.raw)
			}
			u.Advance(2 * time.Hour)
			if a := c.do("GET", "/_understudy/limits", "").ok(); a.number("limits", 0, "left") != 1 {
				t.Errorf("two hours later listed as %s", a.raw)
			}
			w := httptest.NewRecorder()
			if app.ServeHTTP(w, httptest.NewRequest("GET", "/", nil)); w.Code != 200 {
				t.Errorf("two hours later: status %d", w.Code)
			}
		})
	}
}

func TestKeyValueServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	u := mockserver.RunT(t, mockserver.Config{KVURL: "redis://user:hidden@127.0.0.1:1", Log: slog.New(slog.NewTextHandler(&log, nil))})
	text := log.String()
	expect.Contains(t, "text", text, "key-value store unreachable")
	expect.Contains(t, "text", text, "127.0.0.1:1")
	expect.Lacks(t, "text", text, "hidden")
	c := newClient(t, u)
	c.do("POST", "/_understudy/reset", "").refused(503, "key-value server at 127.0.0.1:1 does not answer")
	c.url, c.token = u.KVURL(), u.KVToken()
	c.do("GET", "/get/a", "").refused(503, "key-value server at 127.0.0.1:1 does not answer")
	c.do("POST", "/pipeline", `[["GET","a"]]`).refused(503, "key-value server at 127.0.0.1:1 does not answer")
}
