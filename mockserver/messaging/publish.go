package messaging

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/trace"
	"github.com/understudy-mock/understudy/mockserver/wire"
	"github.com/understudy-mock/understudy/spec"
)

// publishMessage answers once the messages are created; the log shows what
// happens to them.
func (a *API) publishMessage(c *request.Call) (any, error) {
	r, err := a.publishRequest(c, "destination")
	if err != nil {
		return nil, err
	}
	receipts, err := c.Account.Publish(r)
	if err != nil {
		return nil, err
	}
	return receiptResponse(c, receipts), nil
}

// enqueueMessage is a publish whose queue is in the path, which takes
// precedence over a queue among the options.
func (a *API) enqueueMessage(c *request.Call) (any, error) {
	r, err := a.publishRequest(c, "destination")
	if err != nil {
		return nil, err
	}
	if err := request.ReadName(&r.Options.Queue, c.Vars["queue"]); err != nil {
		return nil, response.RefusedValue("path", "queue", c.Vars["queue"], err)
	}
	receipts, err := c.Account.Publish(r)
	if err != nil {
		return nil, err
	}
	return receiptResponse(c, receipts), nil
}

// publishRequest reads a call whose path names a destination.
func (a *API) publishRequest(c *request.Call, variable string) (engine.PublishRequest, error) {
	r := engine.PublishRequest{
		Body:     c.Body,
		CallerIP: c.CallerIP(),
		Original: c.Original,
	}
	request.KeepHeaders(&r, c.Header)
	target, err := request.ParseDestination(c.Vars[variable], c.Raw)
	if err == nil {
		err = aimAt(c, &r, "path", target)
	}
	err = response.JoinRefused(err, a.Configure(c, &r, request.SettingsOf(c.Header).WithQuery(c.Query)))
	if r.Options.HeaderForward || r.Group != "" { // the defaults of a group may enable it
		r.All = request.ForwardableHeader(c.Header)
	}
	return r, err
}

// Configure reads the options of a request, and refuses or warns about unknown
// ones.
func (a *API) Configure(c *request.Call, r *engine.PublishRequest, set request.Settings) error {
	opts, unknown, problems := set.Parse()
	c.Redact = c.Redact.And(opts.Redact)
	if opts.Workflow != nil && c.Account != nil { // a fixture is read before its account is known
		c.Redact = c.Redact.And(c.Account.Redaction(opts.Workflow.RunID, ""))
	}
	if r.Group != "" {
		c.Redact = c.Redact.And(c.Account.Redaction("", r.Group))
	}
	for _, name := range []string{"Cron", "Schedule-Id"} {
		if given, ok := set.Find(name); ok && c.Op != nil && c.Op.ID != "createSchedule" {
			unknown = append(unknown, given)
		}
	}
	if problems = append(problems, a.unknownOptions(c, unknown)...); len(problems) > 0 {
		return response.Refused(problems)
	}
	if opts.Workflow != nil && opts.Workflow.Invoke {
		r.Body = c.Dialect.NeutralJSON(r.Body) // the body of an invocation contains headers
	}
	opts.Hops, opts.Family = c.Hops, c.Family
	opts.Dialect = c.Dialect.Name
	if a.TraceContext && c.Op != nil && c.Op.ID != "createSchedule" { // a schedule publishes much later
		opts.TraceContext = cmp.Or(trace.Read(c.Header), trace.Read(http.Header(opts.Forward)))
	}
	r.Options = opts
	return nil
}

// receiptResponse is the answer to a publish: 202 when nothing new was created.
func receiptResponse(c *request.Call, rs engine.Receipts) response.Response {
	if rs.Group == nil && !rs.One.Deduplicated && rs.One.RunID == "" {
		return response.Response{JSON: appendReceipt(c.Buffer, rs.One.MessageID)}
	}
	out := response.Response{Body: receiptsBody(rs)}
	switch {
	case rs.One.RunID != "":
		out.Status = http.StatusOK
	case rs.Group == nil, !slices.ContainsFunc(rs.Group, func(r engine.Receipt) bool { return !r.Deduplicated }):
		out.Status = http.StatusAccepted
	}
	return out
}

// aimAt sets the destination of a publish. A model provider must have a stub,
// because the server cannot imitate a model.
func aimAt(c *request.Call, r *engine.PublishRequest, in, target string) error {
	if request.IsProvider(target) && !c.Tenant.Stubs.StandsFor(target) {
		return noStub(in, target)
	}
	return request.SetDestination(r, in, target)
}

// noStub is the refusal of a model provider without a stub.
func noStub(in, target string) error {
	return response.Refused([]spec.Problem{response.Problem(in, "destination", "", request.NoProvider(target), "")})
}

// createChatCompletion answers at once, without a message: its caller waits for the model.
func (a *API) createChatCompletion(c *request.Call) (any, error) {
	const model = "api/llm"
	out, found := c.Tenant.Stubs.Answer(&stub.Request{Method: http.MethodPost, URL: model, Header: c.Header, Body: c.Body}, engine.DefaultTimeout)
	switch {
	case !found:
		return nil, noStub("path", model)
	case out.Status == 0:
		return nil, response.Invalid("the stub for " + model + " does not answer: " + out.Err)
	}
	return response.Response{Status: out.Status, Header: http.Header(out.Header), Body: out.Body, Scripted: true}, nil
}

// unknownOptions are the problems of unknown option names: errors of a strict
// server, otherwise warnings in the response.
func (a *API) unknownOptions(c *request.Call, unknown []request.Setting) (problems []spec.Problem) {
	for _, u := range unknown {
		if c.Hops > 0 && slices.Contains(wire.AddedHeaders, u.Name) {
			continue // a header that the server itself adds
		}
		p := spec.Problem{In: u.In, Name: response.Shorten(u.Name), Rule: "known", Message: "unknown option"}
		switch near := request.NearestName(u.Name); {
		case strings.EqualFold(near, u.Name):
			p.Message = "ignored by this operation; schedules are created by POST /v2/schedules/{destination}"
		case near != "":
			p.Message += "; did you mean " + near + "?"
		}
		problems = append(problems, p)
	}
	if a.Strict {
		return problems
	}
	for _, p := range problems {
		c.Warnings = append(c.Warnings, response.BrandedProblem(c.Dialect, p).String())
	}
	return nil
}
