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
		known := ""
		for name := range strings.SplitSeq(names, "|") {
			if got.Has(name) {
				known, values = name, got[name]
			}
		}
		delete(got, known)
		if names == "$others" {
			continue
		}
		if of, ok := value.(map[string]any); ok {
			list, _ := of["any_of"].([]any)
			if !slices.ContainsFunc(list, func(one any) bool { return one == "$absent" && known == "" || slices.Equal(values, texts(one)) }) {
				return fail("the query parameter "+names+" is wrong", strings.Join(texts(list), " or "), raw)
			}
			continue
		}
		switch {
		case value == "$absent":
			if known != "" {
				return fail("the query parameter "+names+" is sent", "absent", raw)
			}
			continue
		case value == "$any" && known != "":
			continue
		}
		if !slices.Equal(values, texts(value)) && strings.Join(values, ",") != strings.Join(texts(value), ",") {
			return fail("the query parameter "+names+" is wrong", strings.Join(texts(value), " & "), raw)
		}
	}
	if _, open := w.Query["$others"]; len(got) > 0 && !open {
		return fail("the query has other parameters", shown(w.Query), raw)
	}
	return nil
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
		value := wanted[name]
		if of, ok := value.(map[string]any); ok { // one of several values
			list, _ := of["any_of"].([]any)
			if slices.ContainsFunc(list, func(one any) bool { return headersMatch(got, map[string]any{name: one}) == nil }) {
				continue
			}
			return fail("the header "+name+" is wrong", strings.Join(texts(list), " or "), cmp.Or(strings.Join(lines, " | "), "nothing"))
		}
		switch {
		case value == "$absent":
			if len(lines) > 0 {
				return fail("the header "+name+" is sent", "absent", strings.Join(lines, " | "))
			}
		case len(lines) == 0:
			return fail("the header "+name+" is missing", strings.Join(texts(value), " | "), "nothing")
		case value == "$any":
		default:
			if !sameHeader(name, texts(value), lines) {
				return fail("the header "+name+" is wrong", strings.Join(texts(value), " | "), strings.Join(lines, " | "))
			}
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
	case "none":
		if len(got) > 0 {
			return fail("a body is sent", "none", clipped(string(got)))
		}
		if contentType != "" {
			return fail("a Content-Type is sent without a body", "none", contentType)
		}
		return nil
	case "empty":
		if len(got) > 0 {
			return fail("a body is sent", "none", clipped(string(got)))
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
		if at, a, b, bad := differs(value, v, "", !partial); bad {
			f := fail("the body is wrong", shown(a), shown(b))
			f.Pointer = at
			return f
		}
		return nil
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
		if !failed && differsAt(map[string]any{"valid": false}, a.value) {
			return fail("the signature was accepted", "a refusal", shown(a.value))
		}
		if failed && c.Error != nil {
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
		if at, want, got, bad := differs(result, a.value, "", c.Exact); bad {
			f := fail("the result is wrong", shown(want), shown(got))
			f.Pointer = at
			return f
		}
	}
	return nil
}

// failed judges an error of the library.
func (x *execution) failed(c *Call, a *answer) *report.Failure {
	if a.Error == nil {
		return fail("the library returned a result", "an error", shown(a.value))
	}
	e := a.Error
	for _, name := range slices.Sorted(maps.Keys(c.Error)) {
		value := c.Error[name]
		switch name {
		case "contains":
			for _, part := range texts(value) {
				if !strings.Contains(e.Message, part) {
					return fail("the text of the error lacks something", part, e.Message)
				}
			}
		case "status":
			if e.Status != nil && fmt.Sprint(*e.Status) == fmt.Sprint(value) || e.Status == nil && strings.Contains(e.Message, fmt.Sprint(value)) {
				continue
			}
			got := "no status, and the message " + e.Message
			if e.Status != nil {
				got = fmt.Sprint(*e.Status)
			}
			return fail("the status cannot be read from the error", fmt.Sprint(value), got)
		case "library":
			if e.Library == nil || !*e.Library {
				return fail("the error is not one of the library's own classes", "library: true", shown(e))
			}
		case "limit", "remaining", "reset", "retry_after":
			got := map[string]any{"limit": e.Limit, "remaining": e.Remaining, "reset": e.Reset, "retry_after": e.RetryAfter}[name]
			if fmt.Sprint(got) != fmt.Sprint(value) {
				return fail("the error lacks "+name, fmt.Sprint(value), shown(got))
			}
		case "class_not":
			if e.Class == fmt.Sprint(value) {
				return fail("two kinds of error have one class", "not "+fmt.Sprint(value), e.Class)
			}
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

// differsAt reports whether a value lacks what it must have.
func differsAt(want, got any) bool {
	_, _, _, different := differs(want, got, "", false)
	return different
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
