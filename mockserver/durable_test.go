package mockserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/store/storetest"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// durableRequests are requests that change something, one for each noun and door at
// least. {message}, {dlq}, {run} and {snapshot} are what prepared has made.
var durableRequests = []struct {
	method, path, body string
	headers            []string
}{
	{"POST", "/v2/publish/https://app.test/a", "x", []string{"Svc-Delay: 1h"}},
	{"POST", "/v2/enqueue/line/https://app.test/a", "x", []string{"Svc-Delay: 1h"}},
	{"POST", "/v2/batch", `[{"destination":"https://app.test/a","headers":{"Svc-Delay":"1h"}}]`, nil},
	{"POST", "/v2/queues", `{"queueName":"other","parallelism":2}`, nil},
	{"POST", "/v2/queues/line/pause", "", nil},
	{"DELETE", "/v2/queues/line", "", nil},
	{"POST", "/v2/topics/other/endpoints", `{"endpoints":[{"url":"https://app.test/b"}]}`, nil},
	{"PATCH", "/v2/topics/both", `{"headers":{"X-A":"1"}}`, nil},
	{"DELETE", "/v2/topics/both", "", nil},
	{"POST", "/v2/schedules/https://app.test/a", "x", []string{"Svc-Cron: 0 0 1 1 *"}},
	{"POST", "/v2/schedules/yearly/pause", "", nil},
	{"DELETE", "/v2/schedules/yearly", "", nil},
	{"DELETE", "/v2/messages/{message}", "", nil},
	{"DELETE", "/v2/messages?label=wanted", "", nil},
	{"POST", "/v2/dlq/retry/{dlq}", "", nil},
	{"DELETE", "/v2/dlq/{dlq}", "", nil},
	{"POST", "/v2/flowControl/key/pause", "", nil},
	{"POST", "/v2/flowControl/key/pin?parallelism=3", "", nil},
	{"POST", "/v2/keys/rotate", "", nil},
	{"POST", "/v2/trigger/https://app.test/flow", "x", []string{"Svc-Delay: 1h"}},
	{"POST", "/v2/notify/shipped", `"yes"`, nil},
	{"DELETE", "/v2/workflows/runs/{run}", "", nil},
	{"POST", "/_understudy/reset", "", nil},
	{"POST", "/_understudy/clock/advance", `{"by":"1m"}`, nil},
	{"PUT", "/_understudy/clock", `{"mode":"real"}`, nil},
	{"PUT", "/_understudy/snapshot", "{snapshot}", nil},
	{"PUT", "/_understudy/stubs", `[]`, nil},
	{"PUT", "/_understudy/rewrites", `{"https://a.test":"https://b.test"}`, nil},
	{"PUT", "/_understudy/faults", `[{"on":"api","operation":"getSigningKeys","status":500}]`, nil},
	{"PUT", "/_understudy/accounts/other", "", nil},
}

// prepared is a server on a faulty store, whose account has something of every noun and
// idles, and the names of these things.
func prepared(t *testing.T) (*storetest.Faulty, *mockserver.TestServer, *client, *strings.Replacer) {
	t.Helper()
	st := &storetest.Faulty{Store: folder(t, t.TempDir())}
	u := mockserver.RunT(t, mockserver.Config{Store: st})
	c := newClient(t, u)
	u.Stub("https://app.test/dead", 500)
	workflowAnswers(u, "200")
	u.Stub("https://app.test/a", 200)
	message := u.Publish("https://app.test/a", nil, "Svc-Delay: 1h", "Svc-Label: wanted", "Svc-Flow-Control-Key: key", "Svc-Flow-Control-Value: parallelism=1,rate=5")
	u.Publish("https://app.test/dead", nil, "Svc-Retries: 0")
	c.do("POST", "/v2/queues", `{"queueName":"line","parallelism":1}`).ok()
	c.do("POST", "/v2/topics/both/endpoints", `{"endpoints":[{"url":"https://app.test/b"}]}`).ok()
	c.do("POST", "/v2/schedules/https://app.test/a", "x", "Svc-Cron: 0 0 1 1 *", "Svc-Schedule-Id: yearly").ok()
	run := "wfr_waits"
	c.trigger(run)
	u.Settle()
	c.do("POST", "/v2/wait/shipped", `{"url":"`+workflowApp+`","timeout":"1d","step":{"stepId":1,"stepName":"wait","stepType":"Wait","concurrent":1}}`, "Svc-Workflow-RunId: "+run).ok()
	u.Settle()
	dlq := c.do("GET", "/v2/dlq", "").ok().text("messages", 0, "dlqId")
	snapshot := c.do("GET", "/_understudy/snapshot", "").ok().raw
	return st, u, c, strings.NewReplacer("{message}", message, "{dlq}", dlq, "{run}", run, "{snapshot}", string(snapshot))
}

// No request that changes something is answered with 2xx before its record is durable,
// and none while the store fails; it then says so with 503 and Retry-After, and is
// accepted again once the store works.
func TestAcceptedIsDurable(t *testing.T) {
	t.Parallel()
	for _, q := range durableRequests {
		t.Run(q.method+" "+q.path, func(t *testing.T) {
			t.Parallel()
			st, _, c, names := prepared(t)
			path, body := names.Replace(q.path), names.Replace(q.body)
			waits, release := st.Hold()
			answered := make(chan answer, 1)
			go func() { answered <- c.do(q.method, path, body, q.headers...) }()
			select {
			case a := <-answered:
				release()
				t.Fatalf("answered with %d before anything was durable: %s", a.status, a.raw)
			case <-waits:
			}
			select {
			case a := <-answered:
				t.Errorf("answered with %d while its record was not durable", a.status)
			default:
			}
			release()
			if a := <-answered; a.status >= 300 {
				t.Errorf("status %d: %s", a.status, a.raw)
			}
		})
		t.Run(q.method+" "+q.path+" with a broken store", func(t *testing.T) {
			t.Parallel()
			st, _, c, names := prepared(t)
			st.Fail(errBroken)
			a := c.do(q.method, names.Replace(q.path), names.Replace(q.body), q.headers...)
			if a.status != 503 || a.header.Get("Retry-After") == "" || !strings.Contains(string(a.raw), errBroken.Error()) {
				t.Errorf("status %d, Retry-After %q: %s", a.status, a.header.Get("Retry-After"), a.raw)
			}
			st.Fail(nil)
			c.do("POST", "/v2/publish/https://app.test/a", "x", "Svc-Delay: 1h").ok()
		})
	}
}

// No attempt is made before the record that caused it is durable: that of a publish, of a
// timer, of an outcome.
func TestAttemptsFollowDurableRecords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		cause func(u *mockserver.TestServer, c *client)
	}{
		{"a publish", func(_ *mockserver.TestServer, c *client) { c.do("POST", "/v2/publish/https://app.test/a", "x") }},
		{"a timer", func(u *mockserver.TestServer, _ *client) { u.Advance(time.Hour) }},
		{"a restart from the DLQ", func(_ *mockserver.TestServer, c *client) {
			c.do("POST", "/v2/dlq/retry/"+c.do("GET", "/v2/dlq", "").ok().text("messages", 0, "dlqId"), "")
		}},
		{"a notification", func(_ *mockserver.TestServer, c *client) { c.do("POST", "/v2/notify/shipped", `"yes"`) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			st, u, client, _ := prepared(t)
			made := func() int { return len(client.do("GET", "/_understudy/deliveries", "").ok().list("entries")) } // without waiting for those in flight
			before := made()
			waits, release := st.Hold()
			defer release()
			done := make(chan struct{})
			go func() {
				defer close(done)
				c.cause(u, client)
			}()
			<-waits
			expect.Equal(t, "number of deliveries before the record was durable", made()-before, 0)
			release()
			<-done
			u.Settle()
			if n := made() - before; n == 0 {
				t.Error("no delivery after the record was durable")
			}
		})
	}
}
