package client

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/route"
)

// check judges a call, its answer and its requests.
type check func(*execution, *Call, *answer, []*request) *report.Failure

// each is a check of every request of a call.
func each(judge func(*execution, *Call, *request) *report.Failure) check {
	return func(x *execution, c *Call, _ *answer, requests []*request) *report.Failure {
		for _, q := range requests {
			if f := judge(x, c, q); f != nil {
				return f
			}
		}
		return nil
	}
}

// checks are what a case can require besides the form of requests and answers. Sorted by name.
var checks = map[string]check{
	"address":        address,
	"as-before":      asBefore,
	"auth":           each(authorized),
	"batch-bytes":    batchBytes,
	"called-host":    calledHost,
	"case":           exactCase,
	"error-hides":    errorHides,
	"filters":        filtered,
	"group-headers":  groupHeaders,
	"hidden":         each(tokenHidden),
	"in-time":        inTime,
	"moved":          moved,
	"no-backoff":     noBackoff,
	"no-injection":   each(noInjection),
	"no-leak":        each(noLeak),
	"other-error":    otherError,
	"period":         period,
	"placeholders":   each(placeholders),
	"run-id":         runID,
	"same":           sameRequests,
	"storage":        each(stored),
	"storage-key":    storedKey,
	"storage-script": storedScript,
	"triggered":      triggered,
	"unique-run-id":  uniqueRunID,
	"version":        each(versioned),
}

// authorized checks that a request has the credentials of its area, once.
func authorized(x *execution, c *Call, q *request) *report.Failure {
	want := "Bearer " + fmt.Sprint(x.client["token"])
	if x.client["token"] == nil {
		want = "Bearer " + x.token
	}
	if x.operation(c.Op).Auth == "basic" {
		want = "Basic " + base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(x.client["username"])+":"+fmt.Sprint(x.client["password"])))
	}
	if got := q.Wire.Values("Authorization"); !slices.Equal(got, []string{want}) {
		return fail("the Authorization header is wrong", want, fmt.Sprintf("%d lines: %s", len(got), strings.Join(got, " | ")))
	}
	return nil
}

// versioned checks the version in the path.
func versioned(x *execution, c *Call, q *request) *report.Failure {
	want := "/" + strings.Split(x.operation(c.Op).Requests[0].Path, "/")[1]
	if !strings.HasPrefix(strings.TrimPrefix(q.Target, x.prefix), want) {
		return fail("the path has another prefix", want, q.Method+" "+q.Target)
	}
	return nil
}

// exactCase checks that the fixed segments of a path are written as documented.
func exactCase(x *execution, c *Call, _ *answer, requests []*request) *report.Failure {
	var all []string
	for _, w := range x.operation(c.Op).Requests {
		for segment := range strings.SplitSeq(strings.ReplaceAll(w.Path, " ", "/"), "/") {
			all = append(all, segment)
		}
	}
	path, _, _ := strings.Cut(strings.TrimPrefix(requests[0].Target, x.prefix), "?")
	for segment := range strings.SplitSeq(path, "/") {
		for _, fixed := range all {
			if strings.EqualFold(segment, fixed) && !slices.Contains(all, segment) {
				return fail("a segment of the path is written in another case", fixed, segment)
			}
		}
	}
	return nil
}

// calledHost checks that a request is one of its operation, and that the host of its destination is the given one.
func calledHost(x *execution, c *Call, _ *answer, requests []*request) *report.Failure {
	q, template := requests[0], x.operation(c.Op).Requests[0].Path
	rest, _, fits := x.rest(strings.TrimPrefix(q.Target, x.prefix), template)
	if !fits {
		return fail("another operation is called", x.example(template), q.Method+" "+q.Target)
	}
	if plain, err := url.PathUnescape(rest); err == nil && !strings.ContainsAny(rest, "/?") {
		rest = plain
	}
	want, _ := url.Parse(x.parameter("destination")) // of a case
	if got, err := url.Parse(rest); err != nil || !strings.EqualFold(got.Host, want.Host) {
		return fail("another host is called", x.example(template), q.Method+" "+q.Target)
	}
	return nil
}

// noBackoff checks that a call did not wait for repeats, compared with the same call without any.
func noBackoff(x *execution, _ *Call, _ *answer, _ []*request) *report.Failure {
	retry, _ := x.client["retry"].(map[string]any)
	repeats, delay := number(retry["repeats"]), time.Duration(number(retry["delay_ms"]))*time.Millisecond
	if more := x.took - x.firstTook; more >= time.Duration(repeats)*delay-delay/2 { // the first call took some time, too
		return fail("the call was tried again", "an error at once", "an error after the waits between "+fmt.Sprint(repeats)+" repeats")
	}
	return nil
}

// sameRequests checks that all requests of a call are equal in target, headers and body.
func sameRequests(_ *execution, _ *Call, _ *answer, requests []*request) *report.Failure {
	for _, q := range requests[1:] {
		first := requests[0]
		switch {
		case q.Method != first.Method || q.Target != first.Target:
			return fail("a repeated request differs", first.Method+" "+first.Target, q.Method+" "+q.Target)
		case string(q.Body) != string(first.Body):
			return fail("the body of a repeated request differs", clipped(string(first.Body)), clipped(string(q.Body)))
		}
		for name, values := range first.Header {
			if !slices.Equal(values, q.Header[name]) && strings.HasPrefix(name, header.Prefix) {
				return fail("the header "+name+" of a repeated request differs", strings.Join(values, " | "), strings.Join(q.Header[name], " | "))
			}
		}
		for name := range q.Header {
			if first.Header[name] == nil && strings.HasPrefix(name, header.Prefix) {
				return fail("a repeated request has another header", "no "+name, strings.Join(q.Header[name], " | "))
			}
		}
	}
	return nil
}

// places says where a request has a text: in the URL, in the body, in headers.
func (q *request) places(text string) (list []string) {
	plain, err := url.PathUnescape(q.Target)
	if err != nil {
		plain = q.Target
	}
	if strings.Contains(plain, text) {
		list = append(list, "the URL: "+q.Method+" "+q.Target)
	}
	if strings.Contains(string(q.Body), text) {
		list = append(list, "the body: "+string(q.Body))
	}
	for name, values := range q.Wire {
		if all := strings.Join(values, " | "); strings.Contains(all, text) {
			list = append(list, "the header "+name+": "+all)
		}
	}
	return list
}

// tokenHidden checks that the token is in no URL, body or header but Authorization.
func tokenHidden(x *execution, _ *Call, q *request) *report.Failure {
	for _, place := range q.places(x.token) {
		if where, got, _ := strings.Cut(place, ": "); where != "the header Authorization" {
			return fail("the token is in "+where, "only in Authorization", got)
		}
	}
	return nil
}

// noLeak checks that no credential, and nothing of a message, reaches the other host of a redirect.
func noLeak(x *execution, _ *Call, q *request) *report.Failure {
	if q.Origin != "trap" {
		return nil
	}
	basic := base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(x.client["username"]) + ":" + x.token))
	for _, leak := range [][2]string{{"the token", x.token}, {"the token", basic}, {"a part of the message", "secret-value"}} {
		if places := q.places(leak[1]); len(places) > 0 {
			where, got, _ := strings.Cut(places[0], ": ")
			return fail(leak[0]+" reached another host, in "+where, "nothing of it", got)
		}
	}
	return nil
}

// moved checks that a redirected request that counts as a success was repeated unchanged.
func moved(_ *execution, _ *Call, a *answer, requests []*request) *report.Failure {
	if a.Error != nil {
		return nil
	}
	first, last := requests[0], requests[len(requests)-1]
	switch {
	case last.Reply.Redirect != "":
		return fail("a redirect counts as a success", "an error, or the request at the new place", "the result "+shown(a.value))
	case last.Method != first.Method:
		return fail("another method in place of the redirected request counts as a success", first.Method, last.Method+" "+last.Target)
	case string(last.Body) != string(first.Body):
		return fail("the redirected request has another body", clipped(string(first.Body)), clipped(string(last.Body)))
	}
	return nil
}

// noInjection checks that an argument made neither a header nor a request.
func noInjection(_ *execution, _ *Call, q *request) *report.Failure {
	for name, values := range q.Wire {
		if strings.Contains(strings.ToLower(name), "x-injected") {
			return fail("an argument made a header", "no header "+name, strings.Join(values, " | "))
		}
	}
	if strings.HasPrefix(q.Target, "/injected") {
		return fail("an argument made a request", "no other request", q.Method+" "+q.Target)
	}
	return nil
}

// placeholders checks that no value is the text of a missing value.
func placeholders(_ *execution, _ *Call, q *request) *report.Failure {
	missing := []string{"undefined", "null", "None", "nil", "NaN"}
	for name, values := range q.Header {
		if !strings.HasPrefix(name, header.Prefix) {
			continue
		}
		for _, v := range values {
			if slices.Contains(missing, v) || v == "<nil>" || v == "" {
				return fail("an option that was not given is sent", "no header "+name, fmt.Sprintf("%s: %q", name, v))
			}
		}
	}
	_, raw, _ := strings.Cut(q.Target, "?")
	for pair := range strings.SplitSeq(raw, "&") {
		if _, v, _ := strings.Cut(pair, "="); slices.Contains(missing, v) {
			return fail("a parameter that was not given is sent", "no "+pair, q.Target)
		}
	}
	return nil
}

// address checks an address for webhooks: token and options in its query, and the destination.
func address(x *execution, _ *Call, a *answer, _ []*request) *report.Failure {
	of, _ := a.value.(map[string]any)
	text, _ := of["url"].(string)
	base, query, _ := strings.Cut(text, "?")
	if want := fmt.Sprint(x.client["url"]) + route.PublishMessage.Path(""); !strings.HasPrefix(base, want) || !sameDestination(x.parameter("destination"), strings.TrimPrefix(base, want)) {
		return fail("the publish address has another path", want+x.parameter("destination"), base)
	}
	got, err := url.ParseQuery(x.lane.recorder.dialect.NeutralQuery(query))
	if err != nil {
		return fail("the query of the publish address cannot be decoded", "token and options", query)
	}
	if got.Get("svc_token") != x.token {
		return fail("the token of the publish address is wrong", x.token, query)
	}
	options, _ := x.args["options"].(map[string]any)
	for name, value := range options {
		parameter := header.Query(header.Prefix) + strings.ReplaceAll(name, "_", "-")
		if have := got[parameter]; len(have) != 1 || !sameHeader(parameter, withUnit(name, value), have) {
			return fail("the option "+name+" is missing in the publish address", fmt.Sprint(value), query)
		}
	}
	return nil
}

// withUnit is the value of an option on the wire.
func withUnit(name string, value any) []string {
	if _, isText := value.(string); !isText && (name == "delay" || name == "timeout") {
		return []string{fmt.Sprint(value) + "s"}
	}
	return texts(value)
}

// batchBytes checks that a body that is not text is refused or encoded.
func batchBytes(x *execution, _ *Call, _ *answer, requests []*request) *report.Failure {
	list, f := x.messages(requests[0])
	if f != nil {
		return f
	}
	want := bytes256()
	got := list[0].body
	if string(got) == string(want) || string(got) == base64.StdEncoding.EncodeToString(want) {
		return nil
	}
	return fail("the bytes of the body have changed", "a refusal, or an encoding that keeps them", clipped(fmt.Sprintf("%q", got)))
}

// asBefore checks that the result equals that of the first call of the case.
func asBefore(x *execution, _ *Call, a *answer, _ []*request) *report.Failure {
	return compare("the result differs from that of the call before", x.answers[0].value, a.value, true)
}

// otherError checks that an error differs in its class or its text from that of the first call.
func otherError(x *execution, _ *Call, a *answer, _ []*request) *report.Failure {
	first := x.answers[0].Error
	if first.Class == a.Error.Class && fmt.Sprint(first.Limit, first.Remaining, first.Reset) == fmt.Sprint(a.Error.Limit, a.Error.Remaining, a.Error.Reset) {
		return fail("the two limits cannot be told apart", "another class, or the values of this limit", shown(a.Error))
	}
	return nil
}

// errorHides checks that an error does not contain a secret.
func errorHides(x *execution, _ *Call, a *answer, _ []*request) *report.Failure {
	if a.Error == nil {
		return nil
	}
	for _, secret := range []string{x.token, fmt.Sprint(x.vars["key1"]), fmt.Sprint(x.vars["key2"])} {
		if strings.Contains(a.Error.Message, secret) {
			return fail("the text of the error contains a secret", "no secret", strings.ReplaceAll(a.Error.Message, secret, "(the secret)"))
		}
	}
	return nil
}

// timeoutGrace is how much longer than its timeout a call may take.
const timeoutGrace = time.Second

// inTime checks that a call has ended within its timeout.
func inTime(x *execution, _ *Call, _ *answer, _ []*request) *report.Failure {
	most := time.Duration(number(x.client["timeout_ms"]))*time.Millisecond + timeoutGrace
	if x.took > most {
		return fail("the call took longer than its timeout", "at most "+most.String(), x.took.Round(time.Millisecond).String())
	}
	return nil
}

// uniqueRunID checks that each call has another run id.
func uniqueRunID(x *execution, _ *Call, _ *answer, requests []*request) *report.Failure {
	seen := map[string]bool{}
	for _, q := range requests {
		list, f := x.messages(q)
		if f != nil {
			return f
		}
		id := headerOf(list[0].header, header.WorkflowRunID)
		if id == "" || seen[id] {
			return fail("the run id is not unique", "another id in each call", id)
		}
		seen[id] = true
	}
	return nil
}

// headerOf is a header whose name may be written in any case.
func headerOf(h map[string][]string, name string) string {
	for have, values := range h {
		if strings.EqualFold(have, name) {
			return strings.Join(values, ", ")
		}
	}
	return ""
}

// filtered checks that each filter of the call is sent, decoded to its value.
func filtered(x *execution, _ *Call, _ *answer, requests []*request) *report.Failure {
	filters, _ := x.args["filters"].(map[string]any)
	query := map[string]any{"$others": true}
	for name, value := range filters {
		if name == "callerIp" {
			name = "callerIp|callerIP"
		}
		query[name] = value
	}
	return x.query(requests[0], &want{Query: query})
}

// groupHeaders checks the headers of an updated group.
func groupHeaders(x *execution, _ *Call, _ *answer, requests []*request) *report.Failure {
	body := x.lane.recorder.dialect.NeutralJSON(requests[0].Body)
	given, err := encode(x.args["headers"])
	if err != nil {
		return nil //nolint:nilerr // a case decoded them from JSON
	}
	want, _ := decode(x.lane.recorder.dialect.NeutralJSON([]byte(`{"headers":` + string(given) + `}`)))
	return bodyMatches(body, "", map[string]any{"subset": want})
}

// period checks that the period of statistics is sent as it is, or not at all.
func period(x *execution, _ *Call, _ *answer, requests []*request) *report.Failure {
	value := x.args["period"]
	if value == nil {
		value = map[string]any{"any_of": []any{"$absent", "1h"}}
	}
	return x.query(requests[0], &want{Query: map[string]any{"period": value}})
}

// runID checks that the given run id is that of the trigger; a library may put a prefix before it.
func runID(x *execution, _ *Call, _ *answer, requests []*request) *report.Failure {
	list, f := x.messages(requests[0])
	if f != nil {
		return f
	}
	options, _ := x.args["options"].(map[string]any)
	want := fmt.Sprint(options["run_id"])
	if got := headerOf(list[0].header, header.WorkflowRunID); !strings.HasSuffix(got, want) {
		return fail("the run id is not the given one", want, got)
	}
	return nil
}

// triggered checks the headers that make a publish a trigger; the operation trigger needs none.
func triggered(x *execution, _ *Call, _ *answer, requests []*request) *report.Failure {
	if strings.HasPrefix(strings.TrimPrefix(requests[0].Target, x.prefix), route.TriggerWorkflow.Path("")) {
		return nil
	}
	list, f := x.messages(requests[0])
	if f != nil {
		return f
	}
	return headersMatch(list[0].header, map[string]any{
		header.WorkflowInit: "true", header.WorkflowRunID: "$any", header.WorkflowURL: x.args["url"], header.ForwardPrefix + header.WorkflowSDKVersion: "1", header.FeatureSet: "$any",
	})
}

// stored checks where a request of a rate limiter goes, and with which token.
func stored(x *execution, c *Call, q *request) *report.Failure {
	if !strings.HasPrefix(q.Target, kvPath) {
		return fail("a request goes to another address than that of the storage", kvPath, q.Method+" "+q.Target)
	}
	return authorized(x, c, q)
}

// storedKey checks that the storage sees the prefix and the identifier.
func storedKey(x *execution, _ *Call, _ *answer, requests []*request) *report.Failure {
	prefix, id := fmt.Sprint(x.args["prefix"]), fmt.Sprint(x.args["identifier"])
	for _, q := range requests {
		if v, err := decode(q.Body); err == nil && strings.Contains(shown(v), prefix) && strings.Contains(shown(v), id) {
			return nil
		}
	}
	return fail("no key has the prefix and the identifier", prefix+"...:"+id, clipped(string(requests[0].Body)))
}

// storedScript checks that a script is sent by its hash first, and then in full, once.
func storedScript(_ *execution, _ *Call, _ *answer, requests []*request) *report.Failure {
	var scripts []string
	for _, q := range requests {
		v, _ := decode(q.Body)
		if command, ok := v.([]any); ok && len(command) > 0 && strings.HasPrefix(strings.ToUpper(fmt.Sprint(command[0])), "EVAL") {
			scripts = append(scripts, strings.ToUpper(fmt.Sprint(command[0])))
		}
	}
	if want := []string{"EVALSHA", "EVAL"}; len(scripts) > 0 && !slices.Equal(scripts, want) {
		return fail("the script is sent in another way", strings.Join(want, ", "), strings.Join(scripts, ", "))
	}
	return nil
}
