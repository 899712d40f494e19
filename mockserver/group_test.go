package mockserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// endpoints is the body of a request with n endpoints, from the given number on.
func endpoints(from, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"name":"n%d","url":"https://e.test/%d"}`, from+i, from+i)
	}
	return `{"endpoints":[` + strings.Join(list, ",") + `]}`
}

func TestAGroupHasAtMostAsManyEndpointsAsAPublishMayReach(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t, mockserver.Config{MaxMessages: 5}))
	t.Run("a request with too many creates no group", func(t *testing.T) {
		c.do("POST", "/v2/topics/over/endpoints", endpoints(0, 6)).refused(http.StatusBadRequest, `URL group "over": would have 6 endpoints: must have at most 5`, "--max-messages")
		c.do("GET", "/v2/topics/over", "").refused(http.StatusNotFound, "over")
	})
	t.Run("requests that together have too many leave the group unchanged", func(t *testing.T) {
		c.do("POST", "/v2/topics/full/endpoints", endpoints(0, 5)).ok()
		c.do("POST", "/v2/topics/full/endpoints", endpoints(4, 2)).refused(http.StatusBadRequest, "would have 6 endpoints")
		expect.Equal(t, "number of endpoints", len(c.do("GET", "/v2/topics/full", "").ok().list("endpoints")), 5)
	})
	t.Run("a full group accepts known endpoints", func(t *testing.T) {
		c.do("POST", "/v2/topics/full/endpoints", endpoints(0, 5)).ok()
		c.do("POST", "/v2/publish/full", "x").ok()
	})
	t.Run("a fixture has the same limit", func(t *testing.T) {
		c.do("POST", "/_understudy/fixtures", `{"groups":[{"name":"f",`+endpoints(0, 6)[1:]+`]}`).refused(http.StatusBadRequest, "groups[0]", "would have 6 endpoints")
	})
}

func TestAnEndpointReplacesThoseWithItsNameOrURL(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	for name, is := range map[string]struct{ added, want string }{
		"by its name":                     {`{"name":"b","url":"https://e.test/new"}`, "a=/a b=/new c=/c"},
		"by its URL":                      {`{"name":"new","url":"https://e.test/b"}`, "a=/a new=/b c=/c"},
		"one by its name, one by its URL": {`{"name":"c","url":"https://e.test/a"}`, "c=/a b=/b"},
		"without a name":                  {`{"url":"https://e.test/d"},{"url":"https://e.test/b"}`, "a=/a =/b c=/c =/d"},
		"the later one of a request":      {`{"name":"d","url":"https://e.test/1"},{"name":"d","url":"https://e.test/2"}`, "a=/a b=/b c=/c d=/2"},
	} {
		t.Run(name, func(t *testing.T) {
			c.do("DELETE", "/v2/topics/g", "").ok()
			c.do("POST", "/v2/topics/g/endpoints", `{"endpoints":[{"name":"a","url":"https://e.test/a"},{"name":"b","url":"https://e.test/b"},{"name":"c","url":"https://e.test/c"}]}`).ok()
			c.do("POST", "/v2/topics/g/endpoints", `{"endpoints":[`+is.added+`]}`).ok()
			g := c.do("GET", "/v2/topics/g", "").ok()
			var got []string
			for i := range g.list("endpoints") {
				got = append(got, g.text("endpoints", i, "name")+"="+strings.TrimPrefix(g.text("endpoints", i, "url"), "https://e.test"))
			}
			expect.Equal(t, "endpoints", strings.Join(got, " "), is.want)
		})
	}
}
