package ui_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// failing publishes a message whose three attempts get different answers.
func failing(t testing.TB, u *mockserver.TestServer) string {
	t.Helper()
	answer := func(status, body string) mockserver.Answer {
		return mockserver.Answer{Status: mockserver.StubStatus(status), Body: body, Headers: map[string]string{"X-Try": status, "X-Same": "yes"}}
	}
	u.Script(mockserver.Stub{URL: "https://printer.test/*", Answers: []mockserver.Answer{
		answer("500", `{"message":"no paper"}`),
		answer("502", "<html><h1>Bad gateway</h1></html>"),
		answer("503", `{"message":"out of ink","stack":"Error: out of ink\n    at x (/app/node_modules/y.js:1:2)\n    at print (/app/src/label.ts:9:3)"}`),
	}})
	id := u.Publish("https://printer.test/label", []byte(`{"order":7}`), "Svc-Retries: 2")
	u.Advance(time.Hour)
	return id
}

// rowsOf returns the rows of a table as "name: first | second", with a star if they differ.
func rowsOf(table reading) (rows []string) {
	for _, tr := range table.first("tbody", "").all("tr", "") {
		cells := tr.all("td", "")
		row := tr.first("th", "").text() + ": " + strings.Join(texts(cells), " | ")
		if tr.is("class") == "other" {
			row += " *"
		}
		rows = append(rows, row)
	}
	return rows
}

// TestCompareAttempts compares the view of two attempts with the journal.
func TestCompareAttempts(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	id := failing(t, u)
	view := read(t, u, "ui/compare/"+id+"?first=1&second=3").at("view")
	deliveries := u.Deliveries()
	rows := rowsOf(view.first("table", "pairs"))
	for i, want := range []string{
		"Began: 2 Mar 2026 09:00:00.000 UTC | 2 Mar 2026 09:02:40.000 UTC *",
		"Status: 500 | 503 *",
		"What went wrong: 500 no paper | 503 out of ink *",
	} {
		expect.Equal(t, "fact", rows[i], want)
	}
	expect.Equal(t, "the request", rows[len(rows)-1], "Request: POST https://printer.test/label | POST https://printer.test/label")
	claims := 0 // of the signatures, which differ in their ids
	without := func(lines []string) string {
		return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
			claim := regexp.MustCompile(`"(jti|exp|iat|nbf)": `).MatchString(line)
			if strings.Contains(line, `"jti": `) {
				claims++
			}
			return claim
		}), "; ")
	}
	expect.Equal(t, "lines that only attempt 1 has", without(texts(view.all("", "del"))), `− "message": "no paper"`)
	expect.Equal(t, "lines that only attempt 3 has", without(texts(view.all("", "add"))), `+ "message": "out of ink",; + "stack": "Error: out of ink\n at x (/app/node_modules/y.js:1:2)\n at print (/app/src/label.ts:9:3)"`)
	expect.Equal(t, "ids of signatures that are compared", claims, 2)
	headers := rowsOf(view.all("table", "headers")[0])
	expect.Equal(t, "the signatures", headers[1], fmt.Sprintf("Svc-Signature: %s | %s *", deliveries[0].Request.Header.Get("Svc-Signature"), deliveries[2].Request.Header.Get("Svc-Signature")))
	expect.Equal(t, "the number of the retry", headers[0], "Svc-Retried: 0 | 2 *")
	expect.Contains(t, "the view", view.text(), "X-Try 500 503")
	for path, want := range map[string]string{
		"compare/" + id + "?first=1&second=9":     "second: attempt 9 of message " + id + ": not found in the log",
		"compare/" + id + "?first=one&second=2":   `first: invalid value "one": must be the number of an attempt`,
		"compare/msg_none?first=1&second=2":       "msg_none",
		"compare/" + id + "?first=1&second=2":     "<h1>Compare attempts</h1>",
		"compare":                                 "page not found",
		"compare/wfr_none?with=wfr_other":         "wfr_none",
		"messages/" + id + "?first=1&unheard=yes": "Compare 2 with 3",
	} {
		expect.Contains(t, path, request(t, u, http.MethodGet, "/_understudy/ui/"+path, ""), strings.ReplaceAll(want, `"`, map[bool]string{true: "&#34;", false: `"`}[strings.Contains(want, "invalid")]))
	}
}

// TestCompareRuns aligns the steps of a failed run and of the run that resumes it.
func TestCompareRuns(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	failed(w, "r")
	again(t, w, "resume")
	next := newest(t, u)
	expect.Contains(t, "the runs that the view offers", read(t, u, "ui/compare/r").first("form", "pick").text(), next)
	view := read(t, u, "ui/compare/r?with="+next).at("view")
	rows := rowsOf(view.all("table", "pairs")[0])
	expect.Equal(t, "states with their colours", strings.Join(texts(view.all("table", "pairs")[0].all("", "state")), ", "), "RUN_FAILED, RUN_SUCCESS")
	for i, want := range []string{
		"State: RUN_FAILED | RUN_SUCCESS *",
		"Started: 2 Mar 2026 09:00:00.000 UTC | 2 Mar 2026 11:00:00.000 UTC *",
		"Ended: 2 Mar 2026 10:00:12.000 UTC | 2 Mar 2026 11:00:00.000 UTC *",
		"Took: 1 h | 0 ms *",
		`What went wrong: print the label failed: the printer is on fire (500), attempt 2 of 2 |  *`,
	} {
		expect.Equal(t, "fact", rows[i], want)
	}
	steps := strings.Join(rowsOf(view.all("table", "pairs")[1]), "\n")
	for _, want := range []string{"cool down: 1 h | kept\n", " | kept\nprint the label: "} {
		expect.Contains(t, "the steps", steps, want)
	}
	expect.True(t, "the last step has the real duration of its attempts, and not the 12 s between them", regexp.MustCompile(`print the label: (<1|\d+) ms 2 attempts 2 failed \| not in this run \*$`).MatchString(steps))
	for _, name := range []string{"init:", "plan", "end of the workflow"} {
		expect.Lacks(t, "the steps", steps, name)
	}
	for _, name := range []string{"charge", "reserve"} {
		expect.Equal(t, "rows of the parallel step "+name, strings.Count(steps, name+": "), 1)
	}
	w.trigger("sleeps")
	sleeper := read(t, u, "ui/compare/r?with=sleeps").at("view")
	expect.Contains(t, "a step that sleeps", strings.Join(rowsOf(sleeper.all("table", "pairs")[1]), "\n"), "cool down: 1 h | 1 h sleeping")
	invoke(t, w)
	expect.Contains(t, "runs of different workflows", read(t, u, "ui/compare/r?with=parent").text(), "must be a run of the same workflow")
}

// TestCompareOffersTheChoice opens addresses that name only one run, or only a message.
func TestCompareOffersTheChoice(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	w := runOrders(t, u)
	w.trigger("wfr_alone")
	alone := read(t, u, "ui/compare/wfr_alone").at("view").text()
	expect.Contains(t, "a run without another", alone, "The account has no other run of this workflow.")
	w.trigger("wfr_other")
	run := read(t, u, "ui/compare/wfr_alone").at("view").first("form", "pick")
	expect.Contains(t, "the choice for a run", run.text(), "wfr_other")
	expect.Equal(t, "where the choice leads", run.is("action"), "/_understudy/ui/compare/wfr_alone")
	message := read(t, u, "ui/compare/"+failing(t, u)).at("view").first("form", "pick")
	expect.Contains(t, "the choice for a message", message.text(), "Compare attempt 1 2 3 with attempt 1 2 3")
	once := u.Publish("https://printer.test/once", nil, "Svc-Retries: 0")
	u.Settle()
	expect.Contains(t, "a message with one attempt", read(t, u, "ui/compare/"+once).at("view").text(), "does not have two attempts")
	expect.Contains(t, "an unknown id", read(t, u, "ui/compare/wfr_gone").text(), "compare/wfr_gone: not found: must be the id of a run or a message")
	expect.Contains(t, "only one attempt", read(t, u, "ui/compare/"+once+"?first=1").text(), `second: invalid value "": must be the number of an attempt`)
}

// TestCompareAttemptsOfAnEarlierProcess loads a snapshot into another server, which has the log
// but not the journal of deliveries, as after a restart with a data folder.
func TestCompareAttemptsOfAnEarlierProcess(t *testing.T) {
	t.Parallel()
	before := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	id := failing(t, before)
	u := mockserver.RunT(t)
	request(t, u, http.MethodPut, "/_understudy/snapshot", request(t, before, http.MethodGet, "/_understudy/snapshot", ""))
	t.Run("the message offers it", func(t *testing.T) {
		page := read(t, u, "ui/messages/"+id).at("view").text()
		expect.Contains(t, "page", page, "Compare 2 with 3")
		expect.Contains(t, "page", page, "a restart empties it")
		expect.Contains(t, "the answer of the log", read(t, u, "ui/messages/"+id+"?part=response").first("section", "sent").text(), "out of ink")
	})
	view := read(t, u, "ui/compare/"+id+"?first=1&second=3").at("view")
	rows := strings.Join(rowsOf(view.first("table", "pairs")), "\n")
	for _, want := range []string{
		"Began: 2 Mar 2026 09:00:00.000 UTC | 2 Mar 2026 09:02:40.000 UTC *",
		"Status: 500 | 503 *",
		"What went wrong: 500 no paper | 503 out of ink *",
		"Duration: not kept: the journal of deliveries is in memory | not kept: the journal of deliveries is in memory",
	} {
		t.Run(want[:8], func(t *testing.T) { expect.Contains(t, "facts", rows, want) })
	}
	t.Run("the answers of the log are compared", func(t *testing.T) {
		expect.Contains(t, "page", view.text(), "no paper")
		expect.Contains(t, "page", view.text(), "X-Try")
		expect.Lacks(t, "page", view.text(), "Request body")
	})
}

// TestAnswersOfAnEarlierProcess reads answers that only the log has, as after a restart.
func TestAnswersOfAnEarlierProcess(t *testing.T) {
	t.Parallel()
	before := mockserver.RunT(t)
	answers := []string{"\x00\xff\x10\x80", "plain words"}
	var ids []string
	for i, body := range answers {
		before.Script(mockserver.Stub{URL: fmt.Sprintf("https://app.test/%d", i), Answers: []mockserver.Answer{{Status: "500", Body: body}}})
		ids = append(ids, before.Publish(fmt.Sprintf("https://app.test/%d", i), nil, "Svc-Retries: 0"))
	}
	before.Settle()
	u := mockserver.RunT(t)
	request(t, u, http.MethodPut, "/_understudy/snapshot", request(t, before, http.MethodGet, "/_understudy/snapshot", ""))
	for i, want := range []string{"00 ff 10 80", "plain words"} {
		t.Run(want, func(t *testing.T) {
			attempt := read(t, u, "ui/messages/"+ids[i]+"?part=response").at("view").first("section", "sent")
			expect.Contains(t, "the attempt", attempt.text(), want)
			expect.Lacks(t, "the attempt", attempt.text(), "empty")
		})
	}
}
