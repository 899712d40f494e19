package mockserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = register(map[string]handler{
	"enqueueMessage":       (*Server).enqueueMessage,
	"publishBatch":         (*Server).publishBatch,
	"publishMessage":       (*Server).publishMessage,
	"publishMessageDelete": (*Server).publishMessage,
	"publishMessageGet":    (*Server).publishMessage,
	"publishMessagePatch":  (*Server).publishMessage,
	"publishMessagePut":    (*Server).publishMessage,
})

func (s *Server) publishMessage(c *call) (reply, error) {
	r, err := s.publishRequest(c, "destination")
	if err != nil {
		return reply{}, err
	}
	receipts, err := c.account.Publish(r)
	return receiptReply(receipts), err
}

func (s *Server) enqueueMessage(c *call) (reply, error) {
	r, err := s.publishRequest(c, "destination")
	if err != nil {
		return reply{}, err
	}
	if err := queueName(&r.Options, c.vars["queue"]); err != nil {
		return reply{}, invalid("queue " + err.Error())
	}
	receipts, err := c.account.Publish(r)
	return receiptReply(receipts), err
}

// publishRequest reads a call whose path names a destination.
func (s *Server) publishRequest(c *call, variable string) (engine.PublishRequest, error) {
	r := engine.PublishRequest{
		Header:   kept(c.header),
		Forward:  content(c.header),
		All:      forwardable(c.header),
		Body:     c.body,
		CallerIP: c.callerIP(),
	}
	target, err := destination(c.vars[variable], c.raw)
	if err != nil {
		return r, invalid(err.Error())
	}
	if err := aim(&r, target); err != nil {
		return r, err
	}
	return r, s.configure(c, &r, headerSettings(c.header).withQuery(c.query))
}

// configure reads the options of a request, and minds the names that nobody
// knows.
func (s *Server) configure(c *call, r *engine.PublishRequest, set settings) error {
	opts, unknown, err := set.parse()
	if err != nil {
		return err
	}
	r.Options = opts
	if len(unknown) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s: no such option; the nearest is %s", strings.Join(unknown, ", "), nearest(unknown[0]))
	if s.cfg.StrictOptions {
		return invalid(text, problem("header", unknown[0], "", "no such option", "the nearest is "+nearest(unknown[0])))
	}
	c.warning = text
	return nil
}

// notForwarded are the headers of the hop and of the request itself.
var notForwarded = []string{
	"Authorization", "Connection", "Content-Length", "Host", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// forwardable is every incoming header that may go on to the destination.
func forwardable(h http.Header) engine.Header {
	hop := splitAll(h["Connection"])
	out := engine.Header{}
	for name, values := range h {
		named := slices.ContainsFunc(hop, func(n string) bool { return strings.EqualFold(n, name) })
		if !named && !strings.HasPrefix(name, configPrefix) && !slices.Contains(notForwarded, name) {
			out[name] = values
		}
	}
	return out
}

// content is the header that describes the body: it always goes on.
func content(h http.Header) engine.Header {
	if ct := h["Content-Type"]; len(ct) > 0 {
		return engine.Header{"Content-Type": ct}
	}
	return nil
}

// kept is what a message remembers of its publish: configuration and the type
// of the body, never credentials.
func kept(h http.Header) engine.Header {
	out := engine.Header{}
	for name, values := range h {
		if name == "Content-Type" || strings.HasPrefix(name, configPrefix) && !strings.HasPrefix(name, "Svc-Telemetry-") {
			out[name] = values
		}
	}
	return out
}

// receiptReply is the answer to a publish: 202 when nothing new was created.
func receiptReply(rs engine.Receipts) reply {
	out := reply{body: receiptBody(rs)}
	if len(rs.List) > 0 && !slices.ContainsFunc(rs.List, func(r engine.Receipt) bool { return !r.Deduplicated }) {
		out.status = http.StatusAccepted
	}
	if len(rs.List) > 0 && rs.List[0].RunID != "" {
		out.status = http.StatusOK
	}
	return out
}

// receiptBody is one receipt, or for a group a list of them.
func receiptBody(rs engine.Receipts) any {
	list := make([]api.PublishReceipt, len(rs.List))
	for i, r := range rs.List {
		list[i] = api.PublishReceipt{MessageId: r.MessageID, Deduplicated: some(r.Deduplicated)}
		if rs.Group {
			list[i].Url = some(r.URL)
		}
		if r.RunID != "" {
			list[i].WorkflowRunId, list[i].WorkflowCreatedAt = some(r.RunID), ms(r.RunCreatedAt)
		}
	}
	if rs.Group {
		return list
	}
	return list[0]
}

// batchItem is one message of a batch.
type batchItem struct {
	Destination string                     `json:"destination"`
	Headers     map[string]json.RawMessage `json:"headers"`
	Body        json.RawMessage            `json:"body"`
	Queue       string                     `json:"queue"`
}

func (s *Server) publishBatch(c *call) (reply, error) {
	requests, err := s.batch(c)
	if err != nil {
		return reply{}, err
	}
	results, err := c.account.PublishBatch(requests)
	if err != nil {
		return reply{}, err
	}
	body := make([]any, len(results))
	for i, rs := range results {
		body[i] = receiptBody(rs)
	}
	return reply{body: body}, nil
}

// batch reads all items, or says which one is wrong.
func (s *Server) batch(c *call) ([]engine.PublishRequest, error) {
	var items []batchItem
	if err := json.Unmarshal(c.body, &items); err != nil {
		return nil, invalid("body: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	requests := make([]engine.PublishRequest, len(items))
	for i, item := range items {
		r, err := s.item(c, item)
		if err != nil {
			e := failure(err)
			return nil, &apiError{status: e.status, text: fmt.Sprintf("item %d: %s", i, e.text), problems: e.problems}
		}
		requests[i] = r
	}
	return requests, nil
}

func (s *Server) item(c *call, item batchItem) (engine.PublishRequest, error) {
	h := http.Header{}
	for name, raw := range item.Headers {
		values, err := stringOrList(raw)
		if err != nil {
			return engine.PublishRequest{}, invalid(fmt.Sprintf("headers: %s: %s", name, err))
		}
		for _, v := range values {
			h.Add(name, v)
		}
	}
	r := engine.PublishRequest{Header: kept(h), Forward: content(h), All: forwardable(h), Body: bodyBytes(item.Body), CallerIP: c.callerIP()}
	if err := aim(&r, item.Destination); err != nil {
		return r, err
	}
	if err := s.configure(c, &r, headerSettings(h)); err != nil {
		return r, err
	}
	if item.Queue != "" {
		if err := queueName(&r.Options, item.Queue); err != nil {
			return r, invalid("queue " + err.Error())
		}
	}
	return r, nil
}

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
	return nil, fmt.Errorf("%.80s: accepted is a string or a list of strings", raw)
}

// bodyBytes is the body of a batch item: a string's text, else the JSON itself.
func bodyBytes(raw json.RawMessage) []byte {
	var one string
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	if json.Unmarshal(raw, &one) == nil {
		return []byte(one)
	}
	return raw
}
