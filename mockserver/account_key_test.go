package mockserver_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// keysOf are the signing keys that the control API shows.
func keysOf(c *client, account string) string {
	c.t.Helper()
	a := c.do("GET", "/_understudy/accounts/"+account, "").ok()
	return a.text("currentSigningKey") + " " + a.text("nextSigningKey")
}

func TestSigningKeysOfAccounts(t *testing.T) {
	t.Parallel()
	dialect, err := spec.LoadDialect("svc")
	expect.NoError(t, err)
	accounts := []mockserver.Account{{ID: "a", Token: "token-a"}, {ID: "b", Token: "token-b"}, {ID: dialect.UserID, Token: dialect.Token}}
	setup := func(t *testing.T) *client {
		return newClient(t, mockserver.RunT(t, mockserver.Config{Accounts: accounts, Dialect: dialect}))
	}
	t.Run("each account has its own", func(t *testing.T) {
		t.Parallel()
		c := setup(t)
		c.do("PUT", "/_understudy/accounts/made", "").ok()
		var all []string
		for _, id := range []string{"a", "b", "made", dialect.UserID} {
			all = append(all, strings.Fields(keysOf(c, id))...)
		}
		slices.Sort(all)
		if n := len(slices.Compact(slices.Clone(all))); n != 8 {
			t.Errorf("different signing keys of four accounts: got %d, want 8: %q", n, all)
		}
	})
	t.Run("the development account has those of the dialect", func(t *testing.T) {
		t.Parallel()
		expect.Equal(t, "signing keys", keysOf(setup(t), dialect.UserID), dialect.CurrentSigningKey+" "+dialect.NextSigningKey)
	})
	t.Run("another server gives an account the same", func(t *testing.T) {
		t.Parallel()
		expect.Equal(t, "signing keys on a second server", keysOf(setup(t), "a"), keysOf(setup(t), "a"))
	})
	t.Run("the environment has those of the default account", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{Accounts: accounts})
		expect.Equal(t, "signing keys", env(u, "CURRENT_SIGNING_KEY")+" "+env(u, "NEXT_SIGNING_KEY"), keysOf(newClient(t, u), "a"))
	})
	t.Run("a snapshot keeps them", func(t *testing.T) {
		t.Parallel()
		c := setup(t)
		c.do("POST", "/v2/keys/rotate", "").ok() // of the first account
		want := keysOf(c, "a")
		text := c.do("GET", "/_understudy/snapshot", "").ok().raw
		other := setup(t)
		if was := keysOf(other, "a"); was == want {
			t.Fatalf("signing keys of another server: got the rotated %s, want those before the rotation", was)
		}
		other.do("PUT", "/_understudy/snapshot", string(text)).ok()
		expect.Equal(t, "signing keys after the snapshot was restored", keysOf(other, "a"), want)
	})
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	own := []mockserver.Account{{ID: "a", Token: "token-a"}}
	proxied := &url.URL{Scheme: "https", Host: "queue.example.com"}
	for name, c := range map[string]struct {
		cfg  mockserver.Config
		want int
	}{
		"loopback":                                         {mockserver.Config{}, 0},
		"everywhere, a token of its own":                   {mockserver.Config{Addr: "0.0.0.0:0", Accounts: own}, 0},
		"everywhere, the public token":                     {mockserver.Config{Addr: "0.0.0.0:0"}, 1},
		"another host everywhere":                          {mockserver.Config{VectorAddr: "[::]:0"}, 1},
		"everywhere, any token is good":                    {mockserver.Config{Addr: "0.0.0.0:0", Accounts: own, AnyAccount: true}, 1},
		"a proxy on this machine":                          {mockserver.Config{Advertise: proxied}, 1},
		"a proxy, and a token":                             {mockserver.Config{Advertise: proxied, ControlToken: "secret"}, 0},
		"a proxy, and a token that loopback does not need": {mockserver.Config{Advertise: proxied, ControlToken: "secret", ControlOpenOnLoopback: true}, 1},
		"a proxy, and every interface":                     {mockserver.Config{Advertise: proxied, Addr: "0.0.0.0:0", Accounts: own}, 1},
		"an advertised name of loopback":                   {mockserver.Config{Advertise: &url.URL{Scheme: "http", Host: "localhost:9000"}}, 0},
		"everywhere, the other dialect's token":            {mockserver.Config{Addr: "0.0.0.0:0", Accounts: []mockserver.Account{{ID: "a", Token: "eyJVc2VySUQiOiJkZWZhdWx0VXNlciIsIlBhc3N3b3JkIjoiZGVmYXVsdFBhc3N3b3JkIn0="}}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, c.cfg)
			if got := u.Warnings(); len(got) != c.want {
				t.Errorf("warnings: got %q, want %d", got, c.want)
			}
		})
	}
}

func TestAnUnknownMemberOfAnAccountNamesTheOnlyKnownOne(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	c.do("PUT", "/_understudy/accounts/made", `{"token":"x"}`).refused(400, "body /token: unknown property: must be password")
}
