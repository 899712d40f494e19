package ui_test

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/mockserver"
)

// text makes a request and returns the body of the answer.
func text(t testing.TB, r *http.Request) string {
	t.Helper()
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // only read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// press presses a button, as a browser without scripts does, and returns the resulting
// view.
func press(t testing.TB, u *mockserver.TestServer, action string, fields ...string) string {
	t.Helper()
	form := url.Values{"back": {"/_understudy/"}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, u.URL()+"/_understudy/ui/do/"+action, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s: %s", action, response.Status)
	}
	next, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.URL()+response.Header.Get("Location"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, cookie := range response.Cookies() {
		next.AddCookie(cookie)
	}
	return html.UnescapeString(text(t, next))
}

// TestButtons presses every button that a view can have, without scripts.
func TestButtons(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://app.test/*", 200)
	u.Stub("https://down.test/*", 503)
	waits := u.Publish("https://app.test/later", nil, "Svc-Delay: 1h")
	early := u.Publish("https://app.test/early", nil, "Svc-Delay: 1h")
	failed := []string{}
	for range 3 {
		u.Publish("https://down.test/x", nil, "Svc-Retries: 0")
	}
	u.Settle()
	for _, found := range regexp.MustCompile(`"dlqId":"([^"]+)"`).FindAllStringSubmatch(request(t, u, http.MethodGet, "/_understudy/dlq", ""), -1) {
		failed = append(failed, found[1])
	}
	for _, c := range buttonPresses(early, waits, failed) {
		if page := press(t, u, c.action, c.fields...); !strings.Contains(page, c.want) {
			said := regexp.MustCompile(`(?s)<div id="said".*?</div>`).FindString(page)
			t.Errorf("%s %v says %s, want %q", c.action, c.fields, said, c.want)
		}
	}
}

// buttonPress is one press of a button, and a text of the resulting page.
type buttonPress struct {
	action string
	fields []string
	want   string
}

// buttonPresses are presses in order, when two messages wait and three have failed.
func buttonPresses(early, waits string, failed []string) []buttonPress {
	return []buttonPress{
		{"message.publish", []string{"destination", "https://app.test/a?b=1&c=2", "body", "hello", "headers", "Svc-Label: by-hand"}, "https://app.test/a?b=1&c=2"},
		{"message.publish", []string{"destination", "https://app.test/a", "headers", "no header"}, "must be Name: value"},
		{"message.publish", []string{"destination", "https://app.test/a", "headers", "Svc-Retries: many"}, `Svc-Retries: invalid value "many"`},
		{"message.publish", []string{"destination", "https://app.test/a", "body", "!", "binary", "yes"}, "invalid base64"},
		{"message.publish", nil, "destination is missing"},
		{"message.hurry", []string{"id", early}, "is being attempted"},
		{"message.hurry", []string{"id", "msg_none"}, "msg_none"},
		{"message.cancel", []string{"id", waits}, "was cancelled"},
		{"message.cancel", []string{"id", "msg_none"}, "msg_none"},
		{"dlq.retry", []string{"id", failed[0], "retries", "1"}, "was published again"},
		{"dlq.retry", []string{"id", failed[1], "retries", "many"}, "many"},
		{"dlq.delete", []string{"id", failed[1]}, "was deleted"},
		{"dlq.retrySome", nil, "Retry 1 message?"},
		{"dlq.deleteSome", nil, "Delete 1 entry?"},
		{"dlq.deleteSome", []string{"sure", "yes"}, "Delete: 1."},
		{"dlq.deleteSome", nil, "No entries match."},
		{"dlq.retrySome", nil, "No messages match."},
		{"dlq.retrySome", []string{"sure", "yes"}, "Retry: 0."},
		{"flow.pause", []string{"key", "a/b c"}, "The key a/b c was paused."},
		{"flow.resume", []string{"key", "a/b c"}, "The key a/b c was resumed."},
		{"flow.pin", []string{"key", "k", "parallelism", "3"}, "The key k was pinned."},
		{"flow.pin", []string{"key", "k"}, "must have at least one of parallelism"},
		{"flow.unpin", []string{"key", "k", "parallelism", "true"}, "The key k was unpinned."},
		{"flow.reset", []string{"key", "k"}, "was reset"},
		{"group.add", []string{"name", "team", "url", "https://app.test/1", "endpoint", "one"}, "has the endpoint https://app.test/1"},
		{"group.remove", []string{"name", "team", "url", "https://app.test/1"}, "was removed"},
		{"group.add", []string{"name", "team", "url", "https://app.test/2"}, "has the endpoint https://app.test/2"},
		{"group.delete", []string{"name", "team"}, "was deleted"},
		{"queue.put", []string{"name", "mails", "parallelism", "2"}, "The queue mails was saved."},
		{"queue.put", []string{"name", "mails", "parallelism", "two"}, "must be an integer"},
		{"queue.pause", []string{"name", "mails"}, "was paused"},
		{"queue.resume", []string{"name", "mails"}, "was resumed"},
		{"queue.delete", []string{"name", "mails"}, "was deleted"},
		{"schedule.put", []string{"destination", "https://app.test/tick", "cron", "*/5 * * * *", "id", "tick"}, "The schedule was saved."},
		{"schedule.put", []string{"destination", "https://app.test/tick", "cron", "soon"}, "soon"},
		{"schedule.pause", []string{"id", "tick"}, "was paused"},
		{"schedule.resume", []string{"id", "tick"}, "was resumed"},
		{"schedule.delete", []string{"id", "tick"}, "was deleted"},
		{"search.create", []string{"name", "products", "region", "eu-west-1", "type", "free"}, "exists"},
		{"vector.reset", []string{"name", "default"}, "The index default is empty."},
		{"vector.reset", []string{"name", "default", "sure", "yes"}, "is empty"},
		{"stub.add", []string{"url", "https://x.test/*", "status", "503, 200 timeout", "delay", "1s"}, "The stub answers https://x.test/*."},
		{"stub.add", []string{"url", "https://x.test/*", "status", "sometimes"}, "sometimes"},
		{"fault.add", []string{"on", "api", "operation", "listDLQ", "status", "503", "times", "1"}, "The fault is on."},
		{"fault.add", []string{"on", "delivery", "url", "https://x.test/*", "drop", "yes", "probability", "0.5"}, "The fault is on."},
		{"fault.add", []string{"on", "delivery", "times", "often"}, "must be a number"},
		{"rewrite.add", []string{"from", "https://a.test", "to", "http://localhost:3000"}, "Deliveries to https://a.test are sent to http://localhost:3000."},
		{"rewrite.remove", []string{"from", "https://a.test"}, "no longer rewritten"},
		{"fault.remove", []string{"rule", "{}"}, "no longer there"},
		{"fault.clear", nil, "Remove 2 faults?"},
		{"fault.clear", []string{"sure", "yes"}, "All faults were switched off."},
		{"stub.clear", nil, "Remove 3 stubs?"},
		{"stub.clear", []string{"sure", "yes"}, "All stubs were switched off."},
		{"limit.clear", nil, "Reset all counters? That cannot be undone."},
		{"requests.clear", nil, "from the journal?"},
		{"requests.clear", []string{"sure", "yes"}, "The journal is empty."},
		{"event.notify", []string{"event", "paid", "data", "{}"}, "continue"},
		{"run.cancel", []string{"id", "wfr_none"}, "wfr_none"},
		{"clock.advance", []string{"by", "1m"}, " later: "},
		{"clock.advance", []string{"by", "soon"}, "soon"},
		{"clock.mode", []string{"mode", "auto"}, "The clock mode is now auto."},
		{"reset", nil, "the statistics and the journals"},
		{"reset", []string{"sure", "yes"}, "The account was reset."},
		{"unheard-of", nil, "unheard-of: not found"},
	}
}

// TestRetryAll retries more messages than one call of the interface accepts, once each,
// and only after confirmation.
func TestRetryAll(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://down.test/*", 503)
	const n = 230
	for range n {
		u.Publish("https://down.test/x", nil, "Svc-Retries: 0")
	}
	u.Settle()
	list := read(t, u, "ui/dlq").text()
	expect.Contains(t, "the list", list, "Retry all messages (230)")
	expect.Contains(t, "the list", list, "Delete all (230)")
	question := press(t, u, "dlq.retrySome", "back", "/_understudy/ui/dlq")
	expect.Contains(t, "the question", question, "Retry 230 messages?")
	expect.Contains(t, "the question", question, `href="/_understudy/ui/dlq">Cancel`)
	if got := len(u.Deliveries()); got != n {
		t.Errorf("got %d deliveries before the answer, want %d", got, n)
	}
	if page := press(t, u, "dlq.retrySome", "sure", "yes"); !strings.Contains(page, "Retry: 230.") {
		t.Errorf("the page does not show the number of messages: %s", page)
	}
	u.Settle()
	if got := len(u.Deliveries()); got != 2*n {
		t.Errorf("got %d deliveries, want %d", got, 2*n)
	}
}

// TestAskingKeepsTheFields confirms an action on one of several entries.
func TestAskingKeepsTheFields(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	request(t, u, http.MethodPost, "/_understudy/as/"+account(t, u)+"/index/default/upsert", `[{"id":"1","vector":[0.1,0.2]},{"id":"2","vector":[0.3,0.2]}]`)
	page := press(t, u, "vector.reset", "name", "default")
	for _, text := range []string{"Remove 2 vectors of the index default?", `name="name" value="default"`} {
		if !strings.Contains(page, text) {
			t.Errorf("the page does not have %s: %s", text, page)
		}
	}
}

// TestWarnings checks that the warning about an unknown option is shown with its request.
func TestWarnings(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	request(t, u, http.MethodPost, "/v2/publish/https://app.test/x", "x", "Svc-Dealy", "1h")
	warning := read(t, u, "ui/requests").first("", "warning").text()
	expect.Contains(t, "the warning", warning, "Svc-Dealy")
	expect.Contains(t, "the warning, which names the nearest option", warning, "Svc-Delay")
}

// TestClockInTheHeader checks that the header shows the date of the clock.
func TestClockInTheHeader(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	u.Advance(30 * 24 * time.Hour)
	if got := read(t, u, "").at("top").text(); !regexp.MustCompile(`manual clock 1 Apr (2026 )?09:00:00`).MatchString(got) {
		t.Errorf("the header shows %q", got)
	}
}

// TestRulesAreSwitchedOffOneByOne checks that the button of a rule removes only that rule.
func TestRulesAreSwitchedOffOneByOne(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	press(t, u, "stub.add", "url", "https://one.test/*", "status", "503 200")
	press(t, u, "stub.add", "url", "https://two.test/*", "body", `"<b>"`)
	first := ""
	for _, field := range read(t, u, "ui/stubs").at("view").all("input", "") {
		if first == "" && field.is("name") == "rule" {
			first = field.is("value")
		}
	}
	press(t, u, "stub.remove", "rule", first)
	if left := request(t, u, http.MethodGet, "/_understudy/stubs", ""); left != `[{"url":"https://one.test/*","answers":[{"status":503},{"status":200}]}]` {
		t.Errorf("got %s after the removal", left)
	}
}

// TestCommandsOfEmptyViews runs each command that an empty view suggests: it works
// unchanged, and then the view is not empty.
func TestCommandsOfEmptyViews(t *testing.T) {
	t.Parallel()
	programs.Need(t, "the commands of the page are NOT tried", "curl")
	empty := regexp.MustCompile(`class="(?:empty|hello)"`)
	commands := regexp.MustCompile(`(?s)<pre id="try[^"]*" tabindex="0">(curl.*?)</pre>`)
	for _, view := range []string{"", "ui/messages", "ui/runs", "ui/dlq", "ui/flow", "ui/groups", "ui/queues", "ui/schedules", "ui/indexes", "ui/requests", "ui/stubs"} {
		t.Run("view="+view, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			page := request(t, u, http.MethodGet, "/_understudy/"+view, "")
			found := commands.FindAllStringSubmatch(page, -1)
			expect.True(expect.Now(t), "the page is empty", empty.MatchString(page))
			if len(found) == 0 {
				t.Fatalf("commands of the page: got none, want one:\n%s", page)
			}
			for _, command := range found {
				shell := exec.CommandContext(t.Context(), "sh", "-c", "set -e; "+strings.Replace(html.UnescapeString(command[1]), "curl", "curl -sS --fail-with-body", 1))
				if out, err := shell.CombinedOutput(); err != nil {
					t.Errorf("%v: %s\n%s", err, out, command[1])
				}
			}
			u.Settle()
			if page := request(t, u, http.MethodGet, "/_understudy/"+view, ""); empty.MatchString(page) {
				t.Errorf("still empty:\n%s", page)
			}
		})
	}
}

// TestAccountsOfThePage checks that the page shows only the selected account.
func TestAccountsOfThePage(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Accounts: []mockserver.Account{{ID: "one", Token: "t1"}, {ID: "two/x", Token: "t2"}}})
	u.Publish("https://app.test/of-one", nil, "Svc-Delay: 1h")
	page := request(t, u, http.MethodGet, "/_understudy/ui/messages", "")
	expect.Contains(t, "the page of the first account", page, "of-one")
	expect.Contains(t, "the page of the first account", page, "<option>two/x")
	page = request(t, u, http.MethodGet, "/_understudy/ui/messages?account=two%2Fx", "")
	expect.Lacks(t, "page", page, "of-one")
	expect.Contains(t, "page", page, "/_understudy/ui/runs?account=two%2Fx")
	expect.Contains(t, "page", page, "Bearer t2")
	if page := request(t, u, http.MethodGet, "/_understudy/ui/messages?account=three", ""); !strings.Contains(page, "not found") {
		t.Errorf("an unknown account:\n%s", page)
	}
}

// TestFilters filters the list of messages, also by times on the clock.
func TestFilters(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	u.Stub("https://down.test/*", 503)
	u.Stub("https://app.test/*", 200)
	u.Publish("https://app.test/early", nil, "Svc-Label: a")
	u.Advance(time.Hour)
	u.Publish("https://down.test/late", nil, "Svc-Retries: 0", "Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: rate=1")
	u.Settle()
	for query, want := range map[string][2]bool{ // early, late
		"":                       {true, true},
		"from=2026-03-02T09:30":  {false, true},
		"to=2026-03-02T09:30:00": {true, false},
		"from=2026-03-02T09:00&to=2026-03-02T10:00": {true, true},
		"state=FAILED":             {false, true},
		"url=https://app.test":     {true, false},
		"label=a":                  {true, false},
		"flowControlKey=k":         {false, true},
		"label=a&flowControlKey=k": {false, false},
		"source=workflow":          {false, false},
	} {
		page := request(t, u, http.MethodGet, "/_understudy/ui/messages?"+query, "")
		got := [2]bool{strings.Contains(page, "app.test/early"), strings.Contains(page, "down.test/late")}
		if got != want {
			t.Errorf("%s shows %v, want %v", query, got, want)
		}
		if empty := !want[0] && !want[1]; empty != strings.Contains(page, "No messages match") {
			t.Errorf("%s: the empty list has no hint", query)
		}
	}
	for _, query := range []string{"from=yesterday", "state=LOST", "cursor=7"} {
		page := request(t, u, http.MethodGet, "/_understudy/ui/messages?"+query, "")
		for _, text := range []string{"<h1>Error", "must be"} {
			if !strings.Contains(page, text) {
				t.Errorf("the page of %s: got no %q, want it", query, text)
			}
		}
	}
}

// TestInvalidWordInAFilter types a word that the search refuses: the list stays, with a line beside the
// box that has the error, and buttons for all that match change nothing.
func TestInvalidWordInAFilter(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	w.trigger("waits")
	u.Stub("https://down.test/*", 503)
	u.Publish("https://down.test/x", nil, "Svc-Retries: 0")
	id := u.Publish("https://app.test/later", nil, "Svc-Delay: 1h")
	u.Settle()
	const words = "state:lost"
	refused := fetch[struct{ Error string }](t, u, "/_understudy/search?q=kind:message+"+words)
	for _, list := range []string{"messages", "runs", "dlq"} {
		t.Run(list, func(t *testing.T) {
			page := read(t, u, "ui/"+list+"?q="+words).at("view")
			box := page.first("form", "words")
			expect.Equal(t, "the box", box.first("input", "").is("value"), words)
			expect.Equal(t, "the line beside it", box.first("p", "cause").text(), refused.Error)
			rows := texts(read(t, u, "ui/"+list).at("view").first("table", "dense").all("tr", ""))
			expect.True(t, "the list has rows", len(rows) > 1)
			expect.Equal(t, "rows", texts(page.first("table", "dense").all("tr", "")), rows)
		})
	}
	expect.Contains(t, "answer of the button", press(t, u, "message.cancelSome", "q", words, "sure", "yes"), "state:lost")
	expect.Equal(t, "state of a message of the list", fetch[struct{ Row struct{ State string } }](t, u, "/_understudy/messages/"+id).Row.State, "CREATED")
}

// TestMessagesOfTwoServers uses two servers at one host in one browser, which sends cookies to
// all ports: the message of a button appears on the page of its server only.
func TestMessagesOfTwoServers(t *testing.T) {
	t.Parallel()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	pages := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	u, other := mockserver.RunT(t), mockserver.RunT(t)
	text := func(answer *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	text(pages.PostForm(u.URL()+"/_understudy/ui/do/queue.put", url.Values{"name": {"mails"}, "parallelism": {"1"}}))
	expect.Lacks(t, "the page of the other server", text(pages.Get(other.URL()+"/_understudy/")), "mails was saved")
	expect.Contains(t, "the page of the server", text(pages.Get(u.URL()+"/_understudy/")), "mails was saved")
	expect.Lacks(t, "the next page of the server", text(pages.Get(u.URL()+"/_understudy/")), "mails was saved")
}

// TestFourVariables reads the variables of the first view for each client: they are those of the
// environment of the account, with the names that published clients read.
func TestFourVariables(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	env := map[string]string{}
	for _, v := range fetch[struct {
		Env []struct{ Name, Value string }
	}](t, u, "/_understudy/accounts/"+account(t, u)).Env {
		env[v.Name] = v.Value
	}
	for _, client := range []string{"JavaScript", "Python", "Go", "curl"} {
		t.Run(client, func(t *testing.T) {
			lines := strings.Split(strings.TrimSpace(read(t, u, "?client="+client).at("four").text()), "export ")
			if client == "JavaScript" {
				lines = append([]string{""}, strings.Fields(lines[0])...)
			}
			expect.Equal(t, "number of variables", len(lines)-1, 4)
			for _, line := range lines[1:] {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				expect.Equal(t, name, strings.Trim(value, "'"), env[name])
				expect.True(t, name+" is a name of a published client", !strings.HasPrefix(name, "UNDERSTUDY_"))
			}
		})
	}
}
