package main

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/route"
)

// deriveMutants returns the defects that follow mechanically from the documented operations: every
// field of an answer, every filter of a list, every option and every part of a delivery, each
// wrong in one way, in all requests or only in a particular situation. Shown reports whether
// the interface document or a target file has the name of an option, filter or field of an
// operation.
//
// Their names, such as derived/listWorkflowDLQ/filter/label/ignored, do not depend on the
// order. Some defects are legal or without effect: what survives is to be read by a person.
func deriveMutants(doc *spec.Document, shown func(operation, place, name string) bool) ([]mutant, error) {
	whole, err := openapi3.NewLoader().LoadFromData(doc.JSON())
	if err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	d := deriving{shown: shown}
	for path, item := range whole.Paths.Map() {
		for method, op := range item.Operations() {
			if op.Extensions["x-origin"] != "documented" {
				continue
			}
			d.operation, d.matches = op.OperationID, matchPath(method, pathVariable.ReplaceAllString(path, "[^?]+"))
			if ok := op.Responses.Status(http.StatusOK); d.answers() && ok != nil && ok.Value.Content["application/json"] != nil {
				d.fields(ok.Value.Content["application/json"].Schema.Value, nil)
			}
			d.parameters(slices.Concat(item.Parameters, op.Parameters))
		}
	}
	d.deliveries()
	slices.SortFunc(d.all, func(a, b mutant) int { return strings.Compare(a.ID, b.ID) })
	return d.all, nil
}

var pathVariable = regexp.MustCompile(`\{[^}]+\}`)

// deriving collects the defects of the operations.
type deriving struct {
	shown     func(operation, place, name string) bool
	operation string
	matches   matching
	all       []mutant
}

// answers reports whether the interface document shows the answer of the operation.
func (d *deriving) answers() bool {
	return !slices.Contains([]string{"publishMessage", "updateURLGroup", "resumeFlowControlKey"}, d.operation)
}

func (d *deriving) lists() bool { return strings.HasPrefix(d.operation, "list") }

func (d *deriving) add(text string, build func(func()) mutantParts, name ...string) {
	d.all = append(d.all, mutant{ID: "derived/" + d.operation + "/" + strings.Join(name, "/"), Text: text, Build: build})
}

// fieldDefects change a field that is present; others are its earlier values, oldest first.
var fieldDefects = map[string]func(was any, others []any) (now any, present bool){
	"missing": func(any, []any) (any, bool) { return nil, false },
	"null":    func(any, []any) (any, bool) { return nil, true },
	"empty":   func(was any, _ []any) (any, bool) { return emptyLike(was), true },
	"type": func(was any, _ []any) (any, bool) {
		if text, ok := was.(string); ok {
			return []any{text}, true
		}
		return string(encodeJSON(was)), true
	},
	"more": func(was any, _ []any) (any, bool) { return oneMore(was), true },
	"other": func(was any, others []any) (any, bool) {
		for _, other := range slices.Backward(others) {
			if !bytes.Equal(encodeJSON(other), encodeJSON(was)) {
				return other, true
			}
		}
		return was, true
	},
	"first": func(was any, others []any) (any, bool) { return append(slices.Clone(others), was)[0], true },
}

// emptyLike returns the empty value of the same type.
func emptyLike(v any) any {
	switch v.(type) {
	case string:
		return ""
	case bool:
		return false
	case map[string]any:
		return map[string]any{}
	case []any:
		return []any{}
	}
	return jsonNumber(0)
}

var firstNumber = regexp.MustCompile(`^(\w+=)?(\d+)([a-z]*)$`) // 3, 3s, or parallelism=3

// shifted adds to the number in a text. A text without one gains or loses a character.
func shifted(text string, by int64) string {
	parts := firstNumber.FindStringSubmatch(text)
	n, err := int64(0), error(nil)
	if parts != nil {
		n, err = strconv.ParseInt(parts[2], 10, 64)
	}
	switch {
	case parts != nil && err == nil && n+by >= 0:
		return parts[1] + strconv.FormatInt(n+by, 10) + parts[3]
	case by > 0:
		return text + "1"
	}
	return text[:max(len(text)-1, 0)]
}

// oneMore adds one to a number, and a character to a text.
func oneMore(v any) any {
	switch v := v.(type) {
	case string:
		return shifted(v, 1)
	case interface{ Int64() (int64, error) }:
		if n, err := v.Int64(); err == nil {
			return jsonNumber(n + 1)
		}
	case []any:
		if len(v) > 0 {
			return append(slices.Clone(v), v[0])
		}
	}
	return v
}

// itemSituations restrict the defects of a list to some items.
var itemSituations = map[string]func(g *generations, r *http.Request, item map[string]any) bool{
	"always":    func(*generations, *http.Request, map[string]any) bool { return true },
	"next page": func(_ *generations, r *http.Request, _ map[string]any) bool { return r.URL.Query().Has("cursor") },
	"restarted": func(g *generations, _ *http.Request, item map[string]any) bool {
		return g.of(textOf(item["workflowRunId"])) == 1
	},
	"restarted 2": func(g *generations, _ *http.Request, item map[string]any) bool {
		return g.of(textOf(item["workflowRunId"])) == 2
	},
}

// fields adds the defects of all fields of a schema; "[]" in the path stands for every item.
func (d *deriving) fields(schema *openapi3.Schema, path []string) {
	if schema.Items != nil {
		d.fields(schema.Items.Value, append(slices.Clone(path), "[]"))
	}
	for name, property := range schema.Properties {
		inner := append(slices.Clone(path), name)
		if !d.shown(d.operation, "field", name) {
			continue
		}
		for defect, change := range fieldDefects {
			for situation, applies := range itemSituations {
				if situation == "always" || d.lists() && len(path) > 1 && (defect == "missing" || defect == "other" && situation != "next page") {
					d.add(strings.Join(inner, ".")+": "+defect+", "+situation, fieldDefect(d.matches, inner, change, applies), "field", strings.Join(inner, "/"), defect, situation)
				}
			}
		}
		d.fields(property.Value, inner)
	}
}

// fieldDefect changes the field at a path in the answers.
func fieldDefect(m matching, path []string, change func(any, []any) (any, bool), applies func(*generations, *http.Request, map[string]any) bool) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		var mu sync.Mutex
		var seen []any
		g := &generations{}
		return joinChanges(g.watch, changeReply(m, func(r *http.Request, v map[string]any) {
			mu.Lock()
			defer mu.Unlock()
			eachAt(v, path, v, func(holder, item map[string]any, name string) {
				was, ok := holder[name]
				if !ok {
					return
				}
				if applies(g, r, item) {
					if now, present := change(was, seen); present {
						holder[name] = now
					} else {
						delete(holder, name)
					}
				}
				seen = append(seen, was)
			})
		}))(hit)
	}
}

// eachAt calls f with each object that holds the last name of a path, and the item of the
// outermost list that it is part of.
func eachAt(v any, path []string, item map[string]any, f func(holder, item map[string]any, name string)) {
	if list, ok := v.([]any); ok {
		for _, x := range list {
			of := item
			if object, ok := x.(map[string]any); ok && item["workflowRunId"] == nil {
				of = object
			}
			eachAt(x, path[1:], of, f)
		}
		return
	}
	object, ok := v.(map[string]any)
	switch {
	case !ok:
	case len(path) == 1:
		f(object, item, path[0])
	default:
		eachAt(object[path[0]], path[1:], item, f)
	}
}

// learning keeps what a mutant learns from answers. Deliveries may come before the answer to the
// request that caused them, so it counts the answers under way.
type learning struct {
	mu      sync.Mutex
	pending int
	learned *sync.Cond
}

// from calls learn, with the lock held, for each matching request and its decoded answer.
func (l *learning) from(m matching, learn func(r *http.Request, v any)) func(func()) mutantParts {
	l.learned = sync.NewCond(&l.mu)
	return func(hit func()) mutantParts {
		return wrapMatching(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			asked := r.Clone(r.Context())
			l.mu.Lock()
			l.pending++
			l.mu.Unlock()
			a := serverAnswer(next, r)
			l.mu.Lock()
			learn(asked, decodeJSON(a.body))
			l.pending--
			l.learned.Broadcast()
			l.mu.Unlock()
			a.write(w)
		})
	}
}

// wait returns, with the lock held, when something is known or no answer is under way.
func (l *learning) wait(known func() bool) {
	l.mu.Lock()
	for l.pending > 0 && !known() {
		l.learned.Wait()
	}
}

// generations knows how often runs were restarted.
type generations struct {
	learning
	run   map[string]string        // credential and dlqId -> its run
	gen   map[string]int           // run -> generation, 0 for one that was triggered
	asked map[string]*http.Request // run -> its restart
}

func (g *generations) of(run string) int {
	g.wait(func() bool { return g.gen[run] > 0 })
	defer g.mu.Unlock()
	return g.gen[run]
}

// restartedBy returns the run whose entry a request restarts. Ids of entries are those of an account.
func (g *generations) restartedBy(r *http.Request) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.run[entryOf(r)]
}

// entryOf returns the credential and the entry of a restart.
func entryOf(r *http.Request) string {
	id, _ := url.PathUnescape(r.URL.EscapedPath()[strings.LastIndex(r.URL.EscapedPath(), "/")+1:])
	return r.Header.Get("Authorization") + id
}

// watch learns from lists and restarts, and changes nothing.
func (g *generations) watch(hit func()) mutantParts {
	g.run, g.gen, g.asked = map[string]string{}, map[string]int{}, map[string]*http.Request{}
	return joinChanges(changeReply(listingDLQ, func(r *http.Request, v map[string]any) {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, e := range itemsOf(v, "messages") {
			g.run[r.Header.Get("Authorization")+textOf(e["dlqId"])] = textOf(e["workflowRunId"])
		}
	}), g.from(restartingRun, func(r *http.Request, v any) {
		if restarted, ok := v.(map[string]any); ok && restarted["workflowRunId"] != nil {
			run := textOf(restarted["workflowRunId"])
			g.gen[run], g.asked[run] = g.gen[g.run[entryOf(r)]]+1, r
		}
	}))(hit)
}

// parameters adds the defects of filters and options.
func (d *deriving) parameters(list openapi3.Parameters) {
	for _, p := range list {
		name, place := p.Value.Name, p.Value.In
		if place == "path" || !d.shown(d.operation, place, name) || strings.HasPrefix(name, header.WorkflowPrefix) && d.operation == "publishMessage" {
			continue
		}
		for defect, change := range optionDefects {
			for situation, fits := range requestSituations[place] {
				if situation == "always" || defect == "ignored" && d.has(place, situation) {
					fits := d.when(place, name, fits)
					d.add(name+": "+defect+", "+situation, changeRequest(fits, func(r *http.Request) { change(r, place, name) }), place, name, defect, situation)
				}
			}
		}
		if place == "query" && d.lists() && name != "cursor" && name != "count" {
			d.add(name+": inverted", invertedFilter(d.matches, name), place, name, "inverted")
			d.add(name+": only the first that fits", firstThatFits(d.matches, name), place, name, "first")
		}
	}
}

// has reports whether requests of the operation can be in a situation.
func (d *deriving) has(place, situation string) bool {
	if d.lists() {
		return situation != "group"
	}
	return d.operation == "publishMessage" && (place == "header" || situation == "group" || situation == "with other")
}

// when matches requests of the operation with an option, in a situation.
func (d *deriving) when(place, name string, fits func(r *http.Request, name string) bool) matching {
	matches := d.matches
	return func(r *http.Request) bool {
		given := place == "header" && r.Header.Get(name) != "" || place == "query" && r.URL.Query().Has(name)
		return given && matches(r) && fits(r, name)
	}
}

// optionDefects change one header or query parameter of a request.
var optionDefects = map[string]func(r *http.Request, place, name string){
	"ignored": func(r *http.Request, place, name string) {
		changeOption(r, place, name, func(string) string { return "" })
	},
	"more": func(r *http.Request, place, name string) {
		changeOption(r, place, name, func(v string) string { return textOf(oneMore(v)) })
	},
	"less": func(r *http.Request, place, name string) {
		changeOption(r, place, name, func(v string) string { return shifted(v, -1) })
	},
}

// changeOption changes one value. The flow-control key and its value are lost together: one
// without the other may be refused.
func changeOption(r *http.Request, place, name string, change func(string) string) {
	lost := []string{name}
	for _, pair := range [][]string{{header.FlowControlKey, header.FlowControlValue}, {header.Query(header.FlowControlKey), header.Query(header.FlowControlValue)}} {
		if slices.Contains(pair, name) {
			lost = pair
		}
	}
	if place == "header" {
		v := change(r.Header.Get(name))
		if r.Header.Set(name, v); v == "" {
			dropHeader(r.Header, func(n string) bool { return slices.Contains(lost, n) })
		}
		return
	}
	setQuery(r, func(q map[string][]string) {
		v := change(q[name][0])
		if q[name] = []string{v}; v == "" {
			maps.DeleteFunc(q, func(n string, _ []string) bool { return slices.Contains(lost, n) })
		}
	})
}

// requestSituations restrict the defects of options to some requests, by the place of the option.
var requestSituations = map[string]map[string]func(r *http.Request, name string) bool{
	"query": {
		"always":    func(*http.Request, string) bool { return true },
		"alone":     func(r *http.Request, _ string) bool { return len(r.URL.Query()) == 1 },
		"next page": func(r *http.Request, name string) bool { return name != "cursor" && r.URL.Query().Has("cursor") },
		"sized":     func(r *http.Request, name string) bool { return name != "count" && r.URL.Query().Has("count") },
		"with other": func(r *http.Request, name string) bool {
			return slices.ContainsFunc(slices.Collect(maps.Keys(r.URL.Query())), func(other string) bool { return !slices.Contains([]string{name, "cursor", "count"}, other) })
		},
		"group": func(r *http.Request, _ string) bool { return onGroups(r) },
	},
	"header": {
		"always":  func(*http.Request, string) bool { return true },
		"group":   func(r *http.Request, _ string) bool { return onGroups(r) },
		"message": func(r *http.Request, _ string) bool { return r.Header.Get(header.WorkflowInit) == "" },
		"run":     func(r *http.Request, _ string) bool { return r.Header.Get(header.WorkflowInit) != "" },
		"delayed": func(r *http.Request, _ string) bool { return r.Header.Get(header.Delay) != "" },
		"held":    func(r *http.Request, _ string) bool { return r.Header.Get(header.FlowControlKey) != "" },
	},
}

// listName is the list in the answer of an operation.
func listName(v map[string]any) string {
	if v["events"] != nil {
		return "events"
	}
	return "messages"
}

// invertedFilter answers what does not fit a filter.
func invertedFilter(m matching, filter string) func(func()) mutantParts {
	return changeFiltered(m, filter, func(all, fitting []any) []any {
		known := map[string]bool{}
		for _, item := range fitting {
			known[string(encodeJSON(item))] = true
		}
		return slices.DeleteFunc(all, func(item any) bool { return known[string(encodeJSON(item))] })
	})
}

func firstThatFits(m matching, filter string) func(func()) mutantParts {
	return changeFiltered(m, filter, func(_, fitting []any) []any { return fitting[:min(len(fitting), 1)] })
}

// changeFiltered changes what a filter selects.
func changeFiltered(m matching, filter string, choose func(all, fitting []any) []any) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return wrapMatching(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			plain := r.Clone(r.Context())
			a := serverAnswer(next, r)
			v, ok := decodeJSON(a.body).(map[string]any)
			if r.URL.Query().Has(filter) && ok && a.status < 300 {
				dropQuery(plain, func(name string) bool { return name == filter })
				all, _ := decodeJSON(serverAnswer(next, plain).body).(map[string]any)
				list := listName(v)
				everything, _ := all[list].([]any)
				fitting, _ := v[list].([]any)
				v[list] = append([]any{}, choose(everything, fitting)...)
				a.body = encodeJSON(v)
			}
			a.write(w)
		})
	}
}

// deliveryParts lose or change one part of a request to a destination.
var deliveryParts = map[string]func(r *http.Request){
	"body lost":          func(r *http.Request) { setBody(r, []byte{}) },
	"body cut at 64 KiB": func(r *http.Request) { b := readBody(r); setBody(r, b[:min(len(b), 64<<10)]) },
	"content type":       func(r *http.Request) { r.Header.Del("Content-Type") },
	"forwarded header":   func(r *http.Request) { dropHeader(r.Header, forwardedHeader) },
	"empty header lost": func(r *http.Request) {
		dropHeader(r.Header, func(name string) bool { return forwardedHeader(name) && r.Header.Get(name) == "" })
	},
	"first value only": firstValues("X-"),
	"values joined":    joinedValues,
	"method": func(r *http.Request) {
		r.Method = map[bool]string{true: http.MethodPut, false: http.MethodPost}[r.Method == http.MethodPost]
	},
	"query lost":         func(r *http.Request) { r.URL.RawQuery = "" },
	"path in lower case": func(r *http.Request) { r.URL.Path, r.URL.RawPath = strings.ToLower(r.URL.Path), "" },
	"token of publisher": nil, // see deliveries
	"sent twice":         nil, // see deliveries
	"never sent":         nil,
}

// forwardedHeader reports whether a header of a delivery is one that the suite forwards.
func forwardedHeader(name string) bool { return strings.HasPrefix(name, "X-") }

func joinedValues(r *http.Request) {
	for name, values := range r.Header {
		if forwardedHeader(name) && len(values) > 1 {
			r.Header[name] = []string{strings.Join(values, "")}
		}
	}
}

// published knows how the message of a delivery was published.
type published struct {
	learning
	messages map[string]*http.Request // message id -> request
	runs     generations
}

// watch learns from publishes and restarts, and changes nothing.
func (p *published) watch(hit func()) mutantParts {
	p.messages = map[string]*http.Request{}
	publishing := matchPath("", "("+route.PublishMessage.Pattern()+"|"+route.PublishBatch.Pattern()+")")
	return joinChanges(p.runs.watch, p.from(publishing, func(r *http.Request, v any) {
		for _, id := range messageIDs(v) {
			p.messages[id] = r
		}
	}))(hit)
}

// of returns the publish of a delivery, or the restart of its run; nil if unknown.
func (p *published) of(r *http.Request) *http.Request {
	if run := r.Header.Get(header.WorkflowRunID); p.runs.of(run) > 0 {
		p.runs.mu.Lock()
		defer p.runs.mu.Unlock()
		return p.runs.asked[run]
	}
	id := r.Header.Get(header.MessageID)
	p.wait(func() bool { return p.messages[id] != nil })
	defer p.mu.Unlock()
	return p.messages[id]
}

// messageIDs returns the ids of the messages in an answer.
func messageIDs(v any) (ids []string) {
	switch v := v.(type) {
	case map[string]any:
		ids = append(ids, textOf(v["messageId"]))
	case []any:
		for _, x := range v {
			ids = append(ids, messageIDs(x)...)
		}
	}
	return ids
}

// deliverySituations restrict the defects of deliveries; from is the publish, nil if unknown.
var deliverySituations = map[string]func(p *published, r, from *http.Request) bool{
	"always": func(_ *published, r, _ *http.Request) bool { return r.Header.Get(header.WorkflowRunID) == "" },
	"delayed": func(_ *published, _, from *http.Request) bool {
		return from != nil && (from.Header.Get(header.Delay) != "" || from.URL.Query().Has(header.Query(header.Delay)))
	},
	"retried": func(_ *published, r, _ *http.Request) bool {
		return r.Header.Get(header.Retried) == "1" && r.Header.Get(header.WorkflowRunID) == ""
	},
	"retried 2": func(_ *published, r, _ *http.Request) bool {
		return r.Header.Get(header.Retried) == "2" && r.Header.Get(header.WorkflowRunID) == ""
	},
	"held": func(_ *published, _, from *http.Request) bool {
		return from != nil && from.Header.Get(header.FlowControlKey) != ""
	},
	"group": func(_ *published, r, _ *http.Request) bool { return ofGroup(r) },
	"batch": func(_ *published, r, from *http.Request) bool { // of messages; steps of runs come in batches as well
		return from != nil && strings.HasSuffix(from.URL.Path, "/batch") && r.Header.Get(header.WorkflowRunID) == ""
	},
	"run": func(p *published, r, _ *http.Request) bool {
		return r.Header.Get(header.WorkflowRunID) != "" && p.runs.of(r.Header.Get(header.WorkflowRunID)) == 0
	},
	"run retried": func(_ *published, r, _ *http.Request) bool {
		return r.Header.Get(header.WorkflowRunID) != "" && r.Header.Get(header.Retried) == "1"
	},
	"restarted": func(p *published, r, _ *http.Request) bool {
		return p.runs.of(r.Header.Get(header.WorkflowRunID)) == 1
	},
	"restarted 2": func(p *published, r, _ *http.Request) bool {
		return p.runs.of(r.Header.Get(header.WorkflowRunID)) == 2
	},
}

// deliveries adds the defects of requests to destinations.
func (d *deriving) deliveries() {
	d.operation = "delivery"
	for part := range deliveryParts {
		for situation := range deliverySituations {
			d.add(part+", "+situation, deliveryDefect(part, situation), part, situation)
		}
	}
}

// deliveryDefect loses or changes one part of the deliveries in a situation.
func deliveryDefect(part, situation string) func(func()) mutantParts {
	applies := deliverySituations[situation]
	return func(hit func()) mutantParts {
		p := &published{}
		return joinChanges(p.watch, changeDelivery(true, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			from := p.of(r)
			switch {
			case !applies(p, r, from):
				return next.RoundTrip(r)
			case part == "never sent":
				return fakeDelivery(), nil
			case part == "sent twice":
				if again, err := next.RoundTrip(r.Clone(r.Context())); err == nil {
					_ = again.Body.Close()
				}
			case part == "token of publisher":
				if from != nil {
					r.Header.Set("X-Caller", from.Header.Get("Authorization"))
				}
			default:
				deliveryParts[part](r)
			}
			return next.RoundTrip(r)
		}))(hit)
	}
}
