package ui_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestStatementsOfRandomStates does random things, and after each compares what the views say
// with the API.
func TestStatementsOfRandomStates(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	u.Stub("https://app.test/*", 200)
	u.Stub("https://down.test/*", 503)
	random := rand.New(rand.NewPCG(7, 31))
	for i := range effort.Amount(t, "STATES", 60, 300) {
		what := randomAct(t, u, w, random, i)
		u.Settle()
		statementsOfAll(t, u)
		if t.Failed() {
			t.Fatalf("after state %d, by %s", i, what)
		}
	}
}

// randomAct changes the account, and returns what it has done.
func randomAct(t *testing.T, u *mockserver.TestServer, w *orders, random *rand.Rand, i int) string {
	t.Helper()
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	act := pick("good", "good", "bad", "bad", "later", "held", "pause", "resume", "advance", "advance", "advance", "run", "failing run", "cancel", "retry", "delete", "schedule", "reset")
	switch act {
	case "good":
		u.Publish("https://app.test/"+pick("order", "mail"), []byte(`{"n":1}`), "Svc-Label: "+pick("shop", "mail"))
	case "bad":
		u.Publish("https://down.test/"+pick("ship", "hook"), nil, "Svc-Retries: "+pick("0", "1", "2"))
	case "later":
		u.Publish("https://app.test/later", nil, "Svc-Delay: "+pick("1m", "2h", "3d"))
	case "held":
		u.Publish("https://app.test/held", nil, "Svc-Flow-Control-Key: key", "Svc-Flow-Control-Value: parallelism=1")
	case "pause", "resume":
		request(t, u, http.MethodPost, "/v2/flowControl/key/"+act, "")
	case "advance":
		press(t, u, "clock.advance", "by", pick("1m", "1h", "25h"))
	case "run", "failing run":
		w.broken.Store(act == "failing run")
		w.trigger(fmt.Sprintf("wfr_%d", i))
	case "cancel":
		for _, m := range fetch[struct {
			Messages []struct{ MessageID, Role string }
		}](t, u, "/_understudy/messages?count=3&state=CREATED,RETRY").Messages {
			press(t, u, "message.cancel", "id", m.MessageID)
		}
	case "retry", "delete":
		press(t, u, "dlq."+act+"Some", "sure", "yes", "label", pick("", "shop"))
	case "schedule":
		request(t, u, http.MethodPost, "/v2/schedules/https://app.test/tick", "", "Svc-Cron", "0 */6 * * *", "Svc-Schedule-Id", "tick")
	case "reset":
		press(t, u, "reset", "sure", "yes")
		u.Stub("https://app.test/*", 200)
		u.Stub("https://down.test/*", 503)
	}
	return act
}

// severalThings matches the number of equal entries in a notice.
var severalThings = regexp.MustCompile(`^(\d+) (?:messages|runs) to `)

// statementsOfAll compares the first view and the lists with the API.
func statementsOfAll(t *testing.T, u *mockserver.TestServer) {
	t.Helper()
	type row struct{ MessageID, WorkflowRunID, DlqID, State, WorkflowState string }
	all := fetch[struct {
		Messages, Runs map[string]int
		NextDue        int64
		DLQ            int
	}](t, u, "/_understudy/overview")
	page := read(t, u, "").at("view")
	for id, counts := range map[string]map[string]int{"t-messages": all.Messages, "t-runs": all.Runs} {
		for _, li := range page.at(id).all("li", "") {
			address, _ := url.Parse(li.first("a", "").is("href"))
			state := address.Query().Get("state")
			expect.Equal(t, state, li.first("b", "").text(), strconv.Itoa(counts[state]))
		}
	}
	entries := 0
	for _, p := range page.first("ul", "notices").all("p", "") {
		if strings.HasPrefix(p.first("a", "").is("href"), "/_understudy/ui/dlq") {
			n := 1
			if several := severalThings.FindStringSubmatch(p.first("a", "").text()); several != nil {
				n, _ = strconv.Atoi(several[1])
			}
			entries += n
		}
	}
	expect.Equal(t, "DLQ entries that need attention", entries, min(all.DLQ, 200))
	if all.NextDue > 0 {
		expect.Equal(t, "the next timer", page.at("t-next").instants(t)[0], all.NextDue)
	}
	for list, key := range map[string]func(row) string{"messages": func(r row) string { return r.MessageID + " " + r.State }, "runs": func(r row) string { return r.WorkflowRunID + " " + r.WorkflowState }, "dlq": func(r row) string { return r.DlqID }} {
		known := fetch[struct{ Messages, Runs, Entries []row }](t, u, "/_understudy/"+list+"?count=40")
		var want, got []string
		for _, r := range append(append(known.Messages, known.Runs...), known.Entries...) {
			want = append(want, key(r))
		}
		for _, tr := range read(t, u, "ui/"+list).at("view").first("table", "dense").first("tbody", "").all("tr", "") {
			line := strings.TrimPrefix(tr.is("id"), "row-")
			if list != "dlq" {
				line += " " + tr.first("span", "state").is("title")
			}
			got = append(got, line)
		}
		expect.Equal(t, "rows of "+list, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
