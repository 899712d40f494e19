package ui

import (
	"cmp"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/spec/api"
	"github.com/understudy-mock/understudy/spec/route"
)

// action is the effect of a button: usually one call, built from the fields of its form.
type action struct {
	as           route.Route                          // an operation of the interface, called as the account
	vars         string                               // names of the fields for the path variables, in order
	method, path string                               // or an operation of the control API; {name} is replaced by the field
	body         func(form) any                       // nil: no body
	query        []string                             // fields that are added to the query unless empty
	run          func(*visit, form) error             // replaces the call
	ask          func(*visit, form) (question, error) // asks for confirmation, if the question has a text; nil: never
	said         string                               // message after success; {name} is replaced by the field
	undo         string                               // label of the undo point that is kept first, such as "reset"; "": none
	thing        string                               // the undo point has only the rules, or one group, queue or schedule: its kind, and the field with its id
}

// question is a request for confirmation.
type question struct {
	Text, Yes string
	None      string // why there is nothing to do; replaces the question
}

// form is the fields that a button sends.
type form struct{ url.Values }

// idField is the name of the field id in the HTML of forms. With a field named id, scripts
// could not read the id of the form, and each update would replace the form and what a user
// has typed into it.
const idField = "entry-id"

// fieldName is the name of a field in the HTML of a form.
func fieldName(name string) string {
	if name == "id" {
		return idField
	}
	return name
}

// fieldsObject returns a function that puts the named fields, unless empty, into a JSON object.
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
		"clock.advance":      {run: advance, said: "{later}: {caused}."},
		"clock.mode":         {method: "PUT", path: "clock", body: fieldsObject("mode"), said: "The clock mode is now {mode}."},
		"dlq.callback":       {as: route.RepeatFailureCallback, vars: "id", said: "The failure callback of {id} is being repeated."},
		"dlq.delete":         {as: route.DeleteDLQMessage, vars: "id", said: "DLQ entry {id} was deleted.", undo: "delete DLQ entry {id}"},
		"dlq.deleteSome":     deleteMatching.action("delete DLQ entries"),
		"dlq.restart":        {run: startAgain(route.RestartWorkflowRunAlias), said: "The run was restarted from its beginning."},
		"dlq.restartSome":    restartMatching.action("restart runs"),
		"dlq.resume":         {run: startAgain(route.ResumeWorkflowRunAlias), said: "The run continues at the step that failed."},
		"dlq.resumeSome":     resumeMatching.action("resume runs"),
		"dlq.retry":          {run: startAgain(route.RetryDLQMessage), said: "The message of {id} was published again."},
		"dlq.retrySome":      retryMatching.action("retry messages"),
		"event.notify":       {as: route.NotifyEvent, vars: "event", body: rawField("data"), said: "The runs that waited for {event} continue."},
		"fault.add":          {run: addFault, said: "The fault is on."},
		"fault.change":       {run: withRule("faults", changedRule), said: "The fault was changed.", undo: "change the fault", thing: "rules"},
		"fault.clear":        {method: "DELETE", path: "faults", ask: askRules("faults", "fault"), said: "All faults were switched off.", undo: "remove all faults", thing: "rules"},
		"fault.remove":       {run: withRule("faults", removed), said: "The fault was switched off.", undo: "switch off the fault", thing: "rules"},
		"flow.pause":         {as: route.PauseFlowControlKey, vars: "key", said: "The key {key} was paused."},
		"flow.pin":           {as: route.PinFlowControlKey, vars: "key", query: []string{"parallelism", "rate", "period"}, said: "The key {key} was pinned."},
		"flow.reset":         {as: route.ResetFlowControlRate, vars: "key", said: "The rate of {key} was reset."},
		"flow.resume":        {as: route.ResumeFlowControlKey, vars: "key", said: "The key {key} was resumed."},
		"flow.unpin":         {as: route.UnpinFlowControlKey, vars: "key", query: []string{"parallelism", "rate"}, said: "The key {key} was unpinned."},
		"group.add":          {as: route.AddURLGroupEndpoints, vars: "name", body: endpointField, said: "The group {name} now has the endpoint {url}."},
		"group.delete":       {as: route.DeleteURLGroup, vars: "name", said: "The group {name} was deleted.", undo: "delete the group {name}", thing: "group name"},
		"group.remove":       {as: route.RemoveURLGroupEndpoints, vars: "name", body: endpointField, said: "The endpoint {url} was removed.", undo: "remove {url}", thing: "group name"},
		"limit.clear":        {method: "DELETE", path: "limits", query: []string{"key"}, ask: askCounters, said: "The counters were reset."},
		"message.cancel":     {as: route.CancelMessage, vars: "id", said: "Message {id} was cancelled.", undo: "cancel message {id}"},
		"message.cancelSome": cancelMatching.action("cancel messages"),
		"message.hurry":      {method: "POST", path: "messages/{id}/hurry", said: "Message {id} is being attempted."},
		"message.publish":    {run: sendMessage(route.PublishMessage)},
		"queue.delete":       {as: route.DeleteQueue, vars: "name", said: "The queue {name} was deleted.", undo: "delete the queue {name}", thing: "queue name"},
		"queue.pause":        {as: route.PauseQueue, vars: "name", said: "The queue {name} was paused."},
		"queue.put":          {run: putQueue, said: "The queue {name} was saved."},
		"queue.resume":       {as: route.ResumeQueue, vars: "name", said: "The queue {name} was resumed."},
		"requests.clear":     {method: "DELETE", path: "requests", ask: askRequests, said: "The journal is empty."},
		"reset":              {method: "POST", path: "reset", ask: askReset, said: "The account was reset.", undo: "reset"},
		"rewrite.add":        {run: addRewrite, said: "Deliveries to {from} are sent to {to}."},
		"rewrite.remove":     {run: removeRewrite, said: "Deliveries to {from} are no longer rewritten.", undo: "remove the rewrite", thing: "rules"},
		"run.cancel":         {as: route.EndWorkflowRun, vars: "id", said: "The run was cancelled.", undo: "cancel run {id}"},
		"run.cancelSome":     endMatching.action("cancel runs"),
		"run.from":           {run: runFrom, said: "A new run continues from there."},
		"run.notify":         {as: route.NotifyRun, vars: "id event", body: rawField("data"), said: "The run received {event}."},
		"run.trigger":        {run: sendMessage(route.TriggerWorkflow)},
		"schedule.delete":    {as: route.DeleteSchedule, vars: "id", said: "The schedule {id} was deleted.", undo: "delete the schedule {id}", thing: "schedule id"},
		"schedule.pause":     {as: route.PauseSchedule, vars: "id", said: "The schedule {id} was paused."},
		"schedule.put":       {run: putSchedule, said: "The schedule was saved."},
		"schedule.resume":    {as: route.ResumeSchedule, vars: "id", said: "The schedule {id} was resumed."},
		"schedule.run":       {run: runSchedule, said: "The schedule {id} was run."},
		"search.create":      {as: route.CreateSearchIndex, body: fieldsObject("name", "region", "type"), said: "The search index {name} exists."},
		"search.delete":      {as: route.DeleteSearchIndex, vars: "id", said: "The search index was deleted.", undo: "delete the search index"},
		"stub.add":           {run: addStub, said: "The stub answers {url}."},
		"stub.change":        {run: withRule("stubs", changedRule), said: "The stub was changed.", undo: "change the stub", thing: "rules"},
		"stub.clear":         {method: "DELETE", path: "stubs", ask: askRules("stubs", "stub"), said: "All stubs were switched off.", undo: "remove all stubs", thing: "rules"},
		"stub.remove":        {run: withRule("stubs", removed), said: "The stub was switched off.", undo: "switch off the stub", thing: "rules"},
		"undo":               {method: "POST", path: "undo/{id}", ask: askUndo, said: "Undone: {label}.", undo: "going back"},
		"vector.reset":       {run: resetVectors, ask: askVectors, said: "The index {name} is empty.", undo: "empty the index {name}"},
	}
}

// rawField returns a function that sends a field unchanged as the body.
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

// overrides is the header with which a retry or a restart overrides the original configuration.
func (v *visit) overrides(f form) (http.Header, error) {
	options := http.Header{}
	for field, name := range map[string]string{"retries": "Retries", "retryDelay": "Retry-Delay", "flowKey": "Flow-Control-Key", "flowValue": "Flow-Control-Value", "label": "Label"} {
		if value := f.Get(field); value != "" {
			options.Set(name, value)
		}
	}
	return v.configuration(options)
}

// configuration is the header of a call with options, with the header names of the
// account's clients.
func (v *visit) configuration(options http.Header) (http.Header, error) {
	var known api.Account
	if err := v.get(&known, "accounts/"+url.PathEscape(v.account), nil); err != nil {
		return nil, err
	}
	h := http.Header{}
	for name, values := range options {
		h[known.HeaderPrefix+name] = values
	}
	return h, nil
}

// fieldBraces matches a field name in braces, in paths and texts.
var fieldBraces = regexp.MustCompile(`\{(\w+)\}`)

// act runs the action of a button, then redirects to the view of the button.
func (p *Page) act(w http.ResponseWriter, r *http.Request, name string) {
	const most = 64 << 20 // the API also has a limit
	r.Body = http.MaxBytesReader(w, r.Body, most)
	back := controlRoot
	err := r.ParseForm()
	if ids, ok := r.PostForm[idField]; ok {
		r.PostForm["id"] = ids
		delete(r.PostForm, idField)
	}
	f := form{r.PostForm}
	if to := f.Get("back"); onPage(to) {
		back = to
	}
	v := &visit{client: p.apiFor(r), query: r.URL.Query()}
	a, known := allActions[name]
	switch {
	case err != nil:
	case !known:
		err = fmt.Errorf("button %s: not found", name)
	case a.asks(v, f):
		p.question(w, r, v, name, f)
		return
	default:
		var said saying
		if f.Get("undo") != "no" {
			said, err = a.keepUndo(v, f)
			if refusal(err, http.StatusTooManyRequests) != "" {
				f.Set("undo", "no")
				p.question(w, r, v, name, f)
				return
			}
		}
		if err = a.do(v, f); err == nil {
			said.Text, said.From, said.To = f.filled(a.said), f.Get("moved-from"), f.Get("moved-to")
			keepSaying(w, r, said)
		}
	}
	if err != nil {
		keepSaying(w, r, saying{Text: err.Error(), Bad: true})
	}
	if to := f.Get("then"); err == nil && onPage(to) {
		back = to
	}
	http.Redirect(w, r, back, http.StatusSeeOther)
}

// asks reports whether a button asks for confirmation now.
func (a *action) asks(v *visit, f form) bool {
	if a.ask == nil || f.Get("sure") != "" {
		return false
	}
	q, err := a.ask(v, f)
	return err != nil || q.Text != ""
}

// question redirects to the view that asks for confirmation.
func (p *Page) question(w http.ResponseWriter, r *http.Request, v *visit, name string, f form) {
	var pairs []string
	for field := range f.Values {
		if field != "sure" {
			pairs = append(pairs, field, f.Get(field))
		}
	}
	http.Redirect(w, r, v.frame().Link("ask/"+name, pairs...), http.StatusSeeOther) //nolint:gosec // a view of this server
}

// filled replaces the names in braces by the fields of a form.
func (f form) filled(text string) string {
	return fieldBraces.ReplaceAllStringFunc(text, func(s string) string { return f.Get(s[1 : len(s)-1]) })
}

// keepUndo keeps the account, or the part of it that a button changes, as an undo point, and
// returns a message that names the point. It fails if the point cannot be kept.
func (a *action) keepUndo(v *visit, f form) (saying, error) {
	scope := f.Get("scope") // of the undo point that the button restores
	if a.undo == "" || scope != "" && scope != "account" && scope != "rules" {
		return saying{}, nil
	}
	const most = 200 // of a label
	body := doc{"label": clip.Text(f.filled(a.undo), most)}
	kind, field, one := strings.Cut(cmp.Or(a.thing, scope, "account"), " ")
	if body["scope"] = kind; one {
		body["id"] = f.Get(field)
	}
	var kept struct{ ID, Label, Scope string }
	err := v.do(&kept, request{method: http.MethodPost, path: "undo", body: body})
	return saying{Undo: kept.ID, Label: kept.Label, Scope: kept.Scope}, err
}

// onPage reports whether an address is a path on the page, so that it is safe to redirect to.
func onPage(address string) bool {
	return strings.HasPrefix(address, controlRoot) && !strings.ContainsAny(address, "\\\r\n")
}

func (a *action) do(v *visit, f form) error {
	if v.account == "" {
		var now api.Overview
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
	return v.do(nil, r)
}

// request returns the method and path of the call; an error if a field for the path is missing.
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

// headerLines reads header lines in the form "Name: value".
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
