package mockserver

import (
	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/view"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = registerHandlers(map[string]handler{
	"deleteDLQMessage":   (*Server).deleteDLQEntry,
	"deleteDLQMessages":  (*Server).deleteDLQMessages,
	"deleteWorkflowDLQ":  (*Server).deleteDLQEntry,
	"deleteWorkflowDLQs": (*Server).deleteWorkflowDLQs,
	"getDLQMessage":      (*Server).getDLQMessage,
	"getWorkflowDLQ":     (*Server).getWorkflowDLQ,
	"listDLQ":            (*Server).listDLQ,
	"listWorkflowDLQ":    (*Server).listWorkflowDLQ,
	"retryDLQMessage":    (*Server).retryDLQMessage,
	"retryDLQMessages":   (*Server).retryDLQMessages,
})

// listBody is a page on the wire; the cursor is absent at the end.
type listBody[T any] struct {
	Cursor   string `json:"cursor,omitempty"`
	Messages []T    `json:"messages"`
}

func (s *Server) listDLQ(c *call) (response.Response, error) {
	p, err := c.account.DLQ(c.filter())
	out := listBody[api.DLQMessage]{Cursor: p.Cursor, Messages: []api.DLQMessage{}}
	for i := range p.Items {
		var e api.DLQMessage
		response.CopyFields(&e, view.DLQEntry(&p.Items[i]))
		out.Messages = append(out.Messages, e)
	}
	return response.Response{Body: out}, err
}

func (s *Server) listWorkflowDLQ(c *call) (response.Response, error) {
	f := c.filter()
	f.WorkflowOnly = true
	p, err := c.account.DLQ(f)
	out := listBody[api.WorkflowDLQEntry]{Cursor: p.Cursor, Messages: []api.WorkflowDLQEntry{}}
	for i := range p.Items {
		out.Messages = append(out.Messages, view.DLQEntry(&p.Items[i]))
	}
	return response.Response{Body: out}, err
}

func (s *Server) getDLQMessage(c *call) (response.Response, error) {
	e, err := c.account.DLQEntry(c.vars["dlqId"])
	if err != nil {
		return response.Response{}, err
	}
	var out api.DLQMessage
	response.CopyFields(&out, view.DLQEntry(&e))
	return response.Response{Body: out}, nil
}

func (s *Server) getWorkflowDLQ(c *call) (response.Response, error) {
	e, err := c.account.DLQEntry(c.vars["dlqId"])
	if err != nil {
		return response.Response{}, err
	}
	if e.Run == nil {
		return response.Response{}, response.Invalid("DLQ entry " + e.ID + " is a failed message, not a workflow run; GET /v2/dlq/" + e.ID + " shows it")
	}
	return response.Response{Body: view.DLQEntry(&e)}, nil
}

func (s *Server) deleteDLQEntry(c *call) (response.Response, error) {
	return emptyObject, c.account.DeleteDLQ(c.vars["dlqId"])
}

func (s *Server) deleteDLQMessages(c *call) (response.Response, error) {
	return deleteEntries(c, func(*engine.Filter) {})
}

func (s *Server) deleteWorkflowDLQs(c *call) (response.Response, error) {
	return deleteEntries(c, func(f *engine.Filter) { f.WorkflowOnly = true })
}

func deleteEntries(c *call, narrow func(*engine.Filter)) (response.Response, error) {
	if err := c.mergeBody(); err != nil {
		return response.Response{}, err
	}
	f := c.filter()
	narrow(&f)
	n, cursor, err := c.account.DeleteDLQs(f)
	return response.Response{Body: struct {
		Deleted int    `json:"deleted"`
		Cursor  string `json:"cursor,omitempty"`
	}{n, cursor}}, err
}

func (s *Server) retryDLQMessage(c *call) (response.Response, error) {
	over, err := s.overrides(c)
	if err != nil {
		return response.Response{}, err
	}
	receipt, err := c.account.RetryDLQ(c.vars["dlqId"], over)
	return response.Response{Body: api.PublishReceipt{MessageId: receipt.MessageID}}, err
}

func (s *Server) retryDLQMessages(c *call) (response.Response, error) {
	if err := c.mergeBody(); err != nil {
		return response.Response{}, err
	}
	over, err := s.overrides(c)
	if err != nil {
		return response.Response{}, err
	}
	receipts, cursor, err := c.account.RetryDLQs(c.filter(), over)
	out := struct {
		Cursor    string               `json:"cursor,omitempty"`
		Responses []api.PublishReceipt `json:"responses"`
	}{cursor, make([]api.PublishReceipt, len(receipts))}
	for i, r := range receipts {
		out.Responses[i] = api.PublishReceipt{MessageId: r.MessageID}
	}
	return response.Response{Body: out}, err
}

// overrides reads the headers that a restart or retry lays over the original
// configuration; key and value of flow control each stand for themselves.
func (s *Server) overrides(c *call) (engine.Options, error) {
	set := request.SettingsOf(c.header)
	key, hasKey := set["Flow-Control-Key"]
	value, hasValue := set["Flow-Control-Value"]
	delete(set, "Flow-Control-Key")
	delete(set, "Flow-Control-Value")
	over, unknown, problems := set.Parse()
	problems = append(problems, s.unknownOptions(c, unknown)...)
	over.Hops = c.hops
	if hasKey {
		problems = key.Read(problems, func(v string) error { return request.SetFlowKey(&over, v) })
	}
	if hasValue {
		problems = value.Read(problems, func(v string) error { return request.SetFlowValue(&over, v) })
	}
	if len(problems) > 0 {
		return over, response.Refused(problems)
	}
	if over.Workflow == nil {
		over.Workflow = &engine.Workflow{}
	}
	over.Workflow.Header = engine.Header{}
	for _, name := range overridingHeaders {
		if values := c.header[name]; len(values) > 0 {
			over.Workflow.Header[name] = values
		}
	}
	return over, nil
}

// overridingHeaders are the headers of a restart that the new run is listed with in
// place of the original ones ("Restart a failed workflow run"; decided: 20).
var overridingHeaders = []string{"Svc-Flow-Control-Key", "Svc-Flow-Control-Value", "Svc-Retries", "Svc-Retry-Delay"}
