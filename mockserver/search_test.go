package mockserver_test

import (
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestSearchIndexes(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.UnixMilli(5000), Accounts: []mockserver.Account{{ID: "one", Token: "t1", Password: "p:1"}, {ID: "two", Token: "t2", Password: "p2"}}})
	c, _, _ := manager(t, u)
	one, two := basic("one@understudy.test", "p:1"), basic("two@understudy.test", "p2")

	if a := c.do("GET", "/v2/search", "", one).ok(); string(a.raw) != "[]" {
		t.Errorf("%s", a.raw)
	}
	made := c.do("POST", "/v2/search", `{"name":"docs","region":"eu-west-1","type":"free"}`, one).ok()
	id, path := made.text("id"), "/v2/search/"+made.text("id")
	expect.True(t, "id that is not empty", id != "")
	expect.Equal(t, "made.text(\"name\")", made.text("name"), "docs")
	expect.Equal(t, "made.text(\"region\")", made.text("region"), "eu-west-1")
	expect.Equal(t, "made.text(\"type\")", made.text("type"), "free")
	expect.Equal(t, "made.number(\"createdAt\")", made.number("createdAt"), 5000)
	expect.Equal(t, "made.number(\"creation_time\")", made.number("creation_time"), 5)
	expect.True(t, "made.text(\"token\") != \"\"", made.text("token") != "")
	expect.True(t, "made.text(\"read_only_token\") != \"\"", made.text("read_only_token") != "")
	if a := c.do("GET", path, "", one).ok(); string(a.raw) != string(made.raw) {
		t.Errorf("got %s, made %s", a.raw, made.raw)
	}
	if a := c.do("GET", "/v2/search", "", one).ok(); len(a.list()) != 1 || a.text(0, "id") != id {
		t.Errorf("%s", a.raw)
	}
	c.do("POST", path+"/rename", `{"name":"papers"}`, one).ok()
	c.do("POST", path+"/reset-password", "", one).ok()
	if a := c.do("GET", path, "", one).ok(); a.text("name") != "papers" || a.text("token") == made.text("token") {
		t.Errorf("%s", a.raw)
	}

	c.do("DELETE", path, "", two).refused(404, id)
	if a := c.do("DELETE", path, "", one).ok(); a.status != 200 || string(a.raw) != `"OK"` {
		t.Errorf("%d %s", a.status, a.raw)
	}
	c.do("DELETE", path, "", one).refused(404, id)
	c.do("GET", path, "", one).refused(404, id)
	c.do("POST", path+"/rename", `{"name":"x"}`, one).refused(404, id)
	c.do("DELETE", "/v2/search/unknown", "", one).refused(404, "unknown")
	c.do("DELETE", path, "", "Authorization:").refused(401)
	if a := c.do("DELETE", path, "", basic("one@understudy.test", "p")); a.status != 401 || a.header.Get("WWW-Authenticate") != "Basic" {
		t.Errorf("%d %v", a.status, a.header)
	}

	c.do("POST", "/v2/search", `{"name":"docs","region":"moon","type":"free"}`, one).refused(400, "region", "moon", "eu-west-1")
	c.do("POST", "/v2/search", `{"name":"docs","region":"eu-west-1","type":"gold"}`, one).refused(400, "type", "gold", "payg")
	c.do("POST", "/v2/search", `{"region":"eu-west-1","type":"free"}`, one).refused(400, "name")
	c.do("POST", "/v2/search", `{`, one).refused(400, "JSON")
}
