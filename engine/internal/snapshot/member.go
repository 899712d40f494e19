package snapshot

import (
	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/engine/formula"
	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/usage"
)

// messageMembers has the members that messages and DLQ entries share; savedMessage has the rest.
func messageMembers(m *state.Message, c *codec.Codec) {
	if m.Origin == nil {
		m.Origin = &state.Origin{}
	}
	codec.Text(c, "id", &m.ID)
	codec.Text(c, "role", &m.Role)
	codec.Text(c, "state", &m.State)
	codec.Text(c, "url", &m.URL)
	codec.Text(c, "method", &m.Method)
	published, forward := m.Headers.Published(), m.Headers.Forward()
	headerText(c, "header", &published)
	headerText(c, "forward", &forward)
	if published != m.Headers.Published() || forward != m.Headers.Forward() {
		m.Headers = state.PairOf(published, forward)
	}
	codec.Bytes(c, "body", &m.Body)
	codec.Optional(c, "options", &m.Options, optionsMembers)
	codec.Int(c, "maxRetries", &m.MaxRetries)
	codec.Int(c, "retried", &m.Retried)
	timestampMember(c, "createdAt", &m.CreatedAt)
	timestampMember(c, "notBefore", &m.NotBefore)
	timestampMember(c, "nextAt", &m.NextAt)
	codec.Text(c, "callerIp", &m.CallerIP)
	codec.Text(c, "group", &m.Group)
	codec.Text(c, "endpointName", &m.EndpointName)
	codec.Text(c, "scheduleId", &m.ScheduleID)
	codec.Text(c, "sourceId", &m.SourceID)
	codec.Text(c, "retryOf", &m.RetryOf)
	codec.Bool(c, "again", &m.Again)
	codec.Text(c, "runId", &m.RunID)
	codec.Int(c, "dropped", &m.Dropped)
}

func timestampMember(c *codec.Codec, name string, v *state.Timestamp) {
	t := v.Time()
	codec.Time(c, name, &t)
	*v = state.TimestampOf(t)
}

func headerText(c *codec.Codec, name string, t *state.HeaderText) {
	codec.SortedHeader(c, name, t.Fields(), *t == "", func(h state.Header) { *t = state.TextOf(h) })
}

// optionsMembers must have every option: a restart loses one that is missing here.
func optionsMembers(o *state.Options, c *codec.Codec) {
	codec.Text(c, "method", &o.Method)
	codec.Duration(c, "delay", &o.Delay)
	codec.Time(c, "notBefore", &o.NotBefore)
	codec.OptionalInt(c, "retries", &o.Retries)
	codec.Parsed(c, "retryDelay", &o.RetryDelay, (*formula.Formula).String, formula.Parse)
	codec.Duration(c, "timeout", &o.Timeout)
	codec.Optional(c, "callback", &o.Callback, callbackMembers)
	codec.Optional(c, "failureCallback", &o.FailureCallback, callbackMembers)
	codec.Bool(c, "headerForward", &o.HeaderForward)
	codec.Texts(c, "labels", &o.Labels)
	codec.Optional(c, "flow", &o.Flow, flowControlMembers)
	codec.Text(c, "dedupId", &o.DedupID)
	codec.Bool(c, "dedupContent", &o.DedupContent)
	codec.Optional(c, "redact", &o.Redact, redactionMembers)
	codec.Text(c, "queue", &o.Queue)
	codec.Header(c, "forward", &o.Forward)
	codec.Optional(c, "workflow", &o.Workflow, workflowMembers)
	codec.Int(c, "hops", &o.Hops)
	codec.Text(c, "family", &o.Family)
	codec.Text(c, "dialect", &o.Dialect)
}

func callbackMembers(b *state.Callback, c *codec.Codec) {
	codec.Text(c, "url", &b.URL)
	codec.Object(c, "options", &b.Options, optionsMembers)
}

func flowControlMembers(f *state.FlowControl, c *codec.Codec) {
	codec.Text(c, "key", &f.Key)
	codec.Int(c, "parallelism", &f.Parallelism)
	codec.Int(c, "rate", &f.Rate)
	codec.Duration(c, "period", &f.Period)
}

func redactionMembers(r *state.Redaction, c *codec.Codec) {
	codec.Bool(c, "body", &r.Body)
	codec.Bool(c, "headers", &r.Headers)
	codec.Texts(c, "names", &r.Names)
}

func workflowMembers(w *state.Workflow, c *codec.Codec) {
	codec.OptionalBool(c, "init", &w.Init)
	codec.Text(c, "runId", &w.RunID)
	codec.Header(c, "header", &w.Header)
	codec.Text(c, "url", &w.URL)
	codec.Text(c, "callType", &w.CallType)
	codec.Bool(c, "invoke", &w.Invoke)
	codec.Texts(c, "features", &w.Features)
	codec.Text(c, "sdkVersion", &w.SDKVersion)
	codec.Bool(c, "triggerBySdk", &w.TriggerBySDK)
	codec.Time(c, "createdAt", &w.CreatedAt)
}

// outcomeMembers leaves out Answer, which is computed from the headers again.
func outcomeMembers(o *state.Outcome, c *codec.Codec) {
	codec.Int(c, "status", &o.Status)
	codec.Header(c, "header", &o.Header)
	codec.Bytes(c, "body", &o.Body)
	codec.Text(c, "err", &o.Err)
	codec.Text(c, "note", &o.Note)
	codec.Duration(c, "took", &o.Took)
	codec.Duration(c, "after", &o.After)
	codec.Int(c, "bytesUp", &o.BytesUp)
	codec.Int(c, "bytesIn", &o.BytesIn)
	codec.Int(c, "dropped", &o.Dropped)
}

func callbackInfoMembers(i *state.CallbackInfo, c *codec.Codec) {
	codec.Text(c, "messageId", &i.MessageID)
	codec.Text(c, "state", &i.State)
	codec.Int(c, "status", &i.Status)
	codec.Bytes(c, "body", &i.Body)
	codec.Header(c, "header", &i.Header)
	codec.Header(c, "requestHeader", &i.RequestHeader)
	codec.Time(c, "endedAt", &i.EndedAt)
}

func queueMembers(q *state.Queue, c *codec.Codec) {
	codec.Text(c, "name", &q.Name)
	codec.Time(c, "createdAt", &q.CreatedAt)
	codec.Time(c, "updatedAt", &q.UpdatedAt)
	codec.Int(c, "parallelism", &q.Parallelism)
	codec.Bool(c, "paused", &q.Paused)
	codec.Int(c, "lag", &q.Lag)
}

func flowMembers(k *state.FlowKey, c *codec.Codec) {
	codec.Text(c, "key", &k.Key)
	codec.Int(c, "waiting", &k.Waiting)
	codec.Int(c, "parallelism", &k.Parallelism)
	codec.Int(c, "inFlight", &k.InFlight)
	codec.Int(c, "rate", &k.Rate)
	codec.Int(c, "rateCount", &k.RateCount)
	codec.Duration(c, "period", &k.Period)
	codec.Time(c, "periodStart", &k.PeriodStart)
	codec.Bool(c, "paused", &k.Paused)
	codec.Bool(c, "pinnedParallelism", &k.PinnedParallelism)
	codec.Bool(c, "pinnedRate", &k.PinnedRate)
}

func groupMembers(g *state.Group, c *codec.Codec) {
	codec.Text(c, "name", &g.Name)
	codec.Time(c, "createdAt", &g.CreatedAt)
	codec.Time(c, "updatedAt", &g.UpdatedAt)
	codec.List(c, "endpoints", &g.Endpoints, endpointMembers)
	codec.Header(c, "headers", &g.Headers)
	codec.Object(c, "options", &g.Options, optionsMembers)
	codec.Header(c, "forward", &g.Forward)
}

func endpointMembers(e *state.Endpoint, c *codec.Codec) {
	codec.Text(c, "name", &e.Name)
	codec.Text(c, "url", &e.URL)
}

// scheduleMembers leaves out the parsed cron line.
func scheduleMembers(s *state.Schedule, c *codec.Codec) {
	codec.Text(c, "id", &s.ID)
	codec.Text(c, "cron", &s.Cron)
	codec.Time(c, "createdAt", &s.CreatedAt)
	codec.Object(c, "request", &s.Request, requestMembers)
	codec.Bool(c, "paused", &s.Paused)
	codec.Time(c, "next", &s.Next)
	codec.Time(c, "last", &s.Last)
	codec.TextMap(c, "lastStates", &s.LastStates)
}

// requestMembers leaves out ScheduleID: loading sets it to the id of the schedule.
func requestMembers(r *state.PublishRequest, c *codec.Codec) {
	codec.Text(c, "url", &r.URL)
	codec.Text(c, "group", &r.Group)
	codec.Object(c, "options", &r.Options, optionsMembers)
	headerText(c, "header", &r.Header)
	codec.Header(c, "forward", &r.Forward)
	codec.Header(c, "all", &r.All)
	codec.Bytes(c, "body", &r.Body)
	codec.Text(c, "callerIp", &r.CallerIP)
	codec.Bool(c, "trigger", &r.Trigger)
	codec.Text(c, "original", &r.Original)
}

func runRefMembers(r *state.RunRef, c *codec.Codec) {
	codec.Text(c, "id", &r.ID)
	codec.Text(c, "url", &r.URL)
	codec.Time(c, "createdAt", &r.CreatedAt)
}

func relationMembers(r *state.Relation, c *codec.Codec) {
	runRefMembers(&r.RunRef, c)
	codec.Bool(c, "resumed", &r.Resumed)
}

func runMembers(r *state.Run, c *codec.Codec) {
	runRefMembers(&r.RunRef, c)
	codec.Int(c, "seq", &r.Seq)
	codec.Text(c, "state", &r.State)
	codec.Time(c, "endedAt", &r.EndedAt)
	codec.Bytes(c, "payload", &r.Payload)
	headerText(c, "header", &r.Header)
	codec.Header(c, "forward", &r.Forward)
	codec.Optional(c, "options", &r.Options, optionsMembers)
	codec.Text(c, "callerIp", &r.CallerIP)
	codec.Bytes(c, "result", &r.Result)
	codec.Text(c, "dlqId", &r.DLQID)
	codec.Optional(c, "invoker", &r.Invoker, runRefMembers)
	codec.Int(c, "dropped", &r.Dropped)
	codec.Text(c, "cause", &r.Cause)
	codec.Optional(c, "predecessor", &r.Predecessor, relationMembers)
	codec.Optional(c, "successor", &r.Successor, relationMembers)
	codec.Int(c, "keptItems", &r.Kept)
}

// stepMembers is flat, like the fields: most steps use few of them, and zero values are left out.
func stepMembers(s *state.Step, c *codec.Codec) {
	codec.Int(c, "id", &s.ID)
	codec.Text(c, "name", &s.Name)
	codec.Text(c, "type", &s.Type)
	codec.Text(c, "callType", &s.CallType)
	codec.Text(c, "messageId", &s.MessageID)
	codec.Text(c, "out", &s.Out)
	codec.Int(c, "concurrent", &s.Concurrent)
	codec.Int(c, "targetStep", &s.TargetStep)
	codec.Time(c, "createdAt", &s.CreatedAt)
	codec.Duration(c, "sleepFor", &s.SleepFor)
	codec.Time(c, "sleepUntil", &s.SleepUntil)
	codec.Text(c, "callUrl", &s.CallURL)
	codec.Text(c, "callMethod", &s.CallMethod)
	codec.Header(c, "callHeader", &s.CallHeader)
	codec.Text(c, "callBody", &s.CallBody)
	codec.Int(c, "callStatus", &s.CallStatus)
	codec.Text(c, "callResponseBody", &s.CallResponseBody)
	codec.Header(c, "callResponseHeader", &s.CallResponseHeader)
	codec.Text(c, "waitEventId", &s.WaitEventID)
	codec.Text(c, "waitFor", &s.WaitFor)
	codec.Time(c, "waitDeadline", &s.WaitDeadline)
	codec.OptionalBool(c, "waitTimedOut", &s.WaitTimedOut)
	codec.Optional(c, "invoked", &s.Invoked, runRefMembers)
	codec.Text(c, "invokedBody", &s.InvokedBody)
	codec.Header(c, "invokedHeader", &s.InvokedHeader)
}

func stepErrorMembers(e *state.StepError, c *codec.Codec) {
	codec.Text(c, "error", &e.Error)
	codec.Text(c, "body", &e.Body)
	codec.Header(c, "header", &e.Header)
	codec.Int(c, "status", &e.Status)
	codec.Time(c, "time", &e.Time)
}

// waiterMembers leaves out the URL of the run, which is in the run.
func waiterMembers(w *state.Waiter, c *codec.Codec) {
	codec.Text(c, "id", &w.ID)
	codec.Time(c, "createdAt", &w.CreatedAt)
	codec.Text(c, "eventId", &w.EventID)
	codec.Text(c, "url", &w.URL)
	codec.Header(c, "header", &w.Header)
	codec.Time(c, "deadline", &w.Deadline)
	codec.Text(c, "timeoutUrl", &w.TimeoutURL)
	codec.Header(c, "timeoutHeader", &w.TimeoutHeader)
	codec.Bytes(c, "timeoutBody", &w.TimeoutBody)
}

func countsMembers(n *usage.Counts, c *codec.Codec) {
	codec.Int(c, "requests", &n.Requests)
	codec.Int(c, "bytes", &n.Bytes)
	codec.Int(c, "created", &n.Created)
	codec.Int(c, "delivered", &n.Delivered)
	codec.Int(c, "retried", &n.Retried)
	codec.Int(c, "failed", &n.Failed)
	codec.Int(c, "canceled", &n.Canceled)
	codec.Int(c, "steps", &n.Steps)
	codec.Int(c, "started", &n.Started)
	codec.Int(c, "succeeded", &n.Succeeded)
	codec.Int(c, "runsFailed", &n.RunsFailed)
	codec.Int(c, "runsEnded", &n.RunsEnded)
}
