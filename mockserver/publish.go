package mockserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/view"
	"github.com/understudy-mock/understudy/mockserver/wire"
	"github.com/understudy-mock/understudy/spec"
)

var _ = registerHandlers(map[string]handler{
	"enqueueMessage":       (*Server).enqueueMessage,
	"publishBatch":         (*Server).publishBatch,
	"publishMessage":       (*Server).publishMessage,
	"publishMessageDelete": (*Server).publishMessage,
	"publishMessageGet":    (*Server).publishMessage,
	"publishMessagePatch":  (*Server).publishMessage,
	"publishMessagePut":    (*Server).publishMessage,
})

// publishMessage answers once the messages are created. What becomes of their
// deliveries is in the log.
func (s *Server) publishMessage(c *call.Call) (response.Response, error) {
	r, err := s.publishRequest(c, "destination")
	if err != nil {
		return response.Response{}, err
	}
	receipts, err := c.Account.Publish(r)
	if err != nil {
		return response.Response{}, err
	}
	return receiptResponse(receipts), nil
}

// enqueueMessage is a publish whose queue is in the path; that one wins over a queue
// among the options.
func (s *Server) enqueueMessage(c *call.Call) (response.Response, error) {
	r, err := s.publishRequest(c, "destination")
	if err != nil {
		return response.Response{}, err
	}
	if err := request.ReadName(&r.Options.Queue, c.Vars["queue"]); err != nil {
		return response.Response{}, response.RefusedValue("path", "queue", c.Vars["queue"], err)
	}
	receipts, err := c.Account.Publish(r)
	if err != nil {
		return response.Response{}, err
	}
	return receiptResponse(receipts), nil
}

// publishRequest reads a call whose path names a destination.
func (s *Server) publishRequest(c *call.Call, variable string) (engine.PublishRequest, error) {
	r := engine.PublishRequest{
		Header:   request.RememberedHeader(c.Header),
		Forward:  request.ContentHeader(c.Header),
		Body:     c.Body,
		CallerIP: c.CallerIP(),
	}
	target, err := request.ParseDestination(c.Vars[variable], c.Raw)
	if err == nil {
		err = aimAt(c, &r, "path", target)
	}
	err = response.JoinRefused(err, s.configure(c, &r, request.SettingsOf(c.Header).WithQuery(c.Query)))
	if r.Options.HeaderForward || r.Group != "" { // a group may ask for it by default
		r.All = request.ForwardableHeader(c.Header)
	}
	return r, err
}

// configure reads the options of a request, and minds the names that nobody
// knows.
func (s *Server) configure(c *call.Call, r *engine.PublishRequest, set request.Settings) error {
	opts, unknown, problems := set.Parse()
	if problems = append(problems, s.unknownOptions(c, unknown)...); len(problems) > 0 {
		return response.Refused(problems)
	}
	if opts.Workflow != nil && opts.Workflow.Invoke {
		r.Body = c.Dialect.NeutralJSON(r.Body) // the envelope of an invocation holds headers
	}
	opts.Hops = c.Hops
	opts.Dialect = c.Dialect.Name
	r.Options = opts
	return nil
}

// receiptResponse is the answer to a publish: 202 when nothing new was created.
func receiptResponse(rs engine.Receipts) response.Response {
	out := response.Response{Body: view.Receipts(rs)}
	if len(rs.List) > 0 && !slices.ContainsFunc(rs.List, func(r engine.Receipt) bool { return !r.Deduplicated }) {
		out.Status = http.StatusAccepted
	}
	if len(rs.List) > 0 && rs.List[0].RunID != "" {
		out.Status = http.StatusOK
	}
	return out
}

// batchItem is one message of a batch.
type batchItem struct {
	Destination string                     `json:"destination"`
	Headers     map[string]json.RawMessage `json:"headers"`
	Body        json.RawMessage            `json:"body"`
	Queue       string                     `json:"queue"`
}

// publishBatch publishes all items or none, and every item is read before the first
// is published.
func (s *Server) publishBatch(c *call.Call) (response.Response, error) {
	requests, err := s.batch(c)
	if err != nil {
		return response.Response{}, err
	}
	results, err := c.Account.PublishBatch(requests)
	if err != nil {
		return response.Response{}, err
	}
	body := make([]any, len(results))
	for i, rs := range results {
		body[i] = view.Receipts(rs)
	}
	return response.Response{Body: body}, nil
}

// batch reads all items, or says which one is wrong.
func (s *Server) batch(c *call.Call) ([]engine.PublishRequest, error) {
	var items []batchItem
	if err := request.Unmarshal(c.Body, &items); err != nil {
		return nil, err
	}
	requests := make([]engine.PublishRequest, len(items))
	for i, item := range items {
		warned := len(c.Warnings)
		r, err := s.item(c, item)
		if err != nil {
			e := *response.Failure(err)
			e.Place = fmt.Sprintf("item %d", i)
			return nil, &e
		}
		for k := range c.Warnings[warned:] {
			c.Warnings[warned+k] = fmt.Sprintf("item %d %s", i, c.Warnings[warned+k])
		}
		requests[i] = r
	}
	return requests, nil
}

// item reads one message of a batch. Its configuration is in its own headers: those
// of the request belong to the batch.
func (s *Server) item(c *call.Call, item batchItem) (engine.PublishRequest, error) {
	h, err := request.ReadHeaders(item.Headers)
	if err != nil {
		return engine.PublishRequest{}, err
	}
	r := engine.PublishRequest{Header: request.RememberedHeader(h), Forward: request.ContentHeader(h), All: request.PlainHeaders(h), Body: response.BodyBytes(item.Body), CallerIP: c.CallerIP()}
	if err := response.JoinRefused(aimAt(c, &r, "body", item.Destination), s.configure(c, &r, request.SettingsOf(h))); err != nil {
		return r, err
	}
	if item.Queue != "" {
		if err := request.ReadName(&r.Options.Queue, item.Queue); err != nil {
			return r, response.RefusedValue("body", "/queue", item.Queue, err)
		}
	}
	return r, nil
}

// aimAt is aim for a publish: a model provider must have a stub.
func aimAt(c *call.Call, r *engine.PublishRequest, in, target string) error {
	if request.IsProvider(target) && !c.Tenant.Stubs.StandsFor(target) {
		return response.Refused([]spec.Problem{response.Problem(in, "destination", "", request.NoProvider(target), "")})
	}
	return request.SetDestination(r, in, target)
}

// unknownOptions are the problems of names that nobody knows: errors of a
// strict server, else warnings of the answer.
func (s *Server) unknownOptions(c *call.Call, unknown []request.Setting) (problems []spec.Problem) {
	for _, u := range unknown {
		if c.Hops > 0 && slices.Contains(wire.AddedHeaders, u.Name) {
			continue // the server's own
		}
		p := spec.Problem{In: u.In, Name: response.Shorten(u.Name), Rule: "known", Message: "unknown option"}
		if near := request.NearestName(u.Name); near != "" {
			p.Message += "; did you mean " + near + "?"
		}
		problems = append(problems, p)
	}
	if s.cfg.StrictOptions {
		return problems
	}
	for _, p := range problems {
		c.Warnings = append(c.Warnings, response.BrandedProblem(c.Dialect, p).String())
	}
	return nil
}
