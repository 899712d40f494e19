package mockserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/api"
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

func (s *Server) publishMessage(c *call) (response.Response, error) {
	r, err := s.publishRequest(c, "destination")
	if err != nil {
		return response.Response{}, err
	}
	receipts, err := c.account.Publish(r)
	if err != nil {
		return response.Response{}, err
	}
	return receiptReply(receipts), nil
}

func (s *Server) enqueueMessage(c *call) (response.Response, error) {
	r, err := s.publishRequest(c, "destination")
	if err != nil {
		return response.Response{}, err
	}
	if err := aName(&r.Options.Queue, c.vars["queue"]); err != nil {
		return response.Response{}, refuseValue("path", "queue", c.vars["queue"], err)
	}
	receipts, err := c.account.Publish(r)
	if err != nil {
		return response.Response{}, err
	}
	return receiptReply(receipts), nil
}

// publishRequest reads a call whose path names a destination.
func (s *Server) publishRequest(c *call, variable string) (engine.PublishRequest, error) {
	r := engine.PublishRequest{
		Header:   rememberedHeader(c.header),
		Forward:  contentHeader(c.header),
		Body:     c.body,
		CallerIP: c.callerIP(),
	}
	target, err := parseDestination(c.vars[variable], c.raw)
	if err == nil {
		err = c.aimAt(&r, "path", target)
	}
	err = response.JoinRefused(err, s.configure(c, &r, headerSettings(c.header).withQuery(c.query)))
	if r.Options.HeaderForward || r.Group != "" { // a group may ask for it by default
		r.All = forwardableHeader(c.header)
	}
	return r, err
}

// configure reads the options of a request, and minds the names that nobody
// knows.
func (s *Server) configure(c *call, r *engine.PublishRequest, set settings) error {
	opts, unknown, problems := set.parse()
	if problems = append(problems, s.unknownOptions(c, unknown)...); len(problems) > 0 {
		return response.Refused(problems)
	}
	if opts.Workflow != nil && opts.Workflow.Invoke {
		r.Body = c.dialect.NeutralJSON(r.Body) // the envelope of an invocation holds headers
	}
	opts.Hops = c.hops
	opts.Dialect = c.dialect.Name
	r.Options = opts
	return nil
}

// ofTheHop are the headers that belong to one connection or to the request as
// a whole: they never go on.
var ofTheHop = []string{
	"Connection", "Content-Length", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
	hopsHeader,
}

// forwardableHeader is every header of a request that may go on to the destination:
// not its credential, which is ours.
func forwardableHeader(h http.Header) engine.Header {
	out := plainHeaders(h)
	delete(out, "Authorization")
	return out
}

// plainHeaders is every header but configuration and those of the hop.
func plainHeaders(h http.Header) engine.Header {
	hop := splitAll(h["Connection"])
	out := make(engine.Header, len(h))
	for name, values := range h {
		named := slices.ContainsFunc(hop, func(n string) bool { return strings.EqualFold(n, name) })
		if !named && !strings.HasPrefix(name, configPrefix) && !slices.Contains(ofTheHop, name) {
			out[name] = values
		}
	}
	return out
}

// contentHeader is the header that describes the body: it always goes on.
func contentHeader(h http.Header) engine.Header {
	if ct := h["Content-Type"]; len(ct) > 0 {
		return engine.Header{"Content-Type": ct}
	}
	return nil
}

// rememberedHeader is what a message remembers of its publish: configuration and the type
// of the body, never credentials.
func rememberedHeader(h http.Header) engine.Header {
	out := engine.Header{}
	for name, values := range h {
		if name == "Content-Type" || strings.HasPrefix(name, configPrefix) && !strings.HasPrefix(name, "Svc-Telemetry-") {
			out[name] = values
		}
	}
	return out
}

// receiptReply is the answer to a publish: 202 when nothing new was created.
func receiptReply(rs engine.Receipts) response.Response {
	out := response.Response{Body: receiptBody(rs)}
	if len(rs.List) > 0 && !slices.ContainsFunc(rs.List, func(r engine.Receipt) bool { return !r.Deduplicated }) {
		out.Status = http.StatusAccepted
	}
	if len(rs.List) > 0 && rs.List[0].RunID != "" {
		out.Status = http.StatusOK
	}
	return out
}

// receiptBody is one receipt, or for a group a list of them.
func receiptBody(rs engine.Receipts) any {
	if !rs.Group {
		return oneReceipt(&rs.List[0])
	}
	list := make([]api.PublishReceipt, len(rs.List))
	for i := range rs.List {
		list[i] = oneReceipt(&rs.List[i])
		list[i].Url = &rs.List[i].URL
	}
	return list
}

func oneReceipt(r *engine.Receipt) api.PublishReceipt {
	out := api.PublishReceipt{MessageId: r.MessageID, Deduplicated: response.Optional(r.Deduplicated)}
	if r.RunID != "" {
		out.WorkflowRunId, out.WorkflowCreatedAt = &r.RunID, response.Millis(r.RunCreatedAt)
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

func (s *Server) publishBatch(c *call) (response.Response, error) {
	requests, err := s.batch(c)
	if err != nil {
		return response.Response{}, err
	}
	results, err := c.account.PublishBatch(requests)
	if err != nil {
		return response.Response{}, err
	}
	body := make([]any, len(results))
	for i, rs := range results {
		body[i] = receiptBody(rs)
	}
	return response.Response{Body: body}, nil
}

// batch reads all items, or says which one is wrong.
func (s *Server) batch(c *call) ([]engine.PublishRequest, error) {
	var items []batchItem
	if err := unmarshalBody(c.body, &items); err != nil {
		return nil, err
	}
	requests := make([]engine.PublishRequest, len(items))
	for i, item := range items {
		warned := len(c.warnings)
		r, err := s.item(c, item)
		if err != nil {
			e := *response.Failure(err)
			e.Place = fmt.Sprintf("item %d", i)
			return nil, &e
		}
		for k := range c.warnings[warned:] {
			c.warnings[warned+k] = fmt.Sprintf("item %d %s", i, c.warnings[warned+k])
		}
		requests[i] = r
	}
	return requests, nil
}

func (s *Server) item(c *call, item batchItem) (engine.PublishRequest, error) {
	h, err := readHeaders(item.Headers)
	if err != nil {
		return engine.PublishRequest{}, err
	}
	r := engine.PublishRequest{Header: rememberedHeader(h), Forward: contentHeader(h), All: plainHeaders(h), Body: response.BodyBytes(item.Body), CallerIP: c.callerIP()}
	if err := response.JoinRefused(c.aimAt(&r, "body", item.Destination), s.configure(c, &r, headerSettings(h))); err != nil {
		return r, err
	}
	if item.Queue != "" {
		if err := aName(&r.Options.Queue, item.Queue); err != nil {
			return r, refuseValue("body", "/queue", item.Queue, err)
		}
	}
	return r, nil
}

// readHeaders reads headers given as JSON, and refuses what could not be sent.
func readHeaders(fields map[string]json.RawMessage) (http.Header, error) {
	var problems []spec.Problem
	h := make(http.Header, len(fields))
	for name, raw := range fields {
		values, err := stringOrList(raw)
		switch {
		case err != nil:
			problems = append(problems, response.Problem("body", "/headers/"+name, response.Shorten(string(raw)), "", "a string or a list of strings"))
		case !headerName.MatchString(name):
			problems = append(problems, response.Problem("body", "/headers", strconv.Quote(response.Shorten(name)), "", "a header name: letters, digits, - and the other signs of HTTP"))
		case slices.ContainsFunc(values, func(v string) bool { return headerControl.MatchString(v) }):
			problems = append(problems, response.Problem("body", "/headers/"+name, "", "control character", "text on one line"))
		}
		for _, v := range values {
			h.Add(name, v)
		}
	}
	if len(problems) > 0 {
		slices.SortFunc(problems, func(a, b spec.Problem) int { return strings.Compare(a.String(), b.String()) })
		return nil, response.Refused(problems)
	}
	return h, nil
}

// What HTTP allows in names, and not in values (RFC 9110, section 5).
var (
	headerName    = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	headerControl = regexp.MustCompile(`[\x00-\x08\x0a-\x1f\x7f]`)
)

// stringOrList reads a header value: a string, or a list of strings.
func stringOrList(raw json.RawMessage) ([]string, error) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var many []string
	if json.Unmarshal(raw, &many) == nil {
		return many, nil
	}
	return nil, fmt.Errorf("%.80s: must be a string or a list of strings", raw)
}
