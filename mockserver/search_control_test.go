package mockserver_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// search asks the control API; found are the kinds and ids of what it has found.
func (c *client) search(line string, more ...string) (a answer, found []string) {
	c.t.Helper()
	a = c.do("GET", "/_understudy/search?q="+url.QueryEscape(line)+strings.Join(more, ""), "").ok()
	for i := range a.list("hits") {
		id := a.text("hits", i, "id")
		if id == "" {
			id = a.text("hits", i, "state")
		}
		found = append(found, a.text("hits", i, "kind")+" "+id)
	}
	return a, found
}

func TestSearch(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://down.test/*", 503)
	u.Script(mockserver.Stub{URL: "https://app.test/orders*", Answers: []mockserver.Answer{{Status: "200", Body: "reserved in Basel"}}})
	workflowAnswers(u, "200", "500")
	c := newClient(t, u)
	order := u.Publish("https://app.test/orders", []byte(`{"order":4711,"city":"Zürich"}`), "Svc-Label: shop", "Svc-Forward-X-Tenant: blue", "Svc-Forward-Authorization: Bearer Hunter2")
	failed := u.Publish("https://down.test/mail", []byte("to Lou"), "Svc-Retries: 0", "Svc-Label: mail")
	u.Settle()
	c.trigger("wfr_shoes", "Svc-Retries: 0")
	c.report("wfr_shoes", `{"stepId":1,"stepName":"reserve","stepType":"Run","out":"\"aisle nine\"","concurrent":1}`)
	u.Settle()
	run, entry, runEntry := "run wfr_shoes", "dlq "+c.do("GET", "/v2/dlq?messageId="+failed, "").ok().text("messages", 0, "dlqId"), "dlq "+c.run("wfr_shoes").text("dlqId")
	message := "message " + order
	for line, want := range map[string][]string{
		"zürich": {message}, "4711 kind:message": {message}, "basel": {message, "log DELIVERED"}, "label:shop kind:message": {message}, "blue": {message},
		"header:X-Tenant=blue": {message}, order: {message}, "Hunter2": nil, "label:shop lou": nil,
		"lou": {entry, "message " + failed}, "path:/mail state:failed kind:message,dlq": {entry, "message " + failed}, "status:503 kind:dlq": {entry},
		"nine kind:run": {run}, "reserve kind:run": {run}, "step:charge kind:run,dlq": {run, runEntry}, "state:run_failed kind:run": {run}, "run:wfr_sh kind:run,dlq": {run, runEntry},
		"kind:message until:1h": nil, "state:run_failed kind:log": {"log RUN_FAILED"},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			_, got := newClient(t, u).search(line)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a hit says where the word is", func(t *testing.T) {
		t.Parallel()
		a, _ := newClient(t, u).search("4711 kind:message")
		expect.Equal(t, "place", a.text("hits", 0, "place"), "body")
		expect.Equal(t, "excerpt", a.text("hits", 0, "excerpt", "before")+"|"+a.text("hits", 0, "excerpt", "found")+"|"+a.text("hits", 0, "excerpt", "after"), `{"order":|4711|,"city":"Zürich"}`)
	})
	t.Run("what is wrong is refused with a hint", func(t *testing.T) {
		t.Parallel()
		c := newClient(t, u)
		for path, texts := range map[string][]string{
			"": {"q"}, "?q=": {"words, or filters"}, "?q=lable:x": {`did you mean "label"?`, "must be one of body,", "query q: invalid value"}, "?q=state:x": {"must be one of active"},
			"?q=a&cursor=x": {"must be a cursor of an earlier page"}, "?q=a&count=0": {"count"}, "?q=a&account=*": {"account"},
		} {
			c.do("GET", "/_understudy/search"+path, "").refused(400, texts...)
		}
	})
	t.Run("another account finds nothing", func(t *testing.T) {
		t.Parallel()
		c := newClient(t, u)
		c.do("PUT", "/_understudy/accounts/second", "{}").ok()
		_, got := c.search("zürich", "&account=second")
		expect.Equal(t, "number of hits", len(got), 0)
	})
}

// TestSearchPages follows the cursor of one kind through everything, in parts and without a gap.
func TestSearchPages(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://app.test/*", 200)
	c := newClient(t, u)
	const all = 1203 // more than two parts
	batch := make([]string, all)
	for i := range batch {
		batch[i] = fmt.Sprintf(`{"destination":"https://app.test/%d","body":"order %d"}`, i%3, i)
	}
	c.do("POST", "/v2/batch", "["+strings.Join(batch, ",")+"]").ok()
	u.Settle()
	t.Run("a cursor continues its kind where several are looked through", func(t *testing.T) {
		a, _ := c.search("path:/1", "&count=1")
		a, found := c.search("path:/1", "&cursor="+a.text("cursors", "log"))
		expect.Equal(t, "number of hits", len(found), 20)
		expect.Equal(t, "kind", a.text("hits", 0, "kind"), "log")
	})
	for line, want := range map[string]int{"order kind:message": all, "path:/1 kind:message": all / 3, "state:delivered kind:log": all} {
		seen, cursor := map[string]bool{}, ""
		for {
			a, _ := c.search(line, "&count=100", cursor)
			for i, hit := range a.list("hits") {
				h, _ := hit.(map[string]any)
				seen[fmt.Sprint(h["messageId"], h["id"])] = true
				_, kind, _ := strings.Cut(line, "kind:")
				expect.Equal(t, "kind of hit", a.text("hits", i, "kind"), kind)
			}
			if cursor = "&cursor=" + a.text("cursor"); a.text("cursor") == "" {
				break
			}
		}
		expect.Equal(t, "messages found by "+line, len(seen), want)
	}
}
