package mockserver

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/wire"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = register(map[string]handler{
	"cancelWorkflowRuns":  (*Server).cancelWorkflowRuns,
	"endWorkflowRun":      (*Server).endWorkflowRun,
	"getWorkflowSteps":    (*Server).getWorkflowSteps,
	"listWorkflowEvents":  (*Server).listWorkflowEvents,
	"listWorkflowRuns":    (*Server).listWorkflowRuns,
	"listWorkflowRunsOld": (*Server).listWorkflowRuns,
	"triggerWorkflow":     (*Server).triggerWorkflow,
	"triggerWorkflows":    (*Server).triggerWorkflows,
})

func (s *Server) triggerWorkflow(c *call) (reply, error) {
	r, err := s.publishRequest(c, "workflowUrl")
	if err != nil {
		return reply{}, err
	}
	asTrigger(&r)
	receipts, err := c.account.Publish(r)
	if err != nil {
		return reply{}, err
	}
	return reply{body: triggered(receipts.List[0])}, nil
}

// asTrigger makes a publish start a run. Without a client library it has the
// failure callback that the library would have asked for.
func asTrigger(r *engine.PublishRequest) {
	r.Trigger = true
	w := r.Options.Workflow
	if w == nil {
		w = &engine.Workflow{}
	}
	if w.SDKVersion == "" && r.Options.FailureCallback == nil {
		r.Options.FailureCallback = &engine.Callback{URL: cmp.Or(w.URL, r.URL), Options: engine.Options{
			Forward:  wire.FailureHeader(),
			Workflow: &engine.Workflow{CallType: "failureCall"},
		}}
	}
}

func triggered(r engine.Receipt) api.WorkflowTriggered {
	return api.WorkflowTriggered{WorkflowRunId: r.RunID, WorkflowCreatedAt: r.RunCreatedAt.UnixMilli(), Deduplicated: some(r.Deduplicated)}
}

func (s *Server) triggerWorkflows(c *call) (reply, error) {
	requests, err := s.batch(c)
	if err != nil {
		return reply{}, err
	}
	for i := range requests {
		asTrigger(&requests[i])
	}
	results, err := c.account.PublishBatch(requests)
	if err != nil {
		return reply{}, err
	}
	list := make([]api.WorkflowTriggered, len(results))
	for i, rs := range results {
		list[i] = triggered(rs.List[0])
	}
	return reply{body: list}, nil
}

// getWorkflowSteps is the lazy fetch of an endpoint.
func (s *Server) getWorkflowSteps(c *call) (reply, error) {
	steps, err := c.account.Steps(c.vars["workflowRunId"])
	if err != nil {
		return reply{}, err
	}
	return reply{body: wire.StepList(steps)}, nil
}

// endWorkflowRun finishes a run with its response, or cancels it.
func (s *Server) endWorkflowRun(c *call) (reply, error) {
	id := c.vars["workflowRunId"]
	if c.flag("cancel", true) {
		return empty, c.account.CancelRun(id)
	}
	var createdAt time.Time
	if v := c.header.Get("Svc-Workflow-Createdat"); v != "" {
		if err := unixMilli(&createdAt, v); err != nil {
			return reply{}, invalid("header Svc-Workflow-CreatedAt: " + err.Error())
		}
	}
	return empty, c.account.FinishRun(id, c.body, createdAt)
}

func (s *Server) cancelWorkflowRuns(c *call) (reply, error) {
	if err := c.mergeBody(); err != nil {
		return reply{}, err
	}
	f, err := c.logFilter(runStates)
	if err != nil {
		return reply{}, err
	}
	f.URLPrefix = !c.flag("workflowUrlExactMatch", false)
	n, err := c.account.CancelRuns(f)
	return reply{body: map[string]int{"cancelled": n}}, err
}

// listWorkflowEvents is the flat log, or the run view when grouped.
func (s *Server) listWorkflowEvents(c *call) (reply, error) {
	if c.query.Get("groupBy") == "" {
		return s.listWorkflowMessageLogs(c)
	}
	return s.listWorkflowRuns(c)
}

func (s *Server) listWorkflowRuns(c *call) (reply, error) {
	f, err := c.logFilter(runStates)
	if err != nil {
		return reply{}, err
	}
	p, err := c.account.Runs(f)
	runs := make([]api.WorkflowRun, len(p.Items))
	for i := range p.Items {
		runs[i] = runBody(&p.Items[i])
	}
	return reply{body: struct {
		Cursor string            `json:"cursor,omitempty"`
		Runs   []api.WorkflowRun `json:"runs"`
	}{p.Cursor, runs}}, err
}

func runBody(v *engine.RunView) api.WorkflowRun {
	out := api.WorkflowRun{
		WorkflowRunId:          v.ID,
		WorkflowUrl:            v.URL,
		WorkflowState:          api.WorkflowRunWorkflowState(v.State),
		WorkflowRunCreatedAt:   v.CreatedAt.UnixMilli(),
		WorkflowRunCompletedAt: ms(v.EndedAt),
		WorkflowRunCallerIp:    some(v.CallerIP),
		DlqId:                  some(v.DLQID),
		Steps:                  make([]api.RunStepGroup, len(v.Groups)),
	}
	if v.State == engine.RunSuccess {
		response := string(v.Result)
		out.WorkflowRunResponse = &response
	}
	showOptions(v.Options, &out)
	if v.Invoker != nil {
		out.Invoker = &api.RunRef{WorkflowRunId: some(v.Invoker.ID), WorkflowUrl: some(v.Invoker.URL), WorkflowRunCreatedAt: ms(v.Invoker.CreatedAt)}
	}
	for i, g := range v.Groups {
		out.Steps[i] = api.RunStepGroup{Type: api.RunStepGroupType(g.Type), Steps: make([]api.RunStep, len(g.Steps))}
		for k := range g.Steps {
			out.Steps[i].Steps[k] = runStepBody(&g.Steps[k])
		}
	}
	if f := v.Failure; f != nil {
		out.FailureFunction = &api.FailureFunction{
			MessageId: some(f.MessageID), Url: some(f.URL), State: some(f.State), DlqId: some(f.DLQID),
			FailStatus: some(f.Failed.Status), FailHeaders: headerMap(f.Failed.Header),
			ResponseStatus: some(f.Status), ResponseHeaders: headerMap(f.Header),
		}
		out.FailureFunction.FailResponse, _ = bodyText(f.Failed.Body)
		out.FailureFunction.ResponseBody, _ = bodyText(f.Body)
	}
	return out
}

func runStepBody(v *engine.StepView) api.RunStep {
	var out api.RunStep
	copyFields(&out, stepBody(&v.Step))
	out.State = some(v.State)
	out.Headers = headerMap(v.Header)
	out.Retries = &v.Retries
	out.RetryDelay = some(v.RetryDelay)
	out.NextDeliveryTime = ms(v.NextAt)
	if len(v.Errors) > 0 {
		list := make([]api.StepError, len(v.Errors))
		for i, e := range v.Errors {
			list[i] = api.StepError{Error: some(e.Error), Headers: headerMap(e.Header), Status: some(e.Status), Time: ms(e.Time)}
			list[i].Body, _ = bodyText([]byte(e.Body))
		}
		out.Errors = &list
	}
	return out
}

var _ = register(map[string]handler{
	"callHook":       (*Server).callHook,
	"callHookDelete": (*Server).callHook,
	"callHookGet":    (*Server).callHook,
	"callHookPatch":  (*Server).callHook,
	"callHookPut":    (*Server).callHook,
	"listWaiters":    (*Server).listWaiters,
	"notifyEvent":    (*Server).notifyEvent,
	"notifyRun":      (*Server).notifyRun,
	"waitForEvent":   (*Server).waitForEvent,
})

// waitForEvent registers a waiter (wire.md, "Waits, events and hooks").
func (s *Server) waitForEvent(c *call) (reply, error) {
	var body struct {
		URL            string              `json:"url"`
		Timeout        any                 `json:"timeout"`
		TimeoutURL     string              `json:"timeoutUrl"`
		TimeoutHeaders map[string][]string `json:"timeoutHeaders"`
		TimeoutBody    json.RawMessage     `json:"timeoutBody"`
		Step           json.RawMessage     `json:"step"`
	}
	if err := json.Unmarshal(c.body, &body); err != nil {
		return reply{}, invalid("body: " + err.Error())
	}
	timeout := ""
	switch t := body.Timeout.(type) {
	case string:
		timeout = t
	case float64:
		timeout = strconv.FormatFloat(t, 'f', -1, 64)
	}
	headers := canonical(body.TimeoutHeaders)
	id := c.header.Get("Svc-Workflow-Runid")
	if id == "" && len(headers["Svc-Workflow-Runid"]) > 0 {
		id = headers["Svc-Workflow-Runid"][0]
	}
	return empty, c.account.Wait(engine.WaitRequest{
		RunID: id, EventID: c.vars["eventId"], URL: body.URL, Timeout: timeout,
		TimeoutURL: body.TimeoutURL, TimeoutHeader: headers, TimeoutBody: bodyBytes(body.TimeoutBody), Step: body.Step,
	})
}

func canonical(m map[string][]string) engine.Header {
	h := engine.Header{}
	for name, values := range m {
		h[textproto.CanonicalMIMEHeaderKey(name)] = values
	}
	return h
}

func (s *Server) notifyEvent(c *call) (reply, error) {
	return c.notified(c.account.Notify(c.vars["eventId"], c.body))
}

func (s *Server) notifyRun(c *call) (reply, error) {
	return c.notified(c.account.NotifyRun(c.vars["workflowRunId"], c.vars["eventId"], c.body))
}

// notified answers with the runs that were woken. If there are none, a warning
// names the events that runs wait for: the id may be misspelt.
func (c *call) notified(n engine.Notification, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	out := make([]api.Notified, len(n.Woken))
	for i, w := range n.Woken {
		out[i] = api.Notified{Waiter: waiterBody(&w.Waiter), MessageId: w.MessageID, WorkflowRunId: some(w.Waiter.ID), WorkflowCreatedAt: ms(w.Waiter.CreatedAt)}
	}
	if len(out) == 0 {
		c.warnings = append(c.warnings, unawaited(c.vars["workflowRunId"], c.vars["eventId"], n))
	}
	return reply{body: out}, nil
}

func unawaited(runID, eventID string, n engine.Notification) string {
	text := "event " + strconv.QuoteToASCII(shorten(eventID)) + ": no run waits for it"
	switch {
	case n.Kept:
		text = "event " + strconv.QuoteToASCII(shorten(eventID)) + ": the run does not wait for it; it is kept for a later wait"
	case runID != "":
		text += ", and run " + strconv.QuoteToASCII(shorten(runID)) + " has ended or is unknown"
	}
	if len(n.Waited) == 0 {
		return text + "; no run waits for any event"
	}
	names := make([]string, len(n.Waited))
	for i, name := range n.Waited {
		names[i] = strconv.QuoteToASCII(shorten(name))
	}
	return text + "; events that runs wait for: " + strings.Join(names, ", ")
}

func waiterBody(w *engine.Waiter) api.Waiter {
	deadline := w.Deadline.Unix()
	headers := merged(w.Header, engine.Header{"Svc-Workflow-Runid": {w.ID}})
	out := api.Waiter{Url: some(w.URL), Headers: headerMap(headers), Deadline: &deadline, TimeoutUrl: some(w.TimeoutURL), TimeoutHeaders: headerMap(w.TimeoutHeader)}
	if len(w.TimeoutBody) > 0 {
		out.TimeoutBody = some(base64.StdEncoding.EncodeToString(w.TimeoutBody))
	}
	return out
}

func (s *Server) listWaiters(c *call) (reply, error) {
	waiters := c.account.Waiters(c.vars["eventId"])
	out := make([]api.Waiter, len(waiters))
	for i := range waiters {
		out[i] = waiterBody(&waiters[i])
	}
	return reply{body: out}, nil
}

// callHook turns the call of a third party into an event (wire.md, "Waits,
// events and hooks"). The user in the path says whose run it is.
func (s *Server) callHook(c *call) (reply, error) {
	w := s.byID(c.vars["userId"])
	if w == nil {
		return reply{}, fmt.Errorf("user %q: no such user: %w", c.vars["userId"], engine.ErrNotFound)
	}
	c.world = w
	event, err := json.Marshal(map[string]any{
		"method": c.request.Method,
		"header": http.Header(forwardable(c.header)),
		"body":   base64.StdEncoding.EncodeToString(c.body),
		"proto":  "http",
		"host":   c.request.Host,
		"url":    c.request.URL.RequestURI(),
	})
	if err != nil {
		return reply{}, err
	}
	_, err = w.account.NotifyRun(c.vars["workflowRunId"], c.vars["eventId"], event)
	return empty, err
}
