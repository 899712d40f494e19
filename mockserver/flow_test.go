package mockserver_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestAFlowControlKeyIsKnownOnceAMessageWithItIsAccepted(t *testing.T) {
	t.Parallel()
	const limits = "Svc-Flow-Control-Value: rate=7, period=9, parallelism=3"
	for name, is := range map[string]struct {
		path   string
		header string
		reason string
	}{
		"a message that is due":       {"/v2/publish/https://e.test/", "X: y", ""},
		"a delayed message":           {"/v2/publish/https://e.test/", "Svc-Delay: 1h", "messages of this key that are not due yet: 1"},
		"a message for a later time":  {"/v2/publish/https://e.test/", "Svc-Not-Before: 4102444800", "messages of this key that are not due yet: 1"},
		"a message of a paused queue": {"/v2/enqueue/paused/https://e.test/", "X: y", "messages of this key that wait in a queue: 1"},
		"a delayed run":               {"/v2/trigger/https://e.test/", "Svc-Delay: 1h", "messages of this key that are not due yet: 1"},
		"a delayed message of a group": {
			"/v2/publish/g", "Svc-Delay: 1h", "messages of this key that are not due yet: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, mockserver.Config{Clock: "manual"})
			u.Stub("*", 200)
			c := newClient(t, u)
			c.do("POST", "/v2/queues", `{"queueName":"paused","parallelism":1}`).ok()
			c.do("POST", "/v2/queues/paused/pause", "").ok()
			c.do("POST", "/v2/topics/g/endpoints", endpoints(0, 1)).ok()
			c.do("GET", "/v2/flowControl/k", "").refused(http.StatusNotFound, "no accepted message and no setting has named it")
			c.do("POST", is.path, "x", "Svc-Flow-Control-Key: k", limits, is.header).ok()
			k := c.do("GET", "/v2/flowControl/k", "").ok()
			expect.Equal(t, "rate", k.number("rateMax"), int64(7))
			expect.Equal(t, "period in seconds", k.number("ratePeriod"), int64(9))
			expect.Equal(t, "parallelism", k.number("parallelismMax"), int64(3))
			expect.Equal(t, "number of keys", len(c.do("GET", "/v2/flowControl", "").ok().list()), 1)
			why := c.do("GET", "/_understudy/explain/k", "").ok()
			expect.Equal(t, "kind of the explanation", why.text("kind"), "flow-control key")
			expect.Contains(t, "explanation", string(why.raw), is.reason)
			c.do("POST", "/v2/flowControl/k/resume", "").ok()
		})
	}
	t.Run("a delayed message does not change the limits of a known key", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{Clock: "manual"})
		u.Stub("*", 200)
		c := newClient(t, u)
		c.do("POST", "/v2/publish/https://e.test/", "x", "Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: parallelism=1").ok()
		c.do("POST", "/v2/publish/https://e.test/", "x", "Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: parallelism=2", "Svc-Delay: 1h").ok()
		expect.Equal(t, "parallelism before", c.do("GET", "/v2/flowControl/k", "").ok().number("parallelismMax"), int64(1))
		u.Advance(time.Hour)
		expect.Equal(t, "parallelism after", c.do("GET", "/v2/flowControl/k", "").ok().number("parallelismMax"), int64(2))
	})
}
