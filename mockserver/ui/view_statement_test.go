package ui_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/ui"
	"github.com/understudy-mock/understudy/spec/api"
	"github.com/understudy-mock/understudy/spec/route"
)

// tally counts the elements of a list by a key.
func tally[T any](list []T, key func(T) string) map[string]int {
	n := map[string]int{}
	for _, one := range list {
		n[key(one)]++
	}
	return n
}

// TestStatementsOfNow compares Now with the lists of the interface and of the control API.
func TestStatementsOfNow(t *testing.T) {
	t.Parallel()
	u := busy(t)
	page := read(t, u, "").at("view")
	shown := func(id string) map[string]int {
		counts := map[string]int{}
		for _, li := range page.at(id).all("li", "") {
			n := 0
			_, _ = fmt.Sscan(li.first("b", "").text(), &n)
			if n > 0 {
				counts[li.first("", "state").text()] = n
			}
		}
		return counts
	}
	type entry struct{ State, WorkflowState string }
	messages := fetch[struct{ Messages []entry }](t, u, "/_understudy/messages?count=1000").Messages
	runs := fetch[struct{ Runs []entry }](t, u, "/v2/workflows/logs?groupBy=workflowRunId&count=1000").Runs
	t.Run("messages by state", func(t *testing.T) {
		expect.Equal(t, "counts", shown("t-messages"), tally(messages, func(e entry) string { return e.State }))
	})
	t.Run("runs by state", func(t *testing.T) {
		expect.Equal(t, "counts", shown("t-runs"), tally(runs, func(e entry) string { return e.WorkflowState }))
	})
	t.Run("what holds messages back", func(t *testing.T) {
		keys := fetch[[]struct{ IsPaused bool }](t, u, "/v2/flowControl")
		paused := tally(keys, func(k struct{ IsPaused bool }) string { return fmt.Sprint(k.IsPaused) })["true"]
		entries := len(fetch[struct{ Messages []any }](t, u, "/v2/dlq").Messages)
		waiters := len(fetch[struct{ Waiters []any }](t, u, "/_understudy/waiters").Waiters)
		expect.Equal(t, "text", page.at("t-held").text(), fmt.Sprintf("%d in the DLQ %d flow-control keys, %d paused %d waits for events", entries, len(keys), paused, waiters))
	})
	t.Run("the pace and the next timer", func(t *testing.T) {
		at := fetch[struct{ ParallelismCount, ParallelismMax int }](t, u, "/v2/globalParallelism")
		expect.Contains(t, "text", page.at("t-pace").text(), fmt.Sprintf("0 attempts/s %d of %d in flight", at.ParallelismCount, at.ParallelismMax))
		next := fetch[[]struct{ NextScheduleTime int64 }](t, u, "/v2/schedules")[0].NextScheduleTime // the earliest timer
		expect.Equal(t, "the next timer", page.at("t-next").instants(t)[0], next)
	})
	t.Run("the activity has the latest event of each message and run", func(t *testing.T) {
		events := fetch[struct {
			Events []struct {
				Time                            int64
				State, MessageID, WorkflowRunID string
			}
		}](t, u, "/_understudy/log?count=200").Events
		latest := map[string]string{}
		for _, e := range events {
			if id := cmp.Or(e.WorkflowRunID, e.MessageID); latest[id] == "" {
				latest[id] = fmt.Sprintf("%d %s", e.Time, e.State)
			}
		}
		rows := page.first("table", "activity").all("tr", "")
		expect.True(t, "it has rows", len(rows) > 5)
		for _, row := range rows {
			address := row.first("a", "").is("href")
			id := address[strings.LastIndex(address, "/")+1:]
			at, _ := strconv.ParseInt(row.all("small", "")[len(row.all("small", ""))-1].is("data-at"), 10, 64)
			expect.Equal(t, "the row of "+id, fmt.Sprintf("%d %s", at, row.first("", "hide").is("data-state")), latest[id])
		}
	})
	t.Run("what needs attention is in the DLQ, waits or is paused", func(t *testing.T) {
		expect.Equal(t, "notices", texts(page.first("ul", "notices").all("p", "")), []string{"/hook 503 response", "Flow key customer-9 is paused and holds 1 message"})
	})
}

// TestStatementOfAutoClock reads what Now says of an automatic clock that stops before a schedule.
func TestStatementOfAutoClock(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Clock: "auto"})
	u.Stub("*", 200)
	request(t, u, http.MethodPost, "/v2/schedules/https://app.test/night", "x", "Svc-Cron", "0 0 1 1 *")
	u.Publish("https://app.test/later", nil, "Svc-Delay: 1m")
	u.Settle()
	now := fetch[struct {
		Clock   struct{ Now int64 }
		NextDue int64
	}](t, u, "/_understudy/overview")
	expect.True(t, "the clock is before the schedule", now.NextDue > now.Clock.Now)
	expect.Contains(t, "the page", read(t, u, "").at("live").text(), "until only schedules are left")
}

func TestStatementsOfFlowKeys(t *testing.T) {
	t.Parallel()
	u := busy(t)
	request(t, u, http.MethodPost, "/v2/flowControl/customer-7/pin?parallelism=4&rate=5&period=60", "")
	page := read(t, u, "ui/flow").at("view")
	all := fetch[struct{ ParallelismCount, ParallelismMax int }](t, u, "/v2/globalParallelism")
	expect.Contains(t, "all keys", page.text(), fmt.Sprintf("All keys together: %d of %d attempts in flight", all.ParallelismCount, all.ParallelismMax))
	keys := fetch[[]struct {
		FlowControlKey                                                                 string
		IsPaused, IsPinnedParallelism, IsPinnedRate                                    bool
		ParallelismCount, ParallelismMax, RateCount, RateMax, RatePeriod, WaitListSize int
	}](t, u, "/v2/flowControl")
	expect.Equal(t, "number of cards", len(page.all("section", "card")), len(keys))
	for _, k := range keys {
		t.Run(k.FlowControlKey, func(t *testing.T) {
			card := page.at("key-" + k.FlowControlKey)
			want := []string{k.FlowControlKey + map[bool]string{true: " paused"}[k.IsPaused], fmt.Sprintf("%d waiting", k.WaitListSize)}
			pinned := func(yes bool) string { return map[bool]string{true: " pinned"}[yes] }
			if k.ParallelismMax > 0 {
				want = append(want, fmt.Sprintf("%d/%d in flight%s", k.ParallelismCount, k.ParallelismMax, pinned(k.IsPinnedParallelism)))
			}
			if k.RateMax > 0 {
				period := fmt.Sprintf("%d s", k.RatePeriod)
				if k.RatePeriod%60 == 0 {
					period = fmt.Sprintf("%d m", k.RatePeriod/60)
				}
				want = append(want, fmt.Sprintf("%d/%d starts per %s%s", k.RateCount, k.RateMax, period, pinned(k.IsPinnedRate)))
			} else {
				want = append(want, "no rate limit")
			}
			got := append([]string{card.first("h2", "").text()}, texts(card.all("p", ""))...)
			expect.Equal(t, "statements", got, want)
			buttons := texts(card.all("button", ""))
			for name, there := range map[string]bool{"Pause": !k.IsPaused, "Unpause": k.IsPaused, "Reset rate": k.RateMax > 0, "Unpin parallelism": k.IsPinnedParallelism, "Unpin rate": k.IsPinnedRate} {
				expect.Equal(t, "the button "+name+" is there", slices.Contains(buttons, name), there)
			}
		})
	}
}

func TestStatementsOfQueues(t *testing.T) {
	t.Parallel()
	u := busy(t)
	request(t, u, http.MethodPost, "/v2/enqueue/mails/https://app.test/delivered", "x")
	u.Settle()
	request(t, u, http.MethodPost, "/v2/queues/mails/pause", "")
	for range 3 {
		request(t, u, http.MethodPost, "/v2/enqueue/mails/https://app.test/x", "x")
	}
	request(t, u, http.MethodPost, "/v2/queues", `{"queueName":"news","parallelism":7}`)
	u.Settle()
	page := read(t, u, "ui/queues").at("view")
	queues := fetch[[]struct {
		Name             string
		Lag, Parallelism int
		Paused           bool
	}](t, u, "/v2/queues")
	expect.Equal(t, "number of rows", len(page.first("tbody", "").all("tr", "")), len(queues))
	for _, q := range queues {
		row := page.at("queue-" + q.Name)
		cells := row.all("td", "")
		expect.Equal(t, q.Name+": name and state", cells[0].text(), q.Name+map[bool]string{true: " paused"}[q.Paused])
		expect.Equal(t, q.Name+": waiting", cells[1].text(), fmt.Sprint(q.Lag))
		waiting := read(t, u, strings.TrimPrefix(cells[1].all("a", "")[0].is("href"), "/_understudy/")).at("view")
		expect.Equal(t, q.Name+": rows behind the number", len(waiting.all("tr", ""))-len(waiting.all("thead", "")), q.Lag)
		expect.Equal(t, q.Name+": parallelism", cells[2].all("input", "")[2].is("value"), fmt.Sprint(q.Parallelism))
		expect.Equal(t, q.Name+": the button Pause is there", slices.Contains(texts(row.all("button", "")), "Pause"), !q.Paused)
		expect.Equal(t, q.Name+": the button Resume is there", slices.Contains(texts(row.all("button", "")), "Resume"), q.Paused)
	}
}

func TestStatementsOfSchedules(t *testing.T) {
	t.Parallel()
	u := busy(t)
	request(t, u, http.MethodPost, "/v2/schedules/https://app.test/night", "x", "Svc-Cron", "CRON_TZ=America/New_York 0 3 * * 1-5", "Svc-Schedule-Id", "night")
	request(t, u, http.MethodPost, "/v2/schedules/https://app.test/held", "x", "Svc-Cron", "0 * * * *", "Svc-Schedule-Id", "held")
	request(t, u, http.MethodPost, "/v2/schedules/held/pause", "")
	page := read(t, u, "ui/schedules").at("view")
	schedules := fetch[[]struct {
		ScheduleID, Cron, Destination      string
		IsPaused                           bool
		NextScheduleTime, LastScheduleTime int64
		LastScheduleStates                 map[string]string
	}](t, u, "/v2/schedules")
	expect.Equal(t, "number of rows", len(page.first("tbody", "").all("tr", "")), len(schedules))
	for _, s := range schedules {
		t.Run(s.ScheduleID, func(t *testing.T) {
			row := page.at("schedule-" + s.ScheduleID)
			cells := row.all("td", "")
			expect.Equal(t, "what", cells[0].text(), s.ScheduleID+map[bool]string{true: " paused"}[s.IsPaused]+" "+s.Destination)
			zone, cron, found := strings.Cut(strings.TrimPrefix(s.Cron, "CRON_TZ="), " ")
			if !found || !strings.HasPrefix(s.Cron, "CRON_TZ=") {
				zone, cron = "UTC", s.Cron
			}
			expect.Contains(t, "due", cells[1].text(), cron)
			expect.Contains(t, "zone", cells[1].text(), zone)
			next := cells[2].instants(t)
			if s.IsPaused {
				expect.Equal(t, "next times", cells[2].text(), "none: it is paused")
			} else {
				expect.Equal(t, "number of next times", len(next), 3)
				expect.Equal(t, "the next time", next[0], s.NextScheduleTime)
				expect.True(t, "the next times are in order", slices.IsSorted(next))
				there := time.UnixMilli(next[0]).In(inZone(t, zone)).Format("15:04")
				expect.Contains(t, "the next time in the zone of the schedule", cells[2].text(), there)
			}
			if s.LastScheduleTime == 0 {
				expect.Equal(t, "last", cells[3].text(), "never")
			} else {
				expect.Equal(t, "last time", cells[3].instants(t)[0], s.LastScheduleTime)
				for id, state := range s.LastScheduleStates {
					expect.Contains(t, "last message", cells[3].first("a", "").is("href"), id)
					expect.Equal(t, "its state", cells[3].first("", "state").text(), state)
				}
			}
			expect.Equal(t, "the button Resume is there", slices.Contains(texts(row.all("button", "")), "Resume"), s.IsPaused)
		})
	}
}

func inZone(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// TestStatementsOfStatistics compares the totals and the bars of all periods with the
// interface.
func TestStatementsOfStatistics(t *testing.T) {
	t.Parallel()
	u := busy(t)
	type points []struct{ Y float64 }
	for _, period := range []string{"1h", "3h", "12h", "1d", "3d", "7d", "30d"} {
		t.Run(period, func(t *testing.T) {
			var truth map[string]json.RawMessage
			if err := json.Unmarshal([]byte(request(t, u, http.MethodGet, "/_understudy/as/"+account(t, u)+route.GetUsageStatistics.Path(account(t, u))+"?period="+period, "")), &truth); err != nil {
				t.Fatal(err)
			}
			page := read(t, u, "ui/statistics?period="+period).at("view")
			cards := map[string]reading{}
			for _, card := range page.all("section", "card") {
				cards[card.is("data-title")] = card
			}
			for title, name := range map[string]string{"Delivery attempts": "daily_used", "Workflow messages": "daily_used_workflow", "Attempts a day, this month": "daily_requests"} {
				var list points
				if err := json.Unmarshal(truth[name], &list); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				sum, bars := 0.0, 0
				for _, p := range list {
					sum += p.Y
					if p.Y > 0 {
						bars++
					}
				}
				expect.Equal(t, "total of "+title, cards[title].first("h2", "").first("", "soft").text(), fmt.Sprint(sum))
				expect.Equal(t, "bars of "+title, len(cards[title].all("rect", "one")), bars)
			}
			var runs []struct {
				ID         string
				DataPoints points `json:"data_points"`
			}
			if err := json.Unmarshal(truth["daily_workflow_messages"], &runs); err != nil {
				t.Fatal(err)
			}
			legend := ""
			for _, r := range runs {
				sum := 0.0
				for _, p := range r.DataPoints {
					sum += p.Y
				}
				legend += fmt.Sprintf(" %s %v", r.ID, sum)
			}
			expect.Equal(t, "legend of runs", cards["Workflow runs"].first("p", "legend").text(), strings.TrimSpace(legend))
			in := func(source string) int {
				return fetch[struct{ All int }](t, u, "/_understudy/dlq?count=1&source="+source).All
			}
			expect.Equal(t, "entries in the DLQ", fmt.Sprint(in("message")+in("workflow")), string(truth["dlq_message_count"]))
			expect.Contains(t, "the first line", page.text(), fmt.Sprintf("%d message and %d runs in the DLQ · this month $%s", in("message"), in("workflow"), truth["total_monthly_billing"]))
		})
	}
}

// TestStatementsOfTheDLQ compares the list with the interface; TestStatementsOfEntries does
// so for single entries.
func TestStatementsOfTheDLQ(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	u.Stub("https://down.test/*", 503)
	u.Script(mockserver.Stub{URL: "https://gone.test/*", Answers: []mockserver.Answer{{Fail: "refused"}}})
	u.Publish("https://down.test/x", []byte("gone"), "Svc-Retries: 1", "Svc-Label: shop")
	u.Publish("https://gone.test/x", nil, "Svc-Retries: 0")
	failed(w, "r")
	failedCallback(w)
	runs := runEntries(t, u)
	page := read(t, u, "ui/dlq").at("view")
	entries := fetch[struct {
		Messages []struct {
			DlqID, MessageID, WorkflowRunID, URL string
			Label                                any
			ResponseStatus, MaxRetries           int
		}
	}](t, u, "/v2/dlq").Messages
	ofMessages := 0
	for _, e := range entries {
		t.Run(e.URL, func(t *testing.T) {
			row := page.at("row-" + e.DlqID)
			_, plain, _ := strings.Cut(e.URL, "://")
			status := fmt.Sprint(e.ResponseStatus)
			if e.ResponseStatus == 0 {
				status = "none"
			}
			expect.Equal(t, "answer", row.column("state").text(), status)
			expect.Lacks(t, "reason, beside the answer", row.column("why").text(), "answered "+status+":")
			expect.True(t, "where, without the usual host: "+row.column("where").text(), strings.HasSuffix(plain, row.column("where").text()))
			expect.Equal(t, "attempts", row.column("attempts").text(), fmt.Sprint(e.MaxRetries+1))
			expect.Contains(t, "what it belongs to", row.column("belongs").first("a", "").is("href"), e.MessageID)
			wanted := []string{"Retry", "Delete"}
			if runs[e.DlqID] {
				wanted = []string{"Resume", "Restart", "Delete"}
			}
			for _, group := range page.all("tbody", "") {
				if group.at("row-"+e.DlqID).Node != nil {
					expect.Equal(t, "buttons", texts(group.all("button", "")), wanted)
				}
			}
			if e.Label != nil {
				expect.Contains(t, "the page of the entry", read(t, u, "ui/dlq/"+e.DlqID).at("view").text(), fmt.Sprint(e.Label))
			}
			var end int64
			if logged := logOf(t, u, e.MessageID); len(logged) > 0 {
				end = logged[len(logged)-1].Time
			} else {
				end = truthOf(t, u, e.WorkflowRunID).WorkflowRunCompletedAt
			}
			expect.Equal(t, "when it failed", row.column("created").instants(t)[0], end)
		})
		if !runs[e.DlqID] {
			ofMessages++
		}
	}
	buttons := texts(page.first("", "head").all("button", ""))
	expect.True(t, "a button counts all entries: "+strings.Join(buttons, ", "), slices.Contains(buttons, fmt.Sprintf("Delete all (%d)", len(entries))))
	expect.True(t, "a button counts messages: "+strings.Join(buttons, ", "), slices.Contains(buttons, fmt.Sprintf("Retry all messages (%d)", ofMessages)))
}

// TestStatementsOfRules checks that the page shows each value of the stubs, faults and
// rewrites in the control API.
func TestStatementsOfRules(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	request(t, u, http.MethodPut, "/_understudy/stubs", `[{"url":"https://a.test/*","method":"PUT","perMessage":true,"answers":[{"status":503,"body":"{\"no\":1}","delay":"3s"},{"fail":"reset"}]},{"url":"*","answers":[{"status":204}]}]`)
	request(t, u, http.MethodPut, "/_understudy/faults", `[{"on":"api","operation":"publishMessage","status":503,"times":2,"probability":0.5},{"on":"delivery","url":"https://b.test/*","delay":"30s","drop":true}]`)
	request(t, u, http.MethodPut, "/_understudy/rewrites", `{"https://c.test":"http://localhost:3000"}`)
	page := read(t, u, "ui/stubs").at("view")
	rules := page.all("ol", "rules")
	shown := func(list reading) (out []string) {
		for _, li := range list.all("li", "") {
			out = append(out, li.first("span", "").text())
		}
		return out
	}
	expect.Equal(t, "stubs, in their order", shown(rules[0]), []string{`method PUT url https://a.test/* answers 503 body {"no":1} delay 3s, then reset perMessage yes`, "url * answers 204"})
	expect.Equal(t, "faults, in their order", shown(rules[1]), []string{"on api operation publishMessage status 503 probability 0.5 times 2", "on delivery url https://b.test/* delay 30s drop yes"})
	expect.Contains(t, "rewrites", page.text(), "https://c.test → http://localhost:3000")
}

// TestStatementsOfTheFleet shows a fleet with known facts. The page is a client of the control
// API, so the test answers in its place.
func TestStatementsOfTheFleet(t *testing.T) {
	t.Parallel()
	page, facts := fleetPage(t, mockserver.RunT(t))
	view := page.at("view")
	expect.Contains(t, "text", view.text(), fmt.Sprintf("Accounts have come to another server %d times", facts.OwnerChanges))
	rows := view.all("tbody", "")
	for i, m := range facts.Members {
		cells := texts(rows[0].all("tr", "")[i].all("td", ""))
		state, self := map[bool]string{true: "leaving", false: "serving"}[m.Leaving], map[bool]string{true: " this server"}[m.ID == facts.Self]
		expect.Equal(t, "server", []string{cells[0], cells[1], cells[3], cells[4]}, []string{m.ID + self, fmt.Sprint(m.Accounts), state, m.URL})
		expect.Equal(t, "since", rows[0].all("tr", "")[i].instants(t)[0], m.Since)
	}
	for i, a := range facts.Accounts {
		cells := texts(rows[1].all("tr", "")[i].all("td", ""))
		owner := a.Owner
		if owner == "" {
			owner = "none"
		}
		expect.Equal(t, "account", cells, []string{a.ID, strings.TrimSpace(a.State + " " + a.Reason), owner})
	}
	found := slices.ContainsFunc(page.first("nav", "").all("a", ""), func(a reading) bool { return a.text() == "Fleet" })
	expect.True(t, "the navigation leads to the fleet", found)
}

// fleetFacts is a fleet of three servers, one of them leaving.
var fleetFacts = api.Fleet{
	Self: "one",
	Members: []api.FleetMember{
		{ID: "one", URL: "http://10.0.0.1:8080", Accounts: 2, Since: 1772442000000},
		{ID: "two", URL: "http://10.0.0.2:8080", Accounts: 1, Since: 1772442060000},
		{ID: "three", URL: "http://10.0.0.3:8080", Since: 1772442000000, Leaving: true},
	},
	Accounts: []api.FleetAccount{
		{ID: "svcUser", Owner: "one", URL: "http://10.0.0.1:8080", State: "serving"},
		{ID: "shop", Owner: "two", URL: "http://10.0.0.2:8080", State: "serving"},
		{ID: "old", Owner: "one", URL: "http://10.0.0.1:8080", State: "refused", Reason: "the records were written by a later version"},
		{ID: "lost", State: "waiting"},
	},
	OwnerChanges: 3,
}

// fleetServer is the page of a server that appears to be in a fleet.
func fleetServer(t testing.TB, u *mockserver.TestServer) *httptest.Server {
	t.Helper()
	api := http.NewServeMux()
	api.Handle("/", u)
	api.HandleFunc("GET /_understudy/fleet", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(fleetFacts) })
	page := ui.New(api)
	all := http.NewServeMux()
	all.Handle("/", u)
	all.Handle("/_understudy/ui/", page)
	all.Handle("/_understudy/{$}", page)
	server := httptest.NewServer(all)
	t.Cleanup(server.Close)
	return server
}

func fleetPage(t testing.TB, u *mockserver.TestServer) (reading, api.Fleet) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fleetServer(t, u).URL+"/_understudy/ui/fleet", nil)
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, text(t, r)), fleetFacts
}

// TestCountsOfTheNavigation compares the numbers in the navigation with the lists.
func TestCountsOfTheNavigation(t *testing.T) {
	t.Parallel()
	u := busy(t)
	shown := map[string]string{}
	for _, a := range read(t, u, "").first("nav", "").all("a", "") {
		if n := a.first("", "count").text(); n != "" {
			shown[strings.TrimSuffix(a.text(), " "+n)] = n
		}
	}
	count := func(path string) string {
		text := request(t, u, http.MethodGet, path, "")
		var list []any
		if json.Unmarshal([]byte(text), &list) == nil {
			return fmt.Sprint(len(list))
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if json.Unmarshal(object[name], &list) == nil {
				return fmt.Sprint(len(list))
			}
		}
		return "?"
	}
	expect.Equal(t, "counts", shown, map[string]string{
		"Messages": count("/_understudy/messages?state=CREATED,ACTIVE,RETRY,ERROR"), "Runs": count("/_understudy/runs?state=RUN_STARTED"), "DLQ": count("/v2/dlq"),
		"Flow control": count("/v2/flowControl"), "URL groups": count("/v2/topics"), "Queues": count("/v2/queues"), "Schedules": count("/v2/schedules"), "Stubs & faults": "3",
	})
}

// TestAPublishToAGroupIsFolded lists the messages of two publishes to a group: each is one line that
// counts its states, the usual host is left out, and the card of the group counts both.
func TestAPublishToAGroupIsFolded(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	u.Stub("https://app.test/*", 200)
	u.Stub("https://app.test/b", 500)
	request(t, u, http.MethodPost, "/v2/topics/team/endpoints", `{"endpoints":[{"url":"https://app.test/a"},{"url":"https://app.test/b"}]}`)
	var first []struct{ MessageID string }
	expect.NoError(t, json.Unmarshal([]byte(request(t, u, http.MethodPost, "/v2/publish/team", "one", "Svc-Retries", "0")), &first))
	request(t, u, http.MethodPost, "/v2/publish/team", "two", "Svc-Retries", "0") // at the same time of the clock
	u.Publish("https://app.test/alone", nil)
	u.Settle()
	view := read(t, u, "ui/messages").at("view")
	folds := view.all("tr", "group")
	expect.Equal(t, "number of folded publishes", len(folds), 2)
	expect.Contains(t, "the line of the latest publish", folds[0].text(), "team 2 messages of one publish: 1 delivered, 1 failed")
	var places []string
	for _, tr := range view.first("table", "dense").all("tr", "") {
		if strings.HasPrefix(tr.is("id"), "row-") {
			places = append(places, tr.column("where").text())
		}
	}
	expect.Equal(t, "destinations", strings.Join(places, " "), "/alone /b /a /b /a")
	links := append(folds[1].all("a", ""), read(t, u, "ui/messages/"+first[0].MessageID).at("view").all("a", "")...)
	links = slices.DeleteFunc(links, func(a reading) bool {
		return a.text() != "Show only these" && a.text() != "All messages of this publish"
	})
	expect.Equal(t, "number of links", len(links), 2)
	for _, link := range links {
		only := read(t, u, strings.TrimPrefix(link.is("href"), "/_understudy/")).at("view")
		expect.Equal(t, "number of messages behind "+link.text(), len(only.first("table", "dense").all("input", "")), 2)
		for _, m := range first {
			expect.True(t, "the message "+m.MessageID+" is behind "+link.text(), only.at("row-"+m.MessageID).Node != nil)
		}
	}
	expect.Equal(t, "number of folded publishes in another order", len(read(t, u, "ui/messages?sort=url").at("view").all("tr", "group")), 0)
	expect.Contains(t, "the card of the group", read(t, u, "ui/groups").at("group-team").text(), "Its messages: 2 delivered, 2 failed")
}

// The link in the explanation of a key leads to this key, whatever its name.
func TestTheLinkToAKeyFindsIt(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://app.test/*", 200)
	for _, name := range []string{"a b/c", "tenant-7", "user@shop.test"} {
		u.Publish("https://app.test/", nil, "Svc-Flow-Control-Key: "+name, "Svc-Flow-Control-Value: parallelism=1")
		link := fetch[struct{ Pages []string }](t, u, "/_understudy/explain/"+url.PathEscape(name)).Pages[0]
		page := read(t, u, strings.TrimPrefix(link, "/_understudy/"))
		expect.Equal(t, "cards", len(page.at("view").all("section", "card")), 1)
		expect.Equal(t, "filter", page.at("view").first("form", "filter").first("input", "").is("value"), name)
	}
}
