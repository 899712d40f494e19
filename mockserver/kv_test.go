package mockserver_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/mockserver"
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
	if a := c.do("POST", "/pipeline", `[["INCR","a"],["NOPE"],["SET","big",1795230237001123]]`).ok(); a.number(0, "result") != 2 || a.text(1, "error") == "" || a.text(2, "result") != "OK" {
		t.Errorf("%s", a.raw)
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
	if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response, err)
	}
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
