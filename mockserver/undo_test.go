package mockserver_test

import (
	"fmt"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestUndo(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://down.test/*", 503)
	c := newClient(t, u)
	failed := u.Publish("https://down.test/a", []byte("kept"), "Svc-Retries: 0")
	waits := u.Publish("https://app.test/b", nil, "Svc-Delay: 1h")
	u.Settle()
	keep := func(label, scope string) string {
		return c.do("POST", "/_understudy/undo", fmt.Sprintf(`{"label":%q,"scope":%q}`, label, scope)).ok().text("id")
	}
	state := func(id string) string { return c.do("GET", "/_understudy/messages/"+id, "").text("row", "state") }

	t.Run("what a reset has taken comes back", func(t *testing.T) {
		point := keep("reset", "account")
		c.do("POST", "/_understudy/reset", "").ok()
		expect.Equal(t, "state after the reset", state(failed), "")
		expect.Equal(t, "label of what is undone", c.do("POST", "/_understudy/undo/"+point, "").ok().text("label"), "reset")
		expect.Equal(t, "state of the failed message", state(failed), "FAILED")
		expect.Equal(t, "entries of the DLQ", len(c.do("GET", "/v2/dlq", "").ok().list("messages")), 1)
		expect.Equal(t, "state of the message that waits", state(waits), "CREATED")
		c.do("POST", "/_understudy/undo/"+point, "").refused(404, "it was used")
	})
	t.Run("rules come back alone", func(t *testing.T) {
		c.do("PUT", "/_understudy/faults", `[{"on":"api","status":500,"operation":"listQueues"}]`).ok()
		point := keep("remove the stub", "rules")
		c.do("DELETE", "/_understudy/stubs", "").ok()
		c.do("DELETE", "/_understudy/faults", "").ok()
		later := u.Publish("https://app.test/c", nil, "Svc-Delay: 1h")
		c.do("POST", "/_understudy/undo/"+point, "").ok()
		expect.Equal(t, "stubs", len(c.do("GET", "/_understudy/stubs", "").ok().list()), 1)
		expect.Equal(t, "faults", len(c.do("GET", "/_understudy/faults", "").ok().list()), 1)
		expect.Equal(t, "state of a later message", state(later), "CREATED")
	})
	t.Run("points are listed, newest first, for their account only", func(t *testing.T) {
		keep("first", "account")
		keep("second", "rules")
		c.do("PUT", "/_understudy/accounts/other", "{}").ok()
		a := c.do("GET", "/_understudy/undo", "").ok()
		expect.Equal(t, "newest label", a.text("points", 0, "label"), "second")
		expect.Equal(t, "its scope", a.text("points", 0, "scope"), "rules")
		expect.Equal(t, "the label before", a.text("points", 1, "label"), "first")
		expect.Equal(t, "points of another account", len(c.do("GET", "/_understudy/undo?account=other", "").ok().list("points")), 0)
		c.do("POST", "/_understudy/undo/"+a.text("points", 0, "id")+"?account=other", "").refused(404)
	})
	t.Run("what is wrong is refused", func(t *testing.T) {
		c.do("POST", "/_understudy/undo", `{}`).refused(400, "label")
		c.do("POST", "/_understudy/undo", `{"label":"x","scope":"all"}`).refused(400, "scope")
		c.do("POST", "/_understudy/undo/undo_99", "").refused(404, "undo_99")
	})
}
