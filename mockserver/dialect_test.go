package mockserver_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// auto is a server that speaks all dialects, and one of them that is not neutral.
func auto(t *testing.T, cfg ...mockserver.Config) (*mockserver.TestServer, *spec.Dialect) {
	t.Helper()
	return mockserver.RunT(t, cfg...), dialect(t, "upstash")
}

func allEnv(s *mockserver.Server) map[string]string {
	out := map[string]string{}
	for _, v := range s.Env() {
		out[v.Name] = v.Value
	}
	return out
}

// signedBy reports whether a delivery is signed with a key.
func signedBy(d mockserver.Delivery, header, key string) bool {
	_, err := jwt.Parse(d.Request.Header.Get(header), func(*jwt.Token) (any, error) { return []byte(key), nil }, jwt.WithoutClaimsValidation())
	return err == nil
}

func TestEachRequestSpeaksItsDialect(t *testing.T) {
	t.Parallel()
	u, d := auto(t)
	u.Stub("https://app.test/*", 200)
	c := newClient(t, u)
	vars, svc := allEnv(u.Server), dialect(t, "svc")

	t.Run("options of both are honoured on one server", func(t *testing.T) {
		first := u.Publish("https://app.test/a", nil, "Svc-Delay: 1h", "Svc-Retries: 7", "Svc-Label: one")
		second := u.Publish("https://app.test/b", nil, d.HeaderPrefix+"Delay: 2h", d.HeaderPrefix+"Retries: 5", d.HeaderPrefix+"Flow-Control-Key: k", d.HeaderPrefix+"Flow-Control-Value: rate=1")
		m := u.Message(first)
		expect.Equal(t, "retries", m.MaxRetries, 7)
		expect.Equal(t, "delay", m.NotBefore.Time().Sub(m.CreatedAt.Time()), time.Hour)
		expect.Equal(t, "label", m.Options.Labels[0], "one")
		m = u.Message(second)
		expect.Equal(t, "retries", m.MaxRetries, 5)
		expect.Equal(t, "delay", m.NotBefore.Time().Sub(m.CreatedAt.Time()), 2*time.Hour)
		expect.Equal(t, "flow control key", m.FlowKey(), "k")
	})
	t.Run("the journal names what was refused as it was sent", func(t *testing.T) {
		for _, prefix := range []string{"Svc-", d.HeaderPrefix} {
			c.do("POST", "/v2/publish/https://app.test/c", "", prefix+"Delay: soon").refused(400, prefix+"Delay")
			expect.Contains(t, "journal", string(c.do("GET", "/_understudy/requests?refused=true&limit=1", "").raw), `"header `+prefix+"Delay: invalid value")
		}
	})
	u.Advance(3 * time.Hour)
	t.Run("a delivery speaks the dialect of its publish", func(t *testing.T) {
		for _, got := range u.Deliveries() {
			prefix, key, agent := "Svc-", svc.CurrentSigningKey, "Svc-Messaging"
			if got.URL == "https://app.test/b" {
				prefix, key, agent = d.HeaderPrefix, d.CurrentSigningKey, d.UserAgent
			}
			expect.Equal(t, "header Message-Id", got.Request.Header.Get(prefix+"Message-Id"), got.MessageID)
			expect.Equal(t, "header User-Agent", got.Request.Header.Get("User-Agent"), agent)
			expect.True(t, "a signature with the key of the dialect", signedBy(got, prefix+"Signature", key))
		}
	})
	t.Run("the development token of the dialect opens the same account", func(t *testing.T) {
		brand := *c
		brand.token = d.Token
		a := brand.do("GET", "/v2/keys", "")
		expect.Equal(t, "current key", a.text("current"), d.CurrentSigningKey)
		expect.Equal(t, "next key", a.text("next"), d.NextSigningKey)
		expect.Equal(t, "token in the environment", vars[d.Env["TOKEN"]], d.Token)
		expect.Equal(t, "current key in the environment", vars[d.Env["CURRENT_SIGNING_KEY"]], d.CurrentSigningKey)
	})
	t.Run("a request of two dialects is refused", func(t *testing.T) {
		c.do("POST", "/v2/publish/https://app.test/", "", "Svc-Delay: 1h", d.HeaderPrefix+"Retries: 1").
			refused(400, "header Svc-Delay", "dialect svc", "header "+d.HeaderPrefix+"Retries", "dialect "+d.Name)
		if a := c.do("POST", "/v2/publish/https://app.test/?"+d.QueryPrefix+"delay=1h", "", "Svc-Delay: 1h"); a.status != 400 {
			t.Errorf("in the query: got %d %s, want status 400", a.status, a.raw)
		}
	})
	t.Run("a batch speaks the dialect of its items", func(t *testing.T) {
		a := c.do("POST", "/v2/batch", `[{"destination":"https://app.test/item","headers":{"`+d.HeaderPrefix+`Delay":"5h"},"body":{"Svc-Own":1}}]`)
		u.Advance(5 * time.Hour)
		list := u.Deliveries()
		last := list[len(list)-1]
		expect.Equal(t, "status", a.status, 200)
		expect.Equal(t, "URL of the last delivery", last.URL, "https://app.test/item")
		expect.Equal(t, "header Message-Id of the last delivery", last.Request.Header.Get(d.HeaderPrefix+"Message-Id"), last.MessageID)
		expect.Equal(t, "body of the last delivery", string(last.Request.Body), `{"Svc-Own":1}`)
		c.do("POST", "/v2/batch", `[{"destination":"https://app.test/","headers":{"`+d.HeaderPrefix+`Delay":"5h"}},{"destination":"https://app.test/","headers":{"Svc-Delay":"5h"}}]`).
			refused(400, "must use the names of one dialect")
	})
	t.Run("the journal shows the names that were sent", func(t *testing.T) {
		for _, x := range u.Requests() {
			text, _ := json.Marshal(x.Request)
			switch {
			case strings.Contains(x.Path, "/item"), x.Response.Status == 400:
			case x.OperationID == "publishBatch":
				expect.Contains(t, "request of the batch", string(text), d.HeaderPrefix+"Delay")
				expect.Lacks(t, "request of the batch", string(text), "Svc-Delay")
			case strings.HasSuffix(x.Path, "/b"):
				expect.Equal(t, "header Delay of the publish", x.Request.Header.Get(d.HeaderPrefix+"Delay"), "2h")
				expect.Lacks(t, "request of the publish", string(text), "Svc-")
			}
		}
	})
}

func TestRequestWithoutNamesFollowsTheAccount(t *testing.T) {
	t.Parallel()
	u, d := auto(t)
	u.Stub("*", 200)
	speaks := func(t *testing.T, prefix string) {
		t.Helper()
		id := u.Publish("https://app.test/", nil)
		for _, got := range u.Deliveries() {
			if got.MessageID == id && got.Request.Header.Get(prefix+"Message-Id") == id {
				return
			}
		}
		t.Errorf("message %s: got no delivery with the names %s, want one", id, prefix)
	}
	environment := func(t *testing.T, d *spec.Dialect) {
		t.Helper()
		vars := allEnv(u.Server)
		expect.Equal(t, "token", vars["UNDERSTUDY_TOKEN"], d.Token)
		expect.Equal(t, "signing key", vars["UNDERSTUDY_CURRENT_SIGNING_KEY"], d.CurrentSigningKey)
	}
	t.Run("as the published clients before anybody has spoken", func(t *testing.T) {
		speaks(t, d.HeaderPrefix)
		environment(t, d)
	})
	u.Publish("https://app.test/", nil, "Svc-Retries: 0")
	t.Run("then the first that was spoken", func(t *testing.T) {
		speaks(t, "Svc-")
		environment(t, dialect(t, "svc"))
	})
	u.Publish("https://app.test/", nil, d.HeaderPrefix+"Retries: 0")
	t.Run("and no later one", func(t *testing.T) { speaks(t, "Svc-") })

	newClient(t, u).do("POST", "/_understudy/reset", "").ok()
	u.Stub("*", 200)
	t.Run("a reset keeps it", func(t *testing.T) { speaks(t, "Svc-") })

	saved, err := u.Snapshot()
	expect.NoError(t, err)
	t.Run("a snapshot keeps it", func(t *testing.T) {
		u = mockserver.RunT(t, mockserver.Config{Snapshot: bytes.NewReader(saved)})
		u.Stub("*", 200)
		speaks(t, "Svc-")
	})
}

func TestWhatIsCreatedKeepsItsDialect(t *testing.T) {
	t.Parallel()
	u, d := auto(t)
	p := d.HeaderPrefix
	u.Stub("https://*.test/*", 200)
	u.Script(mockserver.Stub{URL: "https://down.test/*", Answers: []mockserver.Answer{{Status: "500", Headers: map[string]string{p + "Answer": "x"}}}})
	u.Publish("https://first.test/", nil, "Svc-Retries: 0") // the account follows the neutral one
	u.Publish("https://down.test/", nil, p+"Retries: 0", p+"Failure-Callback: https://failed.test/", p+"Forward-Svc-Own: x")
	u.Publish("https://up.test/", nil, p+"Callback: https://called.test/")
	c := newClient(t, u)
	c.do("POST", "/v2/schedules/https://cron.test/", "", p+"Cron: 0 * * * *").ok()
	u.Settle()
	id := c.do("GET", "/v2/dlq", "").text("messages", 0, "dlqId")
	c.do("POST", "/v2/dlq/retry/"+id, "", "Svc-Delay: 2h").ok()

	saved, err := u.Snapshot()
	expect.NoError(t, err)
	restored := mockserver.RunT(t, mockserver.Config{Snapshot: bytes.NewReader(saved)})
	restored.Advance(3 * time.Hour)
	seen := map[string]int{}
	for _, got := range append(u.Deliveries(), restored.Deliveries()...) {
		if got.URL == "https://first.test/" {
			continue
		}
		seen[got.URL]++
		expect.Equal(t, got.URL+": header Message-Id", got.Request.Header.Get(p+"Message-Id"), got.MessageID)
		expect.True(t, got.URL+": a signature with the key of the dialect", signedBy(got, p+"Signature", d.CurrentSigningKey))
		switch got.URL {
		case "https://failed.test/":
			expect.Contains(t, "body of the callback", string(got.Request.Body), p+"Answer")
		case "https://down.test/":
			expect.Equal(t, "forwarded header Svc-Own", got.Request.Header.Get("Svc-Own"), "x")
		}
		expect.Lacks(t, got.URL+": body", string(got.Request.Body), "Svc-Answer")
	}
	for _, row := range c.do("GET", "/_understudy/messages", "").list("messages") {
		id, _ := row.(map[string]any)["messageId"].(string)
		expect.Lacks(t, "message of the control API", string(c.do("GET", "/_understudy/messages/"+id, "").raw), "Svc-Answer")
	}
	for _, url := range []string{"https://failed.test/", "https://called.test/", "https://cron.test/"} {
		if seen[url] == 0 {
			t.Errorf("deliveries: got %v, want one to %s", seen, url)
		}
	}
	if seen["https://down.test/"] < 2 {
		t.Errorf("deliveries: got %v, want a second one to https://down.test/, out of the DLQ", seen)
	}
}

func TestAnotherDialectIsRefused(t *testing.T) {
	t.Parallel()
	d := dialect(t, "upstash")
	for _, x := range []struct {
		name   string
		speaks *spec.Dialect
		header string
		want   []string
	}{
		{"a name of the brand on a neutral server", dialect(t, "svc"), d.HeaderPrefix + "Delay", []string{d.HeaderPrefix + "Delay belongs to the dialect " + d.Name, "it is Svc-Delay"}},
		{"a neutral name on a server of the brand", d, "Svc-Delay", []string{"Svc-Delay belongs to the dialect svc", "it is " + d.HeaderPrefix + "Delay"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, mockserver.Config{Dialect: x.speaks})
			c := newClient(t, u)
			c.do("POST", "/v2/publish/https://app.test/", "", x.header+": 1h").refused(400, x.want...)
		})
	}
}

func TestTheTokenMayHaveTheNameOfAnotherDialect(t *testing.T) {
	t.Parallel()
	d := dialect(t, "upstash")
	neutral := dialect(t, "svc")
	for _, x := range []struct {
		name, query, header string
		speaks              *spec.Dialect
		want                []string
	}{
		{"with a header of the first", d.TokenQuery + "=second", "Svc-Delay: 1h", nil,
			[]string{"header Svc-Delay belongs to the dialect svc", "query parameter " + d.TokenQuery + " to the dialect " + d.Name}},
		{"with a wrong token", d.TokenQuery + "=wrong", "Svc-Delay: 1h", nil, []string{"must use the names of one dialect"}},
		{"on a neutral server", d.TokenQuery + "=second", "", neutral, []string{d.TokenQuery + " belongs to the dialect " + d.Name, "where it is svc_token"}},
		{"on a server of the brand", "svc_token=second", "", d, []string{"svc_token belongs to the dialect svc", "where it is " + d.TokenQuery}},
	} {
		t.Run(x.name+" is refused for its name", func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, mockserver.Config{Dialect: x.speaks, Accounts: []mockserver.Account{{ID: "one", Token: "first"}, {ID: "two", Token: "second"}}})
			c := newClient(t, u)
			c.do("POST", "/v2/publish/https://app.test/?"+x.query, "", "Authorization:", cmp.Or(x.header, "X-None: 1")).refused(400, x.want...)
			journal := "one"
			if strings.HasSuffix(x.query, "=second") {
				journal = "two"
			}
			if got := c.do("GET", "/_understudy/requests?account="+journal, ""); len(got.list("entries")) != 1 {
				t.Errorf("the journal of account %s: got %s, want one request", journal, got.raw)
			}
		})
	}
}

// Before a server spoke several dialects, a snapshot named none.
func TestSnapshotOfAServerWithOneDialectGoesOn(t *testing.T) {
	t.Parallel()
	d := dialect(t, "upstash")
	old := mockserver.RunT(t, mockserver.Config{Dialect: d})
	old.Stub("*", 200)
	id := old.Publish("https://app.test/", nil, d.HeaderPrefix+"Delay: 1h")
	saved, err := old.Snapshot()
	expect.NoError(t, err)
	text := strings.NewReplacer(`,"dialect":"`+d.Name+`"`, "", `"dialect":"`+d.Name+`",`, "", `"dialect":"`+d.Name+`"`, "").Replace(editable(saved))
	expect.Lacks(expect.Now(t), "the old snapshot", text, d.Name)
	u := mockserver.RunT(t, mockserver.Config{Snapshot: strings.NewReader(text)})
	u.Advance(time.Hour)
	list := u.Deliveries()
	if expect.Equal(t, "number of deliveries", len(list), 1) {
		expect.Equal(t, "header Message-Id", list[0].Request.Header.Get(d.HeaderPrefix+"Message-Id"), id)
		expect.True(t, "a signature with the current key", signedBy(list[0], d.HeaderPrefix+"Signature", allEnv(u.Server)[d.Env["CURRENT_SIGNING_KEY"]]))
	}
	expect.Equal(t, "token of the account", u.Token(), mockserver.RunT(t).Token())
}

// The proxy and the page use names as well: the page those of the account.
func TestPageUsesTheNamesOfTheAccount(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"svc", "upstash"} {
		d := dialect(t, name)
		u := mockserver.RunT(t)
		u.Stub("*", 200)
		u.Publish("https://app.test/", nil, d.HeaderPrefix+"Retries: 0")
		c := newClient(t, u)
		expect.Equal(t, name+": prefix of the headers", c.do("GET", "/_understudy/accounts/"+d.UserID, "").text("headerPrefix"), d.HeaderPrefix)
		form := c.do("POST", "/_understudy/ui/do/schedule.put", "cron=0+*+*+*+*&id=hourly&destination=https%3A%2F%2Fapp.test%2Fcron", "Content-Type: application/x-www-form-urlencoded")
		if schedules := c.do("GET", "/v2/schedules", "").list(); len(schedules) != 1 {
			t.Errorf("%s: schedules: got %v, want one; the form: %d %s", name, schedules, form.status, form.raw)
		}
		u.Advance(time.Hour)
		for _, got := range u.Deliveries() {
			expect.Equal(t, name+": "+got.URL+": header Message-Id", got.Request.Header.Get(d.HeaderPrefix+"Message-Id"), got.MessageID)
		}
	}
}

// A client without names of a dialect reads those of the published clients.
func TestARefusalWithoutNamesHasThoseOfTheClients(t *testing.T) {
	t.Parallel()
	u, d := auto(t)
	newClient(t, u).do("POST", "/v2/publish/https://app.test/", "", "Authorization:").refused(401, "query parameter "+d.TokenQuery)
}
