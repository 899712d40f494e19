package messaging

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/wire"
	"github.com/understudy-mock/understudy/spec/api"
	"github.com/understudy-mock/understudy/spec/header"
)

// triggerWorkflow is a publish that starts a run, so that every option of a publish
// works.
func (a *API) triggerWorkflow(c *request.Call) (any, error) {
	r, err := a.publishRequest(c, "workflowUrl")
	if err != nil {
		return nil, err
	}
	asTrigger(&r)
	receipts, err := c.Account.Publish(r)
	if err != nil {
		return nil, err
	}
	return triggeredBody(&receipts), nil
}

// asTrigger makes a publish start a run. A request without a client library gets
// what the library would send (wire.md, "Triggers without a client").
func asTrigger(r *engine.PublishRequest) {
	r.Trigger = true
	if r.Options.Workflow == nil {
		r.Options.Workflow = &engine.Workflow{}
	}
	w := r.Options.Workflow
	if w.SDKVersion != "" {
		return
	}
	w.Features = append(w.Features, "LazyFetch")
	forward := engine.Header{header.WorkflowSDKVersion: {"1"}}
	if question := r.Header.Header()[header.WorkflowUnknownSDK]; question != nil {
		forward[header.WorkflowUnknownSDK] = question
	}
	maps.Copy(forward, r.Options.Forward)
	r.Options.Forward = forward
	if r.Options.FailureCallback == nil {
		r.Options.FailureCallback = &engine.Callback{URL: cmp.Or(w.URL, r.URL), Options: engine.Options{
			Forward:  wire.FailureHeader(),
			Workflow: &engine.Workflow{CallType: "failureCall"},
		}}
	}
}

// triggerWorkflows starts all runs or none, like a batch.
func (a *API) triggerWorkflows(c *request.Call) (any, error) {
	requests, err := a.batch(c)
	if err != nil {
		return nil, err
	}
	for i := range requests {
		asTrigger(&requests[i])
	}
	results, err := c.Account.PublishBatch(requests)
	if err != nil {
		return nil, err
	}
	return response.List(results, triggeredBody), nil
}

// getWorkflowSteps returns the steps of a run to its endpoint, for an
// invocation whose body does not contain them all.
func (a *API) getWorkflowSteps(c *request.Call) (any, error) {
	steps, err := c.Account.Steps(c.Vars["workflowRunId"])
	if err != nil {
		return nil, err
	}
	return wire.StepList(steps), nil
}

// endWorkflowRun finishes a run with its response, or cancels it.
func (a *API) endWorkflowRun(c *request.Call) (any, error) {
	id := c.Vars["workflowRunId"]
	if c.Flag("cancel", true) {
		return response.Empty, c.Account.CancelRun(id)
	}
	var createdAt time.Time
	if v := c.Header.Get("Svc-Workflow-Createdat"); v != "" {
		if err := request.ReadUnixMilli(&createdAt, v); err != nil {
			return nil, response.Invalid("header Svc-Workflow-CreatedAt: " + err.Error())
		}
	}
	return response.Empty, c.Account.FinishRun(id, c.Body, createdAt)
}

// cancelWorkflowRuns takes the URL as a prefix unless the call says otherwise:
// one endpoint may serve many paths.
func (a *API) cancelWorkflowRuns(c *request.Call) (any, error) {
	if err := c.MergeBody(); err != nil {
		return nil, err
	}
	f, err := c.LogFilter(request.RunStates)
	if err != nil {
		return nil, err
	}
	if c.Query.Has("workflowUrlExactMatch") && len(f.RunURLs) == 0 {
		return nil, response.Invalid("query workflowUrlExactMatch: given without workflowUrl: must be beside it, or absent")
	}
	f.URLPrefix = !c.Flag("workflowUrlExactMatch", false)
	n, err := c.Account.CancelRuns(f)
	return map[string]int{"cancelled": n}, err
}

// listWorkflowEvents lists the log of runs, event by event or, when grouped,
// run by run.
func (a *API) listWorkflowEvents(c *request.Call) (any, error) {
	if c.Query.Get("groupBy") == "" {
		return a.listWorkflowMessageLogs(c)
	}
	return a.listWorkflowRuns(c)
}

// listWorkflowRuns is the log grouped by run; two paths lead here, because
// older clients use another one.
func (a *API) listWorkflowRuns(c *request.Call) (any, error) {
	f, err := c.LogFilter(request.RunStates)
	if err != nil {
		return nil, err
	}
	p, err := c.Account.RunViews(f)
	return response.Page("runs", p.Items, p.Cursor, Run), err
}

// waitForEvent registers a waiter (wire.md, "Waits, events and hooks").
func (a *API) waitForEvent(c *request.Call) (any, error) {
	var body struct {
		URL            string              `json:"url"`
		Timeout        any                 `json:"timeout"`
		TimeoutURL     string              `json:"timeoutUrl"`
		TimeoutHeaders map[string][]string `json:"timeoutHeaders"`
		TimeoutBody    json.RawMessage     `json:"timeoutBody"`
		Step           json.RawMessage     `json:"step"`
	}
	if err := c.Read(&body); err != nil {
		return nil, err
	}
	timeout := ""
	switch t := body.Timeout.(type) {
	case string:
		timeout = t
	case float64:
		timeout = strconv.FormatFloat(t, 'f', -1, 64)
	}
	headers := canonicalHeader(body.TimeoutHeaders)
	id := c.Header.Get("Svc-Workflow-Runid")
	if id == "" && len(headers["Svc-Workflow-Runid"]) > 0 {
		id = headers["Svc-Workflow-Runid"][0]
	}
	c.Redact = c.Account.Redaction(id, "")
	return response.Empty, c.Account.Wait(engine.WaitRequest{
		RunID: id, EventID: c.Vars["eventId"], URL: body.URL, Timeout: timeout,
		TimeoutURL: body.TimeoutURL, TimeoutHeader: headers, TimeoutBody: response.BodyBytes(body.TimeoutBody), Step: body.Step,
	})
}

// canonicalHeader brings header names in a body to the canonical form of
// net/http, so that lookups find them.
func canonicalHeader(m map[string][]string) engine.Header {
	h := engine.Header{}
	for name, values := range m {
		h[textproto.CanonicalMIMEHeaderKey(name)] = values
	}
	return h
}

// notifyEvent wakes every run that waits for the event. If none waits, the
// event has no effect.
func (a *API) notifyEvent(c *request.Call) (any, error) {
	woken, err := c.Account.Notify("", c.Vars["eventId"], c.Body)
	return notifiedRuns(c, woken, err)
}

// notifyRun wakes one run; if the run does not wait yet, the event is kept for
// its later wait.
func (a *API) notifyRun(c *request.Call) (any, error) {
	woken, err := c.Account.Notify(c.Vars["workflowRunId"], c.Vars["eventId"], c.Body)
	return notifiedRuns(c, woken, err)
}

// notifiedRuns answers with the runs that were woken. If there are none, a warning
// names the events that runs wait for: the id may be misspelt.
func notifiedRuns(c *request.Call, n engine.Notification, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	out := make([]api.Notified, len(n.Woken))
	for i, w := range n.Woken {
		c.Redact = c.Redact.And(c.Account.Redaction(w.Waiter.ID, ""))
		out[i] = api.Notified{Waiter: waiterBody(&w.Waiter), MessageId: w.MessageID, WorkflowRunId: response.Optional(w.Waiter.ID), WorkflowCreatedAt: response.Millis(w.Waiter.CreatedAt)}
	}
	if len(out) == 0 {
		c.Warnings = append(c.Warnings, unawaitedText(c.Vars["workflowRunId"], c.Vars["eventId"], n))
	}
	return out, nil
}

// unawaitedText must be ASCII: it is sent in a header.
func unawaitedText(runID, eventID string, n engine.Notification) string {
	text := "event " + strconv.QuoteToASCII(response.Shorten(eventID)) + ": no run waits for it"
	switch {
	case n.Kept:
		text = "event " + strconv.QuoteToASCII(response.Shorten(eventID)) + ": the run does not wait for it; it is kept for a later wait"
	case runID != "":
		text += ", and run " + strconv.QuoteToASCII(response.Shorten(runID)) + " has ended or is unknown"
	}
	if len(n.Waited) == 0 {
		return text + "; no run waits for any event"
	}
	names := make([]string, len(n.Waited))
	for i, name := range n.Waited {
		names[i] = strconv.QuoteToASCII(response.Shorten(name))
	}
	return text + "; events that runs wait for: " + strings.Join(names, ", ")
}

func (a *API) listWaiters(c *request.Call) (any, error) {
	return response.List(c.Account.Waiters(c.Vars["eventId"]), waiterBody), nil
}

// callHook turns the call of a third party into an event (wire.md, "Waits,
// events and hooks"). The user id in the path selects the account.
func (a *API) callHook(c *request.Call) (any, error) {
	w := a.Accounts.ByID(c.Vars["userId"])
	if w == nil {
		return nil, refusal.Of(refusal.NotFound, "user", c.Vars["userId"], "not found")
	}
	c.Tenant = w
	event, err := json.Marshal(map[string]any{
		"method": c.Request.Method,
		"header": http.Header(request.ForwardableHeader(c.Header)),
		"body":   base64.StdEncoding.EncodeToString(c.Body),
		"proto":  "http",
		"host":   c.Request.Host,
		"url":    c.Request.URL.RequestURI(),
	})
	if err != nil {
		return nil, err
	}
	_, err = w.Account.Notify(c.Vars["workflowRunId"], c.Vars["eventId"], event)
	return response.Empty, err
}
