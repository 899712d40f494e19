package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/route"
)

// restartMutants break restarts. Sorted by id.
var restartMutants = []mutant{
	{ID: "RST-001.1", Text: "the answer omits workflowCreatedAt", Build: changeReply(restartingRun, func(_ *http.Request, v map[string]any) { delete(v, "workflowCreatedAt") })},
	{ID: "RST-001.2", Text: "a restart demands a body", Build: refuseMatching(restartingRun, func(r *http.Request) bool { return len(readBody(r)) == 0 })},
	{ID: "RST-001.3", Text: "workflowCreatedAt is in seconds", Build: changeReply(restartingRun, func(_ *http.Request, v map[string]any) {
		v["workflowCreatedAt"] = jsonNumber(integerOf(v, "workflowCreatedAt") / 1000)
	})},
	{ID: "RST-001.4", Text: "workflowCreatedAt is a text", Build: changeReply(restartingRun, func(_ *http.Request, v map[string]any) { v["workflowCreatedAt"] = fmt.Sprint(v["workflowCreatedAt"]) })},
	{ID: "RST-002.1", Text: "a restart answers the id of the old run", Build: oldRun("workflowRunId")},
	{ID: "RST-002.2", Text: "a restart answers 2xx and does nothing", Build: func(hit func()) mutantParts {
		return wrapMatching(restartingRun, hit, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			_, _ = w.Write([]byte("{}"))
		})
	}},
	{ID: "RST-002.3", Text: "all restarts answer the id of the first one", Build: firstAnswer(restartingRun)},
	{ID: "RST-002.4", Text: "restarts at once answer one run", Build: crossedAnswers(restartingRun)},
	{ID: "RST-003.1", Text: "a restart sets the retries to the default", Build: withOverride(header.Retries, "3")},
	{ID: "RST-003.2", Text: "the new run has an empty payload", Build: restartedCalls(func(r *http.Request) {
		if list, ok := decodeJSON(readBody(r)).([]any); ok && len(list) > 0 {
			if item, ok := list[0].(map[string]any); ok {
				item["body"] = ""
			}
			setBody(r, encodeJSON(list))
		}
	})},
	{ID: "RST-003.3", Text: "the new run lacks the forwarded headers", Build: restartedCalls(func(r *http.Request) { r.Header.Del("X-Order") })},
	{ID: "RST-003.4", Text: "the label is lost by a restart", Build: ofRestarted(func(e map[string]any) { delete(e, "label") })},
	{ID: "RST-003.5", Text: "the failure callback is lost by a restart", Build: ofRestarted(func(e map[string]any) {
		delete(e, "failureCallback")
		delete(e, "failureCallbackInfo")
	})},
	{ID: "RST-003.6", Text: "a restart rewrites the payload", Build: restartedCalls(func(r *http.Request) {
		inPayload(r, func(plain []byte) []byte {
			if v := decodeJSON(plain); v != nil {
				return encodeJSON(v)
			}
			return plain
		})
	})},
	{ID: "RST-003.7", Text: "the flow-control key is lost by a restart", Build: ofRestarted(func(e map[string]any) { delete(e, "flowControlKey") })},
	{ID: "RST-003.8", Text: "a restarted run is called by POST, whatever the method was", Build: restartedCalls(func(r *http.Request) { r.Method = http.MethodPost })},
	{ID: "RST-004.1", Text: "a restart continues at the failed step", Build: resumeInstead},
	{ID: "RST-004.2", Text: "the first call of the new run carries a result", Build: restartedCalls(func(r *http.Request) {
		if list, ok := decodeJSON(readBody(r)).([]any); ok && len(list) == 1 {
			step := base64.StdEncoding.EncodeToString([]byte(`{"stepId":1,"stepName":"reserve","stepType":"Run","out":"\"old\"","concurrent":1}`))
			setBody(r, encodeJSON(append(list, map[string]any{"messageId": "msg_0", "body": step, "callType": "step"})))
		}
	})},
	{ID: "RST-004.3", Text: "a restart answers a new run and starts none", Build: func(hit func()) mutantParts {
		return wrapMatching(restartingRun, hit, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(encodeJSON(map[string]any{"workflowRunId": "wfr_none", "workflowCreatedAt": nowMs()}))
		})
	}},
	{ID: "RST-005.1", Text: "the chosen run id is ignored", Build: changeRequest(restartingRun, func(r *http.Request) { r.Header.Del(header.WorkflowRunID) })},
	{ID: "RST-005.2", Text: "the chosen id is answered, and the run has another", Build: chosenInName},
	{ID: "RST-005.3", Text: "the chosen id gets an ending", Build: changeRequest(restartingRun, func(r *http.Request) {
		if v := r.Header.Get(header.WorkflowRunID); v != "" {
			r.Header.Set(header.WorkflowRunID, v+"0")
		}
	})},
	{ID: "RST-006.1", Text: "the flow-control value of the restart is ignored", Build: changeRequest(restartingRun, func(r *http.Request) { r.Header.Del(header.FlowControlValue) })},
	{ID: "RST-006.2", Text: "without an override the flow-control value is reset", Build: changeRequest(restartingRun, func(r *http.Request) {
		if r.Header.Get(header.FlowControlValue) == "" {
			r.Header.Set(header.FlowControlKey, "reset")
			r.Header.Set(header.FlowControlValue, "parallelism=1")
		}
	})},
	{ID: "RST-006.3", Text: "without an override the flow control is lost", Build: joinChanges(ofRestarted(func(e map[string]any) {
		h, _ := e["header"].(map[string]any)
		for name := range h {
			if strings.Contains(strings.ToLower(name), "flow-control") {
				delete(h, name)
			}
		}
	}), restartedCalls(func(r *http.Request) {
		dropHeader(r.Header, func(name string) bool { return strings.HasPrefix(name, header.Prefix+"Flow-Control") })
	}))},
	{ID: "RST-007.1", Text: "the new run is not in the logs under its id", Build: changeReply(restartingRun, func(_ *http.Request, v map[string]any) {
		id, _ := v["workflowRunId"].(string)
		v["workflowRunId"] = id + "x"
	})},
	{ID: "RST-007.2", Text: "the log of a restarted run has no start", Build: keepEvents(func(e map[string]any) bool { return e["state"] != "RUN_STARTED" || !restartedRun(e) })},
	{ID: "RST-007.3", Text: "restarted runs are not in the logs", Build: keepEvents(func(e map[string]any) bool { return !restartedRun(e) })},
	{ID: "RST-008.1", Text: "a restart answers the creation of the old run", Build: oldRun("workflowCreatedAt")},
	{ID: "RST-009.1", Text: "a restarted run never succeeds", Build: keepEvents(func(e map[string]any) bool { return e["state"] != "RUN_SUCCESS" || !restartedRun(e) })},
	{ID: "RST-010.1", Text: "the retries of the restart are ignored", Build: changeRequest(restartingRun, func(r *http.Request) { r.Header.Del(header.Retries) })},
	{ID: "RST-010.2", Text: "a restart with retries has one more", Build: changeRequest(restartingRun, func(r *http.Request) {
		if n, err := strconv.Atoi(r.Header.Get(header.Retries)); err == nil {
			r.Header.Set(header.Retries, strconv.Itoa(n+1))
		}
	})},
	{ID: "RST-010.3", Text: "a restart with retries has always three", Build: changeRequest(restartingRun, func(r *http.Request) {
		if r.Header.Get(header.Retries) != "" {
			r.Header.Set(header.Retries, "3")
		}
	})},
	{ID: "RST-011.1", Text: "an entry that does not exist is restarted as another one", Build: likeEntry},
	{ID: "RST-012.1", Text: "the flow-control key of the restart is ignored", Build: restartKey(func(string) string { return "" })},
	{ID: "RST-012.2", Text: "the flow-control key of the restart gets an ending", Build: restartKey(func(key string) string { return key + "0" })},
	{ID: "RST-012.3", Text: "the flow-control key of the restart is written in capitals", Build: restartKey(strings.ToUpper)},
}

// restartKey changes the flow-control key of a restart, or drops it.
func restartKey(change func(key string) string) func(func()) mutantParts {
	return changeRequest(restartingRun, func(r *http.Request) {
		if key := r.Header.Get(header.FlowControlKey); key != "" {
			r.Header.Del(header.FlowControlKey)
			if key = change(key); key != "" {
				r.Header.Set(header.FlowControlKey, key)
			}
		}
	})
}

// oldRun answers a restart with a value of the failed run.
func oldRun(field string) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return wrapMatching(restartingRun, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			look := r.Clone(r.Context())
			look.Method, look.URL.Path = http.MethodGet, route.GetWorkflowDLQ.Path()+r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
			setBody(look, nil)
			entry, _ := decodeJSON(serverAnswer(next, look).body).(map[string]any)
			a := serverAnswer(next, r)
			if v, ok := decodeJSON(a.body).(map[string]any); ok && a.status < 300 && entry[field] != nil {
				v[field] = entry[field]
				a.body = encodeJSON(v)
			}
			a.write(w)
		})
	}
}

// resumeInstead resumes the run, so that it keeps its finished steps.
func resumeInstead(hit func()) mutantParts {
	return changeRequest(restartingRun, func(r *http.Request) {
		r.URL.Path, r.URL.RawPath = strings.Replace(r.URL.Path, route.RestartWorkflowRun.Path(), route.ResumeWorkflowRunAlias.Path(), 1), ""
	})(hit)
}

// withOverride adds a header to every restart that has none.
func withOverride(name, value string) func(func()) mutantParts {
	return changeRequest(restartingRun, func(r *http.Request) {
		if r.Header.Get(name) == "" {
			r.Header.Set(name, value)
		}
	})
}

// restartedCalls changes the calls of runs that a restart created: their ids do not begin
// with the prefix of the suite.
func restartedCalls(change func(r *http.Request)) func(func()) mutantParts {
	return changeDelivery(true, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if run := r.Header.Get(header.WorkflowRunID); run != "" && !strings.HasPrefix(run, "wfr_cf") {
			change(r)
		}
		return next.RoundTrip(r)
	})
}

// inPayload changes the payload that a call of a workflow carries.
func inPayload(r *http.Request, change func(plain []byte) []byte) {
	list, ok := decodeJSON(readBody(r)).([]any)
	if !ok || len(list) == 0 {
		return
	}
	first, _ := list[0].(map[string]any)
	plain, err := base64.StdEncoding.DecodeString(textOf(first["body"]))
	if err != nil || first == nil {
		return
	}
	first["body"] = base64.StdEncoding.EncodeToString(change(plain))
	setBody(r, encodeJSON(list))
}

// chosenInName answers with the chosen id, but the new run has another one.
func chosenInName(hit func()) mutantParts {
	return wrapMatching(restartingRun, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		chosen := r.Header.Get(header.WorkflowRunID)
		r.Header.Del(header.WorkflowRunID)
		a := serverAnswer(next, r)
		if v, ok := decodeJSON(a.body).(map[string]any); ok && chosen != "" && a.status < 300 {
			v["workflowRunId"] = chosen
			a.body = encodeJSON(v)
		}
		a.write(w)
	})
}

// likeEntry restarts an entry whose id is a prefix of the requested one, or the reverse.
func likeEntry(hit func()) mutantParts {
	return wrapMatching(restartingRun, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		id := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		list, again := r.Clone(r.Context()), r.Clone(r.Context())
		list.Method, list.URL.Path, list.URL.RawQuery = http.MethodGet, route.ListWorkflowDLQ.Path(), ""
		setBody(list, nil)
		setBody(again, nil)
		a := serverAnswer(next, r)
		if a.status == http.StatusNotFound {
			v, _ := decodeJSON(serverAnswer(next, list).body).(map[string]any)
			for _, e := range itemsOf(v, "messages") {
				if other := textOf(e["dlqId"]); strings.HasPrefix(id, other) || strings.HasPrefix(other, id) {
					again.URL.Path, again.URL.RawPath = route.RestartWorkflowRun.Path()+other, ""
					a = serverAnswer(next, again)
					break
				}
			}
		}
		a.write(w)
	})
}
