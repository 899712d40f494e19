package mockserver_test

import (
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"

	"github.com/understudy-mock/understudy/mockserver"
)

func TestCredentials(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Accounts: []mockserver.Account{{ID: "a", Token: "token-a"}, {ID: "b", Token: "token-b"}}})
	c := newClient(t, u)
	env := map[string]string{}
	for _, v := range u.Env() {
		env[v.Name] = v.Value
	}
	basic := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(env["UNDERSTUDY_MANAGEMENT_USERNAME"]+":"+env["UNDERSTUDY_MANAGEMENT_PASSWORD"]))
	u.Stub("*")
	const publish = "/v2/publish/https://e.test/"
	cases := []struct {
		name, method, path, header string
		want                       int
	}{
		{"bearer", "POST", publish, "Authorization: Bearer token-b", 200},
		{"bearer in lower case", "POST", publish, "Authorization: bearer token-b", 200},
		{"query", "POST", publish + "?svc_token=token-a", "Authorization:", 200},
		{"both", "POST", publish + "?svc_token=token-a", "Authorization: Bearer token-a", 200},
		{"none", "POST", publish, "Authorization:", 401},
		{"wrong bearer", "POST", publish, "Authorization: Bearer nobody", 401},
		{"empty bearer", "POST", publish, "Authorization: Bearer", 401},
		{"wrong query", "POST", publish + "?svc_token=nobody", "Authorization:", 401},
		{"both, the query wrong", "POST", publish + "?svc_token=nobody", "Authorization: Bearer token-a", 401},
		{"both, the bearer wrong", "POST", publish + "?svc_token=token-a", "Authorization: Bearer nobody", 401},
		{"both, of different accounts", "POST", publish + "?svc_token=token-a", "Authorization: Bearer token-b", 401},
		{"query twice", "POST", publish + "?svc_token=token-a&svc_token=token-a", "Authorization:", 401},
		{"query where only bearer is taken", "GET", "/v2/keys?svc_token=token-a", "Authorization:", 401},
		{"basic where bearer is taken", "GET", "/v2/keys", basic, 401},
		{"bearer where basic is taken", "GET", "/v2/qstash/stats/a", "Authorization: Bearer token-a", 401},
		{"wrong password", "GET", "/v2/qstash/stats/a", "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("a@understudy.test:no")), 401},
		{"messaging token at the vector host", "GET", "/info", "Authorization: Bearer token-a", 401},
	}
	for _, row := range cases {
		t.Run(row.name, func(t *testing.T) {
			a := c.do(row.method, row.path, "x", row.header)
			if a.status != row.want {
				t.Fatalf("status %d, want %d: %s", a.status, row.want, a.raw)
			}
			if row.want == 401 {
				expect.True(t, "a.text(\"error\") != \"\"", a.text("error") != "")
				expect.True(t, "a.header.Get(\"WWW-Authenticate\") != \"\"", a.header.Get("WWW-Authenticate") != "")
			}
		})
	}
	if a := c.do("GET", "/v2/qstash/stats/a", "", basic); a.status == 401 {
		t.Errorf("basic: %d %s", a.status, a.raw)
	}
}

func TestNothingCrossesAccounts(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Accounts: []mockserver.Account{{ID: "a", Token: "token-a"}, {ID: "b", Token: "token-b"}}})
	a, b := newClient(t, u), newClient(t, u)
	b.token = "token-b"
	id := a.do("POST", "/v2/publish/https://e.test/", "x", "Svc-Delay: 1h").ok().text("messageId")
	b.do("GET", "/v2/messages/"+id, "").refused(404, id)
	a.do("GET", "/v2/messages/"+id, "").ok()
	a.do("POST", "/v2/topics/g/endpoints", `{"endpoints":[{"url":"https://e.test/"}]}`).ok()
	b.do("POST", "/v2/publish/g", "x").refused(404)
	expect.Equal(t, "number of requests in the journal of b", len(a.do("GET", "/_understudy/requests?account=b", "").ok().list("entries")), 2)
	now := a.do("GET", "/_understudy/clock?account=b", "").ok().number("now")
	a.do("POST", "/_understudy/clock/advance?account=a", `{"by":"1h"}`).ok()
	if later := a.do("GET", "/_understudy/clock?account=b", "").ok().number("now"); later != now {
		t.Errorf("the clock of b moved by %d ms", later-now)
	}
	a.do("GET", "/_understudy/clock?account=c", "").refused(404, "c")
}

func TestAnyAccount(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{AnyAccount: true})
	one, two := newClient(t, u), newClient(t, u)
	one.token, two.token = "somebody", "somebody-else"
	id := one.do("POST", "/v2/publish/https://e.test/", "x", "Svc-Delay: 1h").ok().text("messageId")
	one.do("GET", "/v2/messages/"+id, "").ok()
	two.do("GET", "/v2/messages/"+id, "").refused(404)
	if a := two.do("GET", "/v2/keys", "", "Authorization:"); a.status != http.StatusUnauthorized {
		t.Errorf("no token: %d", a.status)
	}
}
