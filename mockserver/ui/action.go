package ui

import (
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"

	"github.com/understudy-mock/understudy/spec/route"
)

// action is what a button does: one call, made of the fields of its form.
type action struct {
	as           route.Route                          // an operation of the interface, as the account
	vars         string                               // the fields for the variables of its path, in their order
	method, path string                               // or one of the control API; names in braces stand for fields
	body         func(form) any                       // nil: none
	header       func(form, http.Header)              // nil: none; names without the prefix of configuration
	query        []string                             // fields that go into the query when they are there
	run          func(*visit, form) error             // instead of one call
	ask          func(*visit, form) (question, error) // what is asked before it is done; nil: nothing
	said         string                               // names in braces stand for fields
}

// question is what the page asks before it does what cannot be undone.
type question struct {
	Text, Yes string
	None      string // why there is nothing to do; then nothing is asked
}

// form is what a button sends.
type form struct{ url.Values }

// fieldsObject takes the named fields that are there into a JSON object.
func fieldsObject(names ...string) func(form) any {
	return func(f form) any {
		body := doc{}
		for _, name := range names {
			if v := f.Get(name); v != "" {
				body[name] = v
			}
		}
		return body
	}
}

// allActions by name. Sorted.
var allActions map[string]action

func init() {
	allActions = map[string]action{
		"account.put":     {method: "PUT", path: "accounts/{id}", said: "The account {id} is there."},
		"clock.advance":   {method: "POST", path: "clock/advance", body: fieldsObject("by", "until"), said: "Time has moved."},
		"clock.mode":      {method: "PUT", path: "clock", body: fieldsObject("mode"), said: "The clock is {mode} now."},
		"dlq.callback":    {as: route.RepeatFailureCallback, vars: "id", said: "The failure callback of {id} is made again."},
		"dlq.delete":      {as: route.DeleteDLQMessage, vars: "id", said: "DLQ entry {id} is deleted."},
		"dlq.deleteAll":   {run: everyEntry(route.DeleteDLQMessages), ask: askEntries("Delete", "", "entry", "entries"), said: "Deleted: {n}."},
		"dlq.restart":     {run: startAgain(route.RestartWorkflowRunAlias), said: "The run starts again from its beginning."},
		"dlq.resume":      {run: startAgain(route.ResumeWorkflowRunAlias), said: "The run goes on from the step that failed."},
		"dlq.retry":       {as: route.RetryDLQMessage, vars: "id", header: readOverrides, said: "The message of {id} is delivered again."},
		"dlq.retryAll":    {run: everyEntry(route.RetryDLQMessages), ask: askEntries("Retry", "message", "message", "messages"), said: "Delivered again: {n}."},
		"event.notify":    {as: route.NotifyEvent, vars: "event", body: rawField("data"), said: "The runs that waited for {event} go on."},
		"fault.add":       {run: addFault, said: "The fault is in force."},
		"fault.clear":     {method: "DELETE", path: "faults", ask: askRules("faults", "fault"), said: "No fault is in force."},
		"fault.remove":    {run: removeRule("faults"), said: "The fault is switched off."},
		"flow.pause":      {as: route.PauseFlowControlKey, vars: "key", said: "The key {key} is paused."},
		"flow.pin":        {as: route.PinFlowControlKey, vars: "key", query: []string{"parallelism", "rate", "period"}, said: "The key {key} is pinned."},
		"flow.reset":      {as: route.ResetFlowControlRate, vars: "key", said: "The rate of {key} begins anew."},
		"flow.resume":     {as: route.ResumeFlowControlKey, vars: "key", said: "The key {key} goes on."},
		"flow.unpin":      {as: route.UnpinFlowControlKey, vars: "key", query: []string{"parallelism", "rate"}, said: "The key {key} is unpinned."},
		"group.add":       {as: route.AddURLGroupEndpoints, vars: "name", body: endpointField, said: "The group {name} has the endpoint {url}."},
		"group.delete":    {as: route.DeleteURLGroup, vars: "name", said: "The group {name} is deleted."},
		"group.remove":    {as: route.RemoveURLGroupEndpoints, vars: "name", body: endpointField, said: "The endpoint {url} is removed."},
		"limit.clear":     {method: "DELETE", path: "limits", query: []string{"key"}, said: "Nothing is counted any more."},
		"message.cancel":  {as: route.CancelMessage, vars: "id", said: "Message {id} is cancelled."},
		"message.hurry":   {method: "POST", path: "messages/{id}/hurry", said: "Message {id} is attempted now."},
		"message.publish": {run: publishMessage},
		"queue.delete":    {as: route.DeleteQueue, vars: "name", said: "The queue {name} is deleted."},
		"queue.pause":     {as: route.PauseQueue, vars: "name", said: "The queue {name} is paused."},
		"queue.put":       {run: putQueue, said: "The queue {name} is there."},
		"queue.resume":    {as: route.ResumeQueue, vars: "name", said: "The queue {name} goes on."},
		"requests.clear":  {method: "DELETE", path: "requests", ask: askRequests, said: "The journal is empty."},
		"reset":           {method: "POST", path: "reset", ask: askReset, said: "The account is as new."},
		"rewrite.add":     {run: addRewrite, said: "Deliveries to {from} go to {to}."},
		"rewrite.remove":  {run: removeRewrite, said: "Deliveries to {from} go there again."},
		"run.cancel":      {as: route.EndWorkflowRun, vars: "id", said: "The run is cancelled."},
		"run.notify":      {as: route.NotifyRun, vars: "id event", body: rawField("data"), said: "The run was told of {event}."},
		"schedule.delete": {as: route.DeleteSchedule, vars: "id", said: "The schedule {id} is deleted."},
		"schedule.pause":  {as: route.PauseSchedule, vars: "id", said: "The schedule {id} is paused."},
		"schedule.put":    {run: putSchedule, said: "The schedule is there."},
		"schedule.resume": {as: route.ResumeSchedule, vars: "id", said: "The schedule {id} goes on."},
		"search.create":   {as: route.CreateSearchIndex, body: fieldsObject("name", "region", "type"), said: "The search index {name} is there."},
		"search.delete":   {as: route.DeleteSearchIndex, vars: "id", said: "The search index is deleted."},
		"stub.add":        {run: addStub, said: "The stub answers {url}."},
		"stub.clear":      {method: "DELETE", path: "stubs", ask: askRules("stubs", "stub"), said: "No stub answers any more."},
		"stub.remove":     {run: removeRule("stubs"), said: "The stub is switched off."},
		"vector.reset":    {run: resetVectors, ask: askVectors, said: "The index {name} is empty."},
	}
}

// rawField sends a field as it is.
func rawField(name string) func(form) any {
	return func(f form) any { return []byte(f.Get(name)) }
}

func endpointField(f form) any {
	one := doc{"url": f.Get("url")}
	if name := f.Get("endpoint"); name != "" {
		one["name"] = name
	}
	return doc{"endpoints": []any{one}}
}

// readOverrides reads the fields that a restart lays over the original configuration.
func readOverrides(f form, h http.Header) {
	for field, name := range map[string]string{"retries": "Retries", "retryDelay": "Retry-Delay", "flowKey": "Flow-Control-Key", "flowValue": "Flow-Control-Value", "label": "Label"} {
		if v := f.Get(field); v != "" {
			h.Set(name, v)
		}
	}
}

// configuration is the header of a call that sets options, with the names that
// the account's clients use.
func (v *visit) configuration(options http.Header) (http.Header, error) {
	var known access
	if err := v.get(&known, "accounts/"+url.PathEscape(v.account), nil); err != nil {
		return nil, err
	}
	h := http.Header{}
	for name, values := range options {
		h[known.HeaderPrefix+name] = values
	}
	return h, nil
}

// fieldBraces stand for fields in paths and texts.
var fieldBraces = regexp.MustCompile(`\{(\w+)\}`)

// act does what a button says, then shows the view that it stood in.
func (p *Page) act(w http.ResponseWriter, r *http.Request, name string) {
	const most = 64 << 20 // the API has a limit of its own
	r.Body = http.MaxBytesReader(w, r.Body, most)
	back := controlRoot
	err := r.ParseForm()
	f := form{r.PostForm}
	if to := f.Get("back"); onPage(to) {
		back = to
	}
	v := &visit{api: api{handler: p.api, ctx: r.Context(), account: r.URL.Query().Get("account")}, query: r.URL.Query()}
	a, known := allActions[name]
	switch {
	case err != nil:
	case !known:
		err = fmt.Errorf("button %s: not found", name)
	case a.ask != nil && f.Get("sure") == "":
		pairs := []string{"back", back}
		for field := range f.Values {
			if field != "back" {
				pairs = append(pairs, field, f.Get(field))
			}
		}
		http.Redirect(w, r, (&frame{Account: v.account, query: v.query}).Link("ask/"+name, pairs...), http.StatusSeeOther)
		return
	default:
		err = a.do(v, f)
	}
	if err != nil {
		keepSaying(w, err.Error(), true)
	} else if text := fieldBraces.ReplaceAllStringFunc(a.said, func(s string) string { return f.Get(s[1 : len(s)-1]) }); text != "" {
		keepSaying(w, text, false)
	}
	if to := f.Get("then"); err == nil && onPage(to) {
		back = to
	}
	http.Redirect(w, r, back, http.StatusSeeOther)
}

// onPage reports whether an address leads to a view and nowhere else.
func onPage(address string) bool {
	return strings.HasPrefix(address, controlRoot) && !strings.ContainsAny(address, "\\\r\n")
}

func (a *action) do(v *visit, f form) error {
	if v.account == "" {
		var now overview
		if err := v.get(&now, "overview", nil); err != nil {
			return err
		}
		v.account = now.Account
	}
	if a.run != nil {
		return a.run(v, f)
	}
	r, err := a.request(v, f)
	if err != nil {
		return err
	}
	for _, name := range a.query {
		if value := f.Get(name); value != "" {
			r.query.Set(name, value)
		}
	}
	if a.body != nil {
		r.body = a.body(f)
	}
	if a.header != nil {
		options := http.Header{}
		a.header(f, options)
		if r.header, err = v.configuration(options); err != nil {
			return err
		}
	}
	return v.do(nil, r)
}

// request is method and path of the call.
func (a *action) request(v *visit, f form) (request, error) {
	missing := ""
	field := func(name string) string {
		if f.Get(name) == "" {
			missing = name
		}
		return f.Get(name)
	}
	r := request{method: a.method, header: http.Header{}, query: url.Values{}}
	switch {
	case a.as != "":
		var values []string
		for name := range strings.FieldsSeq(a.vars) {
			values = append(values, field(name))
		}
		r.method, r.path = a.as.Method(), v.as(a.as, values...)
	default:
		r.path = fieldBraces.ReplaceAllStringFunc(a.path, func(s string) string { return url.PathEscape(field(s[1 : len(s)-1])) })
	}
	if missing != "" {
		return r, fmt.Errorf("%s is missing", missing)
	}
	return r, nil
}

// headerLines reads "Name: value", a line each.
func headerLines(text string, h http.Header) error {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" || strings.ContainsAny(name, " \t") {
			return fmt.Errorf("header line: invalid value %.80q: must be Name: value, one per line", line)
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		h[name] = append(h[name], strings.TrimSpace(value))
	}
	return nil
}
