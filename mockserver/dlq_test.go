package mockserver_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// failing publishes messages that fail at once, and returns the ids of their
// DLQ entries, oldest first.
func failing(t *testing.T, u *mockserver.TestServer, c *client, headers ...[]string) (ids []string) {
	t.Helper()
	u.Stub("https://e.test/", 500)
	for _, own := range headers {
		c.do("POST", "/v2/publish/https://e.test/", "x", append(own, "Svc-Retries: 0")...).ok()
		u.Settle()
	}
	list := c.do("GET", "/v2/dlq", "").ok()
	for i := range headers {
		ids = append(ids, list.text("messages", i, "dlqId"))
	}
	slices.Reverse(ids)
	return ids
}

func TestADLQRetryLaysFlowControlOverPartByPart(t *testing.T) {
	t.Parallel()
	limited := []string{"Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: parallelism=2,period=1m"}
	for _, row := range []struct {
		name, header string
		want         engine.FlowControl
	}{
		{"a value alone keeps the key", "Svc-Flow-Control-Value: rate=7", engine.FlowControl{Key: "k", Rate: 7}},
		{"a key alone keeps the value", "Svc-Flow-Control-Key: other", engine.FlowControl{Key: "other", Parallelism: 2, Period: 60e9}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			c := newClient(t, u)
			ids := failing(t, u, c, limited)
			again := c.do("POST", "/v2/dlq/retry/"+ids[0], "", row.header, "Svc-Delay: 1h").ok().text("messageId")
			if got := u.Message(again).Options.Flow; *got != row.want {
				t.Errorf("got %+v, want %+v", *got, row.want)
			}
		})
	}
	t.Run("a part alone is refused where the message has none", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t)
		c := newClient(t, u)
		ids := failing(t, u, c, nil)
		c.do("POST", "/v2/dlq/retry/"+ids[0], "", "Svc-Flow-Control-Key: k").refused(400, "flow control", "rate")
	})
	t.Run("a bulk retry with one refused entry changes nothing", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t)
		c := newClient(t, u)
		failing(t, u, c, nil, limited)
		c.do("POST", "/v2/dlq/retry", "", "Svc-Flow-Control-Key: other").refused(400, "flow control")
		expect.Equal(t, "number of entries", len(c.do("GET", "/v2/dlq", "").ok().list("messages")), 2)
	})
}

func TestABulkRestartTakesAllOrNone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, header string
		second       []string // configuration of the second run
		want         string
	}{
		{"when the configuration of one is refused", "Svc-Flow-Control-Value: rate=2", []string{"Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: rate=1"}, "flow control"},
		{"when one run id is given for several", "Svc-Workflow-Runid: wfr_same", nil, "wfr_same"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			c := newClient(t, u)
			u.Stub("https://run.test/", 500)
			for _, own := range [][]string{nil, row.second} {
				c.do("POST", "/v2/trigger/https://run.test/", "x", append(own, "Svc-Retries: 0")...).ok()
				u.Settle()
			}
			before := c.do("GET", "/v2/dlq", "").ok().raw
			c.do("POST", "/v2/workflows/dlq/restart", "", row.header).refused(400, row.want)
			if after := c.do("GET", "/v2/dlq", "").ok().raw; string(after) != string(before) {
				t.Errorf("got %s, want %s", after, before)
			}
		})
	}
}

// Logs and messages have these filters; no client has them for the DLQ.
func TestTheDLQHasNoFilterForHostsAndPaths(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	for _, operation := range []string{"GET /v2/dlq", "GET /v2/workflows/dlq", "DELETE /v2/dlq", "DELETE /v2/workflows/dlq", "POST /v2/dlq/retry", "POST /v2/workflows/dlq/restart", "POST /v2/workflows/dlq/resume"} {
		method, path, _ := strings.Cut(operation, " ")
		for _, filter := range []string{"host", "path"} {
			t.Run(operation+" "+filter, func(t *testing.T) {
				c.do(method, path+"?"+filter+"=app.test", "").refused(400, "query "+filter)
			})
		}
	}
}

func TestRetriesOfTheDLQAreCreated(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	u.Stub("https://down.test/", 503)
	for range 3 {
		c.do("POST", "/v2/publish/https://down.test/", "x", "Svc-Retries: 0").ok()
	}
	u.Settle()
	id := c.do("GET", "/v2/dlq", "").ok().text("messages", 0, "dlqId")
	expect.Equal(t, "status of a retry", c.do("POST", "/v2/dlq/retry/"+id, "").status, 201)
	expect.Equal(t, "status of a bulk retry", c.do("POST", "/v2/dlq/retry?count=1", "").status, 201)
}
