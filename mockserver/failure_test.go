package mockserver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// chained are the links of an answer, such as "< resumes run r RUN_FAILED": < for what
// came before, > for what came after.
func chained(a answer) (links []string) {
	for _, one := range a.list("lineage") {
		l, _ := one.(map[string]any)
		text := func(name string) string { s, _ := l[name].(string); return s }
		mark := map[bool]string{true: "<", false: ">"}[l["before"] == true]
		links = append(links, strings.TrimSpace(strings.Join([]string{mark, text("relation"), text("kind"), text("id"), text("state")}, " ")))
	}
	return links
}

// TestLineage follows links in both directions, from each of the things that they join.
func TestLineage(t *testing.T) {
	t.Parallel()
	t.Run("a retry from the DLQ", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t)
		u.Stub("https://app.test/hook", 500, 500, 200)
		u.Stub("https://app.test/failed", 200)
		c := newClient(t, u)
		first := u.Publish("https://app.test/hook", nil, "Svc-Retries: 0", "Svc-Failure-Callback: https://app.test/failed")
		u.Settle()
		retry := func() string {
			entry := c.do("GET", "/_understudy/dlq", "").ok().text("entries", 0, "dlqId")
			id := c.do("POST", "/v2/dlq/retry/"+entry, "").ok().text("messageId")
			u.Settle()
			return id
		}
		entry := c.do("GET", "/_understudy/dlq", "").ok().text("entries", 0, "dlqId")
		links := chained(c.do("GET", "/_understudy/explain/"+entry, "").ok())
		expect.Equal(t, "number of links of the entry", len(links), 2)
		expect.Contains(t, "second reason of the entry", c.do("GET", "/_understudy/explain/"+entry, "").ok().text("reasons", 1, "reason"), "in the DLQ since ")
		expect.Equal(t, "first link of the entry", links[0], "< keeps message "+first+" FAILED")
		expect.Contains(t, "second link of the entry", links[1], "> failure callback message msg_")
		second, third := retry(), retry()
		links = chained(c.do("GET", "/_understudy/messages/"+first, "").ok())
		expect.Equal(t, "links of the first", strings.Join(links[1:], "; "), "> retried as message "+second+" FAILED; > retried as message "+third+" DELIVERED")
		expect.Contains(t, "links of the first", links[0], "> failure callback message msg_")
		links = chained(c.do("GET", "/_understudy/explain/"+third, "").ok())
		expect.Equal(t, "links of the last", strings.Join(links, "; "), "< retries message "+first+" FAILED; < retries message "+second+" FAILED")
		callback := strings.Fields(chained(c.do("GET", "/_understudy/messages/"+first, "").ok())[0])[4]
		links = chained(c.do("GET", "/_understudy/messages/"+callback, "").ok())
		expect.Equal(t, "links of the failure callback", strings.Join(links, "; "), "< reports on message "+first+" FAILED")
	})
	t.Run("messages published again, with changes", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t)
		c := newClient(t, u)
		account := c.do("GET", "/_understudy/overview", "").ok().text("account")
		u.Stub("https://app.test/*", 200)
		first := u.Publish("https://app.test/hook", nil)
		again := func(original string) string {
			return c.do("POST", "/_understudy/as/"+account+"/v2/publish/https://app.test/other", "", "Understudy-Original-Message: "+original).ok().text("messageId")
		}
		second := again(first)
		third, fourth := again(second), again(first)
		u.Settle()
		links := chained(c.do("GET", "/_understudy/messages/"+first, "").ok())
		expect.Equal(t, "links of the first", strings.Join(links, "; "), "> published again as message "+second+" DELIVERED; > published again as message "+third+" DELIVERED; > published again as message "+fourth+" DELIVERED")
		links = chained(c.do("GET", "/_understudy/messages/"+third, "").ok())
		expect.Equal(t, "links of the third", strings.Join(links, "; "), "< publishes again message "+first+" DELIVERED; < publishes again message "+second+" DELIVERED")
		links = chained(c.do("GET", "/_understudy/messages/"+fourth, "").ok())
		expect.Equal(t, "links of the fourth", strings.Join(links, "; "), "< publishes again message "+first+" DELIVERED")
		expect.Lacks(t, "the delivery", string(c.do("GET", "/_understudy/deliveries", "").ok().raw), "Understudy-Original")
		snapshot := c.do("GET", "/_understudy/snapshot", "").ok().raw
		other := newClient(t, mockserver.RunT(t))
		other.do("PUT", "/_understudy/snapshot", string(snapshot)).ok()
		links = chained(other.do("GET", "/_understudy/messages/"+second, "").ok())
		expect.Equal(t, "links of the second in another server", links[0], "< publishes again message "+first+" DELIVERED")
	})
	t.Run("a callback and a schedule", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t)
		u.Stub("*", 200)
		c := newClient(t, u)
		c.do("POST", "/v2/schedules/https://app.test/tick", "", "Svc-Cron: * * * * *", "Svc-Schedule-Id: tick", "Svc-Callback: https://app.test/back").ok()
		u.Advance(time.Minute)
		rows := c.do("GET", "/_understudy/messages?url=https://app.test/tick", "").ok()
		id := rows.text("messages", 0, "messageId")
		links := chained(c.do("GET", "/_understudy/messages/"+id, "").ok())
		expect.Equal(t, "first link", links[0], "< published by the schedule schedule tick")
		expect.Contains(t, "second link", links[1], "> callback message msg_")
	})
	t.Run("a run that was resumed, then restarted", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t)
		workflowAnswers(u, "500")
		c := newClient(t, u)
		c.trigger("one", "Svc-Retries: 0")
		u.Settle()
		entry := func() string { return c.do("GET", "/_understudy/dlq", "").ok().text("entries", 0, "dlqId") }
		c.do("POST", "/v2/workflows/dlq/resume/"+entry(), "", "Svc-Workflow-RunId: two").ok()
		u.Settle()
		c.do("POST", "/v2/workflows/dlq/restart/"+entry(), "", "Svc-Workflow-RunId: three").ok()
		u.Settle()
		for id, want := range map[string]string{
			"one":   "> resumed as run two RUN_FAILED; > restarted as run three RUN_FAILED",
			"two":   "< resumes run one RUN_FAILED; > restarted as run three RUN_FAILED",
			"three": "< resumes run one RUN_FAILED; < restarts run two RUN_FAILED; > in the DLQ as DLQ entry " + entry(),
		} {
			expect.Equal(t, "links of "+id, strings.Join(chained(c.do("GET", "/_understudy/runs/"+id, "").ok()), "; "), want)
			explained := c.do("GET", "/_understudy/explain/"+id, "").ok()
			expect.Equal(t, "links in the explanation of "+id, strings.Join(chained(explained), "; "), want)
			for i := range explained.list("reasons") { // the links have it
				expect.Lacks(t, "reason of "+id, explained.text("reasons", i, "reason"), "ed as")
			}
		}
	})
}

// remedies are what an answer says can be done.
func remedies(a answer) (list []string) {
	for i := range a.list("failure", "can") {
		list = append(list, a.text("failure", "can", i, "do"))
	}
	return list
}

// TestFailureOfAMessage explains what failed, from its answer.
func TestFailureOfAMessage(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Script(mockserver.Stub{URL: "https://app.test/*", Answers: []mockserver.Answer{{Status: "500", Body: `{"message":"no paper","stack":"Error: no paper\n    at x (/app/node_modules/y.js:1:2)\n    at print (/app/src/label.ts:9:3)"}`}}})
	c := newClient(t, u)
	id := u.Publish("https://app.test/label", nil, "Svc-Retries: 1")
	u.Settle()
	a := c.do("GET", "/_understudy/explain/"+id, "").ok()
	expect.Equal(t, "reason", a.text("failure", "reason"), "no paper (500), attempt 1 of 2")
	expect.Equal(t, "first own line", a.text("failure", "stack", "own"), "at print (/app/src/label.ts:9:3)")
	expect.Equal(t, "what can be done while it waits", strings.Join(remedies(a), ", "), "hurry, open the answer")
	u.Advance(time.Hour)
	a = c.do("GET", "/_understudy/messages/"+id, "").ok()
	expect.Equal(t, "reason", a.text("failure", "reason"), "no paper (500), attempt 2 of 2")
	expect.Equal(t, "what can be done", strings.Join(remedies(a), ", "), "retry, open the answer")
	path := a.text("failure", "can", 0, "path")
	expect.Equal(t, "what is done", path, "/v2/dlq/retry/"+a.text("dlqId"))
	c.do(a.text("failure", "can", 0, "method"), path, "").ok()
	u.Stub("https://fine.test/", 200)
	delivered := u.Publish("https://fine.test/", nil)
	u.Settle()
	expect.Lacks(t, "the explanation of a message that was delivered", string(c.do("GET", "/_understudy/explain/"+delivered, "").ok().raw), `"failure"`)
}

// TestRefusedSignature says with which key a delivery was signed that its endpoint
// refused.
func TestRefusedSignature(t *testing.T) {
	t.Parallel()
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "signature is not valid", map[string]int{"/401": 401, "/403": 403, "/500": 500}[r.URL.Path])
	}))
	t.Cleanup(app.Close)
	u := mockserver.RunT(t)
	c := newClient(t, u)
	explained := func(path string) answer {
		id := u.Publish(app.URL+path, []byte("x"), "Svc-Retries: 0")
		u.Settle()
		return c.do("GET", "/_understudy/explain/"+id, "").ok()
	}
	for _, path := range []string{"/401", "/403"} {
		a := explained(path)
		expect.Equal(t, "key", a.text("failure", "signature", "key"), "current")
		expect.Equal(t, "variable", a.text("failure", "signature", "variable"), "UNDERSTUDY_CURRENT_SIGNING_KEY")
		checks := string(a.raw)
		expect.Contains(t, "the checks", checks, "the signature is for the URL "+app.URL+path)
		expect.Contains(t, "the checks", checks, "UNDERSTUDY_CURRENT_SIGNING_KEY of the endpoint must be sig_")
	}
	expect.Lacks(t, "the explanation after another status", string(explained("/500").raw), `"signature"`)
	t.Run("with the names of a brand", func(t *testing.T) {
		brand := spec.BuiltInDialects()[1]
		u := mockserver.RunT(t, mockserver.Config{Dialect: brand})
		id := u.Publish(app.URL+"/401", []byte("x"), brand.HeaderPrefix+"Retries: 0")
		u.Settle()
		a := newClient(t, u).do("GET", "/_understudy/explain/"+id, "").ok()
		expect.Equal(t, "variable", a.text("failure", "signature", "variable"), brand.Env["CURRENT_SIGNING_KEY"])
	})
	t.Run("by a key that has been rotated away", func(t *testing.T) {
		id := u.Publish(app.URL+"/401", []byte("x"), "Svc-Retries: 0")
		u.Settle()
		c.do("POST", "/v2/keys/rotate", "").ok()
		a := c.do("GET", "/_understudy/explain/"+id, "").ok()
		expect.Equal(t, "key", a.text("failure", "signature", "key"), "unknown")
		expect.Contains(t, "the checks", string(a.raw), "the keys have been rotated since")
	})
	t.Run("in a server that does not have the delivery, as after a restart", func(t *testing.T) {
		id := u.Publish(app.URL+"/401", []byte("x"), "Svc-Retries: 0")
		u.Settle()
		key := allEnv(u.Server)["UNDERSTUDY_CURRENT_SIGNING_KEY"]
		later := newClient(t, mockserver.RunT(t))
		later.do("PUT", "/_understudy/snapshot", string(c.do("GET", "/_understudy/snapshot", "").ok().raw)).ok()
		a := later.do("GET", "/_understudy/explain/"+id, "").ok()
		expect.Equal(t, "key", a.text("failure", "signature", "key"), "dropped")
		expect.Equal(t, "header", a.text("failure", "signature", "header"), "Svc-Signature")
		expect.Equal(t, "variable", a.text("failure", "signature", "variable"), "UNDERSTUDY_CURRENT_SIGNING_KEY")
		checks := string(a.raw)
		expect.Contains(t, "the checks", checks, "UNDERSTUDY_CURRENT_SIGNING_KEY of the endpoint must be "+key[:8])
		expect.Contains(t, "the checks", checks, "unless the keys have been rotated since the attempt")
		expect.Contains(t, "the checks", checks, "the signature is for the URL "+app.URL+"/401")
		expect.Contains(t, "the checks", checks, "after another attempt, this says which key signed it")
	})
}
