package control

import (
	"cmp"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/messaging"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
)

// relationOf is nil if there is no relation, so that the JSON member is absent.
func relationOf(r *engine.Relation) *api.Relation {
	if r == nil {
		return nil
	}
	return &api.Relation{WorkflowRunID: r.ID, Resumed: r.Resumed}
}

func runSummaryOf(r *engine.RunSummary) api.RunRow {
	row, why := runRowOf(&r.Run), reasonOf(r.Why)
	row.Why, row.Attempts, row.MaxAttempts, row.StepName = &why, r.Attempts, r.MaxAttempts, r.Step
	return row
}

func runRowOf(r *engine.Run) api.RunRow {
	row := api.RunRow{WorkflowRunID: r.ID, WorkflowURL: r.URL, WorkflowState: string(r.State), WorkflowRunCreatedAt: r.CreatedAt.UnixMilli(), WorkflowRunCompletedAt: millis(r.EndedAt), Labels: r.Options.Labels, DLQID: r.DLQID,
		Predecessor: relationOf(r.Predecessor), Successor: relationOf(r.Successor)}
	if r.Options.Flow != nil {
		row.FlowControlKey = r.Options.Flow.Key
	}
	if r.Invoker != nil {
		row.InvokerWorkflowRunID = r.Invoker.ID
	}
	return row
}

func (s *Service) runs(c *request.Call) (any, error) {
	f, err := c.LogFilter(request.RunStates)
	if err != nil {
		return nil, err
	}
	f.URLPrefix, f.Sort, f.CountAll = true, c.Query.Get("sort"), c.Flag("counts", false)
	p, err := c.Account.RunSummaries(f)
	return pageOfRows(p, "runs", runSummaryOf), err
}

// spanBody is a step of a run on the time axis.
type spanBody struct {
	Step    api.StepInfo `json:"step"`
	Type    string       `json:"type"`
	Message string       `json:"messageId,omitempty"` // the message whose delivery ran it
	Invoked string       `json:"invokedWorkflowRunId,omitempty"`
	From    int64        `json:"from"`               // Unix ms
	To      *int64       `json:"to,omitempty"`       // Unix ms
	Kept    bool         `json:"kept,omitempty"`     // it ran in the run that this one resumes
	Decides bool         `json:"critical,omitempty"` // it is on the critical path
	Parts   []partBody   `json:"parts"`
}

type partBody struct {
	Kind    string  `json:"kind"`
	From    int64   `json:"from"`                     // Unix ms
	To      *int64  `json:"to,omitempty"`             // Unix ms
	Attempt int     `json:"attempt,omitempty"`        // from 1
	Status  int     `json:"responseStatus,omitempty"` // of the attempt
	Cause   string  `json:"cause,omitempty"`          // why the attempt failed
	Took    float64 `json:"durationMs,omitempty"`     // real time of the attempt, which a manual clock does not have
}

// spanOf omits the ends of steps and parts that have not ended.
func spanOf(s *engine.Span) spanBody {
	out := spanBody{Step: messaging.Step(&s.Step), Type: s.Step.Type, Message: s.Message, From: s.From.UnixMilli(), To: response.Millis(s.To), Kept: s.Kept, Decides: s.Decides, Parts: response.List(s.Parts, partOf)}
	if s.Step.Invoked != nil {
		out.Invoked = s.Step.Invoked.ID
	}
	return out
}

func partOf(p *engine.Part) partBody {
	return partBody{p.Kind, p.From.UnixMilli(), response.Millis(p.To), p.Attempt, p.Status, p.Cause, float64(p.Took.Microseconds()) / 1000}
}

// run returns the details of a run: its steps and their times, its log events, and
// what it waits for.
func (s *Service) run(c *request.Call) (any, error) {
	t, err := c.Account.RunTrace(c.Vars["workflowRunId"])
	if err != nil {
		return nil, err
	}
	type eventRow struct {
		api.WorkflowEvent
		MessageID string `json:"messageId,omitempty"`
		Cause     string `json:"cause,omitempty"`         // the error in words
		Asleep    bool   `json:"asleep,omitempty"`        // the step sleeps until nextDeliveryTime
		Tried     string `json:"triedStepName,omitempty"` // the step that a failed attempt was for; stepInfo is the one that the message carries
	}
	events := make([]eventRow, len(t.Events))
	for i := range t.Events {
		events[i].WorkflowEvent = messaging.WorkflowEvent(&t.Events[i])
		if m := t.Events[i].Message; m != nil {
			events[i].MessageID = m.ID
		}
		if o := t.Events[i].Outcome; o != nil {
			events[i].Cause = o.Cause()
		}
		events[i].Asleep, events[i].Tried = t.Events[i].Asleep(), t.Events[i].Tried
	}
	run, clock := t.Run.Run, s.clockBody(c.Tenant)
	row := runSummaryOf(&engine.RunSummary{Run: run, Why: t.Why[0]})
	payload, payloadBase64 := response.BodyText(run.Payload)
	d := s.Tenants.Dialect(c.Tenant, run.Options.Dialect)
	return response.Response{Body: map[string]any{
		"run": inDialect(d, messaging.Run(&t.Run)), "row": row, "payload": payload, "payloadBase64": payloadBase64, "headers": response.HeaderMap(brandHeader(d, run.Header.Header())),
		"spans": inDialect(d, response.List(t.Spans, spanOf)), "events": inDialect(d, events), "waiters": response.List(t.Waits, waitOf), "reasons": reasonBodies(t.Why, &clock), "now": clock.Now,
		"failure": s.failureOf(c.Tenant, t.Failure, run.DLQID), "lineage": response.List(t.Lineage, linkOf), "trace": s.traceOf(c.Tenant, engine.TraceRoot{ID: run.ID, Context: run.Options.TraceContext}),
	}}, nil
}

func waitOf(w *engine.Waiter) api.WaitingRun {
	return api.WaitingRun{EventID: w.EventID, WorkflowRunID: w.ID, Deadline: w.Deadline.UnixMilli()}
}

// waiters lists the runs that wait for any event, the next to time out first.
func (s *Service) waiters(c *request.Call) (any, error) {
	list := c.Account.Waiters("")
	slices.SortFunc(list, func(x, y engine.Waiter) int {
		return cmp.Or(x.Deadline.Compare(y.Deadline), strings.Compare(x.ID, y.ID), strings.Compare(x.EventID, y.EventID))
	})
	return pageOfRows(engine.Page[engine.Waiter]{Items: list}, "waiters", waitOf), nil
}
