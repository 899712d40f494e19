package mockserver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/ratelimit"
)

func TestKeyValueStore(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	c.url, c.token = u.KVURL(), environment(u)["UNDERSTUDY_KV_TOKEN"]
	expect.Equal(t, "result of SET", c.do("POST", "", `["SET","a",1,"EX",10]`).ok().text("result"), "OK")
	expect.Equal(t, "result of GET", c.do("GET", "/get/a", "").ok().text("result"), "1")
	pipeline := c.do("POST", "/pipeline", `[["INCR","a"],["NOPE"],["SET","big",1795230237001123]]`).ok()
	expect.Equal(t, "first result of the pipeline", pipeline.number(0, "result"), 2)
	if pipeline.text(1, "error") == "" {
		t.Errorf("the pipeline: got %s, want an error of its second command", pipeline.raw)
	}
	expect.Equal(t, "third result of the pipeline", pipeline.text(2, "result"), "OK")
	transaction := c.do("POST", "/multi-exec", `[["INCR","a"],["GET","big"]]`).ok()
	expect.Equal(t, "first result of the transaction", transaction.number(0, "result"), 3)
	expect.Equal(t, "second result of the transaction", transaction.text(1, "result"), "1795230237001123")
	expect.Equal(t, "result of SET with a body", c.do("POST", "/set/text?EX=100", "a body").ok().text("result"), "OK")
	expect.Equal(t, "value of that body", c.do("GET", "/get/text", "").text("result"), "a body")
	u.Advance(10*time.Second - time.Millisecond)
	if a := c.do("GET", "/exists/a", "").ok(); a.number("result") != 1 {
		t.Errorf("a millisecond before it expires: got %s, want the key to exist", a.raw)
	}
	u.Advance(time.Millisecond)
	if a := c.do("GET", "/get/a", "").ok(); a.get("result") != nil {
		t.Errorf("when it expires: got %s, want no result", a.raw)
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
	expect.Nil(expect.Now(t), "error of the reset", err)
	expect.Nil(expect.Now(t), "error of closing the answer", response.Body.Close())
	expect.Equal(expect.Now(t), "status of the reset", response.StatusCode, http.StatusOK)
	if a := c.do("GET", "/get/a", "").ok(); a.get("result") != nil {
		t.Errorf("after a reset: got %s, want no result", a.raw)
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
			expect.NoError(t, err)
			plugin, err := ratelimit.New(limit)
			expect.NoError(t, err)
			app := plugin(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			for i, want := range []int{200, 429, 429} {
				w := httptest.NewRecorder()
				if app.ServeHTTP(w, httptest.NewRequest("GET", "/", nil)); w.Code != want {
					t.Errorf("request %d: status: got %d, want %d", i, w.Code, want)
				}
			}
			c := newClient(t, u)
			if a := c.do("GET", "/_understudy/limits", "").ok(); !strings.Contains(string(a.raw), `"used":1`) && !strings.Contains(string(a.raw), `"left":0`) {
				t.Errorf("counters: got %s, want one used, or none left", a.raw)
			}
			u.Advance(2 * time.Hour)
			w := httptest.NewRecorder()
			if app.ServeHTTP(w, httptest.NewRequest("GET", "/", nil)); w.Code != 200 {
				t.Errorf("status two hours later: got %d, want 200", w.Code)
			}
		})
	}
}
