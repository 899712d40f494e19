package client_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
)

// endpoint is a workflow at an address of its own.
type endpoint struct {
	switches
	client   *referenceClient
	of       *reference
	keys     *keys
	public   string // the URL that signatures are for, if it is known
	workflow string
	server   *httptest.Server
}

func (e *endpoint) close() { e.server.Close() }

// serve hosts a workflow.
func (r *reference) serve(c *referenceClient, a values) (any, error) {
	name := a.text("workflow")
	if workflows[name] == nil {
		return nil, refuse("workflow %q: not known", name)
	}
	e := &endpoint{switches: r.switches, client: c, of: r, public: a.text("url"), workflow: name}
	if a.has("current") {
		e.keys = &keys{a.text("current"), a.text("next")}
	}
	e.server = httptest.NewServer(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endpoints = append(r.endpoints, e)
	return map[string]any{"url": e.server.URL + "/" + name}, nil
}

// item is an entry of the list of steps: the payload first, then what each step has.
type item struct {
	MessageID string `json:"messageId"`
	Body      []byte `json:"body"` // base64
	CallType  string `json:"callType"`
}

// step is a step that was submitted, or that the service completed.
type step struct {
	ID         int     `json:"stepId"`
	Name       string  `json:"stepName"`
	Type       string  `json:"stepType"`
	Out        *string `json:"out,omitempty"`
	Concurrent int     `json:"concurrent"`
	Target     int     `json:"targetStep,omitempty"`
	SleepFor   any     `json:"sleepFor,omitempty"`
	SleepUntil any     `json:"sleepUntil,omitempty"`
	WaitEvent  string  `json:"waitEventId,omitempty"`
	Timeout    string  `json:"timeout,omitempty"`
	TimedOut   bool    `json:"waitTimeout,omitempty"`
}

// ServeHTTP answers one call of the service.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if !e.broken("202.1") {
		w.Header().Set("Svc-Workflow-Sdk-Version", "1")
	}
	if e.keys != nil && !e.broken("196.1") {
		public := e.public
		if e.broken("197.1") {
			public = ""
		}
		if err := e.verified(*e.keys, r.Header.Get("Svc-Signature"), body, public, 0); err != nil {
			reply(w, http.StatusUnauthorized, map[string]any{"error": "SignatureError", "message": err.Error()})
			return
		}
	}
	run := &run{endpoint: e, header: r.Header, id: r.Header.Get("Svc-Workflow-RunId"), url: e.server.URL + r.URL.Path}
	if e.public != "" {
		run.url = e.public
	}
	var result any
	switch {
	case r.Header.Get("Svc-Workflow-Is-Failure") == "true":
		result, err = run.failure(w, body)
	case r.Header.Get("Svc-Workflow-Callback") == "true":
		err = run.called(body)
	case r.Header.Get("Svc-Workflow-Sdk-Version") == "":
		err = run.first(body)
	default:
		err = run.resume(body)
	}
	e.answer(w, run, result, err)
}

func reply(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// answer says to the service how the call ended.
func (e *endpoint) answer(w http.ResponseWriter, run *run, result any, err error) {
	var stop *stopped
	var f *failure
	body := map[string]any{"error": "Error"}
	status := http.StatusInternalServerError
	switch {
	case err == nil || errors.Is(err, errSuspended):
		reply(w, http.StatusOK, map[string]any{"workflowRunId": run.id, "result": result})
		return
	case errors.Is(err, errEarly):
		status = http.StatusBadRequest
	case errors.As(err, &f) && f.status == http.StatusBadRequest && !e.broken("199.1"): // the run has ended
		reply(w, http.StatusOK, map[string]any{"workflowRunId": run.id})
		return
	case errors.As(err, &f) && f.status == http.StatusPreconditionFailed:
		stop = &stopped{message: f.message}
	default:
		errors.As(err, &stop)
	}
	if stop != nil && stop.after != "" {
		status = http.StatusTooManyRequests
		w.Header().Set("Retry-After", stop.after)
	} else if stop != nil {
		status = 489
		if !e.broken("198.1") {
			w.Header().Set("Svc-NonRetryable-Error", "true")
		}
	}
	body["message"] = err.Error()
	if stop != nil {
		body["message"] = stop.message
	}
	reply(w, status, body)
}

// stopped is an error of the workflow that is not retried, or after a number of seconds.
type stopped struct{ message, after string }

func (s *stopped) Error() string { return s.message }

var (
	errSuspended = errors.New("a step was submitted") // ends a call
	errEarly     = errors.New("the workflow returned before a step")
)

// run is one call of the service for one run.
type run struct {
	*endpoint
	header  http.Header
	id, url string
	payload any
	steps   []step // of the list, without the payload
	next    int    // id of the next step of the code
	used    bool   // a step was reached
	last    step   // the item that this call is about
	plan    bool   // last is a plan
}

// protocol are the headers of what the endpoint sends about a run.
func (r *run) protocol(init bool) map[string]string {
	return map[string]string{
		"Svc-Workflow-Init": fmt.Sprint(init), "Svc-Workflow-RunId": r.id, "Svc-Workflow-Url": r.url, "Svc-Method": "POST",
		"Svc-Feature-Set": "LazyFetch,InitialBody,WF_DetectTrigger", "Svc-Workflow-Sdk-Version": "1", "Svc-Forward-Svc-Workflow-Sdk-Version": "1",
		"Content-Type": "application/json",
	}
}

func newRunID() string { return "wfr_" + rand.Text()[:21] }

// first starts a run: the call did not come from a run.
func (r *run) first(body []byte) error {
	if r.id == "" {
		r.id = newRunID()
	}
	headers := r.protocol(true)
	for name, list := range r.header {
		own := slices.ContainsFunc([]string{"Svc-", "Host", "Content-Length", "Connection", "Accept-Encoding", "User-Agent"}, func(p string) bool { return strings.HasPrefix(name, p) })
		if name == "Content-Type" {
			headers[name] = list[0]
		} else if !own {
			headers["Svc-Forward-"+name] = strings.Join(list, ",")
		}
	}
	return r.submit([]map[string]any{{"destination": r.url, "headers": headers, "body": string(body)}})
}

// submit sends entries of a batch.
func (r *run) submit(entries []map[string]any) error {
	if len(entries) > 1 && r.broken("185.1") {
		for _, one := range entries {
			if err := r.submit([]map[string]any{one}); err != nil {
				return err
			}
		}
		return nil
	}
	return r.post("/v2/batch", nil, entries)
}

func (r *run) post(path string, headers map[string]string, body any) error {
	q := &request{method: "POST", path: path}
	for name, value := range headers {
		q.set(name, value)
	}
	if text, ok := body.(string); ok {
		q.body = []byte(text)
	} else if body != nil {
		q.header = slices.DeleteFunc(q.header, func(h [2]string) bool { return h[0] == "Content-Type" })
		q.json(r.client, body)
	}
	_, err := r.client.send(q)
	return err
}

// called handles the response of a call step.
func (r *run) called(body []byte) error {
	var call struct {
		Status  int                 `json:"status"`
		Header  map[string][]string `json:"header"`
		Body    []byte              `json:"body"`
		Retried int                 `json:"retried"`
		Max     int                 `json:"maxRetries"`
	}
	if len(body) == 0 {
		items, err := r.list(nil)
		if err != nil || items == nil {
			return err
		}
		body = items[len(items)-1].Body
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return err
	}
	if (call.Status < 200 || call.Status > 299) && call.Max > 0 && call.Retried != call.Max && !r.broken("190.1") {
		return nil // the service tries again
	}
	out := r.client.json(map[string]any{"status": call.Status, "body": bodyValue(call.Body), "header": call.Header})
	s := map[string]any{
		"stepId": number(r.header.Get("Svc-Workflow-StepId")), "stepName": r.header.Get("Svc-Workflow-StepName"), "stepType": r.header.Get("Svc-Workflow-StepType"),
		"concurrent": number(r.header.Get("Svc-Workflow-Concurrent")), "out": string(out),
	}
	return r.post("/v2/publish/"+r.url, r.protocol(false), s)
}

// bodyValue is the value of a JSON body, or its text.
func bodyValue(body []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil || d.More() {
		return string(body)
	}
	return v
}

func number(text string) json.RawMessage {
	var n json.Number
	if json.Unmarshal([]byte(text), &n) != nil {
		return json.RawMessage("0")
	}
	return json.RawMessage(n)
}

// payloadValue is the payload for the code: JSON objects and lists are values; a text that
// looks like a number stays a text.
func payloadValue(body []byte) any {
	if v := bodyValue(body); len(body) > 0 {
		if _, number := v.(json.Number); !number {
			return v
		}
	}
	return string(body)
}

// failure runs the failure function.
func (r *run) failure(w http.ResponseWriter, body []byte) (any, error) {
	if r.workflow != "guarded" {
		w.Header().Set("Svc-Workflow-Failure-Callback-Notfound", "true")
		return nil, nil
	}
	var f struct {
		Status       int                 `json:"status"`
		Header       map[string][]string `json:"header"`
		Body         []byte              `json:"body"`
		SourceBody   []byte              `json:"sourceBody"`
		SourceHeader map[string][]string `json:"sourceHeader"`
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, err
	}
	message := string(f.Body)
	if said, ok := bodyValue(f.Body).(map[string]any); ok {
		if text, ok := said["message"].(string); ok && !r.broken("194.1") {
			message = text
		}
	}
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.of.trace = append(r.of.trace, "failure")
	return map[string]any{"status": f.Status, "message": message, "payload": payloadValue(f.SourceBody), "headers": f.Header}, nil
}

// list reads the list of steps; nil means that the run has ended.
func (r *run) list(body []byte) ([]item, error) {
	if len(body) == 0 {
		q := &request{method: "GET", path: "/v2/workflows/runs/" + url.PathEscape(r.id), due: "list", read: func(v any) (any, error) { return v, nil }}
		list, err := r.client.send(q)
		var f *failure
		if errors.As(err, &f) && f.status == http.StatusNotFound {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		body = r.client.json(list)
	}
	var items []item
	if err := json.Unmarshal(body, &items); err != nil {
		return nil, err
	}
	own := r.header.Get("Svc-Message-Id")
	if at := slices.IndexFunc(items, func(i item) bool { return i.MessageID == own }); at >= 0 && !r.broken("201.1") {
		items = items[:at+1]
	}
	return items, nil
}

// resume runs the code up to the next step that has no result.
func (r *run) resume(body []byte) error {
	items, err := r.list(body)
	if err != nil || len(items) == 0 {
		return err
	}
	r.payload = payloadValue(items[0].Body)
	for _, i := range items[1:] {
		if i.CallType != "" && i.CallType != "step" {
			continue
		}
		var s step
		if err := json.Unmarshal(i.Body, &s); err != nil {
			return err
		}
		r.steps = append(r.steps, s)
	}
	if len(r.steps) > 0 {
		r.last = r.steps[len(r.steps)-1]
		r.plan = r.last.Target > 0
		before := r.steps[:len(r.steps)-1]
		if slices.ContainsFunc(before, func(s step) bool { return s.ID == r.last.ID && s.Target == r.last.Target }) && !r.broken("200.1") {
			return nil
		}
	}
	if r.broken("180.1") {
		r.id = newRunID()
	}
	result, err := workflows[r.workflow](r)
	if err != nil {
		return err
	}
	if !r.used {
		return errEarly
	}
	return r.end(result, "false")
}

// end ends the run.
func (r *run) end(result any, canceled string) error {
	q := &request{method: "DELETE", path: "/v2/workflows/runs/" + url.PathEscape(r.id) + "?cancel=" + canceled}
	if result != nil {
		q.json(r.client, result)
	}
	if r.broken("184.1") {
		_, _ = r.client.send(q)
	}
	_, err := r.client.send(q)
	return err
}

// task is a step of the code: what is submitted for it, and how its result is read.
type task struct {
	name, kind string
	do         func() (any, error)               // of a function that the endpoint runs
	send       func(r *run, s step) error        // of a step that the service completes
	fields     func(s *step)                     // added to what is submitted
	headers    map[string]string                 // added to the entry
	read       func(r *run, s step) (any, error) // nil: Out is JSON
}

// step runs one step.
func (r *run) step(t task) (any, error) {
	results, err := r.together(t)
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// together runs steps at the same time.
func (r *run) together(tasks ...task) ([]any, error) {
	r.used = true
	from, n := r.next+1, len(tasks)
	r.next += n
	var results []any
	have := 0
	for i, t := range tasks {
		id := from + i
		for _, s := range r.steps {
			if s.Target == id || s.ID == id {
				have++
				if (s.Name != t.name || s.Type != t.kind) && !r.broken("203.1") {
					return nil, fmt.Errorf("step %d is %s %q in the code, but was %s %q", id, t.kind, t.name, s.Type, s.Name)
				}
			}
			if s.ID == id && s.Target == 0 && len(results) == i {
				value, err := r.value(t, s)
				if err != nil {
					return nil, err
				}
				results = append(results, value)
			}
		}
	}
	if len(results) == n && (n == 1 || have >= 2*n) || r.broken("187.1") && have > n && len(results) > 0 {
		return append(results, make([]any, n-len(results))...), nil
	}
	switch {
	case n == 1 && len(r.steps) > 0 && r.plan: // a plan of an earlier group
		return nil, errSuspended
	case n == 1:
		return nil, r.submitOne(tasks[0], from, 1)
	case have == 0:
		return nil, r.submitPlans(tasks, from)
	case r.plan && r.last.Target >= from && r.last.Target < from+n:
		for i, t := range tasks {
			if from+i != r.last.Target && t.do != nil && r.broken("186.1") {
				_, _ = t.do()
			}
		}
		return nil, r.submitOne(tasks[r.last.Target-from], r.last.Target, n)
	}
	return nil, errSuspended
}

// value is the result of a step.
func (r *run) value(t task, s step) (any, error) {
	if t.do != nil && r.broken("183.1") {
		_, _ = t.do()
	}
	if t.kind == "Notify" && r.broken("192.1") {
		_, _ = t.do()
	}
	if t.read != nil {
		return t.read(r, s)
	}
	if s.Out == nil {
		return nil, nil
	}
	return bodyValue([]byte(*s.Out)), nil
}

func (r *run) submitPlans(tasks []task, from int) error {
	var entries []map[string]any
	for i, t := range tasks {
		s := step{Name: t.name, Type: t.kind, Concurrent: len(tasks), Target: from + i}
		if t.fields != nil {
			t.fields(&s)
		}
		entries = append(entries, r.entry(s, t.headers))
	}
	if err := r.submit(entries); err != nil {
		return err
	}
	return errSuspended
}

// entry is a step in a batch.
func (r *run) entry(s step, more map[string]string) map[string]any {
	if r.broken("182.1") {
		s.Type = strings.ToLower(s.Type)
	}
	if r.broken("188.1") {
		more = nil
	}
	headers := r.protocol(false)
	maps.Copy(headers, more)
	return map[string]any{"destination": r.url, "headers": headers, "body": string(r.client.json(s))}
}

func (r *run) submitOne(t task, id, concurrent int) error {
	s := step{ID: id, Name: t.name, Type: t.kind, Concurrent: concurrent}
	if t.send != nil {
		if err := t.send(r, s); err != nil {
			return err
		}
		return errSuspended
	}
	headers := t.headers
	if concurrent > 1 {
		headers = nil // the plan was delayed
	} else if t.fields != nil {
		t.fields(&s)
	}
	if t.do != nil {
		value, err := t.do()
		if err != nil {
			return err
		}
		if value != nil {
			text := string(r.client.json(value))
			s.Out = &text
		}
	}
	if err := r.submit([]map[string]any{r.entry(s, headers)}); err != nil {
		return err
	}
	return errSuspended
}

// function is a step that the endpoint runs.
func (r *run) function(name string, f func() (any, error)) task {
	return task{name: name, kind: "Run", do: func() (any, error) {
		r.of.mu.Lock()
		r.of.trace = append(r.of.trace, name)
		r.of.mu.Unlock()
		return f()
	}}
}

func sleepFor(name string, s int) task {
	return task{name: name, kind: "SleepFor", headers: map[string]string{"Svc-Delay": fmt.Sprintf("%ds", s)}, fields: func(p *step) { p.SleepFor = s }}
}

func sleepUntil(name string, at json.RawMessage) task {
	return task{name: name, kind: "SleepUntil", headers: map[string]string{"Svc-Not-Before": string(at)}, fields: func(p *step) { p.SleepUntil = at }}
}

// call asks the service to call a third party.
func call(name string, p values) task {
	return task{name: name, kind: "Call", send: func(r *run, s step) error {
		headers := r.protocol(false)
		delete(headers, "Svc-Forward-Svc-Workflow-Sdk-Version")
		delete(headers, "Content-Type")
		headers["Svc-Method"] = "GET"
		if r.broken("189.1") {
			headers["Svc-Method"] = "POST"
		} else if m := p.text("method"); m != "" {
			headers["Svc-Method"] = m
		}
		for n, v := range p.part("headers") {
			headers["Svc-Forward-"+n] = plainText(v)
		}
		headers["Svc-Retries"] = "0"
		if p.has("retries") {
			headers["Svc-Retries"] = p.text("retries")
		}
		headers["Svc-Feature-Set"] = "WF_NoDelete,InitialBody"
		headers["Svc-Workflow-CallType"] = "toCallback"
		headers["Svc-Callback"] = r.url
		for n, v := range map[string]string{
			"Workflow-RunId": r.id, "Workflow-CallType": "fromCallback", "Workflow-Init": "false", "Workflow-Url": r.url, "Feature-Set": "LazyFetch,InitialBody",
			"Forward-Svc-Workflow-Callback": "true", "Forward-Svc-Workflow-StepId": fmt.Sprint(s.ID), "Forward-Svc-Workflow-StepName": s.Name,
			"Forward-Svc-Workflow-StepType": s.Type, "Forward-Svc-Workflow-Concurrent": fmt.Sprint(s.Concurrent), "Forward-Svc-Workflow-ContentType": "application/json",
		} {
			headers["Svc-Callback-"+n] = v
		}
		entry := map[string]any{"destination": p.text("url"), "headers": headers}
		if text, ok := p["body"].(string); ok {
			entry["body"] = text
		} else if p["body"] != nil {
			entry["body"] = string(r.client.json(p["body"]))
		}
		return r.submit([]map[string]any{entry})
	}}
}

// wait waits for an event.
func wait(name, event, timeout string) task {
	return task{name: name, kind: "Wait", send: func(r *run, s step) error {
		if r.broken("191.1") {
			timeout = ""
		}
		headers := map[string][]string{}
		own := r.protocol(false)
		own["Svc-Workflow-CallType"] = "step"
		for n, v := range own {
			headers[http.CanonicalHeaderKey(n)] = []string{v}
		}
		return r.post("/v2/wait/"+r.client.segment(event), own, map[string]any{"url": r.url, "timeout": timeout, "timeoutUrl": r.url, "timeoutHeaders": headers, "step": s})
	}, fields: func(s *step) { s.WaitEvent, s.Timeout = event, timeout }, read: func(_ *run, s step) (any, error) {
		result := map[string]any{"timeout": s.TimedOut, "data": nil}
		if s.Out != nil && *s.Out != "" {
			data, err := base64.StdEncoding.DecodeString(*s.Out)
			if err != nil {
				return nil, err
			}
			result["data"] = bodyValue(data)
		}
		return result, nil
	}}
}

func notifyStep(r *run, name, event string, data any) task {
	text, isText := data.(string)
	return task{name: name, kind: "Notify", do: func() (any, error) {
		if !isText && data != nil {
			text = string(r.client.json(data))
		}
		return map[string]any{"eventId": event, "eventData": data}, r.post("/v2/notify/"+r.client.segment(event), nil, text)
	}}
}

// invoke starts a run of another workflow, whose result becomes that of the step.
func invoke(name, sibling string, body any) task {
	return task{name: name, kind: "Invoke", send: func(r *run, s step) error {
		child := *r
		child.id, child.url = newRunID(), r.url[:strings.LastIndex(r.url, "/")+1]+sibling
		headers := child.protocol(true)
		headers["Svc-Workflow-Invoke"] = "true"
		own := map[string][]string{}
		for n, v := range r.protocol(false) {
			own[http.CanonicalHeaderKey(n)] = []string{v}
		}
		envelope := map[string]any{
			"body": string(r.client.json(body)), "headers": own, "workflowRunId": r.id, "workflowUrl": r.url,
			"workflowRunCreatedAt": number(r.header.Get("Svc-Workflow-CreatedAt")), "step": s,
		}
		if r.broken("193.1") {
			envelope["workflowRunId"] = child.id
		}
		return r.post("/v2/publish/"+child.url, headers, string(r.client.json(envelope)))
	}, read: func(_ *run, s step) (any, error) {
		if s.Out == nil {
			return nil, errors.New("the result of the invoked workflow is missing")
		}
		out, _ := bodyValue([]byte(*s.Out)).(map[string]any)
		result := map[string]any{"failed": out["isFailed"] == true, "canceled": out["isCanceled"] == true}
		if text, ok := out["body"].(string); ok {
			result["body"] = bodyValue([]byte(text))
		}
		return result, nil
	}}
}

// workflows are the workflows that an endpoint can host.
var workflows = map[string]func(*run) (any, error){
	"steps": steps, "guarded": steps, "child": steps,
	"parallel": func(r *run) (any, error) {
		constant := func(v string) func() (any, error) { return func() (any, error) { return v, nil } }
		all, err := r.together(r.function("a", constant("A")), r.function("b", constant("B")), sleepFor("c", 90))
		if err != nil {
			return nil, err
		}
		return map[string]any{"a": all[0], "b": all[1]}, nil
	},
	"sleep": func(r *run) (any, error) {
		if _, err := r.step(sleepFor("nap", 90)); err != nil {
			return nil, err
		}
		_, err := r.step(sleepUntil("until", number(r.parameters().text("until"))))
		return nil, err
	},
	"call": func(r *run) (any, error) { return r.step(call("call", r.parameters())) },
	"wait": func(r *run) (any, error) {
		return r.step(wait("wait", r.parameters().text("event"), r.parameters().text("timeout")))
	},
	"notify": func(r *run) (any, error) {
		_, err := r.step(notifyStep(r, "notify", r.parameters().text("event"), r.parameters()["data"]))
		return nil, err
	},
	"invoke": func(r *run) (any, error) { return r.step(invoke("invoke", "child", r.parameters()["body"])) },
	"fail": func(r *run) (any, error) {
		p := r.parameters()
		return r.step(r.function("one", func() (any, error) {
			switch p.text("how") {
			case "error":
				return nil, errors.New(p.text("message"))
			case "non-retryable":
				return nil, &stopped{message: p.text("message")}
			case "retry-after":
				return nil, &stopped{message: p.text("message"), after: p.text("seconds")}
			}
			return r.payload, nil
		}))
	},
	"cancel": func(r *run) (any, error) {
		if _, err := r.step(r.function("one", func() (any, error) { return r.payload, nil })); err != nil {
			return nil, err
		}
		if err := r.end(nil, fmt.Sprint(!r.broken("195.1"))); err != nil {
			return nil, err
		}
		return nil, errSuspended
	},
	"early": func(*run) (any, error) { return nil, nil },
}

func (r *run) parameters() values {
	p, _ := r.payload.(map[string]any)
	return p
}

func steps(r *run) (any, error) {
	x, err := r.step(r.function("one", func() (any, error) { return r.payload, nil }))
	if err != nil {
		return nil, err
	}
	y, err := r.step(r.function("two", func() (any, error) { return x, nil }))
	if err != nil {
		return nil, err
	}
	return map[string]any{"x": x, "y": y}, nil
}

// trigger starts a run.
func trigger(c *referenceClient, a values) (*request, error) {
	to, err := c.destination(a)
	if err != nil {
		return nil, err
	}
	r := &run{id: a.text("run_id"), url: a.text("url")}
	if r.id == "" {
		r.id = newRunID()
	}
	if r.url == "" {
		r.url = a.part("destination").text("url")
	}
	headers, body, err := c.message(a, false)
	q := &request{method: "POST", path: "/v2/publish/" + c.inPath(to), header: headers, body: body, due: "messageId"}
	for name, value := range r.protocol(true) {
		if !slices.ContainsFunc(headers, func(h [2]string) bool { return h[0] == name }) {
			q.set(name, value)
		}
	}
	q.read = func(any) (any, error) { return map[string]any{"workflowRunId": r.id}, nil }
	return q, err
}
