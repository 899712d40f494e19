package mockserver_test

import (
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/mockserver"
)

// TestCallsAsAnAccountGiveBackWhatTheyTake: the server lends places for large lists,
// and room for incoming bodies.
func TestCallsAsAnAccountGiveBackWhatTheyTake(t *testing.T) {
	t.Parallel()
	t.Run("lists", func(t *testing.T) {
		t.Parallel()
		c := newClient(t, mockserver.RunT(t))
		for range 9 { // one more than there are places
			c.do("GET", "/_understudy/as/svcUser/v2/dlq", "").ok()
		}
	})
	t.Run("bodies", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{Memory: 1 << 20})
		u.Stub("*")
		c := newClient(t, u)
		for range 3 { // there is room for two
			c.do("POST", "/_understudy/as/svcUser/v2/publish/https://e.test/", strings.Repeat("x", 1<<20)).ok()
		}
	})
}
