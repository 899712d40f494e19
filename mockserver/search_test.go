package mockserver_test

import (
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestSearchIndexes(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.UnixMilli(5000), Accounts: []mockserver.Account{{ID: "one", Token: "t1", Password: "p:1"}, {ID: "two", Token: "t2", Password: "p2"}}})
	c, _, _ := manager(t, u)
	one, two := basic("one@understudy.test", "p:1"), basic("two@understudy.test", "p2")

	expect.Equal(t, "the list before the first index", string(c.do("GET", "/v2/search", "", one).ok().raw), "[]")
	made := c.do("POST", "/v2/search", `{"name":"docs","region":"eu-west-1","type":"free"}`, one).ok()
	id, path := made.text("id"), "/v2/search/"+made.text("id")
	expect.True(t, "an id that is not empty", id != "")
	expect.Equal(t, "name", made.text("name"), "docs")
	expect.Equal(t, "region", made.text("region"), "eu-west-1")
	expect.Equal(t, "type", made.text("type"), "free")
	expect.Equal(t, "createdAt", made.number("createdAt"), 5000)
	expect.Equal(t, "creation_time", made.number("creation_time"), 5)
	expect.True(t, "a token", made.text("token") != "")
	expect.True(t, "a read_only_token", made.text("read_only_token") != "")
	expect.Equal(t, "the index", string(c.do("GET", path, "", one).ok().raw), string(made.raw))
	a := c.do("GET", "/v2/search", "", one).ok()
	if expect.Equal(t, "number of indexes", len(a.list()), 1) {
		expect.Equal(t, "id of the index in the list", a.text(0, "id"), id)
	}
	c.do("POST", path+"/rename", `{"name":"papers"}`, one).ok()
	c.do("POST", path+"/reset-password", "", one).ok()
	a = c.do("GET", path, "", one).ok()
	expect.Equal(t, "name after the change", a.text("name"), "papers")
	expect.True(t, "another token after the reset", a.text("token") != made.text("token"))

	c.do("DELETE", path, "", two).refused(404, id)
	a = c.do("DELETE", path, "", one).ok()
	expect.Equal(t, "status of the deletion", a.status, 200)
	expect.Equal(t, "body of the deletion", string(a.raw), `"OK"`)
	c.do("DELETE", path, "", one).refused(404, id)
	c.do("GET", path, "", one).refused(404, id)
	c.do("POST", path+"/rename", `{"name":"x"}`, one).refused(404, id)
	c.do("DELETE", "/v2/search/unknown", "", one).refused(404, "unknown")
	c.do("DELETE", path, "", "Authorization:").refused(401)
	a = c.do("DELETE", path, "", basic("one@understudy.test", "p"))
	expect.Equal(t, "status with a wrong password", a.status, 401)
	expect.Equal(t, "header WWW-Authenticate", a.header.Get("WWW-Authenticate"), "Basic")

	c.do("POST", "/v2/search", `{"name":"docs","region":"moon","type":"free"}`, one).refused(400, "region", "moon", "eu-west-1")
	c.do("POST", "/v2/search", `{"name":"docs","region":"eu-west-1","type":"gold"}`, one).refused(400, "type", "gold", "payg")
	c.do("POST", "/v2/search", `{"region":"eu-west-1","type":"free"}`, one).refused(400, "name")
	c.do("POST", "/v2/search", `{`, one).refused(400, "JSON")
}
