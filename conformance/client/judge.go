package client

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/conformance/report"
)

// fail is a failure with what was expected.
func fail(message, wanted, got string) *report.Failure {
	return &report.Failure{Message: message, Want: clipped(wanted), Got: clipped(got), Exchange: -1}
}

// wrong is the failure of a case that cannot be judged: an error in its data.
func wrong(err error) *report.Failure { return fail("the case is wrong: "+err.Error(), "", "") }

// about sets the exchange that a failure is about.
func about(f *report.Failure, exchange int) *report.Failure {
	if f != nil {
		f.Exchange = exchange
	}
	return f
}

// matches compares a request with what it must be.
func (x *execution) matches(q *request, w *want) *report.Failure {
	if w.Method != "" && !slices.Contains(strings.Split(w.Method, "|"), q.Method) {
		return fail("the method is wrong", w.Method, q.Method)
	}
	if w.Origin != "" && w.Origin != q.Origin {
		return fail("the request reached another host", w.Origin, q.Origin)
	}
	if w.Path != "" {
		if f := x.path(q, w); f != nil {
			return f
		}
	}
	if w.Query != nil {
		if f := x.query(q, w); f != nil {
			return f
		}
	}
	if f := headersMatch(q.Header, w.Headers); f != nil {
		return f
	}
	return bodyMatches(q.Body, headerOf(q.Header, "Content-Type"), w.Body)
}

// path compares the raw path with templates, one of which must fit.
func (x *execution) path(q *request, w *want) *report.Failure {
	target, found := strings.CutPrefix(q.Target, x.prefix)
	if !found && !strings.HasPrefix(q.Target, "/moved/") {
		return fail("the path of the base address is missing", x.prefix+"/...", q.Method+" "+q.Target)
	}
	var expected []string
	for template := range strings.FieldsSeq(w.Path) {
		if x.fits(target, template) {
			return nil
		}
		expected = append(expected, x.example(template))
	}
	return fail("the path is wrong", strings.Join(expected, " or "), q.Method+" "+q.Target)
}

// fits compares a raw target with a template: {destination} is the rest, any other parameter is
// one segment that is encoded once.
func (x *execution) fits(target, template string) bool {
	if rest, greedy, fits := x.rest(target, template); greedy {
		return fits && sameDestination(x.parameter("destination"), rest)
	}
	path, _, _ := strings.Cut(target, "?")
	return x.segments(path, template)
}

// rest is what a raw target has in place of {destination}, if the template has that (greedy) and what is before it fits.
func (x *execution) rest(target, template string) (rest string, greedy, fits bool) {
	before, after, greedy := strings.Cut(template, "{destination}")
	at := 0
	for range strings.Count(before, "/") {
		next := strings.IndexByte(target[at:], '/')
		if next < 0 {
			return "", greedy, false
		}
		at += next + 1
	}
	return target[at:], greedy, after == "" && x.segments(strings.TrimSuffix(target[:at], "/"), strings.TrimSuffix(before, "/"))
}

// segments compares the segments of a path with those of a template.
func (x *execution) segments(path, template string) bool {
	got, want := strings.Split(path, "/"), strings.Split(template, "/")
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		wanted := want[i]
		if name, ok := strings.CutPrefix(wanted, "{"); ok {
			wanted = x.parameter(strings.TrimSuffix(name, "}"))
		} else if strings.EqualFold(wanted, got[i]) { // REQ-CLI-066 judges the case
			continue
		}
		if plain, err := url.PathUnescape(got[i]); err != nil || plain != wanted {
			return false
		}
	}
	return true
}

// parameter is the value of a parameter of a path: an argument of the call.
func (x *execution) parameter(name string) string {
	args := x.args
	if list, ok := args["messages"].([]any); ok && len(list) > 0 {
		args, _ = list[0].(map[string]any)
	}
	if to, ok := args["url"].(string); ok && name == "destination" {
		return to
	}
	if name == "destination" {
		to, _ := args["destination"].(map[string]any)
		for _, kind := range []string{"url", "group"} {
			if text, ok := to[kind].(string); ok {
				return text
			}
		}
	}
	if list, ok := args[name].([]any); ok && len(list) > 0 {
		return fmt.Sprint(list[0])
	}
	return fmt.Sprint(args[name])
}

// example is a template with the encoded values of the call.
func (x *execution) example(template string) string {
	return regexpParameter.ReplaceAllStringFunc(template, func(name string) string {
		name = strings.Trim(name, "{}")
		if name == "destination" {
			return x.parameter(name)
		}
		return url.PathEscape(x.parameter(name))
	})
}

// sameDestination reports whether the rest of a target is a destination: raw, or encoded once.
func sameDestination(destination, rest string) bool {
	if rest == destination || normalURL(rest) == normalURL(destination) {
		return true
	}
	if strings.ContainsAny(rest, "/?") {
		return false
	}
	plain, err := url.PathUnescape(rest)
	return err == nil && (plain == destination || normalURL(plain) == normalURL(destination))
}

// query compares all query parameters, by decoded names and values.
func (x *execution) query(q *request, w *want) *report.Failure {
	_, raw, _ := strings.Cut(q.Target, "?")
	got, err := url.ParseQuery(x.lane.recorder.dialect.NeutralQuery(raw))
	if err != nil {
		return fail("the query cannot be decoded", shown(w.Query), raw)
	}
	for _, names := range slices.Sorted(maps.Keys(w.Query)) {
		value := w.Query[names]
		var values []string
		for name := range strings.SplitSeq(names, "|") {
			values = append(values, got[name]...)
			delete(got, name)
		}
		if names != "$others" && !meets(value, values, func(want []string) bool { return strings.Join(values, ",") == strings.Join(want, ",") }) {
			return fail("the query parameter "+names+" is wrong", oneOf(value), raw)
		}
	}
	if _, open := w.Query["$others"]; len(got) > 0 && !open {
		return fail("the query has other parameters", shown(w.Query), raw)
	}
	return nil
}

// meets reports whether the values of a header or of a parameter are one of those that are wanted:
// "$absent" is none, and "$any" some.
func meets(wanted any, got []string, same func(want []string) bool) bool {
	return slices.ContainsFunc(alternatives(wanted), func(want any) bool {
		switch want {
		case "$absent":
			return got == nil
		case "$any":
			return got != nil
		}
		return got != nil && same(texts(want))
	})
}

// oneOf is what meets wants, for people.
func oneOf(wanted any) string {
	var all []string
	for _, want := range alternatives(wanted) {
		all = append(all, strings.Join(texts(want), " | "))
	}
	return strings.NewReplacer("$absent", "nothing", "$any", "a value").Replace(strings.Join(all, " or "))
}

// texts is a value, or a list of values, as text.
func texts(v any) []string {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = fmt.Sprint(one)
	}
	return out
}

// headersMatch compares headers by their meaning.
func headersMatch(got map[string][]string, wanted map[string]any) *report.Failure {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		var lines []string
		for have, values := range got {
			if strings.EqualFold(have, name) {
				lines = append(lines, values...)
			}
		}
		if !meets(wanted[name], lines, func(want []string) bool { return sameHeader(name, want, lines) }) {
			return fail("the header "+name+" is wrong", oneOf(wanted[name]), cmp.Or(strings.Join(lines, " | "), "nothing"))
		}
	}
	return nil
}

// bodyMatches compares a body: bytes, or JSON as values.
func bodyMatches(got []byte, contentType string, wanted any) *report.Failure {
	of, _ := wanted.(map[string]any)
	switch wanted {
	case nil:
		return nil
	case "none", "empty":
		if len(got) > 0 {
			return fail("a body is sent", "none", string(got))
		}
		if contentType != "" && wanted == "none" {
			return fail("a Content-Type is sent without a body", "none", contentType)
		}
		return nil
	}
	subset, partial := of["subset"]
	if value, ok := of["json"]; ok || partial {
		v, err := decode(got)
		if err != nil {
			return fail("the body is not JSON", shown(of), clipped(string(got)))
		}
		if partial {
			value = subset
		}
		return compare("the body is wrong", value, v, !partial)
	}
	body, _ := payload(wanted)
	if string(body) != string(got) {
		at := 0
		for at < min(len(body), len(got)) && body[at] == got[at] {
			at++
		}
		return fail(fmt.Sprintf("the body is wrong from byte %d of %d on", at, len(got)), fmt.Sprintf("%q", body[at:min(at+40, len(body))]), fmt.Sprintf("%q", got[at:min(at+40, len(got))]))
	}
	return nil
}

// message is a message within a request: an entry of a batch, or the request itself.
type message struct {
	destination string
	header      map[string][]string
	body        []byte
}

// messages returns the messages that a request carries.
func (x *execution) messages(q *request) ([]message, *report.Failure) {
	if !strings.Contains(strings.SplitN(q.Target, "?", 2)[0], "/batch") {
		return []message{{header: q.Header, body: q.Body}}, nil
	}
	v, err := decode(x.lane.recorder.dialect.NeutralJSON(q.Body))
	list, ok := v.([]any)
	if err != nil || !ok {
		return nil, fail("the body of the batch is not a JSON list", "[{destination, headers, body}]", clipped(string(q.Body)))
	}
	out := make([]message, len(list))
	for i := range list {
		of, _ := list[i].(map[string]any)
		m := message{header: map[string][]string{}}
		m.destination, _ = of["destination"].(string)
		headers, _ := of["headers"].(map[string]any)
		for name, value := range headers {
			m.header[name] = texts(value)
		}
		switch body := of["body"].(type) {
		case string:
			m.body = []byte(body)
		case nil:
		default:
			return nil, fail("the body of an entry is not a string", "string", shown(body))
		}
		out[i] = m
	}
	return out, nil
}

// carries compares the messages of a request.
func (x *execution) carries(q *request, wanted []want) *report.Failure {
	list, f := x.messages(q)
	if f != nil {
		return f
	}
	if len(list) < len(wanted) {
		return fail("the batch has too few entries", fmt.Sprint(len(wanted)), fmt.Sprint(len(list)))
	}
	for i := range wanted {
		m, w := &list[i], &wanted[i]
		if w.Destination != "" && m.destination != "" && !sameDestination(w.Destination, m.destination) {
			return fail(fmt.Sprintf("the destination of entry %d is wrong", i), w.Destination, m.destination)
		}
		if f := headersMatch(m.header, w.Headers); f != nil {
			return f
		}
		if f := bodyMatches(m.body, headerOf(m.header, "Content-Type"), w.Body); f != nil {
			return f
		}
	}
	return nil
}

// answered judges the answer of the adapter.
func (x *execution) answered(c *Call, a *answer, sent int) *report.Failure {
	failed := a.Error != nil
	switch {
	case c.Refused || c.Or == "refused" && failed:
		if !failed {
			return fail("the library did not refuse the call", "an error, and no request", fmt.Sprintf("%d requests, and the result %s", sent, shown(a.value)))
		}
		if sent > 0 {
			return fail("the library sent the request before it refused the call", "no request", fmt.Sprintf("%d requests, and the error %s", sent, a.Error.Message))
		}
		return nil
	case c.Or == "error" && failed, c.Or == "accepted" && !failed:
		return nil
	case c.Invalid:
		if !failed && compare("", map[string]any{"valid": false}, a.value, false) != nil {
			return fail("the signature was accepted", "a refusal", shown(a.value))
		}
		if failed {
			return x.failed(c, a)
		}
		return nil
	case c.Error != nil:
		return x.failed(c, a)
	case failed:
		return fail("the library failed", "a result", fmt.Sprintf("%s: %s", a.Error.Class, a.Error.Message))
	case c.Result == "usual":
		c = &Call{Op: c.Op, Expect: Expect{Result: x.operation(c.Op).Result}}
		return x.answered(c, a, sent)
	case c.Result != nil:
		result := x.session.Hello.offered(fill(c.Result, x.vars), c.Op)
		if x.without = x.without || result == nil; result == nil {
			return nil
		}
		return compare("the result is wrong", result, a.value, c.Exact)
	}
	return nil
}

// failed judges an error of the library. A status may be in its text.
func (x *execution) failed(c *Call, a *answer) *report.Failure {
	e := a.Error
	if e == nil {
		return fail("the library returned a result", "an error", shown(a.value))
	}
	text, _ := encode(e)
	v, _ := decode(text)
	got, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(c.Error)) {
		want, said := fmt.Sprint(c.Error[name]), name == "contains" || name == "status" && e.Status == nil
		if fmt.Sprint(got[name]) != want && !(said && strings.Contains(e.Message, want)) {
			return fail("the error lacks "+name, want, shown(e))
		}
	}
	return nil
}

// documented returns what the requests of an operation must be: one of several forms.
func (x *execution) documented(q *request, op *Operation) *report.Failure {
	var nearest *report.Failure
	for i := range op.Requests {
		w, err := filled[want](&op.Requests[i], x.known())
		if err != nil {
			return wrong(err)
		}
		f := x.matches(q, w)
		if f == nil {
			return nil
		}
		if nearest == nil || fitting(f) > fitting(nearest) {
			nearest = f
		}
	}
	return nearest
}

// fitting is how much of a form a request has before it fails: method, path, and the rest.
func fitting(f *report.Failure) int {
	for i, part := range []string{"the method", "the path"} {
		if strings.HasPrefix(f.Message, part) {
			return i
		}
	}
	return 2
}

// compare is the failure of a value that differs from what it must have.
func compare(message string, want, got any, exact bool) *report.Failure {
	at, want, got, different := differs(want, got, "", exact)
	if !different {
		return nil
	}
	f := fail(message, shown(want), shown(got))
	f.Pointer = at
	return f
}

// known are the variables of a case, and the arguments of the current call by their names in lower
// case.
func (x *execution) known() map[string]any {
	vars := maps.Clone(x.vars)
	for name, value := range x.args {
		vars[strings.ToLower(name)] = value
	}
	return vars
}
