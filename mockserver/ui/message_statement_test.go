package ui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// loggedEvent is an event of a message, in the log of the interface.
type loggedEvent struct {
	Time             int64
	State            string
	ResponseStatus   int
	NextDeliveryTime int64
	MaxRetries       int
}

// logOf returns the events of a message, oldest first.
func logOf(t testing.TB, u *mockserver.TestServer, id string) []loggedEvent {
	t.Helper()
	found := fetch[struct{ Logs []loggedEvent }](t, u, "/v2/logs?messageId="+id)
	slices.Reverse(found.Logs)
	return found.Logs
}

// messageStatements compares the page of a message with the log.
func messageStatements(t *testing.T, u *mockserver.TestServer, id string) {
	t.Helper()
	events := logOf(t, u, id)
	if len(events) == 0 {
		t.Fatalf("the log has no events of %s", id)
	}
	page := read(t, u, "ui/messages/"+id).at("view")
	state := events[len(events)-1].State
	if state == "ERROR" {
		state = "RETRY"
	}
	expect.Equal(t, "state", page.first("h1", "").first("", "state").text(), state)
	expect.Equal(t, "state in the list", read(t, u, "ui/messages").at("row-"+id).first("", "state").text(), state)

	var began []int64
	var answers, waits []string
	for _, e := range events {
		switch e.State {
		case "ACTIVE":
			began = append(began, e.Time)
		case "ERROR", "DELIVERED":
			answers = append(answers, strconv.Itoa(e.ResponseStatus))
		case "RETRY":
			verb := "Waited"
			if e.NextDeliveryTime > fetch[struct{ Now int64 }](t, u, "/_understudy/clock").Now {
				verb = "Waits"
			}
			waits = append(waits, fmt.Sprintf("%s %s to retry, until %d", verb, clip.Duration(float64(e.NextDeliveryTime-e.Time)), e.NextDeliveryTime))
		}
	}
	line := page.first("ol", "timeline")
	attempts := line.all("li", "attempt")
	expect.Equal(t, "attempts in the timeline", len(attempts), len(began))
	for i, li := range attempts {
		expect.Equal(t, "number of the attempt", li.first("b", "").text(), fmt.Sprintf("Attempt %d", i+1))
		expect.Equal(t, "begin of the attempt", li.instants(t)[0], began[i])
		status := li.first("p", "").first("", "state").text()
		switch {
		case i >= len(answers):
			expect.Contains(t, "an attempt without an answer", li.first("p", "").text(), map[bool]string{true: "in flight"}[state == "ACTIVE"])
		case answers[i] == "0":
			expect.Equal(t, "an attempt that got no answer", status, "ERROR")
		default:
			expect.Equal(t, "status of the attempt", status, answers[i])
		}
	}
	var shown []string
	for _, li := range line.all("li", "waits") {
		duration, _, _ := strings.Cut(li.text(), ", until ")
		shown = append(shown, fmt.Sprintf("%s, until %d", duration, li.instants(t)[0]))
	}
	expect.Equal(t, "waits and their ends", strings.Join(shown, ", "), strings.Join(waits, ", "))
	messageActions(t, u, page, id, state)
}

// messageActions compares the buttons with the state, and the reason with the control API.
func messageActions(t *testing.T, u *mockserver.TestServer, page reading, id, state string) {
	t.Helper()
	trace := fetch[struct {
		DlqID   string
		Failure struct{ Reason string }
		Lineage []struct{ Kind, ID string }
		Row     struct{ NextDeliveryTime int64 }
		Now     int64
	}](t, u, "/_understudy/messages/"+id)
	buttons := texts(page.first("", "actions").all("button", ""))
	for name, want := range map[string]bool{
		"Attempt now": trace.Row.NextDeliveryTime > trace.Now,
		"Cancel":      slices.Contains([]string{"CREATED", "ACTIVE", "RETRY"}, state),
		"Retry":       trace.DlqID != "",
	} {
		expect.Equal(t, "the button "+name+" is there", slices.Contains(buttons, name), want)
	}
	reason := page.first("ul", "reasons").first("li", "").text()
	if trace.Failure.Reason != "" {
		expect.Contains(t, "the first reason", reason, trace.Failure.Reason)
	}
	expect.Equal(t, "the page says why it failed", page.at("h-why").text() == "Why did it fail?", state == "FAILED")
	var links []string
	for _, l := range trace.Lineage {
		links = append(links, l.Kind+" "+l.ID)
	}
	var chain []string
	for _, a := range page.first("", "chain").all("a", "") {
		chain = append(chain, a.is("title"))
	}
	expect.Equal(t, "the chain", strings.Join(chain, ", "), strings.Join(links, ", "))
}

// TestStatementsOfMessages brings messages into every state, and compares their pages with
// the log.
func TestStatementsOfMessages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(testing.TB, *mockserver.TestServer) string
		says []string
		not  []string
	}{
		"delayed": {func(_ testing.TB, u *mockserver.TestServer) string {
			return u.Publish("https://app.test/x", nil, "Svc-Delay: 1h")
		}, []string{"Why is it waiting?", "first attempt not due yet, until 10:00:00.000 in 1 h", "Attempt now"}, []string{"Attempt 1"}},
		"delivered": {func(_ testing.TB, u *mockserver.TestServer) string { return u.Publish("https://app.test/x", nil) },
			[]string{"Attempt 1 200"}, []string{"Why", "failed", "ended"}},
		"retrying": {func(_ testing.TB, u *mockserver.TestServer) string {
			return u.Publish("https://down.test/x", nil, "Svc-Retries: 2")
		}, []string{"503 response, attempt 1 of 3; next attempt not due yet, until 09:00:12.000"}, []string{"attempt 2 of 3"}},
		"failed": {func(_ testing.TB, u *mockserver.TestServer) string {
			id := u.Publish("https://down.test/x", nil, "Svc-Retries: 2", "Svc-Failure-Callback: https://app.test/failed")
			u.Advance(time.Hour)
			return id
		}, []string{"503 response, attempt 3 of 3", "in the DLQ as"}, []string{"not due"}},
		"failed without an answer": {func(_ testing.TB, u *mockserver.TestServer) string {
			u.Script(mockserver.Stub{URL: "https://gone.test/*", Answers: []mockserver.Answer{{Fail: "refused"}}})
			return u.Publish("https://gone.test/x", nil, "Svc-Retries: 0")
		}, []string{"no response: "}, []string{"was answered"}},
		"retried from the DLQ: the old message": {func(t testing.TB, u *mockserver.TestServer) string {
			id := u.Publish("https://down.test/x", nil, "Svc-Retries: 0")
			retryEntry(t, u)
			return id
		}, []string{"this message retried as msg_"}, []string{"in the DLQ as"}},
		"retried from the DLQ: the new message": {func(t testing.TB, u *mockserver.TestServer) string {
			u.Publish("https://down.test/x", nil, "Svc-Retries: 0")
			return retryEntry(t, u)
		}, []string{"FAILED retried as this message"}, nil},
		"cancelled while it waits": {func(t testing.TB, u *mockserver.TestServer) string {
			id := u.Publish("https://app.test/x", nil, "Svc-Delay: 1h")
			request(t, u, http.MethodDelete, "/v2/messages/"+id, "")
			return id
		}, []string{"Canceled"}, []string{"Attempt 1", "Why", "How it ended"}},
		"due in a thousand years": {func(t testing.TB, u *mockserver.TestServer) string {
			return u.Publish("https://app.test/later", nil, "Svc-Not-Before: 99999999999")
		}, []string{"first attempt 16 Nov 5138 09:46 in 1136893 d"}, nil},
		"cancelled between attempts": {func(t testing.TB, u *mockserver.TestServer) string {
			id := u.Publish("https://down.test/x", nil)
			u.Settle()
			request(t, u, http.MethodDelete, "/v2/messages/"+id, "")
			return id
		}, []string{"Canceled", "Attempt 1", "503"}, []string{"not due", "How it ended"}},
		"held by a paused key": {func(t testing.TB, u *mockserver.TestServer) string {
			request(t, u, http.MethodPost, "/v2/flowControl/k/pause", "")
			return u.Publish("https://app.test/x", nil, "Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: parallelism=1")
		}, []string{`flow-control key "k" is paused since`}, []string{"Attempt 1", "Attempt now"}},
		"published again: the old message": {func(t testing.TB, u *mockserver.TestServer) string {
			id, _ := publishAgain(t, u)
			return id
		}, []string{"this message published again as msg_"}, nil},
		"published again: the new message": {func(t testing.TB, u *mockserver.TestServer) string {
			_, id := publishAgain(t, u)
			return id
		}, []string{"DELIVERED published again as this message"}, nil},
		"a callback": {func(t testing.TB, u *mockserver.TestServer) string {
			id := u.Publish("https://app.test/x", nil, "Svc-Callback: https://app.test/back")
			u.Settle()
			return fetch[struct{ Callbacks []struct{ MessageID string } }](t, u, "/_understudy/messages/"+id).Callbacks[0].MessageID
		}, []string{"DELIVERED reported by this message", "callback"}, nil},
		"a message of a schedule": {func(t testing.TB, u *mockserver.TestServer) string {
			request(t, u, http.MethodPost, "/v2/schedules/https://app.test/tick", "", "Svc-Cron", "*/5 * * * *", "Svc-Schedule-Id", "tick")
			u.Advance(5 * time.Minute)
			return fetch[struct{ Messages []struct{ MessageID string } }](t, u, "/_understudy/messages").Messages[0].MessageID
		}, []string{"tick published this message"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
			u.Stub("https://app.test/*", 200)
			u.Stub("https://down.test/*", 503)
			id := c.make(t, u)
			u.Settle()
			messageStatements(t, u, id)
			page := read(t, u, "ui/messages/"+id).at("view").text()
			for _, text := range c.says {
				expect.Contains(t, "the page", page, text)
			}
			for _, text := range c.not {
				expect.Lacks(t, "the page", page, text)
			}
		})
	}
}

// retryEntry retries the only entry of the DLQ.
func retryEntry(t testing.TB, u *mockserver.TestServer) string {
	t.Helper()
	u.Settle()
	entries := fetch[struct{ Entries []struct{ DlqID string } }](t, u, "/_understudy/dlq").Entries
	if len(entries) != 1 {
		t.Fatalf("number of DLQ entries: got %d, want 1", len(entries))
	}
	text := request(t, u, http.MethodPost, "/v2/dlq/retry/"+entries[0].DlqID, "")
	u.Settle()
	_, id, _ := strings.Cut(text, `"messageId":"`)
	id, _, _ = strings.Cut(id, `"`)
	return id
}

// publishAgain publishes a message, and publishes it again with the form of its page.
func publishAgain(t testing.TB, u *mockserver.TestServer) (first, second string) {
	t.Helper()
	first = u.Publish("https://app.test/first", nil)
	u.Settle()
	fields := []string{}
	for _, field := range read(t, u, "ui/messages/"+first+"?edit=yes").at("view").first("form", "fields").all("input", "") {
		fields = append(fields, field.is("name"), field.is("value"))
	}
	press(t, u, "message.publish", fields...)
	u.Settle()
	return first, fetch[struct{ Messages []struct{ MessageID string } }](t, u, "/_understudy/messages").Messages[0].MessageID
}

// failedCallback makes a run fail, and then its failure callback, which is a second entry of
// the DLQ.
func failedCallback(w *orders) {
	w.send(http.MethodPost, "/v2/trigger/https://down.test/workflow", nil, "Svc-Workflow-RunId", "unheard", "Svc-Retries", "0",
		"Svc-Failure-Callback", "https://down.test/failed", "Svc-Failure-Callback-Retries", "0")
	w.u.Settle()
}

// runEntries are the ids of the DLQ entries that can be resumed.
func runEntries(t testing.TB, u *mockserver.TestServer) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for _, e := range fetch[struct{ Messages []struct{ DlqID string } }](t, u, "/v2/workflows/dlq").Messages {
		ids[e.DlqID] = true
	}
	return ids
}

// TestStatementsOfEntries compares the pages of DLQ entries with the interface: of a message,
// of a run, and of a run from a fixture.
func TestStatementsOfEntries(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	u.Stub("https://down.test/*", 503)
	u.Publish("https://down.test/x", []byte("gone"), "Svc-Retries: 1")
	failed(w, "r")
	seed(t, w)
	failedCallback(w)
	runs := runEntries(t, u)
	entries := fetch[struct {
		Messages []struct {
			DlqID, MessageID, WorkflowRunID, URL, ResponseBody string
			ResponseStatus, MaxRetries                         int
			CreatedAt                                          int64
		}
	}](t, u, "/v2/dlq").Messages
	expect.Equal(t, "number of entries", len(entries), 5)
	for _, e := range entries {
		page := read(t, u, "ui/dlq/"+e.DlqID).at("view")
		reason := page.first("ul", "reasons").first("li", "").text()
		expect.Contains(t, "the first reason", reason, fmt.Sprintf(", attempt %d of %d", e.MaxRetries+1, e.MaxRetries+1))
		expect.Contains(t, "the first reason", reason, strconv.Itoa(e.ResponseStatus))
		chain := page.first("", "chain").first("a", "").is("title")
		expect.Equal(t, "the chain begins with", chain, map[bool]string{true: "run " + e.WorkflowRunID, false: "message " + e.MessageID}[runs[e.DlqID]])
		text := page.text()
		expect.Contains(t, "the page", text, e.URL)
		buttons := texts(page.first("", "actions").all("button", ""))
		expect.Equal(t, "the button Retry exists", slices.Contains(buttons, "Retry"), !runs[e.DlqID])
		expect.Equal(t, "the button Resume exists", slices.Contains(buttons, "Resume"), runs[e.DlqID])
		found := slices.Contains(texts(page.first("", "actions").all("a", "")), "Open response")
		expect.True(t, "the answer can be opened", found)
	}
}

// TestStatementOfCutAnswers reads an answer that is longer than the limit: the message, its DLQ
// entry, and the message after a restart say that the rest is not kept.
func TestStatementOfCutAnswers(t *testing.T) {
	t.Parallel()
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(strings.Repeat("x", 1000))) // fails if the server has disconnected
	}))
	t.Cleanup(app.Close)
	u := mockserver.RunT(t, mockserver.Config{MaxAnswer: 100})
	id := u.Publish(app.URL, nil, "Svc-Retries: 0")
	u.Settle()
	entry := fetch[struct{ DlqID string }](t, u, "/_understudy/messages/"+id).DlqID
	later := mockserver.RunT(t)
	request(t, later, http.MethodPut, "/_understudy/snapshot", request(t, u, http.MethodGet, "/_understudy/snapshot", ""))
	for name, page := range map[string]reading{
		"the message":                 read(t, u, "ui/messages/"+id+"?part=response"),
		"its DLQ entry":               read(t, u, "ui/dlq/"+entry),
		"the message after a restart": read(t, later, "ui/messages/"+id+"?part=response"),
	} {
		t.Run(name, func(t *testing.T) {
			expect.Contains(t, "the page", page.at("view").text(), "100 B answer is 1000 bytes long; the limit is 100 (100 bytes), and the rest is not kept; raise it with --max-answer")
		})
	}
}

// TestStatementOfNoAnswer reads the DLQ entry of a message that got no answer: the error is not
// shown as an answer, with a size and headers.
func TestStatementOfNoAnswer(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Script(mockserver.Stub{URL: "*", Answers: []mockserver.Answer{{Fail: "refused"}}})
	id := u.Publish("https://app.test/down", nil, "Svc-Retries: 0")
	u.Settle()
	entry := fetch[struct{ DlqID string }](t, u, "/_understudy/messages/"+id).DlqID
	view := read(t, u, "ui/dlq/"+entry).at("view")
	expect.Contains(t, "the reason", view.first("ul", "reasons").text(), "no response: ")
	expect.Contains(t, "the reason", view.first("ul", "reasons").text(), "refused")
	expect.True(t, "no answer is shown", view.first("div", "answer").Node == nil)
	expect.Lacks(t, "the page", view.text(), "Headers of the response")
}

// TestStatementOfAnAttemptInFlight reads a message while its destination has not answered, and
// after it was cancelled: the page says that a request is lost only if the API has none.
func TestStatementOfAnAttemptInFlight(t *testing.T) {
	t.Parallel()
	begun, answer := make(chan bool, 2), make(chan bool)
	app := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		begun <- true
		<-answer
	}))
	t.Cleanup(app.Close)
	t.Cleanup(func() { close(answer) })
	u := mockserver.RunT(t)
	id := u.Publish(app.URL, nil)
	<-begun
	attempt := func() string {
		view := read(t, u, "ui/messages/"+id).at("view")
		return view.first("ol", "timeline").all("li", "attempt")[0].text() + " " + view.first("section", "sent").text()
	}
	state := func() string {
		return fetch[struct{ Row struct{ State string } }](t, u, "/_understudy/messages/"+id).Row.State
	}
	expect.Equal(t, "state in the API", state(), "ACTIVE")
	expect.Contains(t, "the attempt", attempt(), "in flight")
	expect.Contains(t, "the attempt", attempt(), "The request and the answer are shown when the attempt has ended.")
	expect.Lacks(t, "the attempt", attempt(), "no longer kept")
	request(t, u, http.MethodDelete, "/v2/messages/"+id, "")
	u.Settle()
	expect.Equal(t, "state in the API after it was cancelled", state(), "CANCELED")
	expect.Contains(t, "the cancelled attempt", attempt(), "POST "+app.URL)
	expect.Lacks(t, "the cancelled attempt", attempt(), "in flight")
}

// TestStatementOfOthersThatFailed compares what a failed message says about others with the group of its
// entry in the DLQ, where the link leads.
func TestStatementOfOthersThatFailed(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Script(mockserver.Stub{URL: "https://shop.test/ship", Answers: []mockserver.Answer{{Status: "500", Body: "warehouse closed"}, {Status: "500", Body: "warehouse closed"}, {Status: "500", Body: "warehouse closed"}, {Status: "503"}}})
	u.Stub("https://shop.test/mail", 500)
	send := func(path string) string {
		id := u.Publish("https://shop.test/"+path, nil, "Svc-Retries: 0")
		u.Settle()
		return id
	}
	first := send("ship")
	send("ship")
	send("ship")
	other, alone := send("ship"), send("mail")
	why := read(t, u, "ui/messages/"+first).at("view").first("section", "why")
	expect.Contains(t, "the reason", why.text(), "2 other messages to /ship failed the same way.")
	link := why.all("a", "")[0]
	expect.Equal(t, "the link", link.text(), "Show in the DLQ")
	groups := texts(read(t, u, strings.TrimPrefix(link.is("href"), "/_understudy/")).at("view").all("tr", "group"))
	expect.True(t, "the link leads to the group", slices.ContainsFunc(groups, func(text string) bool { return strings.Contains(text, "3 messages to /ship") }))
	for name, id := range map[string]string{"another reason": other, "another destination": alone} {
		expect.Lacks(t, "the reason of the message with "+name, read(t, u, "ui/messages/"+id).at("view").text(), "the same way")
	}
}

// TestStatementOfWhatWasSentWith compares what the page says about a delivery with its headers.
func TestStatementOfWhatWasSentWith(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	u.Stub("https://down.test/*", 503)
	id := u.Publish("https://down.test/x", []byte("hello"), "Svc-Retries: 1")
	u.Advance(time.Hour)
	sent := func(attempt int) string {
		return read(t, u, fmt.Sprintf("ui/messages/%s?attempt=%d", id, attempt)).at("view").first("section", "sent").text()
	}
	deliveries := u.Deliveries()
	expect.Equal(t, "number of deliveries", len(deliveries), 2)
	for i, d := range deliveries {
		expect.Contains(t, "what the attempt was sent with", sent(i+1), "Sent with Signature valid, UNDERSTUDY_CURRENT_SIGNING_KEY Message ID "+d.Request.Header.Get("Svc-Message-Id")+" Retried "+d.Request.Header.Get("Svc-Retried"))
	}
	request(t, u, http.MethodPost, "/v2/keys/rotate", "")
	request(t, u, http.MethodPost, "/v2/keys/rotate", "")
	expect.Contains(t, "after the key was rotated away", sent(1), "Signature of no key of this account")
	secret := u.Publish("https://down.test/x?token=hidden-credential", nil, "Svc-Retries: 0")
	u.Settle()
	id = secret
	expect.Contains(t, "of a hidden credential", sent(1), "Signature not checked: it contains a credential")
	brand := spec.BuiltInDialects()[1]
	u = mockserver.RunT(t, mockserver.Config{Dialect: brand})
	u.Stub("https://down.test/*", 503)
	id = u.Publish("https://down.test/x", nil, brand.HeaderPrefix+"Retries: 0")
	u.Settle()
	expect.Contains(t, "with the names of a brand", sent(1), "Signature valid, "+brand.Env["CURRENT_SIGNING_KEY"]+" Message ID")
}
