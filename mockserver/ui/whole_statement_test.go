package ui_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec/api"
)

// TestTheFirstOfAListAreNotTakenForTheList fills lists beyond what a view shows or reads: no number is smaller
// than that of the API, unless the view says so.
func TestTheFirstOfAListAreNotTakenForTheList(t *testing.T) {
	t.Parallel()
	monday := time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	t.Run("causes that need attention", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t)
		u.Stub("https://down.test/*", 503)
		for i := range 12 {
			u.Publish(fmt.Sprintf("https://down.test/%d", i), nil, "Svc-Retries: 0")
		}
		u.Settle()
		page := read(t, u, "").at("view")
		expect.Equal(t, "the heading", page.at("h-attention").text(), "Needs attention 12")
		shown := len(page.first("ul", "notices").all("li", ""))
		expect.Contains(t, "the text", page.text(), fmt.Sprintf("%d of 12 are shown.", shown))
	})
	t.Run("runs that wait for events", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{Start: monday})
		w := runOrders(t, u)
		for i := range 5 {
			w.trigger(fmt.Sprintf("wfr_%d", i))
		}
		u.Advance(time.Hour)
		page := read(t, u, "").at("view")
		expect.Equal(t, "the heading", page.at("h-attention").text(), "Needs attention 5")
		expect.Equal(t, "timers", len(page.first("ul", "timers").all("li", "")), 5)
	})
	t.Run("timers behind messages that a key holds", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{Start: monday})
		request(t, u, http.MethodPost, "/v2/flowControl/shop/pause", "")
		for range 60 {
			u.Publish("https://app.test/held", nil, "Svc-Flow-Control-Key: shop", "Svc-Flow-Control-Value: parallelism=1")
		}
		u.Publish("https://app.test/later", nil, "Svc-Delay: 1h")
		u.Advance(time.Minute)
		timers := read(t, u, "").at("view").first("ul", "timers")
		due := fetch[api.Overview](t, u, "/_understudy/overview").NextDue
		expect.Contains(t, "timers", timers.text(), "Deliver /later")
		expect.True(t, "the first is the next one of the API", len(timers.instants(t)) > 0 && timers.instants(t)[0] == due)
	})
	t.Run("entries of a group in the DLQ", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t)
		u.Stub("https://down.test/*", 503)
		for range 210 {
			u.Publish("https://down.test/mail", nil, "Svc-Retries: 0")
		}
		u.Settle()
		for path, class := range map[string]string{"": "notices", "ui/dlq": "group"} {
			text := read(t, u, path).at("view").first("", class).text()
			expect.True(t, "a number that is too small is a lower bound: "+text, regexp.MustCompile(`at least \d+ messages|210 messages`).MatchString(text))
		}
	})
	t.Run("requests", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t)
		for range 50 {
			request(t, u, http.MethodGet, "/v2/queues", "")
		}
		page := read(t, u, "ui/requests").at("view")
		shown := len(page.first("ul", "calls").all("details", ""))
		older := fetch[struct{ Older int }](t, u, fmt.Sprintf("/_understudy/requests?refused=false&limit=%d", shown)).Older
		expect.True(t, "some are not shown", older > 0)
		expect.Contains(t, "the text", page.text(), fmt.Sprintf("%d older ones are not shown", older))
		expect.Contains(t, "the question", press(t, u, "requests.clear"), "Remove 50 requests")
	})
	t.Run("messages that a filter by words finds", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{SkipResponseCheck: true})
		u.Stub("*", 200)
		many(t, u, 1001)
		expect.Lacks(t, "a filter without words", read(t, u, "ui/messages?label=shop").at("view").text(), "Only the newest")
		expect.Lacks(t, "a filter that finds few", read(t, u, "ui/messages?q=order-1000").at("view").text(), "Only the newest")
		expect.Contains(t, "a filter that finds too many", read(t, u, "ui/messages?q=Ann").at("view").text(), "Only the newest 1000 of them are counted and listed.")
	})
}

// TestStatementsOfSeveralDestinations lets messages to one path of two hosts, and to one URL with several queries, fail: a
// notice leads to all that it counts, and to no others.
func TestStatementsOfSeveralDestinations(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 503)
	for _, to := range []string{"https://a.test/hook", "https://b.test/hook", "https://c.test/hook?n=1", "https://c.test/hook?n=2"} {
		u.Publish(to, nil, "Svc-Retries: 0")
	}
	u.Settle()
	for _, p := range read(t, u, "").at("view").first("ul", "notices").all("p", "") {
		link := p.first("a", "")
		n := 1
		_, _ = fmt.Sscan(link.text(), &n)
		path := strings.TrimPrefix(link.is("href"), "/_understudy/")
		rows := 0
		for _, tr := range read(t, u, path).at("view").all("tr", "") {
			if strings.HasPrefix(tr.is("id"), "row-") {
				rows++
			}
		}
		if strings.Contains(path, "ui/dlq?") {
			expect.Equal(t, "entries behind "+link.text()+", "+path, rows, n)
		}
	}
}

// TestStatementOfTheSameResponse fails a run with two responses that differ only in their status.
func TestStatementOfTheSameResponse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, second int }{{500, 503}, {500, 500}} {
		u := mockserver.RunT(t)
		request(t, u, http.MethodPut, "/_understudy/stubs", fmt.Sprintf(`[{"url":"*","answers":[{"status":%d,"body":"out of stock"},{"status":%d,"body":"out of stock"}]}]`, c.first, c.second))
		press(t, u, "run.trigger", "destination", "https://app.test/wf", "headers", "Svc-Workflow-RunId: wfr_one\nSvc-Retries: 1")
		u.Advance(time.Hour)
		why := read(t, u, "ui/runs/wfr_one").at("view").first("section", "why").text()
		expect.Equal(t, "both attempts got one response: "+why, strings.Contains(why, "Both attempts got this response."), c.first == c.second)
	}
}

// TestStatementOfTheRealTimeOfAnAttempt compares the real time beside a request with the API, which has the end of the attempt.
func TestStatementOfTheRealTimeOfAnAttempt(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	u.Stub("*", 200)
	id := u.Publish("https://app.test/x", nil)
	u.Settle()
	ended := fetch[struct{ Deliveries []api.Delivery }](t, u, "/_understudy/messages/"+id).Deliveries[0].RealAt
	for _, p := range read(t, u, "ui/messages/"+id).at("view").first("section", "sent").all("p", "soft") {
		if at := p.instants(t); len(at) > 0 {
			expect.Equal(t, "the time", at[0], ended)
			expect.True(t, "it is that of the end: "+p.text(), strings.HasPrefix(p.text(), "Ended at "))
			return
		}
	}
	t.Error("the page has no real time")
}

// TestStatementOfWhatAnUndoForgets keeps points of one thing and of the account: only the latter forget what has happened since.
func TestStatementOfWhatAnUndoForgets(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	request(t, u, http.MethodPost, "/v2/topics/g/endpoints", `{"endpoints":[{"url":"https://a.test"}]}`)
	press(t, u, "group.delete", "name", "g")
	u.Publish("https://app.test/x", nil)
	u.Settle()
	expect.Lacks(t, "a point of a group", read(t, u, "").at("view").text(), "forgets what has happened since")
	press(t, u, "reset", "sure", "yes")
	expect.Contains(t, "a point of the account", read(t, u, "").at("view").text(), "forgets what has happened since")
}

// TestStatementOfThePeriodBefore attempts something in the first minute of the hour that is shown: the hour before has nothing.
func TestStatementOfThePeriodBefore(t *testing.T) {
	t.Parallel()
	for minute, want := range map[int]string{1: "1 · 0 in the 1h before", 0: "0 · 1 in the 1h before"} {
		u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, minute, 0, 0, time.UTC)})
		u.Stub("*", 200)
		u.Publish("https://app.test/x", nil)
		u.Advance(time.Duration(60-minute) * time.Minute)
		title := read(t, u, "ui/statistics?period=1h").at("view").first("section", "card").first("h2", "")
		expect.Equal(t, fmt.Sprintf("attempts, of one at minute %d", minute), title.text(), "Delivery attempts "+want)
	}
}

// TestStatementsOfTheTimesOfRequests compares what the view says about its times with the API: they are real, but on the
// clock of the account in a server with a seed.
func TestStatementsOfTheTimesOfRequests(t *testing.T) {
	t.Parallel()
	monday := time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	for seed, want := range map[uint64]string{0: "Times are real time, not those of the clock.", 7: "Times are those of the clock, because the server has a seed."} {
		u := mockserver.RunT(t, mockserver.Config{Start: monday, Seed: seed})
		request(t, u, http.MethodGet, "/v2/queues", "")
		at := fetch[struct{ Entries []api.Exchange }](t, u, "/_understudy/requests").Entries[0].At
		page := read(t, u, "ui/requests").at("view")
		expect.Equal(t, "the time of the API is that of the clock", at == monday.UnixMilli(), seed != 0)
		expect.Contains(t, "the view", page.text(), want)
		shown := page.first("time", "")
		expect.Equal(t, "the time", shown.Node != nil && page.instants(t)[0] == at, true)
		expect.Equal(t, "its kind", strings.HasSuffix(shown.is("title"), ", on the clock of the account"), seed != 0)
		expect.True(t, "its distance: "+shown.text(), strings.HasSuffix(shown.text(), " now"))
	}
}

// TestWordsWithinAPublish filters the messages of one publish by words: both filters hold.
func TestWordsWithinAPublish(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	one := u.Publish("https://app.test/a", []byte("blue"))
	two := u.Publish("https://app.test/b", []byte("red"))
	u.Publish("https://app.test/c", []byte("blue"))
	u.Settle()
	page := read(t, u, "ui/messages?q=blue&messageId="+one+","+two).at("view")
	expect.Equal(t, "rows", len(page.first("table", "dense").all("input", "")), 1)
	expect.True(t, "the row is that of both", page.at("row-"+one).Node != nil)
}

// TestStatementOfTheCost publishes one message: amounts of money have digits, and no exponents.
func TestStatementOfTheCost(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	u.Publish("https://app.test/x", nil)
	u.Settle()
	page := read(t, u, "ui/statistics").at("view").text()
	expect.Contains(t, "the sum", page, "this month $0.00001 ·")
	expect.Lacks(t, "the view", page, "e-0")
}

// TestStatementOfTheOrderOfTheDLQ asks for the orders of an empty DLQ and of one with an entry: the marked one is that of the list.
func TestStatementOfTheOrderOfTheDLQ(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 503)
	for _, n := range []string{"0", "1"} {
		for path, want := range map[string]string{"": "All " + n + ",By reason", "?sort=-failedAt": "All " + n + ",Flat"} {
			var marked []string
			for _, a := range read(t, u, "ui/dlq"+path).at("view").all("a", "") {
				if a.is("aria-current") != "" {
					marked = append(marked, a.text())
				}
			}
			expect.Equal(t, "marked tabs, "+path, strings.Join(marked, ","), want)
		}
		u.Publish("https://down.test/x", nil, "Svc-Retries: 0")
		u.Settle()
	}
}

// TestStatementOfWhatAMoveCaused lets a message fail at the instant at which the clock stands, and another one after it has
// moved: the links of the receipt lead to what the move caused, and not to what happened before.
func TestStatementOfWhatAMoveCaused(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 123456789, time.UTC)})
	u.Stub("*", 503)
	u.Publish("https://down.test/before", nil, "Svc-Retries: 0")
	u.Publish("https://down.test/after", nil, "Svc-Retries: 1")
	u.Settle()
	said := parsed(t, press(t, u, "clock.advance", "by", "1m")).at("said")
	expect.Contains(t, "the receipt", said.text(), "1 m later: 1 attempt, 1 failed")
	for _, link := range said.all("a", "") {
		page := read(t, u, strings.TrimPrefix(link.is("href"), "/_understudy/")).at("view").text()
		switch link.text() {
		case "Failed":
			expect.Contains(t, "entries", page, "All 1")
			expect.Lacks(t, "entries", page, "/before")
		case "Show changes":
			expect.Contains(t, "the events of an attempt and its end", page, "Log 3")
		}
	}
}
