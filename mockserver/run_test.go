package mockserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// workflowApp is the endpoint of a workflow whose steps the test reports itself.
const workflowApp = "https://app.test/wf"

// workflowAnswers lets the endpoint answer with these statuses, as a client
// library does.
func workflowAnswers(u *mockserver.TestServer, statuses ...string) {
	stub := mockserver.Stub{URL: workflowApp}
	for _, status := range statuses {
		stub.Answers = append(stub.Answers, mockserver.Answer{Status: mockserver.StubStatus(status), Headers: map[string]string{
			"Svc-Workflow-Sdk-Version": "1", "Svc-Workflow-Sdk": "v1.3.3", "Svc-Error-Step-Name": map[bool]string{true: "charge"}[status == "500"]}})
	}
	u.Script(stub)
}

// trigger starts a run as a client library does.
func (c *client) trigger(id string, headers ...string) {
	c.t.Helper()
	c.do("POST", "/v2/publish/"+workflowApp, `{"order":7}`, append([]string{"Svc-Workflow-Init: true", "Svc-Workflow-RunId: " + id, "Svc-Workflow-Url: " + workflowApp,
		"Svc-Feature-Set: LazyFetch,InitialBody,WF_DetectTrigger,WF_TriggerOnConfig", "Svc-Forward-Svc-Workflow-Sdk-Version: 1"}, headers...)...).ok()
}

// report submits steps of a run, as its endpoint does.
func (c *client) report(id string, steps ...string) answer {
	c.t.Helper()
	entries := make([]map[string]any, len(steps))
	for i, step := range steps {
		headers := map[string]string{"Svc-Workflow-Init": "false", "Svc-Workflow-RunId": id, "Svc-Workflow-Url": workflowApp}
		if strings.Contains(step, `"SleepFor"`) {
			headers["Svc-Delay"] = "1h"
		}
		entries[i] = map[string]any{"destination": workflowApp, "body": step, "headers": headers}
	}
	body, err := json.Marshal(entries)
	expect.NoError(c.t, err)
	return c.do("POST", "/v2/batch", string(body))
}

// run is the run view of one run.
func (c *client) run(id string) answer {
	c.t.Helper()
	a := c.do("GET", "/v2/workflows/logs?workflowRunId="+id, "").ok()
	if len(a.list("runs")) != 1 {
		c.t.Fatalf("run %s: %s", id, a.raw)
	}
	a.json = a.get("runs", 0)
	return a
}

func TestRunViewOfAFailedStep(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	workflowAnswers(u, "500", "200", "500")
	c.trigger("wfr_1", "Svc-Retries: 1", "Svc-Forward-X-Custom-Header: blue")
	u.Advance(time.Hour) // the second attempt succeeds
	c.report("wfr_1", `{"stepId":1,"stepName":"reserve","stepType":"Run","out":"1","concurrent":1}`).ok()
	u.Advance(time.Hour) // both attempts of the next step fail
	view := c.run("wfr_1")
	if n := len(view.list("steps")); n != 3 {
		t.Fatalf("%d groups: %s", n, view.raw)
	}
	for i, kind := range []string{"sequential", "sequential", "next"} {
		t.Run("group "+kind, func(t *testing.T) {
			if got := view.text("steps", i, "type"); got != kind {
				t.Errorf("got %s, want %s", got, kind)
			}
			if view.number("steps", i, "steps", 0, "createdAt") == 0 {
				t.Error("no createdAt")
			}
			expect.Equal(t, "X-Custom-Header", view.text("steps", i, "steps", 0, "headers", "X-Custom-Header", 0), "blue")
			if view.get("steps", i, "steps", 0, "headers", "Svc-Forward-X-Custom-Header") != nil {
				t.Error("a header with the prefix of forwarding")
			}
		})
	}
	t.Run("the init step has no errors of others", func(t *testing.T) {
		expect.Equal(t, "errors of the init step", view.get("steps", 0, "steps", 0, "errors"), nil)
	})
	t.Run("a step that succeeded at the second attempt keeps the error of the first", func(t *testing.T) {
		if n := len(view.list("steps", 1, "steps", 0, "errors")); n != 1 {
			t.Errorf("%d errors: %s", n, view.raw)
		}
	})
	t.Run("the failed step has its errors", func(t *testing.T) {
		if expect.Equal(t, "number of errors", len(view.list("steps", 2, "steps", 0, "errors")), 2) {
			expect.Equal(t, "status of the first error", view.number("steps", 2, "steps", 0, "errors", 0, "status"), 500)
		}
		expect.Equal(t, "state", view.text("steps", 2, "steps", 0, "state"), "STEP_FAILED")
	})
	t.Run("the failed step has its own name", func(t *testing.T) {
		expect.Equal(t, "in the run view", view.text("steps", 2, "steps", 0, "stepName"), "charge")
		log := c.do("GET", "/_understudy/log?workflowRunId=wfr_1&state=ERROR", "").ok()
		expect.Equal(t, "in the log", log.text("events", 0, "stepName"), "charge")
		expect.Equal(t, "step in the list of runs", c.do("GET", "/_understudy/runs", "").ok().text("runs", 0, "stepName"), "charge")
		trace := c.do("GET", "/_understudy/runs/wfr_1", "").ok()
		expect.Equal(t, "in the trace", trace.text("spans", len(trace.list("spans"))-1, "step", "stepName"), "charge")
	})
}

// A step that sleeps is asleep everywhere until its time, and cancelled with its run.
func TestResumedRunShowsItsOwnErrors(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	workflowAnswers(u, "200", "500", "200")
	c.trigger("wfr_1", "Svc-Retries: 0")
	u.Settle()
	c.report("wfr_1", `{"stepId":1,"stepName":"reserve","stepType":"Run","out":"1","concurrent":1}`).ok()
	u.Settle() // the next step fails
	resumed := c.do("POST", "/v2/workflows/dlq/resume/"+c.run("wfr_1").text("dlqId"), "").ok().text("workflowRunId")
	u.Settle() // it succeeds
	c.report(resumed, `{"stepId":2,"stepName":"charge","stepType":"Run","out":"2","concurrent":1}`).ok()
	u.Settle()
	t.Run("a step that succeeded at the first attempt has none", func(t *testing.T) {
		view := c.run(resumed)
		expect.Equal(t, "name of the step", view.text("steps", 2, "steps", 0, "stepName"), "charge")
		expect.Equal(t, "errors of the step", view.get("steps", 2, "steps", 0, "errors"), nil)
	})
	t.Run("the old run keeps them", func(t *testing.T) {
		view := c.run("wfr_1")
		if n := len(view.list("steps", 2, "steps", 0, "errors")); n != 1 {
			t.Errorf("the failed step: got %d errors in %s, want 1", n, view.raw)
		}
	})
}

func TestSleepingStep(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	workflowAnswers(u, "200")
	c.trigger("wfr_1")
	u.Settle()
	c.report("wfr_1", `{"stepId":1,"stepName":"nap","stepType":"SleepFor","sleepFor":3600,"concurrent":1}`).ok()
	u.Settle()
	state := func() string { t.Helper(); return c.run("wfr_1").text("steps", 1, "steps", 0, "state") }
	expect.Equal(t, "asleep", state(), "STEP_PROGRESS")
	expect.Contains(t, "why", string(c.do("GET", "/_understudy/explain/wfr_1", "").ok().raw), `the run sleeps in step \"nap\"`)
	c.do("DELETE", "/v2/workflows/runs/wfr_1?cancel=true", "").ok()
	expect.Equal(t, "cancelled", state(), "STEP_CANCELED")
}

func TestSleepingStepBesideAFailure(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	workflowAnswers(u, "200", "500")
	c.trigger("wfr_1", "Svc-Retries: 0")
	u.Settle()
	c.report("wfr_1", `{"stepId":0,"stepName":"nap","stepType":"SleepFor","sleepFor":3600,"concurrent":2,"targetStep":1}`,
		`{"stepId":0,"stepName":"charge","stepType":"Run","concurrent":2,"targetStep":2}`).ok()
	if trace := c.do("GET", "/_understudy/runs/wfr_1", "").ok(); !strings.Contains(string(trace.raw), `"kind":"sleeping"`) {
		t.Errorf("the sleep is not on the time axis: %s", trace.raw)
	}
	u.Settle()
	view := c.run("wfr_1")
	states := map[string]string{}
	for i := range view.list("steps", 1, "steps") {
		states[view.text("steps", 1, "steps", i, "stepName")] = view.text("steps", 1, "steps", i, "state")
	}
	expect.Equal(t, "state of the step nap", states["nap"], "STEP_CANCELED")
	expect.Equal(t, "state of the step charge", states["charge"], "STEP_FAILED")
	dlq := c.do("GET", "/_understudy/dlq", "").ok()
	if got := dlq.text("entries", 0, "cause"); !strings.HasPrefix(got, `charge failed`) {
		t.Errorf("cause in the DLQ: %s", got)
	}
}

func TestEndpointsThatAreNoWorkflow(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		bare    bool
		headers map[string]string
		want    string // "" for a run that continues
	}{
		"a bare trigger to a plain endpoint":      {true, nil, "trigger rest api is only usable with sdk versions after v1.0.0 major version"},
		"a bare trigger to an old library":        {true, map[string]string{"Svc-Workflow-Sdk-Version": "1"}, "trigger rest api is only usable with sdk versions after v1.0.0 major version"},
		"a bare trigger to a library":             {true, map[string]string{"Svc-Workflow-Sdk": "v1.0.0"}, ""},
		"a library's trigger to a plain endpoint": {false, nil, "detected a non-workflow destination for trigger/invoke. make sure you are sending the request to the correct endpoint"},
		"a library's trigger to an old library":   {false, map[string]string{"Svc-Workflow-Sdk-Version": "1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, mockserver.Config{Dialect: dialect(t, "svc")})
			c := newClient(t, u)
			u.Script(mockserver.Stub{URL: workflowApp, Answers: []mockserver.Answer{{Headers: row.headers, Body: "hello"}}})
			id := "wfr_1"
			if row.bare {
				id = c.do("POST", "/v2/trigger/"+workflowApp, "{}").ok().text("workflowRunId")
			} else {
				c.trigger(id)
			}
			u.Settle()
			view := c.run(id)
			if row.want == "" {
				if got := view.text("workflowState"); got != "RUN_STARTED" {
					t.Errorf("state %s: %s", got, view.raw)
				}
				return
			}
			expect.Equal(t, "state", view.text("workflowState"), "RUN_FAILED")
			n := len(view.list("steps"))
			expect.Equal(expect.Now(t), "number of groups", n, 2)
			expect.Equal(expect.Now(t), "state of the first step", view.text("steps", 0, "steps", 0, "state"), "STEP_SUCCESS")
			expect.Equal(expect.Now(t), "type of the second group", view.text("steps", 1, "type"), "next")
			step := []any{"steps", 1, "steps", 0}
			expect.Equal(t, "number of errors", len(view.list(append(step, "errors")...)), 1)
			expect.Equal(t, "the first error", view.text(append(step, "errors", 0, "error")...), row.want)
			expect.Equal(t, "body", view.text(append(step, "errors", 0, "body")...), "hello")
			log := c.do("GET", "/v2/workflows/messageLogs?state=ERROR&workflowRunId="+id, "").ok()
			got := log.text("events", 0, "error")
			if !strings.HasPrefix(got, row.want+": ") {
				t.Errorf("error of the log: got %q, want it to start with %q", got, row.want+": ")
			}
			expect.Contains(t, "error of the log", got, "publish to it")
			why := c.do("GET", "/_understudy/explain/"+id, "").ok().text("reasons", 0, "reason")
			expect.Contains(t, "the explanation", why, row.want)
			expect.Contains(t, "the explanation", why, "if it is a plain endpoint")
		})
	}
}

// An endpoint that is asked to show its library triggers the run a second time,
// whether it has answered already or not.
func TestABareTriggerCallsItsEndpointLikeALibrary(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		path, body string
		headers    []string
	}{
		"alone":      {"/v2/trigger/" + workflowApp, "payload", []string{"Svc-Forward-X-User: u"}},
		"in a batch": {"/v2/batch/trigger", `[{"destination":"` + workflowApp + `","body":"payload","headers":{"Svc-Forward-X-User":"u"}}]`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			c := newClient(t, u)
			workflowAnswers(u, "200", "500")
			c.do("POST", row.path, row.body, row.headers...).ok()
			u.Settle()
			all := u.Deliveries()
			expect.Equal(expect.Now(t), "number of deliveries", len(all), 1)
			h := all[0].Request.Header
			expect.Equal(t, "Unknown-Sdk", h.Get("Svc-Workflow-Unknown-Sdk"), "")
			expect.Equal(t, "Sdk-Version", h.Get("Svc-Workflow-Sdk-Version"), "1")
			expect.Equal(t, "header of the user", h.Get("X-User"), "u")
		})
	}
}

// Neither the mark of a call nor the question for the library may reach the failure function.
func TestTheFailureCallbackOfABareTriggerIsNoCall(t *testing.T) {
	t.Parallel()
	for name, header := range map[string][]string{"without a question": nil, "with a question": {"Svc-Workflow-Unknown-Sdk: true"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			c := newClient(t, u)
			workflowAnswers(u, "500", "500")
			c.do("POST", "/v2/trigger/"+workflowApp, "payload", append(header, "Svc-Retries: 0")...).ok()
			u.Settle()
			all := u.Deliveries()
			expect.Equal(expect.Now(t), "number of deliveries", len(all), 2)
			h := all[1].Request.Header
			expect.Equal(t, "Is-Failure", h.Get("Svc-Workflow-Is-Failure"), "true")
			expect.Equal(t, "Unknown-Sdk", h.Get("Svc-Workflow-Unknown-Sdk"), "")
			expect.Equal(t, "Sdk-Version", h.Get("Svc-Workflow-Sdk-Version"), "")
		})
	}
}

func TestALargeBareTriggerIsFetched(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{MaxBody: 8 << 20, Dialect: dialect(t, "svc")})
	c := newClient(t, u)
	workflowAnswers(u, "200", "500")
	id := c.do("POST", "/v2/trigger/"+workflowApp, strings.Repeat("x", 4<<20)).ok().text("workflowRunId")
	u.Settle()
	expect.Equal(t, "size of the body", len(u.Deliveries()[0].Request.Body), 0)
	expect.Equal(t, "number of steps to fetch", len(c.do("GET", "/v2/workflows/runs/"+id, "").ok().list()), 1)
}

func TestTriggerByTheLibraryStartsTheRun(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ bare, answered bool }{
		"after its answer to a bare trigger":       {true, true},
		"before its answer to a bare trigger":      {true, false},
		"after its answer to the header of a user": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			c := newClient(t, u)
			delay := "1m"
			if row.answered {
				delay = ""
			}
			u.Script(mockserver.Stub{URL: workflowApp, Answers: []mockserver.Answer{{Delay: delay, Headers: map[string]string{"Svc-Workflow-Sdk-Version": "1", "Svc-Workflow-Sdk": "v1.3.3"}}}})
			id := "wfr_1"
			if row.bare {
				id = c.do("POST", "/v2/trigger/"+workflowApp, "payload", "Svc-Workflow-Unknown-Sdk: true").ok().text("workflowRunId")
			} else {
				c.trigger(id, "Svc-Forward-Svc-Workflow-Unknown-Sdk: true")
			}
			u.Settle()
			second := []string{"Svc-Workflow-Init: true", "Svc-Workflow-RunId: " + id, "Svc-Workflow-Url: " + workflowApp,
				"Svc-Workflow-Trigger-By-Sdk: true", "Svc-Forward-Svc-Workflow-Sdk-Version: 1", "Svc-Feature-Set: InitialBody,WF_DetectTrigger"}
			if a := c.do("POST", "/v2/publish/"+workflowApp, "payload", second...).ok(); a.get("deduplicated") == true {
				t.Errorf("deduplicated: %s", a.raw)
			}
			u.Advance(time.Hour)
			all := u.Deliveries()
			expect.Equal(expect.Now(t), "number of deliveries", len(all), 2)
			expect.Equal(t, "first delivery: Unknown-Sdk", all[0].Request.Header.Get("Svc-Workflow-Unknown-Sdk"), "true")
			expect.Equal(t, "second delivery: Unknown-Sdk", all[1].Request.Header.Get("Svc-Workflow-Unknown-Sdk"), "")
			expect.Equal(t, "second delivery: Sdk-Version", all[1].Request.Header.Get("Svc-Workflow-Sdk-Version"), "1")
			if a := c.do("POST", "/v2/publish/"+workflowApp, "payload", second...).ok(); a.get("deduplicated") != true {
				t.Errorf("the third trigger is not deduplicated: %s", a.raw)
			}
		})
	}
}

// A run learns of the last attempt of a call only, with no retries left: client
// libraries ignore the answer of a call that has some.
func TestCallReportsItsLastAttempt(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		answers []mockserver.Answer
		status  int64
	}{
		"that fails":                     {[]mockserver.Answer{{Status: "500"}}, 500},
		"that succeeds":                  {[]mockserver.Answer{{Status: "500"}, {Status: "200"}}, 200},
		"that asks for no further retry": {[]mockserver.Answer{{Status: "489", Headers: map[string]string{"Svc-NonRetryable-Error": "true"}}}, 489},
		"that is refused":                {[]mockserver.Answer{{Fail: "refused"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			c := newClient(t, u)
			workflowAnswers(u, "200")
			u.Script(mockserver.Stub{URL: "https://third.test/x", Answers: row.answers})
			c.trigger("wfr_1")
			u.Settle()
			c.do("POST", "/v2/publish/https://third.test/x", "q", "Svc-Retries: 2", "Svc-Workflow-RunId: wfr_1", "Svc-Workflow-Init: false", "Svc-Workflow-CallType: toCallback",
				"Svc-Callback: "+workflowApp, "Svc-Callback-Workflow-RunId: wfr_1", "Svc-Callback-Workflow-CallType: fromCallback", "Svc-Callback-Forward-Svc-Workflow-Callback: true",
				"Svc-Callback-Forward-Svc-Workflow-StepId: 1", "Svc-Callback-Forward-Svc-Workflow-StepName: ask", "Svc-Callback-Forward-Svc-Workflow-StepType: Call").ok()
			u.Advance(24 * time.Hour)
			var reports []string
			for _, d := range u.Deliveries() {
				if d.Request.Header.Get("Svc-Workflow-Callback") != "" {
					reports = append(reports, string(d.Request.Body))
				}
			}
			if len(reports) != 1 {
				t.Fatalf("%d callbacks: %v", len(reports), reports)
			}
			var got struct{ Status, Retried, MaxRetries int64 }
			expect.Nil(t, "reading the report", json.Unmarshal([]byte(reports[0]), &got))
			expect.Equal(t, "status of the report", got.Status, row.status)
			if got.Status != 200 && got.Retried != got.MaxRetries {
				t.Errorf("retried %d of %d", got.Retried, got.MaxRetries)
			}
		})
	}
}

// invoke lets one run start another.
func (c *client) invoke(parent, child string) {
	c.t.Helper()
	body := `{"body":"{}","headers":{"Svc-Workflow-Runid":["` + parent + `"]},"workflowRunId":"` + parent + `","workflowUrl":"` + workflowApp + `",
	  "step":{"stepId":1,"stepName":"ask","stepType":"Invoke","concurrent":2}}`
	c.do("POST", "/v2/publish/"+workflowApp, body, "Svc-Workflow-Init: true", "Svc-Workflow-RunId: "+child, "Svc-Workflow-Url: "+workflowApp, "Svc-Workflow-Invoke: true",
		"Svc-Forward-Svc-Workflow-Sdk-Version: 1").ok()
}

func TestInvokedRunOutlivesItsParent(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	workflowAnswers(u, "200", "200", "200", "500", "200")
	c.trigger("wfr_parent", "Svc-Retries: 0")
	u.Settle()
	c.invoke("wfr_parent", "wfr_child")
	u.Settle()
	state := func() string {
		t.Helper()
		view := c.run("wfr_parent")
		for i := range view.list("steps") {
			for k := range view.list("steps", i, "steps") {
				if view.text("steps", i, "steps", k, "stepName") == "ask" {
					return view.text("steps", i, "steps", k, "state")
				}
			}
		}
		t.Fatalf("step not found: %s", view.raw)
		return ""
	}
	c.report("wfr_parent", `{"stepId":0,"stepName":"ask","stepType":"Invoke","concurrent":2,"targetStep":1}`).ok()
	u.Settle()
	c.report("wfr_parent", `{"stepId":0,"stepName":"fail","stepType":"Run","concurrent":2,"targetStep":2}`).ok()
	u.Settle()
	if got := c.run("wfr_parent").text("workflowState"); got != "RUN_FAILED" {
		t.Fatalf("the parent is %s: %s", got, c.run("wfr_parent").raw)
	}
	expect.Equal(t, "while the child runs", state(), "STEP_PROGRESS")
	c.do("DELETE", "/v2/workflows/runs/wfr_child?cancel=false", `"done"`).ok()
	u.Settle()
	expect.Equal(t, "after the child has succeeded", state(), "STEP_SUCCESS")
}

// noProgress fails for a step in progress.
func (a answer) noProgress(t *testing.T) {
	t.Helper()
	for i := range a.list("steps") {
		for k := range a.list("steps", i, "steps") {
			if state := a.text("steps", i, "steps", k, "state"); state == "STEP_PROGRESS" || state == "STEP_RETRY" {
				t.Errorf("a step is %s: %s", state, a.raw)
			}
		}
	}
}

// The endpoint reports the end of its run while it still answers the call.
func TestNoStepIsInProgressWhileTheLastCallsAreAnswered(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		plans, calls int // the calls that are in flight at the end
		want         []string
	}{
		"the call that reports the end": {0, 1, []string{"sequential"}},
		"parallel steps":                {2, 3, []string{"sequential", "parallel"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			called, answer := make(chan bool, row.calls), make(chan bool)
			app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				called <- true
				<-answer
				w.Header().Set("Svc-Workflow-Sdk-Version", "1")
			}))
			defer app.Close()
			defer close(answer)
			u := mockserver.RunT(t, mockserver.Config{Clock: "real"})
			c := newClient(t, u)
			headers := map[string]string{"Svc-Workflow-Init": "true", "Svc-Workflow-RunId": "wfr_1", "Svc-Workflow-Url": app.URL, "Svc-Forward-Svc-Workflow-Sdk-Version": "1"}
			publish := func(body string) {
				item, err := json.Marshal([]map[string]any{{"destination": app.URL, "body": body, "headers": headers}})
				expect.Nil(t, "writing a batch", err)
				c.do("POST", "/v2/batch", string(item)).ok()
			}
			publish("{}")
			headers["Svc-Workflow-Init"] = "false"
			for id := range row.plans {
				publish(fmt.Sprintf(`{"stepId":0,"stepName":"slow","stepType":"Run","concurrent":2,"targetStep":%d}`, id+1))
			}
			for range row.calls {
				<-called
			}
			c.do("DELETE", "/v2/workflows/runs/wfr_1?cancel=false", `"done"`).ok()
			view := c.run("wfr_1")
			expect.Equal(t, "state of the run", view.text("workflowState"), "RUN_SUCCESS")
			view.noProgress(t)
			var groups []string
			for i := range view.list("steps") {
				groups = append(groups, view.text("steps", i, "type"))
			}
			expect.Equal(t, "groups", fmt.Sprint(groups), fmt.Sprint(row.want))
		})
	}
}

// The endpoint may end its run although some steps have no result.
func TestNoStepIsInProgressAfterTheEndOfItsRun(t *testing.T) {
	t.Parallel()
	const plan = `{"stepId":0,"stepName":"slow","stepType":"Run","concurrent":2,"targetStep":%d}`
	for name, row := range map[string]struct {
		answer string // to the last call
		leave  func(c *client)
	}{
		"a call that is tried again": {"500", func(*client) {}},
		"parallel steps": {"200", func(c *client) {
			c.report("wfr_1", fmt.Sprintf(plan, 1), fmt.Sprintf(plan, 2)).ok()
		}},
		"a wait": {"200", func(c *client) {
			c.do("POST", "/v2/wait/paid", `{"url":"`+workflowApp+`","timeout":"1d","step":{"stepId":1,"stepName":"wait","stepType":"Wait","concurrent":1}}`,
				"Svc-Workflow-RunId: wfr_1", "Svc-Workflow-Url: "+workflowApp).ok()
		}},
		"a third-party call that is tried again": {"200", func(c *client) {
			c.do("POST", "/v2/publish/https://down.test/", "q", "Svc-Workflow-RunId: wfr_1", "Svc-Workflow-Url: "+workflowApp, "Svc-Workflow-CallType: toCallback", "Svc-Retries: 3",
				"Svc-Callback: "+workflowApp, "Svc-Callback-Forward-Svc-Workflow-StepId: 1", "Svc-Callback-Forward-Svc-Workflow-StepName: ask", "Svc-Callback-Forward-Svc-Workflow-StepType: Call").ok()
		}},
		"an invoked run": {"200", func(c *client) { c.invoke("wfr_1", "wfr_child") }},
		"a sleep": {"200", func(c *client) {
			c.report("wfr_1", `{"stepId":1,"stepName":"nap","stepType":"SleepFor","sleepFor":3600,"concurrent":1}`).ok()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			c := newClient(t, u)
			workflowAnswers(u, row.answer)
			u.Script(mockserver.Stub{URL: "https://down.test/", Answers: []mockserver.Answer{{Status: "503"}}})
			c.trigger("wfr_1")
			u.Settle()
			row.leave(c)
			u.Settle()
			c.do("DELETE", "/v2/workflows/runs/wfr_1?cancel=false", `"done"`).ok()
			view := c.run("wfr_1")
			expect.Equal(t, "state of the run", view.text("workflowState"), "RUN_SUCCESS")
			view.noProgress(t)
		})
	}
}

// The calls with the results of a parallel group overlap; only one of them submits the next group.
func TestTheTimeAxisHasOnePlanForEachParallelGroup(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	u.Script(mockserver.Stub{URL: workflowApp, Answers: []mockserver.Answer{{Delay: "1m", Headers: map[string]string{"Svc-Workflow-Sdk-Version": "1"}}}})
	c.trigger("wfr_1")
	u.Settle()
	for first := 1; first < 7; first += 3 {
		var plans, results []string
		for id := first; id < first+3; id++ {
			plans = append(plans, fmt.Sprintf(`{"stepId":0,"stepName":"s%d","stepType":"Run","concurrent":3,"targetStep":%[1]d}`, id))
			results = append(results, fmt.Sprintf(`{"stepId":%d,"stepName":"s%[1]d","stepType":"Run","out":"1","concurrent":3}`, id))
		}
		c.report("wfr_1", plans...).ok()
		u.Settle()
		c.report("wfr_1", results...).ok()
		u.Settle()
	}
	trace := c.do("GET", "/_understudy/runs/wfr_1", "").ok()
	plans := 0
	for i := range trace.list("spans") {
		if trace.text("spans", i, "step", "stepName") == "plan" {
			plans++
		}
	}
	expect.Equal(t, "number of plans", plans, 2)
}

func TestANotificationIsCreated(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	c.trigger("wfr_1")
	for _, path := range []string{"/v2/notify/paid", "/v2/notify/wfr_1/paid"} {
		expect.Equal(t, "status of "+path, c.do("POST", path, "x").status, 201)
	}
}

// A client library rounds the time of a sleep in the header, and not in the step.
func TestARunSleepsUntilTheLaterOfTwoTimes(t *testing.T) {
	t.Parallel()
	const step = `{"stepId":1,"stepName":"nap","stepType":%s,"concurrent":1}`
	for name, row := range map[string]struct {
		header string // %d: a time in Unix s, 10 s after the start
		step   string // %d: the same
		wakes  time.Duration
	}{
		"the step is later":                 {"Svc-Not-Before: %d", `"SleepUntil","sleepUntil":%d.4`, 10400 * time.Millisecond},
		"the header is later":               {"Svc-Not-Before: %d", `"SleepUntil","sleepUntil":%d`, 10 * time.Second},
		"the header is earlier by a second": {"Svc-Not-Before: %d", `"SleepUntil","sleepUntil":%d.999`, 10999 * time.Millisecond},
		"a delay and a time":                {"Svc-Delay: 3s", `"SleepUntil","sleepUntil":%d.5`, 10500 * time.Millisecond},
		"a longer delay":                    {"Svc-Delay: 30s", `"SleepUntil","sleepUntil":%d`, 30 * time.Second},
		"a longer duration in the step":     {"Svc-Delay: 3s", `"SleepFor","sleepFor":20`, 20 * time.Second},
		"a longer delay than the duration":  {"Svc-Delay: 30s", `"SleepFor","sleepFor":20`, 30 * time.Second},
		"no header":                         {"X-None: 1", `"SleepUntil","sleepUntil":%d.25`, 10250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			c := newClient(t, u)
			workflowAnswers(u, "200")
			c.trigger("wfr_1")
			u.Settle()
			ten := u.Now().Truncate(time.Second).Add(10 * time.Second)
			wakes := ten.Add(row.wakes - 10*time.Second)
			if strings.HasPrefix(row.header, "Svc-Delay") && row.wakes != 10500*time.Millisecond {
				wakes = u.Now().Add(row.wakes)
			}
			c.do("POST", "/v2/publish/"+workflowApp, fmt.Sprintf(step, timed(row.step, ten)), "Svc-Workflow-Init: false", "Svc-Workflow-RunId: wfr_1", "Svc-Workflow-Url: "+workflowApp, timed(row.header, ten)).ok()
			u.Advance(wakes.Add(-time.Millisecond).Sub(u.Now()))
			expect.Equal(t, "calls before", len(u.Deliveries()), 1)
			u.Advance(time.Millisecond)
			expect.Equal(t, "calls at its end", len(u.Deliveries()), 2)
		})
	}
}

func timed(text string, at time.Time) string {
	return strings.ReplaceAll(text, "%d", fmt.Sprint(at.Unix()))
}

// A run that fails beside a sleep sleeps on when it is resumed; the wait for it does not start over.
func TestAResumedRunSleepsForTheRest(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	workflowAnswers(u, "200", "500", "200")
	c.trigger("wfr_1", "Svc-Retries: 0")
	u.Settle()
	c.report("wfr_1", `{"stepId":0,"stepName":"nap","stepType":"SleepFor","sleepFor":3600,"concurrent":2,"targetStep":1}`,
		`{"stepId":0,"stepName":"charge","stepType":"Run","concurrent":2,"targetStep":2}`).ok()
	u.Settle()
	u.Advance(20 * time.Minute)
	c.do("POST", "/v2/workflows/dlq/resume/"+c.run("wfr_1").text("dlqId"), "").ok()
	u.Settle()
	expect.Equal(t, "calls at the resumption", len(u.Deliveries()), 3)
	u.Advance(40*time.Minute - time.Millisecond)
	expect.Equal(t, "calls during the sleep", len(u.Deliveries()), 3)
	u.Advance(time.Millisecond)
	expect.Equal(t, "calls after it", len(u.Deliveries()), 4)
}

// A step that its endpoint submits again, because it received no answer, is in the list once:
// a published client takes each entry for the next step.
func TestAStepThatIsSubmittedAgainIsInTheListOnce(t *testing.T) {
	t.Parallel()
	const of = `"stepName":"s","stepType":"%s","concurrent":%d`
	for name, row := range map[string]struct {
		submit func(c *client) answer
		calls  int // of the endpoint, with the first one
	}{
		"a step": {func(c *client) answer {
			return c.report("wfr_1", `{"stepId":1,`+fmt.Sprintf(of, "Run", 1)+`,"out":"1"}`)
		}, 2},
		"a step with another result": {func(c *client) answer {
			return c.report("wfr_1", fmt.Sprintf(`{"stepId":1,`+of+`,"out":"%d"}`, "Run", 1, time.Now().UnixNano()))
		}, 2},
		"plans": {func(c *client) answer {
			return c.report("wfr_1", `{"stepId":0,"targetStep":1,`+fmt.Sprintf(of, "Run", 2)+`}`, `{"stepId":0,"targetStep":2,`+fmt.Sprintf(of, "Run", 2)+`}`)
		}, 3},
		"a wait": {func(c *client) answer {
			c.do("POST", "/v2/wait/paid", `{"url":"`+workflowApp+`","timeout":"1d","step":{"stepId":1,`+fmt.Sprintf(of, "Wait", 1)+`}}`, "Svc-Workflow-RunId: wfr_1", "Svc-Workflow-Url: "+workflowApp).ok()
			return c.do("GET", "/v2/waiters/paid", "")
		}, 1},
		"an invocation": {func(c *client) answer {
			body := `{"body":"{}","headers":{},"workflowRunId":"wfr_1","workflowUrl":"` + workflowApp + `","step":{"stepId":1,` + fmt.Sprintf(of, "Invoke", 1) + `}}`
			return c.do("POST", "/v2/publish/https://child.test/", body, "Svc-Workflow-Init: true", "Svc-Workflow-Url: https://child.test/", "Svc-Workflow-Invoke: true")
		}, 1},
		"a third-party call": {func(c *client) answer {
			return c.do("POST", "/v2/publish/https://slow.test/", "q", "Svc-Workflow-RunId: wfr_1", "Svc-Workflow-Url: "+workflowApp, "Svc-Workflow-CallType: toCallback", "Svc-Delay: 1h",
				"Svc-Callback: "+workflowApp, "Svc-Callback-Forward-Svc-Workflow-StepId: 1", "Svc-Callback-Forward-Svc-Workflow-StepName: ask", "Svc-Callback-Forward-Svc-Workflow-StepType: Call")
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			c := newClient(t, u)
			workflowAnswers(u, "200")
			u.Stub("https://child.test/*", 500)
			c.trigger("wfr_1", "Svc-Retries: 0")
			u.Settle()
			first := row.submit(c).ok()
			u.Settle()
			list := string(c.do("GET", "/v2/workflows/runs/wfr_1", "").ok().raw)
			again := row.submit(c).ok()
			u.Settle()
			expect.Equal(t, "the answer, but for the mark", strings.ReplaceAll(string(again.raw), `"deduplicated":true,`, ""), string(first.raw))
			expect.Equal(t, "the list of steps", string(c.do("GET", "/v2/workflows/runs/wfr_1", "").ok().raw), list)
			calls := 0
			for _, d := range u.Deliveries() {
				if d.URL == workflowApp {
					calls++
				}
			}
			expect.Equal(t, "calls of the endpoint", calls, row.calls)
		})
	}
}

// Every call of a run has what the run was triggered with, wherever the call comes from.
func TestEveryCallOfARunHasWhatItWasTriggeredWith(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	workflowAnswers(u, "200", "200", "200", "500", "200", "200", "500", "200", "200")
	u.Stub("https://third.test/", 200)
	options := []string{"Svc-Label: a,b", "Svc-Retries: 0", "Svc-Retry-Delay: 1000 * (1 + retried)", "Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: parallelism=2, rate=50, period=60",
		"Svc-Forward-X-One: 1", "Svc-Forward-X-Two: 1", "Svc-Forward-X-Two: 2", "Content-Type: text/x-own",
		"Svc-Failure-Callback: " + workflowApp + "/failed", "Svc-Failure-Callback-Forward-X-One: 1", "Svc-Failure-Callback-Forward-X-Two: 1, 2"}
	u.Stub(workflowApp+"/failed", 200)
	c.trigger("wfr_1", options...) // first call
	u.Settle()
	c.report("wfr_1", `{"stepId":1,"stepName":"s","stepType":"Run","out":"1","concurrent":1}`).ok() // later call
	u.Settle()
	c.do("POST", "/v2/publish/https://third.test/", "q", "Svc-Workflow-RunId: wfr_1", "Svc-Workflow-Url: "+workflowApp, "Svc-Workflow-CallType: toCallback",
		"Svc-Callback: "+workflowApp, "Svc-Callback-Forward-Svc-Workflow-Callback: true", "Svc-Callback-Workflow-RunId: wfr_1", "Svc-Callback-Workflow-CallType: fromCallback",
		"Svc-Callback-Forward-Svc-Workflow-StepId: 2", "Svc-Callback-Forward-Svc-Workflow-StepName: ask", "Svc-Callback-Forward-Svc-Workflow-StepType: Call").ok() // answer of a third party
	u.Settle()
	c.report("wfr_1", `{"stepId":2,"stepName":"ask","stepType":"Call","out":"1","concurrent":1}`).ok() // fails, and so calls the failure function
	u.Settle()
	resumed := c.do("POST", "/v2/workflows/dlq/resume/"+c.run("wfr_1").text("dlqId"), "").ok().text("workflowRunId")
	u.Settle()
	c.report(resumed, `{"stepId":3,"stepName":"s","stepType":"Run","out":"1","concurrent":1}`).ok()
	u.Settle()
	c.report(resumed, `{"stepId":4,"stepName":"s","stepType":"Run","out":"1","concurrent":1}`).ok() // fails
	u.Settle()
	restarted := c.do("POST", "/v2/workflows/dlq/restart/"+c.run(resumed).text("dlqId"), "").ok().text("workflowRunId")
	u.Settle()
	c.report(restarted, `{"stepId":1,"stepName":"s","stepType":"Run","out":"1","concurrent":1}`).ok()
	u.Settle()
	calls := map[string]int{}
	for _, d := range u.Deliveries() {
		if d.URL == "https://third.test/" {
			continue
		}
		calls[d.URL]++
		h := d.Request.Header
		for name, want := range map[string]string{"Svc-Label": "a,b", "X-One": "1", "Content-Type": "text/x-own"} {
			if d.Role != "step" && name == "Content-Type" {
				want = "application/json"
			}
			expect.Equal(t, d.Role+" "+d.URL+": "+name, strings.Join(h[name], ","), want)
		}
		expect.Equal(t, d.Role+" "+d.URL+": X-Two", strings.ReplaceAll(strings.Join(h["X-Two"], ","), " ", ""), "1,2")
		if d.Role == "step" {
			expect.Equal(t, "key", h.Get("Svc-Flow-Control-Key"), "k")
			expect.Equal(t, "limits", h.Get("Svc-Flow-Control-Value"), "parallelism=2,rate=50,period=60")
			expect.Equal(t, "largest number of retries", h.Get("Svc-Max-Retries"), "0")
			expect.Equal(t, "delay of retries", h.Get("Svc-Retry-Delay"), "1000 * (1 + retried)")
		}
	}
	expect.Equal(t, "calls", fmt.Sprint(calls), "map["+workflowApp+":9 "+workflowApp+"/failed:2]")
}
