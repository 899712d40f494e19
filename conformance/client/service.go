package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/route"
)

// delivery is a call of the service to a workflow endpoint.
type delivery struct {
	First    bool           `json:"first,omitempty"`    // of somebody who knows only the URL
	Payload  any            `json:"payload,omitempty"`  // of the run: {text}, {json}, {base64}
	Steps    []any          `json:"steps,omitempty"`    // finished steps and plans, in the order of their submission
	Later    []any          `json:"later,omitempty"`    // of a fetched list: steps after the one that is delivered
	Lazy     bool           `json:"lazy,omitempty"`     // an empty body: the endpoint fetches the list
	Gone     bool           `json:"gone,omitempty"`     // the run that it fetches has ended
	Callback map[string]any `json:"callback,omitempty"` // of a call: {status, body, header, retried, maxRetries} and its step
	Failure  map[string]any `json:"failure,omitempty"`  // of the run: {status, header, body}
	Headers  map[string]any `json:"headers,omitempty"`
	Sign     map[string]any `json:"sign,omitempty"` // as of a receiver; {none: true}: no signature
}

// served is a workflow endpoint that an adapter hosts.
type served struct {
	last    []byte // body of the last message that it sent
	url     string
	signed  bool
	runID   string
	list    []any // for a fetch
	gone    bool
	payload []byte
}

// limitWindow is longer than the window of the case that waits for its end.
const limitWindow = 320 * time.Millisecond

// createdAt is when every run was created, in Unix ms.
const createdAt = 1700000000122

// act does what the suite itself does in a case.
func (x *execution) act(ctx context.Context, c *Call) error {
	switch c.Action {
	case "noise":
		if noise := x.session.Noise(); len(noise) > 0 {
			return fail("lines on standard output are no answers", "none", strings.Join(noise[:min(len(noise), 3)], " | "))
		}
		return nil
	case "window": // the only wait besides that of a timeout
		ctx, cancel := context.WithTimeout(ctx, limitWindow)
		defer cancel()
		<-ctx.Done()
		return nil
	case "deliver":
		return x.deliver(ctx, c)
	}
	return fmt.Errorf("unknown action %q", c.Action)
}

// hosted takes in the URL of a workflow that the adapter hosts.
func (x *execution) hosted(a *answer) error {
	of, _ := a.value.(map[string]any)
	url, _ := of["url"].(string)
	if a.Error != nil || url == "" {
		return harness.Inconclusive(report.AdapterFailed, "%s", "serve: the answer has no url: "+clipped(a.line))
	}
	x.served = &served{url: url, signed: x.args["current"] != nil, runID: "wfr_" + x.token[3:12]}
	x.vars["self"], x.vars["run"] = url, x.served.runID
	return nil
}

// deliver calls the endpoint and judges its answer, what it sent, and which functions have run.
func (x *execution) deliver(ctx context.Context, c *Call) error {
	if x.served == nil {
		return harness.Inconclusive(report.AdapterFailed, "%s", "no workflow is served")
	}
	x.call = nil
	before, err := x.script(c)
	if err != nil {
		return err
	}
	if _, err := x.traced(ctx); err != nil { // forgets what ran before
		return err
	}
	answered, err := x.send(ctx, c.Deliver)
	if err != nil {
		return err
	}
	x.log = append(x.log, fmt.Sprintf("delivery %s; answer %d %s", shown(c.Deliver), answered.status, clipped(string(answered.body))))
	if f := answered.judge(x, c.Answer); f != nil {
		return about(f, before)
	}
	if f := x.submitted(c, before); f != nil {
		return f
	}
	if c.Trace == nil {
		return nil
	}
	ran, err := x.traced(ctx)
	if err == nil && !slices.Equal(ran, c.Trace) {
		return about(fail("other step functions have run", "["+strings.Join(c.Trace, ", ")+"]", "["+strings.Join(ran, ", ")+"]"), before)
	}
	return err
}

// traced asks the adapter which step functions have run.
func (x *execution) traced(ctx context.Context) ([]string, error) {
	if !x.session.Hello.has("trace") {
		return nil, harness.Inconclusive(report.Unsupported, "%s", "the adapter does not offer trace")
	}
	a, err := x.adapter.call(ctx, map[string]any{"op": "trace", "client": x.client, "args": map[string]any{}, "times": 1}, x.session.cfg.CallTimeout)
	if err != nil {
		return nil, err
	}
	list, _ := a.value.([]any)
	return texts(list), nil
}

// response is the answer of an endpoint.
type response struct {
	status int
	header map[string][]string
	body   []byte
}

// send makes the request of a delivery.
func (x *execution) send(ctx context.Context, d *delivery) (*response, error) {
	d, err := filled[delivery](d, x.vars)
	if err != nil {
		return nil, err
	}
	body, headers := x.delivered(d)
	ctx, cancel := context.WithTimeout(ctx, 2*x.session.cfg.CallTimeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, x.served.url, bytes.NewReader(body))
	if err != nil {
		return nil, harness.Inconclusive(report.AdapterFailed, "%s", "serve: "+err.Error())
	}
	dialect := x.lane.recorder.dialect
	for name, value := range headers {
		q.Header.Set(strings.Replace(name, header.Prefix, dialect.HeaderPrefix, 1), fmt.Sprint(value))
	}
	x.signDelivery(q, d, body)
	got, err := x.session.http.Do(q)
	if err != nil {
		return nil, fail("the endpoint did not answer", "an answer", err.Error())
	}
	defer got.Body.Close()
	text, err := io.ReadAll(io.LimitReader(got.Body, maxBody))
	if err != nil {
		return nil, fail("the endpoint broke off its answer", "an answer", err.Error())
	}
	return &response{got.StatusCode, dialect.NeutralHeader(got.Header), text}, nil
}

// delivered is the body and the headers of a delivery.
func (x *execution) delivered(d *delivery) ([]byte, map[string]any) {
	s := x.served
	s.payload, _ = payload(d.Payload)
	if of, _ := d.Payload.(map[string]any); of["submitted"] == true { // what the endpoint sent last
		s.payload = s.last
	}
	headers := map[string]any{"Content-Type": "application/json", header.Retried: 0}
	if !d.First {
		headers[header.WorkflowRunID], headers[header.WorkflowURL], headers[header.WorkflowInit] = s.runID, s.url, "false"
		headers[header.WorkflowCreatedAt], headers[header.MessageID] = createdAt, fmt.Sprintf("msg_%d", len(d.Steps))
		headers[header.WorkflowSDKVersion] = 1
	}
	items := x.items(d.Steps)
	body, _ := encode(items)
	switch {
	case d.First:
		body = s.payload
	case d.Callback != nil:
		delete(headers, header.WorkflowSDKVersion)
		headers[header.WorkflowCallback] = "true"
		for name, member := range map[string]string{header.WorkflowStepID: "stepId", header.WorkflowStepName: "stepName", header.WorkflowStepType: "stepType", header.WorkflowConcurrent: "concurrent"} {
			headers[name] = d.Callback[member]
			delete(d.Callback, member)
		}
		headers[header.WorkflowContentType] = "application/json"
		body = x.envelope(d.Callback, nil)
	case d.Failure != nil:
		delete(headers, header.WorkflowSDKVersion) // forwarded only to the deliveries of steps
		headers[header.WorkflowIsFailure], headers[header.WorkflowPrefix+"Failure-Callback"] = "true", "true"
		body = x.envelope(d.Failure, s.payload)
	case d.Lazy:
		body, s.gone = nil, d.Gone
		s.list = slices.Concat(items, x.items(d.Later, len(d.Steps))[1:])
	}
	for name, value := range d.Headers {
		if value == nil {
			delete(headers, name)
			continue
		}
		headers[name] = value
	}
	return body, headers
}

// items is the list of a run: its payload, and then each step.
func (x *execution) items(steps []any, from ...int) []any {
	list := []any{map[string]any{"messageId": "msg_0", "body": base64.StdEncoding.EncodeToString(x.served.payload), "callType": "step"}}
	for i, one := range steps {
		step, _ := one.(map[string]any)
		kind := step["callType"]
		if kind == nil {
			kind = "step"
		}
		delete(step, "callType")
		if value, ok := step["outValue"]; ok {
			text, _ := encode(value)
			step["out"] = string(text)
			delete(step, "outValue")
		}
		for name, usual := range map[string]any{"concurrent": 1, "stepType": "Run"} {
			if step[name] == nil {
				step[name] = usual
			}
		}
		body, _ := encode(step)
		body = x.lane.recorder.dialect.BrandText(body)
		if step["submitted"] == true { // what the endpoint sent last
			body = x.served.last
		}
		n := i + 1
		for _, more := range from {
			n += more
		}
		list = append(list, map[string]any{"messageId": fmt.Sprintf("msg_%d", n), "body": base64.StdEncoding.EncodeToString(body), "callType": kind})
	}
	return list
}

// envelope is the body of a callback: what is given, with the body in base64.
func (x *execution) envelope(of map[string]any, source []byte) []byte {
	body, _ := payload(of["body"])
	out := map[string]any{
		"status": 200, "header": map[string]any{}, "retried": 0, "maxRetries": 0, "sourceMessageId": "msg_9", "url": x.served.url, "method": "POST", "sourceHeader": map[string]any{},
		"notBefore": createdAt, "createdAt": createdAt, "callerIP": "127.0.0.1", "workflowRunId": x.served.runID, "workflowCreatedAt": createdAt, "dlqId": "1700000000400-0",
	}
	maps.Copy(out, of)
	out["body"], out["sourceBody"] = base64.StdEncoding.EncodeToString(body), base64.StdEncoding.EncodeToString(source)
	text, _ := encode(out)
	return text
}

// signDelivery adds the signature of a delivery to an endpoint with keys.
func (x *execution) signDelivery(q *http.Request, d *delivery, body []byte) {
	if !x.served.signed || d.Sign["none"] == true {
		return
	}
	of := d.Sign
	if of == nil {
		of = map[string]any{}
	}
	if of["url"] == nil {
		of["url"] = x.served.url
		if public := x.args["url"]; public != nil {
			of["url"] = public
		}
	}
	keep := x.args
	x.args = map[string]any{"body": map[string]any{"base64": base64.StdEncoding.EncodeToString(body)}}
	x.sign(of)
	q.Header.Set(x.lane.recorder.dialect.HeaderPrefix+"Signature", fmt.Sprint(x.args["signature"]))
	x.args = keep
}

// judge compares the answer of an endpoint: {status, headers, body}. A status may be 2xx or not-2xx.
func (r *response) judge(_ *execution, wanted map[string]any) *report.Failure {
	want := fmt.Sprint(wanted["status"])
	ok := r.status >= 200 && r.status < 300
	switch {
	case wanted["status"] == nil:
	case want == "2xx" && ok, want == "not-2xx" && !ok, want == fmt.Sprint(r.status):
	default:
		return fail("the endpoint answered with another status", want, fmt.Sprintf("%d %s", r.status, clipped(string(r.body))))
	}
	headers, _ := wanted["headers"].(map[string]any)
	if f := headersMatch(r.header, headers); f != nil {
		f.Message = "answer of the endpoint: " + f.Message
		return f
	}
	if wanted["body"] == nil {
		return nil
	}
	f := bodyMatches(r.body, "", map[string]any{"subset": wanted["body"]})
	if f != nil {
		f.Message = "answer of the endpoint: " + f.Message
	}
	return f
}

// submitted judges what the endpoint sent: messages of publishes and batches, and other requests.
// Reads do not count.
func (x *execution) submitted(c *Call, before int) *report.Failure {
	if c.Sends == nil && c.Requests == nil {
		return nil
	}
	requests := slices.DeleteFunc(x.scene.sent(before), func(q *request) bool { return q.Method == http.MethodGet })
	if c.Requests != nil && len(requests) != *c.Requests {
		return about(fail("the number of requests is wrong", fmt.Sprint(*c.Requests), fmt.Sprint(len(requests))), before)
	}
	if c.Sends == nil {
		return nil
	}
	var sent []message
	var of []*request
	for _, q := range requests {
		list, f := x.messages(q)
		if f != nil {
			return about(f, before)
		}
		for _, m := range list {
			sent, of, x.served.last = append(sent, m), append(of, q), m.body
		}
	}
	if len(sent) != len(c.Sends) {
		return about(fail("the endpoint sent another number of messages", fmt.Sprint(len(c.Sends)), fmt.Sprintf("%d: %s", len(sent), overview(of))), before)
	}
	for i := range c.Sends {
		w, err := filled[want](&c.Sends[i], x.vars)
		if err != nil {
			return wrong(err)
		}
		if f := x.sends(&sent[i], of[i], w); f != nil {
			return about(f, before)
		}
	}
	return nil
}

func overview(requests []*request) string {
	lines := make([]string, len(requests))
	for i, q := range requests {
		lines[i] = q.Method + " " + q.Target
	}
	return strings.Join(lines, ", ")
}

// sends compares one message of an endpoint. The outValue of a step is its out, decoded.
func (x *execution) sends(m *message, q *request, w *want) *report.Failure {
	got := m.destination
	if _, rest, ok := strings.Cut(q.Target, route.PublishMessage.Path("")); ok && got == "" {
		got = rest
	}
	if w.Destination != "" && !sameDestination(w.Destination, got) {
		return fail("the destination is wrong", w.Destination, got)
	}
	sent := *q
	sent.Header, sent.Body = m.header, x.opened(m.body)
	return x.matches(&sent, w)
}

// opened adds the decoded out of a step to its JSON.
func (x *execution) opened(body []byte) []byte {
	neutral := x.lane.recorder.dialect.NeutralJSON(body)
	v, err := decode(neutral)
	of, ok := v.(map[string]any)
	if err != nil || !ok || of["stepType"] == nil {
		return body
	}
	if text, ok := of["out"].(string); ok {
		if value, err := decode([]byte(text)); err == nil {
			of["outValue"] = value
		}
	}
	out, err := encode(of)
	if err != nil {
		return body
	}
	return out
}

// workflowReply is the usual reply to a request of an endpoint.
func (x *execution) workflowReply(q *request) *reply {
	path, _, _ := strings.Cut(strings.TrimPrefix(q.Target, x.prefix), "?")
	runs := route.CancelWorkflowRuns.Path() + "/"
	answer := func(v any) *reply { return &reply{Body: map[string]any{"json": v}} }
	switch {
	case path == route.PublishBatch.Path():
		var ids []any
		list, _ := x.messages(q)
		for i := range list {
			ids = append(ids, map[string]any{"messageId": fmt.Sprintf("msg_new_%d", i)})
		}
		return answer(ids)
	case q.Method == http.MethodGet && strings.HasPrefix(path, runs):
		if x.served.gone {
			return &reply{Status: http.StatusNotFound, Body: map[string]any{"json": map[string]any{"error": "workflow run not found"}}}
		}
		return answer(x.served.list)
	case strings.HasPrefix(path, route.PublishMessage.Path("")), strings.HasPrefix(path, route.TriggerWorkflow.Path("")):
		return answer(map[string]any{"messageId": "msg_new", "workflowRunId": "wfr_new", "workflowCreatedAt": createdAt})
	case strings.HasPrefix(path, route.NotifyEvent.Path("")):
		return answer([]any{})
	case strings.HasPrefix(path, route.WaitForEvent.Path("")), strings.HasPrefix(path, runs):
		return &reply{Status: http.StatusOK}
	}
	return nil
}
