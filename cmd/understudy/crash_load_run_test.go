package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/understudy-mock/understudy/spec/header"
)

// runPath is the path of the workflow endpoint.
const runPath = "/run"

// runSteps are the steps of a run: work, sleep, wait for an event, work.
const runSteps = 4

// runWorkflow starts a run and notifies the event that it will wait for.
func runWorkflow(ln *crashLane, name string) {
	app := ln.load.target + runPath
	id := "wfr_" + name
	if ln.send(http.MethodPost, "/v2/publish/"+app, name, header.WorkflowInit, "true", header.WorkflowRunID, id, header.WorkflowURL, app,
		header.FeatureSet, "InitialBody,WF_TriggerOnConfig", header.ForwardPrefix+header.WorkflowSDKVersion, "1", header.Retries, "5", header.RetryDelay, "50") == nil {
		return
	}
	ln.promise("end-"+name, "")
	ln.load.mu.Lock()
	ln.load.runs[id] = true
	ln.load.mu.Unlock()
	ln.send(http.MethodPost, "/v2/notify/event-"+id, `"now"`, "Content-Type", "application/json") // the run may not wait yet: then its wait ends with the timeout
}

// runCall is an item of the list in the body of a call of the endpoint.
type runCall struct{ Body, CallType string }

// submittedStep is a step in the JSON of the workflow protocol.
type submittedStep struct {
	StepID     int     `json:"stepId"`
	StepName   string  `json:"stepName"`
	StepType   string  `json:"stepType"`
	Out        *string `json:"out,omitempty"`
	Concurrent int     `json:"concurrent"`
	SleepFor   int     `json:"sleepFor,omitempty"`
}

// runStep is the workflow endpoint: it runs the next step and submits it to the server, with
// a request of the load.
func (l *crashLoad) runStep(w http.ResponseWriter, r *http.Request, body []byte) {
	id := headerOf(r, header.WorkflowRunID)
	name := strings.TrimPrefix(id, "wfr_")
	var calls []runCall
	if err := json.Unmarshal(body, &calls); err != nil || len(calls) == 0 {
		l.problem("run %s was called with %q", id, body)
		return
	}
	w.Header().Set(header.WorkflowSDKVersion, "1")
	done, repeated := doneSteps(calls)
	if repeated { // the next step was called already
		return
	}
	var account int
	if _, err := fmt.Sscanf(name, "run-%d-", &account); err != nil || account >= len(l.cfg.Tokens) {
		l.problem("run %q is not of this load", id)
		return
	}
	token := l.cfg.Tokens[account]
	visited, submit := fmt.Sprintf("step-%s-%d", name, done+1), func() bool { return l.submit(token, id, done+1) }
	if done == runSteps {
		visited, submit = "end-"+name, func() bool {
			return l.ask(token, http.MethodDelete, "/v2/workflows/runs/"+id+"?cancel=false", nil, `"result"`) != nil
		}
	}
	l.answer(w, r, visited, submit)
}

// doneSteps returns how many steps are done, and whether the last one was submitted twice.
func doneSteps(calls []runCall) (done int, repeated bool) {
	for _, c := range calls[1:] {
		var s submittedStep
		if text, err := base64.StdEncoding.DecodeString(c.Body); err == nil && json.Unmarshal(text, &s) == nil && s.StepID > 0 {
			repeated = s.StepID <= done
			done = max(done, s.StepID)
		}
	}
	return done, repeated
}

// submit submits a step.
func (l *crashLoad) submit(token, id string, step int) bool {
	app := l.target + runPath
	run := map[string]string{header.WorkflowInit: "false", header.WorkflowRunID: id, header.WorkflowURL: app, header.ForwardPrefix + header.WorkflowSDKVersion: "1",
		header.FeatureSet: "InitialBody,WF_TriggerOnConfig", "Content-Type": "application/json", header.Retries: "5", header.RetryDelay: "50"}
	s := submittedStep{StepID: step, StepName: fmt.Sprint("step", step), StepType: "Run", Concurrent: 1}
	switch step {
	case 2:
		s.StepType, s.SleepFor = "SleepFor", 1
		run[header.Delay] = "1s"
	case 3:
		s.StepType = "Wait"
		text, _ := json.Marshal(map[string]any{"url": app, "timeout": "2s", "timeoutUrl": app, "timeoutHeaders": listed(run), "step": s}) // never fails
		return l.ask(token, http.MethodPost, "/v2/wait/event-"+id, map[string]string{header.WorkflowInit: "false", header.WorkflowRunID: id, header.WorkflowURL: app,
			header.WorkflowCallType: "step", "Content-Type": "application/json"}, string(text)) != nil
	default:
		out := `"done"`
		s.Out = &out
	}
	step1, _ := json.Marshal(s) // never fails
	text, _ := json.Marshal([]map[string]any{{"destination": app, "body": string(step1), "headers": run}})
	return l.ask(token, http.MethodPost, "/v2/batch", map[string]string{"Content-Type": "application/json"}, string(text)) != nil
}

// listed turns each value into a list of one.
func listed(h map[string]string) map[string][]string {
	lists := map[string][]string{}
	for name, value := range h {
		lists[name] = []string{value}
	}
	return lists
}

// headerOf reads a header whose prefix depends on the dialect of the account.
func headerOf(r *http.Request, name string) string {
	for key, values := range r.Header {
		if strings.HasSuffix(strings.ToLower(key), strings.ToLower(strings.TrimPrefix(name, header.Prefix))) {
			return values[0]
		}
	}
	return ""
}
