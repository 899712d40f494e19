package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/mask"
)

// execution is one run of one case.
type execution struct {
	lane      *lane
	session   *Session
	c         *Case
	result    report.Result
	token     string
	scene     *scene
	adapter   *adapter
	vars      map[string]any
	answers   []*answer // of all calls so far
	calledAt  time.Time
	took      time.Duration  // of the current call
	firstTook time.Duration  // of the first call
	prefix    string         // of the path of the base address
	args      map[string]any // of the current call
	client    map[string]any // of the current call
	call      *Call          // the current one
	log       []string       // of the calls and their answers
	without   bool           // the library offers nothing of a result that is judged

	served *served
	store  *store
}

// large is a text of 1 MiB.
var large = strings.Repeat("0123456789abcdef", 1<<16)

// bytes256 is a body of all values of a byte, twice: in and against their order.
func bytes256() []byte {
	out := make([]byte, 0, 512)
	for i := range 256 {
		out = append(out, byte(i))
	}
	for i := range 256 {
		out = append(out, byte(255-i))
	}
	return out
}

// run runs the calls and judges each.
func (x *execution) run(ctx context.Context) {
	x.result.Started = harness.Now()
	x.begin()
	err := x.prepare(ctx)
	for i := range x.c.Calls {
		if err != nil {
			break
		}
		call := &x.c.Calls[i]
		err = harness.Guard(func() error { return x.step(ctx, call) })
		verdict := report.Pass
		if err != nil {
			verdict = report.Fail
		}
		x.result.Steps = append(x.result.Steps, report.Step{Text: call.Op + call.Action, Verdict: verdict})
	}
	x.finish(ctx, err)
}

// begin makes the scene and the variables of a case.
func (x *execution) begin() {
	r := x.lane.recorder
	x.scene = r.begin(x.c.ID, x.token, x.route)
	x.adapter = x.lane.adapter
	x.vars = map[string]any{
		"kv": r.urls["main"] + kvPath, "url": r.urls["main"], "tls": x.session.addressOf(r.urls["tls"]), "bad": r.urls["bad"], "trap": r.urls["trap"], "token": x.token, "username": "user-1",
		"bytes": base64.StdEncoding.EncodeToString(bytes256()), "large": large, "long": strings.Repeat("0123456789", 30),
		"issuer_lower": strings.ToLower(r.dialect.Issuer), "issuer_upper": strings.ToUpper(r.dialect.Issuer),
		"key1": "sig_" + x.token[3:12] + "_current", "key2": "sig_" + x.token[3:12] + "_next",
	}
}

// prepare starts an adapter of its own for a case that needs other variables.
func (x *execution) prepare(ctx context.Context) error {
	if x.c.Env == nil {
		return nil
	}
	env := map[string]string{}
	for name, value := range x.c.Env {
		env[name] = fmt.Sprint(fill(value, x.vars))
	}
	a, err := x.lane.start(ctx, env)
	if err == nil {
		x.adapter = a
	}
	return err
}

// finish turns an error into a verdict, and collects the evidence.
func (x *execution) finish(ctx context.Context, err error) {
	x.scene.end()
	if x.store != nil {
		x.store.close()
	}
	if x.adapter != x.lane.adapter {
		x.adapter.close(ctx)
	}
	strange := x.strangers()
	if strange != nil {
		err = strange
	}
	x.evidence()
	x.result.Duration = report.Span(harness.Since(x.result.Started))
	x.verdict(err, strange != nil)
	if (errors.Is(err, errProtocol) || errors.Is(err, errGone)) && x.adapter == x.lane.adapter {
		x.lane.died(ctx, err)
	}
}

// verdict turns an error into the verdict of a case. One about another host fails, whatever the
// basis of the case.
func (x *execution) verdict(err error, otherHost bool) {
	r := &x.result
	var f *report.Failure
	var broken *harness.NoVerdict
	switch {
	case err == nil:
		r.Verdict = report.Pass
		if r.Basis == spec.Open {
			r.Verdict = report.Observed
		}
	case errors.Is(err, context.Canceled):
		r.Verdict, r.Reason = report.Inconclusive, report.Interrupted
	case errors.As(err, &broken):
		r.Verdict, r.Reason, r.Detail = broken.Verdict, broken.Reason, broken.Detail
	case errors.Is(err, errProtocol):
		r.Verdict, r.Reason, r.Detail = report.Inconclusive, report.AdapterFailed, err.Error()
	case errors.Is(err, errSilent) && x.client["timeout_ms"] == nil: // with a timeout, its library must have ended the call
		r.Verdict, r.Reason, r.Detail = report.Inconclusive, report.AdapterFailed, err.Error()
	case errors.Is(err, errGone):
		f = &report.Failure{Message: err.Error(), Exchange: len(r.Exchanges) - 1}
	case !errors.As(err, &f):
		r.Verdict, r.Reason, r.Detail = report.HarnessError, report.DriverFailed, err.Error()
	}
	if f == nil {
		return
	}
	r.Verdict, r.Failure, r.Detail = report.Weigh(r.Basis, x.c.Requirement.Security || otherHost), f, f.Error()
	if otherHost && !slices.Contains(r.Requirements, otherHostID) && r.Requirements[0] != codeWinsID { // that one is about the host
		r.Requirements = append(r.Requirements, otherHostID)
	}
	if len(r.Exchanges) == 0 {
		f.Repeat = x.again()
	}
	if f.Step == "" && len(x.log) > 0 {
		f.Step = x.log[0]
	}
	for _, text := range []*string{&f.Step, &f.Message, &f.Want, &f.Got, &r.Detail} {
		*text = strings.ReplaceAll(*text, x.token, mask.Hidden)
	}
}

// otherHostID is the requirement about requests to other hosts, and codeWinsID that about the address of the environment.
const (
	otherHostID = "REQ-CLI-008"
	codeWinsID  = "REQ-CLI-006"
)

// strangers returns the failure of a case in which the library called a host that nothing in the
// case explains, and nil for none.
func (x *execution) strangers() error {
	redirected := false
	for i, q := range x.scene.sent(0) {
		redirected = redirected || q.Reply != nil && q.Reply.Redirect == "trap"
		switch {
		case q.Origin == "trap" && !redirected:
			return about(fail("the library called a host that it was not given", "no request to "+q.Host, q.Method+" "+q.Target), i)
		case q.Foreign:
			return about(fail("the library sent a request in a call that needs none", "no request", q.Method+" "+q.Target), i)
		}
	}
	if hosts := x.lane.tunnel.refused(); len(hosts) > 0 {
		return fail("the library called another host, through the proxy of the environment", "no request to another host", strings.Join(hosts, ", "))
	}
	return nil
}

// again is the command that runs the case again.
func (x *execution) again() string {
	return fmt.Sprintf("understudy conform --client '%s' --scenario '%s'", strings.ReplaceAll(x.session.cfg.Command, "'", `'\''`), x.c.ID)
}

// evidence records the requests and their replies.
func (x *execution) evidence() {
	try := x.again()
	hide := func(text string) string {
		return strings.ReplaceAll(strings.ReplaceAll(text, x.token, mask.Hidden), base64.StdEncoding.EncodeToString([]byte("user-1:"+x.token)), mask.Hidden)
	}
	for _, q := range x.scene.sent(0) {
		e := report.Exchange{Operation: q.Origin, Method: q.Method, URL: hide(q.Target), Header: map[string][]string{}, Body: hide(clipped(strings.ToValidUTF8(string(q.Body), "\ufffd"))), At: report.Span(q.At), Curl: try}
		for name, values := range q.Wire {
			for _, v := range values {
				e.Header[name] = append(e.Header[name], hide(v))
			}
		}
		e.Header["Host"] = []string{q.Host}
		if p := q.Reply; p != nil {
			e.Status = p.Status
			if e.Status == 0 {
				e.Status = 200
			}
			if body, ok := payload(p.Body); ok {
				e.Answer = clipped(strings.ToValidUTF8(string(body), "\ufffd"))
			}
			if p.Fault != "" {
				e.Error, e.Status = "the suite broke off: "+p.Fault, 0
			}
		}
		e.Notes = nil
		x.result.Exchanges = append(x.result.Exchanges, e)
	}
	if n := len(x.result.Exchanges); n > 0 {
		for _, line := range x.log {
			x.result.Exchanges[n-1].Notes = append(x.result.Exchanges[n-1].Notes, hide(line))
		}
	}
}

// step makes one call and judges what came of it.
func (x *execution) step(ctx context.Context, c *Call) error {
	if c.Action != "" {
		return x.act(ctx, c)
	}
	x.args, _ = x.branded(fill(c.Args, x.vars)).(map[string]any)
	if c.Sign != nil {
		x.sign(fill(c.Sign, x.vars).(map[string]any)) //nolint:forcetypeassert // fill keeps the type
	}
	x.configure(c)
	x.call = c
	before, err := x.script(c)
	if err != nil {
		return err
	}
	line := map[string]any{"op": c.Op, "client": x.client, "args": x.args, "times": max(c.Times, 1)}
	x.calledAt = harness.Now()
	a, err := x.adapter.call(ctx, line, x.session.cfg.CallTimeout)
	if err != nil {
		return err
	}
	x.took = harness.Since(x.calledAt)
	if len(x.answers) == 0 {
		x.firstTook = x.took
	}
	x.log = append(x.log, fmt.Sprintf("call %s %s; answer %s", c.Op, clipped(shown(x.args)), clipped(a.line)))
	x.answers = append(x.answers, a)
	switch {
	case a.Unsupported != "":
		return harness.Inconclusive(report.Unsupported, "%s", "the adapter declares it, and answers unsupported: "+a.Unsupported)
	case a.Broken != "":
		return harness.Inconclusive(report.AdapterFailed, "%s", "the adapter failed: "+a.Broken)
	}
	if c.Op == "serve" {
		return x.hosted(a)
	}
	if f := x.judge(ctx, c, a, before); f != nil {
		return f
	}
	if x.without {
		return &harness.NoVerdict{Verdict: report.NotApplicable, Detail: "not offered: the members of the result"}
	}
	return nil
}

// script sets the replies to a call, and returns how many requests came before it.
func (x *execution) script(c *Call) (before int, err error) {
	replies, err := filled[[]reply](c.Replies, x.vars)
	if err != nil {
		return 0, err
	}
	x.scene.script(*replies)
	return len(x.scene.sent(0)), nil
}

// configure sets the configuration of the client of a call. The library gets no repeats unless the
// case is about them: what it repeats by itself is slow.
func (x *execution) configure(c *Call) {
	h := &x.session.Hello
	own := map[string]any{"url": x.vars["url"], "token": x.token, "username": x.vars["username"], "password": x.token}
	if h.has("feature:retry") {
		own["retry"] = map[string]any{"repeats": 0, "delay_ms": 0}
	}
	if h.has("feature:tls") && !h.has("feature:plain") || x.session.fixed() {
		own["url"] = x.vars["tls"]
	}
	x.client, _ = merge(own, fill(c.Client, x.vars)).(map[string]any)
	if where, ok := x.client["url"].(string); ok {
		x.prefix = pathOf(where)
	}
}

// judge judges the requests and the answer of one call.
func (x *execution) judge(ctx context.Context, c *Call, a *answer, before int) *report.Failure {
	requests := x.scene.sent(before)
	if c.Requests != nil || c.AtMost != nil {
		late, err := x.sentinel(ctx, c, before)
		if err != nil {
			return fail(err.Error(), "", "")
		}
		requests = late
	}
	if f := x.answered(c, a, len(requests)); f != nil {
		return about(f, before+len(requests)-1)
	}
	if a.Error != nil && (c.Refused || c.Or == "refused") {
		return nil
	}
	return x.requests(c, a, requests, before)
}

// requests judges the requests of one call.
func (x *execution) requests(c *Call, a *answer, requests []*request, before int) *report.Failure {
	op := x.operation(c.Op)
	n := len(requests)
	switch {
	case c.Requests != nil && n != *c.Requests && !(n > *c.Requests && x.mayRepeat(requests)):
		return about(fail("the number of requests is wrong", fmt.Sprint(*c.Requests), fmt.Sprint(n)), before+n-1)
	case c.AtMost != nil && n > *c.AtMost:
		return about(fail("there are too many requests", fmt.Sprintf("at most %d", *c.AtMost), fmt.Sprint(n)), before+n-1)
	case n == 0 && a.Error != nil && c.Or == "error":
		return x.checked(c, a, requests, before)
	case c.Requests == nil && n == 0 && op.Auth != "none" && (c.Request != nil || c.Message != nil || c.Messages != nil || len(c.Check) > 0):
		return fail("the library sent no request", "a request", "none, and the answer "+clipped(a.line))
	}
	if n > 0 {
		if f := x.first(c, op, requests); f != nil {
			return f
		}
	}
	return x.checked(c, a, requests, before)
}

// checked makes the named checks of a call.
func (x *execution) checked(c *Call, a *answer, requests []*request, before int) *report.Failure {
	for _, name := range c.Check {
		if f := checks[name](x, c, a, requests); f != nil {
			if f.Exchange < 0 && len(requests) > 0 {
				f.Exchange = before
			}
			return f
		}
	}
	return nil
}

// mayRepeat reports whether the library declares that it repeats calls after the status of a reply.
func (x *execution) mayRepeat(requests []*request) bool {
	for _, feature := range x.session.Hello.Features {
		list, ok := strings.CutPrefix(feature, "retries_status:")
		if ok && slices.Contains(strings.Split(list, ","), fmt.Sprint(requests[0].Reply.Status)) {
			return true
		}
	}
	return false
}

// branded replaces neutral names of headers within arguments by those of the dialect.
func (x *execution) branded(args any) any {
	text, err := encode(args)
	if err != nil || !strings.Contains(strings.ToLower(string(text)), header.Query(header.Prefix)) {
		return args
	}
	d := x.lane.recorder.dialect
	v, err := decode([]byte(strings.NewReplacer(header.Prefix, d.HeaderPrefix, header.Query(header.Prefix), header.Query(d.HeaderPrefix)).Replace(string(text))))
	if err != nil {
		return args
	}
	return v
}

// first judges the first requests of a call.
func (x *execution) first(c *Call, op *Operation, requests []*request) *report.Failure {
	q := requests[0]
	at := slices.Index(x.scene.sent(0), q)
	if c.Request == "documented" {
		if f := x.documented(q, op); f != nil {
			return about(f, at)
		}
	} else if c.Request != nil {
		wanted, ok := c.Request.([]any)
		if !ok {
			wanted = []any{c.Request}
		}
		for i, one := range wanted {
			if i >= len(requests) {
				return about(fail("a request is missing", shown(one), fmt.Sprintf("%d requests", len(requests))), at)
			}
			w, err := filled[want](one, x.vars)
			if err != nil {
				return wrong(err)
			}
			if f := x.matches(requests[i], w); f != nil {
				return about(f, at+i)
			}
		}
	}
	if c.Final != nil {
		w, err := filled[want](c.Final, x.vars)
		if err != nil {
			return wrong(err)
		}
		if f := x.matches(requests[len(requests)-1], w); f != nil {
			return about(f, at+len(requests)-1)
		}
	}
	wanted := c.Messages
	if c.Message != nil {
		wanted = []want{*c.Message}
	}
	if len(wanted) == 0 {
		return nil
	}
	messages, err := filled[[]want](wanted, x.vars)
	if err != nil {
		return wrong(err)
	}
	return about(x.carries(q, *messages), at)
}

// operation returns what is known about an operation.
func (x *execution) operation(name string) *Operation {
	if op := x.session.library.operations[name]; op != nil {
		return op
	}
	return &Operation{}
}

// sentinel makes a harmless call on the same client: what the call before it still had to send, it
// sends before. It returns the requests of the call, with those that came late.
func (x *execution) sentinel(ctx context.Context, c *Call, before int) ([]*request, error) {
	requests := x.scene.sent(before)
	op := x.operation(x.session.Hello.Sentinel)
	if op.Name == "" || len(requests) == 0 {
		return requests, nil
	}
	x.scene.script([]reply{op.Reply}) // every form of a sentinel has it
	args, _ := fill(op.Args, x.vars).(map[string]any)
	line := map[string]any{"op": op.Name, "client": x.client, "args": args, "times": 1}
	if _, err := x.adapter.call(ctx, line, x.session.cfg.CallTimeout); err != nil {
		return nil, err
	}
	allowed := 0
	if c.Op == op.Name || x.documented(requests[0], op) == nil { // the sentinel looks like the call
		allowed = 1
	}
	for _, q := range x.scene.sent(before + len(requests)) {
		if q.Method != requests[0].Method || q.Target != requests[0].Target {
			continue
		}
		if allowed--; allowed < 0 {
			requests = append(requests, q)
		}
	}
	return requests, nil
}

// pathOf is the path of a base address, without the final slashes.
func pathOf(base string) string {
	_, rest, _ := strings.Cut(base, "://")
	_, path, found := strings.Cut(rest, "/")
	if path = strings.Trim(path, "/"); !found || path == "" {
		return ""
	}
	return "/" + path
}
