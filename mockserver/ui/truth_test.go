package ui_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/mockserver"
)

// failed makes a run of the orders fail at its last step.
func failed(w *orders, id string) {
	w.broken.Store(true)
	w.trigger(id)
	w.u.Advance(time.Hour)
	w.send(http.MethodPost, "/v2/notify/paid-"+id, map[string]bool{"paid": true})
	w.u.Advance(time.Hour)
	w.broken.Store(false)
}

// cancelledAfter makes a run that is cancelled after a time.
func cancelledAfter(d time.Duration) func(*testing.T, *orders) {
	return func(_ *testing.T, w *orders) {
		w.trigger("r")
		w.u.Advance(d)
		w.send(http.MethodDelete, "/v2/workflows/runs/r", nil)
	}
}

// newest is the run that was created last.
func newest(t testing.TB, u *mockserver.TestServer) string {
	t.Helper()
	return fetch[struct {
		Runs []struct{ WorkflowRunID string }
	}](t, u, "/_understudy/runs").Runs[0].WorkflowRunID
}

// TestStatements brings runs into every state, and compares their pages with the
// interface. says is further texts that the page must contain.
func TestStatements(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(*testing.T, *orders)
		run  string // "": the newest one
		says []string
		not  []string
	}{
		"sleeping": {func(_ *testing.T, w *orders) { w.trigger("r") }, "r",
			[]string{"RUN_STARTED sleeping", `the run sleeps in step "cool down", until`, "sleeps until"}, []string{"first attempt not due"}},
		"waiting": {func(_ *testing.T, w *orders) { w.trigger("r"); w.u.Advance(time.Hour) }, "r",
			[]string{"RUN_STARTED waiting", `step "payment" waits for event "paid-r"`}, []string{"notified", "timed out"}},
		"notified, then successful": {func(_ *testing.T, w *orders) {
			w.trigger("r")
			w.u.Advance(time.Hour)
			w.send(http.MethodPost, "/v2/notify/paid-r", 1)
			w.u.Settle()
		}, "r", []string{"RUN_SUCCESS", "notified", "Ended"}, []string{"timed out"}},
		"timed out, then successful": {func(_ *testing.T, w *orders) { w.trigger("r"); w.u.Advance(100 * time.Hour) }, "r",
			[]string{"RUN_SUCCESS", "timed out"}, []string{"notified"}},
		"cancelled while it sleeps": {cancelledAfter(30 * time.Minute), "r", []string{"RUN_CANCELED", "cancelled", "30 m cancelled"}, []string{"failed:"}},
		"cancelled while it waits":  {cancelledAfter(90 * time.Minute), "r", []string{"RUN_CANCELED", "30 m cancelled"}, []string{"timed out", "notified"}},
		"answered without a step": {func(_ *testing.T, w *orders) {
			idle := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) { out.Header().Set("Svc-Workflow-Sdk-Version", "1") }))
			t.Cleanup(idle.Close)
			w.send(http.MethodPost, "/v2/trigger/"+idle.URL, nil, "Svc-Workflow-RunId", "r", "Svc-Workflow-Sdk-Version", "1")
			w.u.Settle()
		}, "r", []string{"RUN_STARTED", "answered without a step"}, []string{"end of the workflow"}},
		"cancelled while it retries": {func(_ *testing.T, w *orders) {
			w.broken.Store(true)
			w.trigger("r")
			w.u.Advance(time.Hour)
			w.send(http.MethodPost, "/v2/notify/paid-r", 1)
			w.u.Settle()
			w.send(http.MethodDelete, "/v2/workflows/runs/r", nil)
		}, "r", []string{"RUN_CANCELED", "print the label"}, []string{"end of the workflow"}},
		"successful after a retry": {func(_ *testing.T, w *orders) {
			w.broken.Store(true)
			w.trigger("r")
			w.u.Advance(time.Hour)
			w.send(http.MethodPost, "/v2/notify/paid-r", 1)
			w.u.Settle()
			w.broken.Store(false)
			w.u.Advance(time.Hour)
		}, "r", []string{"RUN_SUCCESS", "end of the workflow"}, nil},
		"delayed": {func(_ *testing.T, w *orders) {
			w.send(http.MethodPost, "/v2/trigger/"+w.app.URL, nil, "Svc-Workflow-RunId", "r", "Svc-Delay", "2d")
		}, "r", []string{"RUN_STARTED delayed", "first attempt not due yet", "2 d delayed"}, []string{"Attempt 1"}},
		"retrying": {func(_ *testing.T, w *orders) {
			w.broken.Store(true)
			w.trigger("r")
			w.u.Advance(time.Hour)
			w.send(http.MethodPost, "/v2/notify/paid-r", 1)
			w.u.Settle()
		}, "r", []string{"RUN_STARTED retrying", `print the label failed: the printer is on fire (500), attempt 1 of 2; next attempt not due yet`}, nil},
		"failed": {func(_ *testing.T, w *orders) { failed(w, "r") }, "r",
			[]string{`RUN_FAILED`, "print the label, attempt 2: failed for ", `print the label failed: the printer is on fire (500), attempt 2 of 2`, "in the DLQ as", "ERROR print the label msg_"}, nil},
		"failed, then restarted: the old run": {func(t *testing.T, w *orders) { failed(w, "r"); again(t, w, "restart") }, "r",
			[]string{"restarted as wfr_"}, []string{"in the DLQ as", "Restart or resume with overrides"}},
		"failed, then restarted: the new run": {func(t *testing.T, w *orders) { failed(w, "r"); again(t, w, "restart") }, "",
			[]string{"r RUN_FAILED restarted as this run", "RUN_STARTED sleeping"}, []string{"kept"}},
		"failed, then resumed: the old run": {func(t *testing.T, w *orders) { failed(w, "r"); again(t, w, "resume") }, "r",
			[]string{"resumed as wfr_"}, []string{"in the DLQ as"}},
		"failed, then resumed: the new run": {func(t *testing.T, w *orders) { failed(w, "r"); again(t, w, "resume") }, "",
			[]string{"r RUN_FAILED resumed as this run", "RUN_SUCCESS", "5 kept", "check the order kept"}, nil},
		"invoking":            {invoke, "parent", []string{"RUN_STARTED waiting", `step "delegate" waits for run child, which it invoked`}, nil},
		"invoked":             {invoke, "child", []string{"RUN_STARTED sleeping", "parent RUN_STARTED invoked this run"}, nil},
		"seeded, successful":  {seed, "s-ok", []string{"RUN_SUCCESS", "Took 2 h"}, nil},
		"seeded, failed":      {seed, "s-bad", []string{"RUN_FAILED", `step after "pay" failed: no paper (500), attempt 3 of 3`}, nil},
		"seeded, cancelled":   {seed, "s-gone", []string{"RUN_CANCELED"}, nil},
		"seeded, waiting":     {seed, "s-waits", []string{"RUN_STARTED waiting", `waits for event "go"`}, nil},
		"seeded, in progress": {seed, "s-later", []string{"RUN_STARTED"}, nil},
		"run before a seed":   {func(t *testing.T, w *orders) { failed(w, "r"); seed(t, w) }, "r", []string{"RUN_FAILED", "cool down: sleeps for 1 h 1 h"}, []string{"no longer knows"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
			w := runOrders(t, u)
			c.make(t, w)
			id := c.run
			if id == "" {
				id = newest(t, u)
			}
			statements(t, u, id)
			page := ""
			for _, tab := range []string{"?plan=shown", "?tab=log", "?tab=data", "?tab=again"} {
				page += read(t, u, "ui/runs/"+id+tab).at("view").text() + " "
			}
			for _, one := range shownSteps(t, u, id) {
				page += " " + one.pane.text()
			}
			for _, text := range c.says {
				if !strings.Contains(page, text) {
					t.Errorf("the page does not say %q:\n%s", text, page)
				}
			}
			for _, text := range c.not {
				if strings.Contains(page, text) {
					t.Errorf("the page says %q:\n%s", text, page)
				}
			}
		})
	}
}

// again restarts or resumes the only failed run.
func again(t *testing.T, w *orders, how string) {
	entries := fetch[struct{ Messages []struct{ DlqID string } }](t, w.u, "/v2/workflows/dlq").Messages
	if len(entries) != 1 {
		t.Fatalf("%d entries", len(entries))
	}
	w.send(http.MethodPost, "/v2/workflows/dlq/"+how+"/"+entries[0].DlqID, nil)
	w.u.Settle()
}

// invoke starts a run that invokes one of the orders.
func invoke(t *testing.T, w *orders) {
	var parent *httptest.Server
	parent = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Svc-Workflow-Sdk-Version", "1")
		w.send(http.MethodPost, "/v2/publish/"+w.app.URL, map[string]any{
			"body": `{"order":8}`, "workflowRunId": "parent", "workflowUrl": parent.URL,
			"headers": map[string][]string{"Svc-Workflow-RunId": {"parent"}, "Svc-Workflow-Url": {parent.URL}, "Svc-Workflow-Init": {"false"}},
			"step":    step{"stepId": 1, "stepName": "delegate", "stepType": "Invoke", "concurrent": 1},
		}, "Svc-Workflow-Init", "true", "Svc-Workflow-Invoke", "true", "Svc-Workflow-RunId", "child", "Svc-Workflow-Url", w.app.URL,
			"Svc-Forward-Svc-Workflow-Sdk-Version", "1", "Svc-Workflow-Sdk-Version", "1")
	}))
	t.Cleanup(parent.Close)
	w.send(http.MethodPost, "/v2/trigger/"+parent.URL, nil, "Svc-Workflow-RunId", "parent", "Svc-Workflow-Sdk-Version", "1", "Svc-Forward-Svc-Workflow-Sdk-Version", "1")
	w.u.Settle()
}

// seed adds runs of a fixture to the account, older than the existing ones.
func seed(t *testing.T, w *orders) {
	fixture := `{"version": 1, "runs": [
		{"id": "s-ok", "url": "https://app.test/w", "state": "RUN_SUCCESS", "createdAt": "-3h", "endedAt": "-1h", "steps": [{"name": "pay"}, {"name": "ship"}], "result": "done"},
		{"id": "s-bad", "url": "https://app.test/w", "state": "RUN_FAILED", "createdAt": "-2h", "endedAt": "-90m", "steps": [{"name": "pay"}], "retried": 2, "headers": {"Svc-Retries": "2"}, "response": {"status": 500, "body": {"error": "no paper"}}},
		{"id": "s-gone", "url": "https://app.test/w", "state": "RUN_CANCELED", "createdAt": "-26h", "endedAt": "-25h", "steps": [{"name": "pay"}]},
		{"id": "s-waits", "url": "https://app.test/w", "state": "RUN_STARTED", "createdAt": "-10m", "steps": [{"name": "pay"}], "waits": [{"event": "go", "timeout": "3d"}]},
		{"id": "s-later", "url": "https://app.test/w", "state": "RUN_STARTED", "createdAt": "-5m", "nextAt": "+2h", "steps": [{"name": "pay"}]}]}`
	if answer := request(t, w.u, http.MethodPost, "/_understudy/fixtures", fixture); !strings.Contains(answer, `"accounts"`) {
		t.Fatal(answer)
	}
}

// TestListsAreSortedByTime checks the order of every list after a fixture has added older
// entries.
func TestListsAreSortedByTime(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	u.Stub("https://down.test/*", 503)
	for range 3 {
		u.Publish("https://down.test/x", nil, "Svc-Retries: 0")
		u.Advance(time.Minute)
	}
	failed(w, "r")
	seed(t, w)
	request(t, u, http.MethodPost, "/_understudy/fixtures", `{"version":1,"dlq":[{"id":"d1","at":"-5h","destination":"https://down.test/old"},{"id":"d2","at":"-30s","destination":"https://down.test/new"}]}`)
	u.Publish("https://down.test/last", nil, "Svc-Retries: 0")
	u.Settle()
	for path, list := range map[string]struct{ name, time string }{
		"messages": {"messages", "createdAt"}, "runs": {"runs", "workflowRunCreatedAt"}, "dlq": {"entries", "failedAt"}, "log": {"events", "time"},
	} {
		t.Run(path, func(t *testing.T) {
			var whole, paged []string
			times := []float64{}
			read := func(query string) (ids []string, cursor string) {
				var d map[string]any
				if err := json.Unmarshal([]byte(request(t, u, http.MethodGet, "/_understudy/"+path+query, "")), &d); err != nil {
					t.Fatal(err)
				}
				rows, _ := d[list.name].([]any)
				for _, row := range rows {
					fields, _ := row.(map[string]any)
					text, _ := json.Marshal(fields)
					at, _ := fields[list.time].(float64)
					ids, times = append(ids, string(text)), append(times, at)
				}
				cursor, _ = d["cursor"].(string)
				return ids, cursor
			}
			whole, _ = read("")
			if n := len(whole); n < 5 {
				t.Errorf("number of rows: got %d, want at least 5", n)
			}
			if !slices.IsSortedFunc(times, func(x, y float64) int { return int(y - x) }) {
				t.Errorf("times of the rows: got %v, want the latest first", times)
			}
			for query := "?count=2"; query != ""; {
				ids, cursor := read(query)
				paged = append(paged, ids...)
				if query = ""; cursor != "" {
					query = "?count=2&cursor=" + cursor
				}
			}
			if !slices.Equal(whole, paged) {
				t.Errorf("the pages differ from the whole list in rows or order: got %d rows, want %d", len(paged), len(whole))
			}
		})
	}
}
