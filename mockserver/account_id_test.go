package mockserver_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestAccountIDs: the id of an account can be written in paths, queries, flags and logs.
func TestAccountIDs(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	for _, id := range []string{"*", "a*", "a\x00b", "a\r\nb", "a\nb", "\t", " ", " a", "a ", "a:b", ".", "..", "\xff", "\u202e", "\u2028", strings.Repeat("a", 257)} {
		t.Run("refused: "+url.PathEscape(id[:min(len(id), 9)]), func(t *testing.T) {
			t.Parallel()
			c := newClient(t, u)
			path := "/_understudy/accounts/" + strings.ReplaceAll(url.PathEscape(id), ".", "%2E")
			if len(id) <= 256 {
				c.do("PUT", path, "").refused(http.StatusBadRequest, "account", "must be")
			}
			if _, err := mockserver.New(mockserver.Config{Accounts: []mockserver.Account{{ID: id, Token: "t"}}}); err == nil {
				t.Error("configuration: got no error, want one")
			} else {
				expect.Contains(t, "error of the configuration", err.Error(), "account: invalid value ")
			}
		})
	}
	for _, id := range []string{"team-1", "a b", "a/b", "é", "a@b.test", "a,b", `a"b`, "...", "a?b", "a%b", "a#b"} {
		t.Run("accepted: "+id, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, u)
			at := "/_understudy/accounts/" + url.PathEscape(id)
			token := c.do("PUT", at, "").ok().text("token")
			expect.Equal(t, "id", c.do("GET", at, "").ok().text("id"), id)
			c.do("GET", "/v2/queues", "", "Authorization: ", "Authorization: Bearer "+token).ok()
			c.do("GET", "/_understudy/deliveries?account="+url.QueryEscape(id), "").ok()
			c.do("GET", "/_understudy/as/"+url.PathEscape(id)+"/v2/dlq", "").ok()
		})
	}
	t.Run("a snapshot or a fixture cannot create another one", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t)
		c := newClient(t, u)
		text := string(c.do("GET", "/_understudy/snapshot", "").ok().raw)
		before, _, _ := strings.Cut(text, `,"checksum":`)
		c.do("PUT", "/_understudy/snapshot", strings.NewReplacer(`"id":"svcUser"`, `"id":"a*"`, dialect(t, "svc").Token, "other-token").Replace(before)+"}").refused(http.StatusBadRequest, "must be")
		c.do("POST", "/_understudy/fixtures", `{"accounts":[{"id":"a\u0000b","token":"t"}]}`).refused(http.StatusBadRequest, "must be")
	})
}
