package mockserver_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/fixtures"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// session is a long sequence of commands against a seeded stand-in, and all
// that an observer can read afterwards.
func session(t *testing.T, seed uint64) map[string][]byte {
	t.Helper()
	u := mockserver.RunT(t, mockserver.Config{Seed: seed, AnyAccount: true})
	c := newClient(t, u)
	u.Stub("*")
	u.Script(mockserver.Stub{URL: "https://slow.test/*", Answers: []mockserver.Answer{{Status: "200", Delay: "90s", Body: "late"}}})
	u.Script(mockserver.Stub{URL: "https://wf.test/*", Answers: []mockserver.Answer{{Status: "200", Headers: map[string]string{"Svc-Workflow-Sdk-Version": "1"}}}})
	u.Script(mockserver.Stub{URL: "https://app.test/*", Answers: []mockserver.Answer{{Status: "503"}, {Status: "200"}, {Drop: true}, {Status: "500", Body: "no"}}})
	u.Script(mockserver.Stub{URL: "https://cb.test/*"})
	var made bytes.Buffer
	expect.NoError(t, fixtures.New(5).WriteFile(&made, fixtures.Size{Messages: 40, DLQ: 10, Runs: 10}))
	expect.NoError(t, u.Load(mockserver.Fixture{Text: made.Bytes()}))
	for i := range 20 {
		u.Publish(fmt.Sprint("https://app.test/", i), []byte{byte(i), 0xff}, fmt.Sprint("Svc-Retries: ", i%4), "Svc-Callback: https://cb.test/ok", "Svc-Failure-Callback: https://cb.test/no",
			"Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: parallelism=2,rate=5,period=10s")
		u.Publish("https://slow.test/", []byte("x"), "Svc-Delay: 5s")
	}
	c.do("POST", "/v2/publish/https://app.test/q", "queued", "Svc-Queue-Name: q").ok()
	c.do("POST", "/v2/publish/orders", "to the group").ok()
	c.do("POST", "/v2/trigger/https://wf.test/run", "start").ok()
	c.do("POST", "/v2/publish/https://e.test/", "", "Svc-Retries: many").refused(400)
	c.do("POST", "/v2/publish/https://app.test/", "other", "Authorization: Bearer somebody", "Svc-Delay: 90d").ok() // this account has no stubs: an attempt would need the network
	c.do("POST", "/v2/keys/rotate", "").ok()
	c.do("GET", "/v2/logs?count=7", "").ok()
	u.Advance(30 * time.Hour)
	dlq := c.do("GET", "/v2/dlq?count=2", "").ok()
	c.do("POST", "/v2/dlq/retry/"+dlq.text("messages", 0, "dlqId"), "")
	u.Advance(time.Hour)
	seen := map[string][]byte{}
	for _, path := range []string{"/_understudy/requests", "/_understudy/deliveries", "/_understudy/snapshot", "/_understudy/clock"} {
		seen[path] = c.do("GET", path, "").raw
	}
	for _, path := range []string{"/v2/logs", "/v2/dlq", "/v2/workflows/logs", "/v2/workflows/runs", "/v2/flowControl", "/v2/topics", "/v2/schedules", "/v2/queues", "/v2/keys"} {
		seen[path] = c.do("GET", path, "").raw
	}
	return seen
}

// Two runs of the same commands give the same ids, signatures, journals, logs
// and states, byte for byte.
func TestASeededRunRepeatsToTheByte(t *testing.T) {
	t.Parallel()
	first, second, other := session(t, 7), session(t, 7), session(t, 8)
	for path, text := range first {
		if !bytes.Equal(text, second[path]) {
			at := 0
			for at < min(len(text), len(second[path])) && text[at] == second[path][at] {
				at++
			}
			from := max(0, at-300)
			t.Errorf("%s differs:\n%s\n%s", path, text[from:min(len(text), at+300)], second[path][from:min(len(second[path]), at+300)])
		}
		if len(text) < 20 {
			t.Errorf("%s says nothing: %s", path, text)
		}
	}
	if bytes.Equal(first["/_understudy/deliveries"], other["/_understudy/deliveries"]) {
		t.Error("another seed gives the same deliveries")
	}
}
