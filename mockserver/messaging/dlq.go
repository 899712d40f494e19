package messaging

import (
	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/trace"
	"github.com/understudy-mock/understudy/spec/api"
)

// noPlace refuses the filters that logs have and the DLQ does not have: a list that ignored
// them would be longer than intended.
func noPlace(c *request.Call) error {
	for _, name := range []string{"host", "path"} {
		if c.Query.Has(name) {
			return response.RefusedValue("query", name, c.Query.Get(name), response.Unfit("not a filter of the DLQ", "left out; url selects the entries of a URL"))
		}
	}
	return nil
}

// listDLQ lists entries of both kinds.
func (a *API) listDLQ(c *request.Call) (any, error) {
	if err := noPlace(c); err != nil {
		return nil, err
	}
	p, err := c.Account.DLQ(c.Filter())
	return response.Page("messages", p.Items, p.Cursor, dlqEntry), err
}

// listWorkflowDLQ lists runs only; clients of workflows do not expect other entries
// there.
func (a *API) listWorkflowDLQ(c *request.Call) (any, error) {
	if err := noPlace(c); err != nil {
		return nil, err
	}
	f := c.Filter()
	f.WorkflowOnly = true
	p, err := c.Account.DLQ(f)
	return response.Page("messages", p.Items, p.Cursor, workflowDLQEntry), err
}

// getDLQMessage shows an entry of either kind, so that an id from any list works.
func (a *API) getDLQMessage(c *request.Call) (any, error) {
	e, err := c.Account.DLQEntry(c.Vars["dlqId"])
	if err != nil {
		return nil, err
	}
	return dlqEntry(&e), nil
}

// getWorkflowDLQ refuses the entry of a plain message with the path that shows
// it.
func (a *API) getWorkflowDLQ(c *request.Call) (any, error) {
	e, err := c.Account.DLQEntry(c.Vars["dlqId"])
	if err != nil {
		return nil, err
	}
	if e.Run == nil {
		return nil, response.Invalid("DLQ entry " + e.ID + " is a failed message, not a workflow run; GET /v2/dlq/" + e.ID + " shows it")
	}
	return workflowDLQEntry(&e), nil
}

// deleteDLQMessage deletes an entry of either kind.
func (a *API) deleteDLQMessage(c *request.Call) (any, error) {
	return response.Empty, c.Account.DeleteDLQ(c.Vars["dlqId"])
}

// deleteWorkflowDLQ deletes an entry of either kind, too.
func (a *API) deleteWorkflowDLQ(c *request.Call) (any, error) { return a.deleteDLQMessage(c) }

// deleteDLQMessages deletes what matches, of either kind.
func (a *API) deleteDLQMessages(c *request.Call) (any, error) {
	return deleteEntries(c, func(*engine.Filter) {})
}

// deleteWorkflowDLQs leaves entries of plain messages alone, whatever the filter
// says.
func (a *API) deleteWorkflowDLQs(c *request.Call) (any, error) {
	return deleteEntries(c, func(f *engine.Filter) { f.WorkflowOnly = true })
}

// deleteEntries reads filters from the query and from the body, because clients
// use either. A response with a cursor means that more entries may match:
// clients repeat the call until a response has none.
func deleteEntries(c *request.Call, narrow func(*engine.Filter)) (any, error) {
	if err := c.MergeBody(); err != nil {
		return nil, err
	}
	f := c.Filter()
	narrow(&f)
	n, cursor, err := c.Account.DeleteDLQs(f)
	return response.Response{Body: struct {
		Deleted int    `json:"deleted"`
		Cursor  string `json:"cursor,omitempty"`
	}{n, cursor}}, err
}

// retryDLQMessage publishes the message again, with the options that the
// headers of this call override.
func (a *API) retryDLQMessage(c *request.Call) (any, error) {
	over, err := a.overrides(c)
	if err != nil {
		return nil, err
	}
	receipt, err := c.Account.RetryDLQ(c.Vars["dlqId"], over)
	return api.PublishReceipt{MessageId: receipt.MessageID}, err
}

// retryDLQMessages retries all that match or none; overrides are read before
// anything is looked up, so that an invalid one changes nothing.
func (a *API) retryDLQMessages(c *request.Call) (any, error) {
	if err := c.MergeBody(); err != nil {
		return nil, err
	}
	over, err := a.overrides(c)
	if err != nil {
		return nil, err
	}
	receipts, cursor, err := c.Account.RetryDLQs(c.Filter(), over)
	return response.Page("responses", receipts, cursor, func(r *engine.Receipt) api.PublishReceipt { return api.PublishReceipt{MessageId: r.MessageID} }), err
}

// overrides reads the headers by which a restart or retry replaces parts of the
// original configuration. The key and the value of flow control are replaced
// independently of each other.
func (a *API) overrides(c *request.Call) (engine.Options, error) {
	set := request.SettingsOf(c.Header)
	key, hasKey := set.Find("Flow-Control-Key")
	value, hasValue := set.Find("Flow-Control-Value")
	over, unknown, problems := set.Without("Flow-Control-Key", "Flow-Control-Value").Parse()
	problems = append(problems, a.unknownOptions(c, unknown)...)
	over.Hops, over.Family = c.Hops, c.Family
	if a.TraceContext {
		over.TraceContext = trace.Read(c.Header)
	}
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
		if values := c.Header[name]; len(values) > 0 {
			over.Workflow.Header[name] = values
		}
	}
	return over, nil
}

// overridingHeaders are the headers of a restart that lists of runs show
// instead of the original ones ("Restart a failed workflow run"; decided: 20).
var overridingHeaders = []string{"Svc-Flow-Control-Key", "Svc-Flow-Control-Value", "Svc-Retries", "Svc-Retry-Delay"}
