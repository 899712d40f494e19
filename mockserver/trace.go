package mockserver

import (
	"cmp"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/view"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = registerHandlers(map[string]handler{
	"controlDLQ":       (*Server).controlDLQ,
	"controlFlowKeys":  (*Server).controlFlowKeys,
	"controlHurry":     (*Server).controlHurry,
	"controlLog":       (*Server).controlLog,
	"controlMessage":   (*Server).controlMessage,
	"controlMessages":  (*Server).controlMessages,
	"controlRun":       (*Server).controlRun,
	"controlRuns":      (*Server).controlRuns,
	"controlSchedules": (*Server).controlSchedules,
	"controlWaiters":   (*Server).controlWaiters,
})

// messageRow is a message in a list: without its body and headers, which may be
// large.
type messageRow struct {
	ID         string              `json:"messageId"`
	Role       engine.Role         `json:"role"`
	State      engine.MessageState `json:"state"`
	Method     string              `json:"method"`
	URL        string              `json:"url"`
	CreatedAt  int64               `json:"createdAt"`                  // Unix ms
	NextAt     *int64              `json:"nextDeliveryTime,omitempty"` // Unix ms
	Attempts   int                 `json:"attempts"`                   // that have begun
	Retried    int                 `json:"retried"`
	MaxRetries int                 `json:"maxRetries"`
	Bytes      int                 `json:"bytes"`                 // of its body
	Dropped    bool                `json:"bodyDropped,omitempty"` // body and headers were dropped to make room; bytes counts them
	Labels     []string            `json:"labels,omitempty"`
	FlowKey    string              `json:"flowControlKey,omitempty"`
	Group      string              `json:"topicName,omitempty"`
	Queue      string              `json:"queueName,omitempty"`
	Schedule   string              `json:"scheduleId,omitempty"`
	RunID      string              `json:"workflowRunId,omitempty"`
	Source     string              `json:"sourceMessageId,omitempty"` // the message that a callback reports on
	Asleep     bool                `json:"asleep,omitempty"`          // it carries a sleep of its run
	Cause      string              `json:"cause,omitempty"`           // why its latest attempt failed
}

func rowOf(m *engine.Message) messageRow {
	row := messageRow{
		ID: m.ID, Role: m.Role, State: m.State, Method: m.Method, URL: m.URL, CreatedAt: m.CreatedAt.UnixMilli(), Attempts: m.Attempts(),
		Retried: m.Retried, MaxRetries: m.MaxRetries, Bytes: len(m.Body) + m.Dropped, Dropped: m.Dropped > 0, Labels: m.Options.Labels, FlowKey: m.FlowKey(),
		Group: m.Group, Queue: m.Options.Queue, Schedule: m.ScheduleID, RunID: m.RunID, Source: m.SourceID,
		Asleep: m.Asleep(), Cause: m.Cause(),
	}
	if m.State == engine.Created || m.State == engine.Retry {
		row.NextAt = response.Millis(m.NextAt)
	}
	return row
}

// pageOfRows makes a page of an account into one on the wire.
func pageOfRows[T, R any](p engine.Page[T], name string, row func(*T) R) response.Response {
	list := make([]R, len(p.Items))
	for i := range p.Items {
		list[i] = row(&p.Items[i])
	}
	body := map[string]any{name: list}
	if p.Cursor != "" {
		body["cursor"] = p.Cursor
	}
	return response.Response{Body: body}
}

// controlMessages lists messages in the state that they are in, ended ones too.
func (s *Server) controlMessages(c *call.Call) (response.Response, error) {
	f, err := c.LogFilter(call.MessageStates)
	if err != nil {
		return response.Response{}, err
	}
	f.URLPrefix = true
	p, err := c.Account.Messages(f)
	return pageOfRows(p, "messages", rowOf), err
}

// controlMessage tells all that is known of a message: the log's events, the
// attempts as they went over the wire, its callbacks, and why it is as it is.
func (s *Server) controlMessage(c *call.Call) (response.Response, error) {
	id := c.Vars["messageId"]
	t, err := c.Account.Trace(id)
	if err != nil {
		return response.Response{}, err
	}
	type eventRow struct {
		api.LogEvent
		Cause string `json:"cause,omitempty"` // the error in words
	}
	events := make([]eventRow, len(t.Events))
	for i := range t.Events {
		events[i].LogEvent = view.LogEvent(&t.Events[i])
		if o := t.Events[i].Outcome; o != nil {
			events[i].Cause = o.Cause()
		}
		events[i].Body, events[i].BodyBase64, events[i].Header = nil, nil, nil // they stand in the message
	}
	reports := make([]messageRow, len(t.Reports))
	for i := range t.Reports {
		reports[i] = rowOf(&t.Reports[i])
	}
	most := c.Number("maxBody")
	deliveries, _ := c.Tenant.Deliveries.List(0, func(d *Delivery) bool { return d.MessageID == id })
	for i := range deliveries {
		deliveries[i].Clip(most)
	}
	clock := s.clockBody(c.Tenant)
	state := api.MessageState(t.Message.State)
	m := api.Message{State: &state, Retried: &t.Message.Retried, NextDeliveryTime: response.Millis(t.Message.NextAt)}
	content := Message{Body: t.Message.Body}
	content.Clip(most)
	row := rowOf(&t.Message)
	t.Message.Body = content.Body
	response.CopyFields(&m, view.Message(&t.Message))
	m.NextDeliveryTime = response.Millis(t.Message.NextAt)
	d := s.tenants.Dialect(c.Tenant, t.Message.Options.Dialect)
	return response.Response{Body: map[string]any{
		"message": inDialect(d, m), "row": row, "published": response.HeaderMap(brandHeader(d, t.Message.Header)), "events": inDialect(d, events), "deliveries": deliveries,
		"callbacks": reports, "reasons": reasonBodies(t.Reasons, clock.Mode), "dlqId": t.DLQID, "now": clock.Now,
	}}, nil
}

// controlHurry makes the next attempt of a message due now.
func (s *Server) controlHurry(c *call.Call) (response.Response, error) {
	return response.Empty, c.Account.DeliverNow(c.Vars["messageId"])
}

// runRow is a run in a list.
type runRow struct {
	ID        string          `json:"workflowRunId"`
	URL       string          `json:"workflowUrl"`
	State     engine.RunState `json:"workflowState"`
	CreatedAt int64           `json:"workflowRunCreatedAt"`             // Unix ms
	EndedAt   *int64          `json:"workflowRunCompletedAt,omitempty"` // Unix ms
	Labels    []string        `json:"labels,omitempty"`
	FlowKey   string          `json:"flowControlKey,omitempty"`
	DLQID     string          `json:"dlqId,omitempty"`
	Invoker   string          `json:"invokerWorkflowRunId,omitempty"`
	Why       *reasonBody     `json:"why,omitempty"`         // the first of its reasons
	RestartOf *relationBody   `json:"predecessor,omitempty"` // the failed run that it restarts or resumes
	Restarted *relationBody   `json:"successor,omitempty"`   // the run that restarts or resumes it
}

// relationBody is a run that another one restarts or resumes.
type relationBody struct {
	ID      string `json:"workflowRunId"`
	Resumed bool   `json:"resumed"` // with the steps that had finished
}

func relationOf(r *engine.Relation) *relationBody {
	if r == nil {
		return nil
	}
	return &relationBody{r.ID, r.Resumed}
}

func runSummaryOf(r *engine.RunSummary) runRow {
	row, why := runRowOf(&r.Run), reasonOf(r.Why)
	row.Why = &why
	return row
}

func runRowOf(r *engine.Run) runRow {
	row := runRow{ID: r.ID, URL: r.URL, State: r.State, CreatedAt: r.CreatedAt.UnixMilli(), EndedAt: response.Millis(r.EndedAt), Labels: r.Options.Labels, DLQID: r.DLQID,
		RestartOf: relationOf(r.Predecessor), Restarted: relationOf(r.Successor)}
	if r.Options.Flow != nil {
		row.FlowKey = r.Options.Flow.Key
	}
	if r.Invoker != nil {
		row.Invoker = r.Invoker.ID
	}
	return row
}

func (s *Server) controlRuns(c *call.Call) (response.Response, error) {
	f, err := c.LogFilter(call.RunStates)
	if err != nil {
		return response.Response{}, err
	}
	f.URLPrefix = true
	p, err := c.Account.RunSummaries(f)
	return pageOfRows(p, "runs", runSummaryOf), err
}

// spanBody is a step of a run on the time axis.
type spanBody struct {
	Step    api.StepInfo `json:"step"`
	Type    string       `json:"type"`
	Message string       `json:"messageId,omitempty"` // whose delivery ran it
	Invoked string       `json:"invokedWorkflowRunId,omitempty"`
	From    int64        `json:"from"`           // Unix ms
	To      *int64       `json:"to,omitempty"`   // Unix ms
	Kept    bool         `json:"kept,omitempty"` // it ran in the run that this one resumes
	Parts   []partBody   `json:"parts"`
}

type partBody struct {
	Kind string `json:"kind"`
	From int64  `json:"from"`         // Unix ms
	To   *int64 `json:"to,omitempty"` // Unix ms
}

func spanOf(s *engine.Span) spanBody {
	out := spanBody{Step: view.Step(&s.Step), Type: s.Step.Type, Message: s.Message, From: s.From.UnixMilli(), To: response.Millis(s.To), Kept: s.Kept, Parts: []partBody{}}
	if s.Step.Invoked != nil {
		out.Invoked = s.Step.Invoked.ID
	}
	for _, p := range s.Parts {
		out.Parts = append(out.Parts, partBody{p.Kind, p.From.UnixMilli(), response.Millis(p.To)})
	}
	return out
}

// controlRun tells all that is known of a run: its steps, when each of them ran,
// the log's events, what it waits for.
func (s *Server) controlRun(c *call.Call) (response.Response, error) {
	t, err := c.Account.RunTrace(c.Vars["workflowRunId"])
	if err != nil {
		return response.Response{}, err
	}
	spans := make([]spanBody, len(t.Spans))
	for i := range t.Spans {
		spans[i] = spanOf(&t.Spans[i])
	}
	type eventRow struct {
		api.WorkflowEvent
		MessageID string `json:"messageId,omitempty"`
		Cause     string `json:"cause,omitempty"`  // the error in words
		Asleep    bool   `json:"asleep,omitempty"` // the step sleeps until nextDeliveryTime
	}
	events := make([]eventRow, len(t.Events))
	for i := range t.Events {
		events[i].WorkflowEvent = view.WorkflowEvent(&t.Events[i])
		if m := t.Events[i].Message; m != nil {
			events[i].MessageID = m.ID
		}
		if o := t.Events[i].Outcome; o != nil {
			events[i].Cause = o.Cause()
		}
		events[i].Asleep = t.Events[i].Asleep()
	}
	waits := make([]waitBody, len(t.Waits))
	for i := range t.Waits {
		waits[i] = waitOf(&t.Waits[i])
	}
	run, clock := t.Run.Run, s.clockBody(c.Tenant)
	row := runSummaryOf(&engine.RunSummary{Run: run, Why: t.Why[0]})
	payload, payloadBase64 := response.BodyText(run.Payload)
	d := s.tenants.Dialect(c.Tenant, run.Options.Dialect)
	return response.Response{Body: map[string]any{
		"run": inDialect(d, view.Run(&t.Run)), "row": row, "payload": payload, "payloadBase64": payloadBase64, "headers": response.HeaderMap(brandHeader(d, run.Header)),
		"spans": inDialect(d, spans), "events": inDialect(d, events), "waiters": waits, "reasons": reasonBodies(t.Why, clock.Mode), "now": clock.Now,
	}}, nil
}

// waitBody is a run that waits for an event.
type waitBody struct {
	EventID  string `json:"eventId"`
	RunID    string `json:"workflowRunId"`
	Deadline int64  `json:"deadline"` // Unix ms
}

func waitOf(w *engine.Waiter) waitBody { return waitBody{w.EventID, w.ID, w.Deadline.UnixMilli()} }

// controlWaiters lists what waits for any event, the next to time out first.
func (s *Server) controlWaiters(c *call.Call) (response.Response, error) {
	list := c.Account.Waiters("")
	slices.SortFunc(list, func(x, y engine.Waiter) int {
		return cmp.Or(x.Deadline.Compare(y.Deadline), strings.Compare(x.ID, y.ID), strings.Compare(x.EventID, y.EventID))
	})
	return pageOfRows(engine.Page[engine.Waiter]{Items: list}, "waiters", waitOf), nil
}

// dlqRow is a DLQ entry in a list.
type dlqRow struct {
	ID       string   `json:"dlqId"`
	At       int64    `json:"failedAt"` // Unix ms
	Message  string   `json:"messageId"`
	RunID    string   `json:"workflowRunId,omitempty"`
	URL      string   `json:"url"`
	Retried  int      `json:"retried"`
	Status   int      `json:"responseStatus,omitempty"`
	Cause    string   `json:"cause"`            // why it was given up, in words
	Answer   string   `json:"answer,omitempty"` // what it answered or the error, the beginning of it
	Labels   []string `json:"labels,omitempty"`
	FlowKey  string   `json:"flowControlKey,omitempty"`
	Callback string   `json:"failureFunctionState,omitempty"`
}

// answerShown is how much of an answer a list shows, in bytes.
const answerShown = 200

func dlqRowOf(e *engine.DLQEntry) dlqRow {
	m := &e.Message
	row := dlqRow{
		ID: e.ID, At: e.At.UnixMilli(), Message: m.ID, RunID: m.RunID, URL: m.URL, Retried: m.Retried, Status: e.Last.Status,
		Labels: m.Options.Labels, FlowKey: m.FlowKey(), Cause: m.Cause(),
	}
	row.Answer = cmp.Or(e.Last.Err, string(e.Last.Body[:min(len(e.Last.Body), answerShown)])) // JSON makes bytes that are no text harmless
	if e.Callback != nil {
		row.Callback = e.Callback.State
	}
	return row
}

// controlDLQ lists the DLQ without bodies and headers.
func (s *Server) controlDLQ(c *call.Call) (response.Response, error) {
	f := c.Filter()
	f.URLPrefix, f.CountAll = true, true
	p, err := c.Account.DLQ(f)
	out := pageOfRows(p, "entries", dlqRowOf)
	out.Body.(map[string]any)["all"] = p.All
	return out, err
}

// logRow is an event of a message or a run in a list.
type logRow struct {
	Seq     uint64 `json:"sequence"`
	At      int64  `json:"time"` // Unix ms
	State   string `json:"state"`
	Message string `json:"messageId,omitempty"`
	URL     string `json:"url"`
	RunID   string `json:"workflowRunId,omitempty"`
	Step    string `json:"stepName,omitempty"`
	Status  int    `json:"responseStatus,omitempty"`
	Error   string `json:"error,omitempty"`
	Cause   string `json:"cause,omitempty"`            // the error in words
	Asleep  bool   `json:"asleep,omitempty"`           // the step sleeps until nextDeliveryTime
	NextAt  *int64 `json:"nextDeliveryTime,omitempty"` // Unix ms
}

func logRowOf(e *engine.Event) logRow {
	row := logRow{Seq: e.Seq, At: e.Time.UnixMilli(), State: e.State, Error: strings.ToValidUTF8(e.Error[:min(len(e.Error), answerShown)], "?"), NextAt: response.Millis(e.NextAt)}
	if e.Message != nil {
		row.Message, row.URL = e.Message.ID, e.Message.URL
	}
	if e.Run != nil {
		row.RunID, row.URL = e.Run.ID, e.Run.URL
	}
	if e.Step != nil {
		row.Step, row.Asleep = e.Step.Name, e.Asleep()
	}
	if e.Outcome != nil {
		row.Status, row.Cause = e.Outcome.Status, e.Outcome.Cause()
	}
	if row.Cause != "" && e.Step != nil {
		row.Step = e.Tried // and not the one whose result the message carries
	}
	return row
}

// controlLog lists the events of messages and runs without bodies and headers.
func (s *Server) controlLog(c *call.Call) (response.Response, error) {
	f, err := c.LogFilter(append(slices.Clone(call.MessageStates), call.RunStates...))
	if err != nil {
		return response.Response{}, err
	}
	f.URLPrefix = true
	p, err := c.Account.Events(f)
	return pageOfRows(p, "events", logRowOf), err
}

// scheduleTimes is how many times of a schedule are told in advance.
const scheduleTimes = 5

// scheduleRow is a schedule in a list.
type scheduleRow struct {
	ID          string            `json:"scheduleId"`
	Cron        string            `json:"cron"`
	Destination string            `json:"destination"`
	Paused      bool              `json:"isPaused"`
	NextTimes   []int64           `json:"nextTimes"` // Unix ms
	LastAt      *int64            `json:"lastScheduleTime,omitempty"`
	LastStates  map[string]string `json:"lastScheduleStates,omitempty"` // message id -> its state
}

func scheduleRowOf(s *engine.Schedule) scheduleRow {
	row := scheduleRow{ID: s.ID, Cron: s.Cron, Destination: cmp.Or(s.Request.URL, s.Request.Group), Paused: s.Paused, NextTimes: []int64{}, LastAt: response.Millis(s.Last), LastStates: s.LastStates}
	for _, t := range s.NextTimes(scheduleTimes) {
		row.NextTimes = append(row.NextTimes, t.UnixMilli())
	}
	return row
}

// controlSchedules lists the schedules with their next times.
func (s *Server) controlSchedules(c *call.Call) (response.Response, error) {
	return pageOfRows(engine.Page[engine.Schedule]{Items: c.Account.Schedules()}, "schedules", scheduleRowOf), nil
}

// maxFlowKeys is how many flow-control keys are told at once unless count says
// otherwise.
const maxFlowKeys = 200

// controlFlowKeys lists flow-control keys, those that hold something back first:
// the paused ones, then by what waits. The interface lists all of them always.
func (s *Server) controlFlowKeys(c *call.Call) (response.Response, error) {
	part := c.Query.Get("key")
	keys := slices.DeleteFunc(c.Account.FlowKeys(), func(k engine.FlowKey) bool { return !strings.Contains(k.Key, part) })
	all := len(keys)
	slices.SortStableFunc(keys, func(x, y engine.FlowKey) int {
		if x.Paused != y.Paused {
			return cmp.Compare(countOf(y.Paused), countOf(x.Paused))
		}
		return cmp.Compare(y.Waiting, x.Waiting)
	})
	keys = keys[:min(all, cmp.Or(c.Number("count"), maxFlowKeys))]
	list := make([]api.FlowControlKey, len(keys))
	for i, k := range keys {
		list[i] = view.FlowKey(k)
	}
	return response.Response{Body: map[string]any{"keys": list, "all": all}}, nil
}

func countOf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
