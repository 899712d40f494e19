package workflow

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/spec/header"
)

// Peer is a workflow endpoint: it uses the protocol of published workflow clients,
// executes the steps of a script, and fails when a step says so.
type Peer struct {
	scenario *harness.Scenario
	Endpoint *receiver.Endpoint
	Steps    []Step
	Result   string // return value of the workflow

	mu      sync.Mutex
	done    map[string]int    // step name -> times executed
	runs    map[string]string // run id -> creation time, as in the calls
	garbage string            // the response instead of executing a step; "": none
}

// Step is one step of a workflow.
type Step struct {
	Name    string
	Kind    string // Run, SleepFor, SleepUntil, Call, Wait, Notify, Invoke
	Group   int    // steps with the same number above 0 run in parallel
	Fails   int    // number of failures before it succeeds; -1: always fails
	Status  int    // of its failures
	Later   int    // of its failures after the first; 0: Status, -1: the connection breaks
	Body    string // of its failures; # is the number of the attempt, as in Header
	Header  http.Header
	Seconds int    // of a sleep or a wait
	URL     string // URL of a call or an invocation
	Event   string // of a wait or a notification
	Number  int    // of an invocation among those of the workflow, from 0
	Timeout string // of a wait, as text; "": that of Seconds
}

// rawStep is an item of the list in a call of a workflow endpoint.
type rawStep struct {
	MessageID string `json:"messageId"`
	Body      string `json:"body"`
	CallType  string `json:"callType"`
}

// stepBody is the JSON of a step.
type stepBody struct {
	StepID     int     `json:"stepId"`
	StepName   string  `json:"stepName"`
	StepType   string  `json:"stepType"`
	Out        *string `json:"out,omitempty"`
	Concurrent int     `json:"concurrent"`
	TargetStep int     `json:"targetStep,omitempty"`
	SleepFor   int     `json:"sleepFor,omitempty"`
	SleepUntil int64   `json:"sleepUntil,omitempty"`
	WaitEvent  string  `json:"waitEventId,omitempty"`
	Timeout    string  `json:"timeout,omitempty"`
}

// NewPeer creates a workflow endpoint with a nickname.
func NewPeer(s *harness.Scenario, name string, steps ...Step) *Peer {
	p := &Peer{scenario: s, Steps: steps, Result: `{"done":true}`, done: map[string]int{}, runs: map[string]string{}}
	p.Endpoint = s.Endpoint(name)
	p.Endpoint.Respond = p.call
	return p
}

// Executions returns how often a step was executed.
func (p *Peer) Executions(step string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done[step]
}

// ExecutedSteps returns how many steps were executed, repetitions included.
func (p *Peer) ExecutedSteps() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, times := range p.done {
		n += times
	}
	return n
}

// Heal makes the first step succeed from now on.
func (p *Peer) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Steps[0].Fails = 0
}

// RunIDs returns the runs of the calls so far, with their creation times.
func (p *Peer) RunIDs() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.runs)
}

// call responds to one call of the target.
func (p *Peer) call(got *receiver.Received) receiver.Reply {
	got.Looked.Store(true)
	p.mu.Lock()
	garbage := p.garbage
	p.runs[got.Header.Get(header.WorkflowRunID)] = got.Header.Get(header.WorkflowCreatedAt)
	p.mu.Unlock()
	if garbage != "" {
		return receiver.Reply{Body: garbage}
	}
	if got.Header.Get(header.WorkflowCallback) == "true" {
		return p.called(got)
	}
	var raw []rawStep
	if err := json.Unmarshal(got.Body, &raw); err != nil || len(raw) == 0 {
		return receiver.Reply{Status: http.StatusBadRequest, Body: "no list of steps"}
	}
	results := map[int]bool{}
	var last stepBody
	for _, item := range raw[1:] {
		if item.CallType != "step" {
			continue
		}
		text, err := base64.StdEncoding.DecodeString(item.Body)
		last = stepBody{}
		if err != nil || json.Unmarshal(text, &last) != nil {
			return receiver.Reply{Status: http.StatusBadRequest, Body: "a step is not JSON"}
		}
		if most := len(p.Steps); last.StepID > most || last.TargetStep > most {
			return receiver.Reply{Status: http.StatusBadRequest, Body: fmt.Sprintf("the workflow has %d steps", most)}
		}
		if last.StepID > 0 {
			if results[last.StepID] && last.TargetStep == 0 && item == raw[len(raw)-1] {
				return p.Reply(receiver.Reply{}) // a duplicate of a finished step
			}
			results[last.StepID] = true
		}
	}
	if last.TargetStep > 0 {
		return p.execute(got, last.TargetStep)
	}
	next := 1
	for results[next] {
		next++
	}
	if next > len(p.Steps) {
		return p.finish(got)
	}
	if g := p.Steps[next-1].Group; g > 0 {
		return p.plan(got, g, results, len(results) > 0 && results[last.StepID] && p.Steps[last.StepID-1].Group == g)
	}
	return p.execute(got, next)
}

// Reply adds the header of every response of a workflow endpoint.
func (p *Peer) Reply(r receiver.Reply) receiver.Reply {
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set(header.WorkflowSDKVersion, "1")
	return r
}

// plan submits a group of steps once. While some are unfinished, calls with the
// results of others need no action.
func (p *Peer) plan(got *receiver.Received, group int, results map[int]bool, started bool) receiver.Reply {
	if started {
		return p.Reply(receiver.Reply{})
	}
	var items []batchItem
	n := p.beside(group)
	for i, st := range p.Steps {
		if st.Group == group && !results[i+1] {
			step := stepBody{StepName: st.Name, StepType: st.Kind, Concurrent: n, TargetStep: i + 1}
			if st.Kind == "SleepFor" {
				step.SleepFor = st.Seconds
			}
			items = append(items, p.item(got, step))
		}
	}
	return p.submit(items...)
}

// beside returns how many steps are in a group; 1 for a step without one.
func (p *Peer) beside(group int) int {
	if group == 0 {
		return 1
	}
	return len(p.Steps) - len(slices.DeleteFunc(slices.Clone(p.Steps), func(st Step) bool { return st.Group == group }))
}

// batchItem is an entry of a batch.
type batchItem struct {
	Destination string            `json:"destination"`
	Headers     map[string]string `json:"headers"`
	Body        string            `json:"body"`
}

// item is the submission of a step to the URL of the workflow.
func (p *Peer) item(got *receiver.Received, step stepBody) batchItem {
	text, _ := json.Marshal(step) // plain fields always encode
	item := batchItem{Destination: p.Endpoint.URL, Body: string(text), Headers: map[string]string{
		header.WorkflowInit: "false", header.WorkflowRunID: got.Header.Get(header.WorkflowRunID), header.WorkflowURL: p.Endpoint.URL,
		header.WorkflowSDKVersion: "1", header.ForwardPrefix + header.WorkflowSDKVersion: "1", header.FeatureSet: "InitialBody,WF_TriggerOnConfig",
		header.Method: "POST", "Content-Type": "application/json",
	}}
	if step.SleepFor > 0 && (step.Concurrent == 1 || step.TargetStep > 0) { // of steps side by side, the plan sleeps
		item.Headers[header.Delay] = fmt.Sprintf("%ds", step.SleepFor)
	}
	return item
}

// submit reports steps. If the run has already ended, that is not a failure.
func (p *Peer) submit(items ...batchItem) receiver.Reply {
	for i := range items {
		branded := map[string]string{}
		for name, values := range p.scenario.Suite.Dialect.BrandHeader(items[i].header()) {
			branded[name] = values[0]
		}
		items[i].Headers = branded
	}
	body, _ := json.Marshal(items) // texts always encode
	return p.tell(harness.Request{Operation: "publishBatch", Body: body})
}

func (b *batchItem) header() http.Header {
	h := http.Header{}
	for name, v := range b.Headers {
		h.Set(name, v)
	}
	return h
}

// tell sends a request of the protocol and converts the response into that of the endpoint.
func (p *Peer) tell(q harness.Request) receiver.Reply {
	q.Aside = true
	a, err := p.scenario.Do(q)
	if err != nil {
		return receiver.Reply{Status: http.StatusBadGateway, Body: err.Error()}
	}
	p.scenario.Looked(a.Exchange)
	switch {
	case a.OK() || a.Status == http.StatusBadRequest || q.Operation == "endWorkflowRun" && a.Status == http.StatusNotFound:
		return p.Reply(receiver.Reply{Body: `{"workflowRunId":"","finishCondition":"success"}`})
	case a.Status == http.StatusTooManyRequests:
		return p.Reply(receiver.Reply{Status: a.Status, Body: string(a.Body)})
	}
	return p.Reply(receiver.Reply{Status: http.StatusInternalServerError, Body: string(a.Body)})
}

// execute runs one step and reports its result.
func (p *Peer) execute(got *receiver.Received, id int) receiver.Reply {
	st := &p.Steps[id-1]
	p.mu.Lock()
	p.done[st.Name]++
	n, status := p.done[st.Name], st.Status
	if n > 1 && st.Later != 0 {
		status = st.Later
	}
	failing := st.Fails < 0
	if st.Fails > 0 {
		st.Fails--
		failing = true
	}
	p.mu.Unlock()
	if failing {
		numbered := strings.NewReplacer("#", strconv.Itoa(n)).Replace
		h := http.Header{}
		for name, values := range st.Header {
			for _, v := range values {
				h.Add(name, numbered(v))
			}
		}
		return p.Reply(receiver.Reply{Status: status, Body: numbered(st.Body), Header: h, Reset: status < 0})
	}
	step := stepBody{StepID: id, StepName: st.Name, StepType: st.Kind, Concurrent: p.beside(st.Group)}
	out := strconv.Quote("result of " + st.Name)
	switch st.Kind {
	case "Run":
		step.Out = &out
		return p.submit(p.item(got, step))
	case "SleepFor":
		step.SleepFor = st.Seconds
		return p.submit(p.item(got, step))
	case "SleepUntil":
		at, err := p.scenario.Clock.Target(p.scenario.Context)
		if err != nil {
			return receiver.Reply{Status: http.StatusInternalServerError, Body: err.Error()}
		}
		step.SleepUntil = at.Add(time.Duration(st.Seconds) * time.Second).Unix()
		item := p.item(got, step)
		item.Headers[header.NotBefore] = strconv.FormatInt(step.SleepUntil, 10)
		return p.submit(item)
	case "Call":
		return p.submit(p.outgoing(got, st, step))
	case "Wait":
		return p.wait(got, st, step)
	case "Notify":
		if r := p.tell(harness.Request{Operation: "notifyEvent", Vars: map[string]string{"eventId": st.Event}, Body: []byte(`{"from":"notify"}`)}); r.Status >= 300 {
			return r
		}
		out = `{"eventId":` + strconv.Quote(st.Event) + `}`
		step.Out = &out
		return p.submit(p.item(got, step))
	case "Invoke":
		return p.invoke(got, st, step)
	}
	return receiver.Reply{Status: http.StatusInternalServerError, Body: "no step is of type " + st.Kind}
}

// outgoing calls a third party through the target.
func (p *Peer) outgoing(got *receiver.Received, st *Step, step stepBody) batchItem {
	run := got.Header.Get(header.WorkflowRunID)
	h := map[string]string{
		header.WorkflowInit: "false", header.WorkflowRunID: run, header.WorkflowURL: p.Endpoint.URL, header.Method: "POST",
		header.FeatureSet: "WF_NoDelete,InitialBody", header.Retries: "0", header.WorkflowCallType: "toCallback", header.ForwardPrefix + "X-Call": "outgoing",
		header.Callback: p.Endpoint.URL, header.CallbackPrefix + "Workflow-RunId": run, header.CallbackPrefix + "Workflow-CallType": "fromCallback",
		header.CallbackPrefix + "Workflow-Init": "false", header.CallbackPrefix + "Workflow-Url": p.Endpoint.URL, header.CallbackPrefix + "Feature-Set": "LazyFetch,InitialBody",
		header.CallbackPrefix + "Forward-" + header.WorkflowCallback: "true", header.CallbackPrefix + "Forward-" + header.WorkflowStepID: strconv.Itoa(step.StepID),
		header.CallbackPrefix + "Forward-" + header.WorkflowStepName: step.StepName, header.CallbackPrefix + "Forward-" + header.WorkflowStepType: "Call",
		header.CallbackPrefix + "Forward-" + header.WorkflowConcurrent: strconv.Itoa(step.Concurrent), header.CallbackPrefix + "Forward-" + header.WorkflowContentType: "application/json",
		"Content-Type": "application/json",
	}
	return batchItem{Destination: st.URL, Headers: h, Body: `{"call":1}`}
}

// called reports the response of a third party as the result of a step.
func (p *Peer) called(got *receiver.Received) receiver.Reply {
	var c struct {
		Status int             `json:"status"`
		Body   string          `json:"body"`
		Header json.RawMessage `json:"header"`
	}
	if err := json.Unmarshal(got.Body, &c); err != nil {
		return receiver.Reply{Status: http.StatusBadRequest, Body: err.Error()}
	}
	body, err := base64.StdEncoding.DecodeString(c.Body)
	if err != nil {
		return receiver.Reply{Status: http.StatusBadRequest, Body: err.Error()}
	}
	id, _ := strconv.Atoi(got.Header.Get(header.WorkflowStepID))
	concurrent, _ := strconv.Atoi(got.Header.Get(header.WorkflowConcurrent))
	out, _ := json.Marshal(map[string]any{"status": c.Status, "body": string(body), "header": c.Header})
	text := string(out)
	item := p.item(got, stepBody{StepID: id, StepName: got.Header.Get(header.WorkflowStepName), StepType: "Call", Concurrent: concurrent, Out: &text})
	return p.tell(harness.Request{Operation: "publishMessage", Vars: map[string]string{"destination": p.Endpoint.URL}, Header: item.header(), Body: []byte(item.Body)})
}

// wait registers a waiter.
func (p *Peer) wait(got *receiver.Received, st *Step, step stepBody) receiver.Reply {
	run := got.Header.Get(header.WorkflowRunID)
	names := p.scenario.Suite.Dialect.BrandHeader(http.Header{
		header.WorkflowInit: {"false"}, header.WorkflowRunID: {run}, header.WorkflowURL: {p.Endpoint.URL}, header.WorkflowCallType: {"step"},
		header.ForwardPrefix + header.WorkflowSDKVersion: {"1"}, header.FeatureSet: {"InitialBody,WF_TriggerOnConfig"}, "Content-Type": {"application/json"},
	})
	body, _ := json.Marshal(map[string]any{
		"url": p.Endpoint.URL, "timeout": cmp.Or(st.Timeout, fmt.Sprintf("%ds", st.Seconds)), "timeoutUrl": p.Endpoint.URL, "timeoutHeaders": names,
		"step": map[string]any{"stepId": step.StepID, "stepName": step.StepName, "stepType": "Wait", "concurrent": step.Concurrent},
	})
	h := http.Header{header.WorkflowRunID: {run}, header.WorkflowURL: {p.Endpoint.URL}, header.WorkflowInit: {"false"}, header.WorkflowCallType: {"step"}}
	return p.tell(harness.Request{Operation: "waitForEvent", Vars: map[string]string{"eventId": st.Event}, Header: h, Body: body})
}

// InvokedID is the id of the run that a run invokes; number as in Step.
func InvokedID(run string, number int) string {
	return run + "_invoked" + strings.Repeat("_next", number)
}

// invoke starts another workflow.
func (p *Peer) invoke(got *receiver.Received, st *Step, step stepBody) receiver.Reply {
	run := got.Header.Get(header.WorkflowRunID)
	created, _ := strconv.ParseInt(got.Header.Get(header.WorkflowCreatedAt), 10, 64)
	body, _ := json.Marshal(map[string]any{
		"body": `{"invoked":true}`, "headers": p.scenario.Suite.Dialect.BrandHeader(http.Header{
			header.WorkflowInit: {"false"}, header.WorkflowRunID: {run}, header.WorkflowURL: {p.Endpoint.URL},
			header.ForwardPrefix + header.WorkflowSDKVersion: {"1"}, header.FeatureSet: {"InitialBody,WF_TriggerOnConfig"}, "Content-Type": {"application/json"},
		}),
		"workflowRunId": run, "workflowRunCreatedAt": created, "workflowUrl": p.Endpoint.URL,
		"step": map[string]any{"stepId": step.StepID, "stepName": step.StepName, "stepType": "Invoke", "concurrent": step.Concurrent},
	})
	h := http.Header{
		header.WorkflowInit: {"true"}, header.WorkflowInvoke: {"true"}, header.WorkflowRunID: {InvokedID(run, st.Number)}, header.WorkflowURL: {st.URL},
		header.WorkflowSDKVersion: {"1"}, header.ForwardPrefix + header.WorkflowSDKVersion: {"1"}, header.FeatureSet: {"InitialBody,WF_TriggerOnConfig"},
		header.Retries: {"0"}, "Content-Type": {"application/json"}, header.Method: {"POST"},
	}
	return p.tell(harness.Request{Operation: "publishMessage", Vars: map[string]string{"destination": st.URL}, Header: h, Body: body})
}

// finish ends the run with its result.
func (p *Peer) finish(got *receiver.Received) receiver.Reply {
	return p.tell(harness.Request{
		Operation: "endWorkflowRun", Vars: map[string]string{"workflowRunId": got.Header.Get(header.WorkflowRunID)},
		Query: url.Values{"cancel": {"false"}}, Body: []byte(p.Result),
	})
}

// InitialPayload is the initial payload of a run in a call, nil if there is none.
func InitialPayload(got *receiver.Received) []byte {
	var raw []rawStep
	if json.Unmarshal(got.Body, &raw) != nil || len(raw) == 0 {
		return nil
	}
	text, _ := base64.StdEncoding.DecodeString(raw[0].Body)
	return bytes.TrimSpace(text)
}

// FinishedSteps returns the names of the finished steps in a call.
func FinishedSteps(got *receiver.Received) []string {
	var raw []rawStep
	var names []string
	if json.Unmarshal(got.Body, &raw) != nil || len(raw) == 0 {
		return nil
	}
	for _, item := range raw[1:] {
		var st stepBody
		text, _ := base64.StdEncoding.DecodeString(item.Body)
		if item.CallType == "step" && json.Unmarshal(text, &st) == nil && st.StepID > 0 && !slices.Contains(names, st.StepName) {
			names = append(names, strings.TrimSpace(st.StepName))
		}
	}
	return names
}
