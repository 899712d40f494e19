package ui_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/ui"
)

// TestStatementsOfRandomStates does random things, and after each compares what the views say
// with the API.
func TestStatementsOfRandomStates(t *testing.T) {
	t.Parallel()
	u, w := randomAccount(t)
	random := rand.New(rand.NewPCG(7, 31))
	for i := range effort.Amount(t, "STATES", 60, 120) {
		what := randomAct(t, u, w, random, i)
		u.Settle()
		statementsOfAll(t, u)
		if t.Failed() {
			t.Fatalf("after state %d, by %s", i, what)
		}
	}
}

// randomAccount is the account for randomAct.
func randomAccount(t *testing.T) (*mockserver.TestServer, *orders) {
	t.Helper()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	u.Stub("https://app.test/*", 200)
	u.Stub("https://down.test/*", 503)
	return u, w
}

// randomAct changes the account, and returns what it has done.
func randomAct(t *testing.T, u *mockserver.TestServer, w *orders, random *rand.Rand, i int) string {
	t.Helper()
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	act := pick("good", "good", "bad", "bad", "later", "held", "pause", "resume", "advance", "advance", "advance", "run", "failing run", "cancel", "retry", "delete", "schedule", "reset", "again", "notify", "enqueue", "pause queue", "group")
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
	case "again":
		failed(w, fmt.Sprintf("wfr_%d", i))
		press(t, u, pick("dlq.resumeSome", "dlq.restartSome"), "sure", "yes")
	case "notify":
		for _, waiter := range fetch[struct{ Waiters []struct{ EventID string } }](t, u, "/_understudy/waiters").Waiters {
			press(t, u, "event.notify", "event", waiter.EventID, "data", "1")
		}
	case "enqueue":
		request(t, u, http.MethodPost, "/v2/enqueue/mails/https://"+pick("app", "down")+".test/mail", "", "Svc-Delay", pick("1s", "1h"))
	case "group": // each publish has its own label, which the messages of a fold share
		request(t, u, http.MethodPost, "/v2/topics/team/endpoints", `{"endpoints":[{"url":"https://app.test/a"},{"url":"https://down.test/b"}]}`)
		for range 2 {
			request(t, u, http.MethodPost, "/v2/publish/team", "", "Svc-Retries", "0", "Svc-Label", fmt.Sprintf("publish-%d", random.Int()))
		}
	case "pause queue":
		press(t, u, "queue.put", "name", "mails", "parallelism", "1")
		press(t, u, "queue."+pick("pause", "resume"), "name", "mails")
	case "schedule":
		request(t, u, http.MethodPost, "/v2/schedules/https://app.test/tick", "", "Svc-Cron", "0 */6 * * *", "Svc-Schedule-Id", "tick")
	case "reset":
		press(t, u, "reset", "sure", "yes")
		u.Stub("https://app.test/*", 200)
		u.Stub("https://down.test/*", 503)
	}
	return act
}

// row is a row of a list.
type row struct{ MessageID, WorkflowRunID, DlqID, State, WorkflowState, Source, Cause string }

// severalThings matches the number of equal entries in a notice.
var severalThings = regexp.MustCompile(`^(\d+) (?:messages|runs) to `)

// statementsOfAll compares the first view and the lists with the API.
func statementsOfAll(t *testing.T, u *mockserver.TestServer) {
	t.Helper()
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
		known := fetch[struct{ Messages, Runs, Entries []row }](t, u, "/_understudy/"+list+"?count="+map[bool]string{true: "100", false: "40"}[list == "dlq"])
		var want, got []string
		for _, r := range append(append(known.Messages, known.Runs...), known.Entries...) {
			want = append(want, key(r))
		}
		for _, body := range read(t, u, "ui/"+list).at("view").first("table", "dense").all("tbody", "") {
			var rows []string
			for _, tr := range body.all("tr", "") {
				line, found := strings.CutPrefix(tr.is("id"), "row-")
				if list != "dlq" {
					line += " " + tr.first("span", "state").is("title")
				}
				if found {
					rows = append(rows, line)
				}
			}
			if fold := body.first("tr", "group"); list == "messages" && fold.Node != nil {
				foldStatements(t, u, fold, rows)
			}
			if list == "dlq" {
				groupStatements(t, body.first("tr", "group"), rows, known.Entries)
			}
			got = append(got, rows...)
		}
		ids := []string{}
		for _, r := range append(append(known.Messages, known.Runs...), known.Entries...) {
			ids = append(ids, map[string]string{"messages": r.MessageID, "runs": r.WorkflowRunID, "dlq": r.DlqID}[list])
		}
		for _, id := range ids[:min(len(ids), 4)] {
			whyStatements(t, u, list, id)
		}
		if list == "runs" {
			compareStatements(t, u, ids)
		}
		if list == "dlq" { // the groups change the order
			slices.Sort(want)
			slices.Sort(got)
		}
		expect.Equal(t, "rows of "+list, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	statistics := read(t, u, "ui/statistics?period=30d").at("view")
	dead := func(source string) int {
		return fetch[struct{ All int }](t, u, "/_understudy/dlq?count=1&source="+source).All
	}
	expect.Contains(t, "statistics", statistics.text(), fmt.Sprintf("%s and %s in the DLQ", clip.Counted(dead("message"), "message", "messages"), clip.Counted(dead("workflow"), "run", "runs")))
	statisticsStatements(t, u, "1d")
	for _, words := range []string{"order", "ship", "label:shop"} {
		searchStatements(t, u, words)
	}
	for _, filter := range []string{"", "label=shop", "q=order", "url=https://down.test", "label=mail&state=FAILED"} {
		tabStatements(t, u, "messages", filter)
		tabStatements(t, u, "runs", strings.Replace(filter, "state=", "state=RUN_", 1))
		if !strings.Contains(filter, "state=") { // which the DLQ does not have
			tabStatements(t, u, "dlq", filter)
		}
	}
}

// tabStatements compares the numbers beside the states of a list with what the filter matches.
func tabStatements(t *testing.T, u *mockserver.TestServer, list, filter string) {
	t.Helper()
	asked, err := url.ParseQuery(filter)
	if err != nil {
		t.Fatal(err)
	}
	words := asked.Get("q")
	asked.Del("q")
	asked.Del("state")
	asked.Set("count", map[bool]string{true: "100", false: "1000"}[list == "dlq"])
	hits := map[string]bool{}
	for _, hit := range fetch[struct{ Hits []struct{ ID string } }](t, u, "/_understudy/search?count=1000&q="+url.QueryEscape(strings.TrimSpace("kind:"+strings.TrimSuffix(list, "s")+" "+words))).Hits {
		hits[hit.ID] = true
	}
	want := map[string]int{}
	found := fetch[struct{ Messages, Runs, Entries []row }](t, u, "/_understudy/"+list+"?"+asked.Encode())
	for _, r := range append(append(found.Messages, found.Runs...), found.Entries...) {
		if words == "" || hits[map[string]string{"messages": r.MessageID, "runs": r.WorkflowRunID, "dlq": r.DlqID}[list]] {
			want[cmp.Or(r.WorkflowState, r.State, r.Source)]++
			want[""]++ // All
		}
	}
	tabs := read(t, u, "ui/"+list+"?"+filter).at("view").first("p", "tabs").all("a", "")
	expect.Equal(t, "number of tabs of "+list+"?"+filter, len(tabs), map[string]int{"messages": 7, "runs": 5, "dlq": 3}[list])
	for _, tab := range tabs {
		address, _ := url.Parse(tab.is("href"))
		state := cmp.Or(address.Query().Get("state"), address.Query().Get("source"))
		expect.Equal(t, fmt.Sprintf("%s of %s?%s", state, list, filter), tab.first("span", "count").text(), strconv.Itoa(want[state]))
	}
}

// foldStatements compares the line of a publish to a group with its rows, which all have the label of the publish, and with the
// list behind its link.
func foldStatements(t *testing.T, u *mockserver.TestServer, fold reading, rows []string) {
	t.Helper()
	states := map[string]int{}
	for _, r := range rows {
		_, state, _ := strings.Cut(r, " ")
		states[strings.ToLower(ui.StateWord(state))]++
	}
	var tally []string
	for _, word := range slices.Sorted(maps.Keys(states)) {
		tally = append(tally, fmt.Sprintf("%d %s", states[word], word))
	}
	words := strings.Split(strings.TrimPrefix(strings.TrimSuffix(fold.text(), " Show only these"), fmt.Sprintf("team %d messages of one publish: ", len(rows))), ", ")
	slices.Sort(words)
	slices.Sort(tally)
	expect.Equal(t, "states of a publish", strings.Join(words, ", "), strings.Join(tally, ", "))
	var want, got, labels []string
	for _, r := range rows {
		id, _, _ := strings.Cut(r, " ")
		want = append(want, "row-"+id)
		labels = append(labels, fetch[struct{ Row struct{ Labels []string } }](t, u, "/_understudy/messages/"+id).Row.Labels...)
	}
	expect.Equal(t, "publishes behind a line", len(slices.Compact(labels)), 1)
	for _, tr := range read(t, u, strings.TrimPrefix(fold.first("a", "").is("href"), "/_understudy/")).at("view").first("table", "dense").all("tr", "") {
		if strings.HasPrefix(tr.is("id"), "row-") {
			got = append(got, tr.is("id"))
		}
	}
	expect.Equal(t, "messages behind the link of a publish", strings.Join(got, " "), strings.Join(want, " "))
}

// groupStatements compares a group of DLQ entries with its rows, which have one cause and one source,
// and with the entries that its button acts on.
func groupStatements(t *testing.T, group reading, rows []string, entries []row) {
	t.Helper()
	button := group.all("button", "")[0].text()
	pick := group.all("input", "")[slices.IndexFunc(group.all("input", ""), func(i reading) bool { return i.is("name") == "pick" })].is("value")
	expect.Equal(t, "entries that the button of a group acts on", pick, strings.Join(rows, ","))
	want := map[string]string{"message": "Retry", "workflow": "Resume"}
	for _, e := range entries {
		if !slices.Contains(rows, e.DlqID) {
			continue
		}
		label := want[e.Source]
		if len(rows) > 1 {
			label += fmt.Sprintf(" %d", len(rows))
		}
		expect.Equal(t, "button of the group of "+e.DlqID, button, label)
		expect.Equal(t, "cause of "+e.DlqID, numberOfAttempts.ReplaceAllString(e.Cause, ""), group.first("b", "").text())
	}
}

// numberOfAttempts matches what a group leaves out of the cause of its entries.
var numberOfAttempts = regexp.MustCompile(`, attempt \d+ of \d+`)
