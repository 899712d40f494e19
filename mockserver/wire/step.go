package wire

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"net/textproto"
	"strconv"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/duration"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// stepTypes are the execution types of the document ("stepInfo").
var stepTypes = map[string]bool{
	"Initial": true, "Run": true, "Call": true, "SleepFor": true, "SleepUntil": true, "Wait": true, "Notify": true, "Invoke": true,
}

// step is a step as its endpoint submits it (wire.md, "Steps in a call").
type step struct {
	ID          *int            `json:"stepId"`
	Name        string          `json:"stepName"`
	Type        string          `json:"stepType"`
	Out         json.RawMessage `json:"out"`
	Concurrent  int             `json:"concurrent"`
	TargetStep  int             `json:"targetStep"`
	SleepFor    json.RawMessage `json:"sleepFor"`
	SleepUntil  float64         `json:"sleepUntil"` // Unix s
	CallURL     string          `json:"callUrl"`
	CallMethod  string          `json:"callMethod"`
	WaitEventID string          `json:"waitEventId"`
	Timeout     json.RawMessage `json:"timeout"`
	WaitTimeout *bool           `json:"waitTimeout"`
}

// ParseStep reads a step that an endpoint submits.
func (Format) ParseStep(body []byte) (engine.Step, error) {
	var w step
	if err := json.Unmarshal(body, &w); err != nil {
		return engine.Step{}, refusal.OfValue("step", string(body), err.Error(), "the JSON of a step")
	}
	if w.ID == nil || *w.ID < 0 || w.Type == "" || w.Name == "" && w.TargetStep == 0 {
		return engine.Step{}, refusal.OfValue("step", string(body), "incomplete", "an object with stepId (from 0), stepName and stepType")
	}
	if !stepTypes[w.Type] {
		w.Type = "Run" // clients have further types, such as CreateWebhook; the document has eight
	}
	s := engine.Step{
		ID: *w.ID, Name: w.Name, Type: w.Type, Out: textOf(w.Out), Concurrent: max(1, w.Concurrent), TargetStep: w.TargetStep,
		CallURL: w.CallURL, CallMethod: w.CallMethod, WaitEventID: w.WaitEventID, WaitTimedOut: w.WaitTimeout,
	}
	if len(w.SleepFor) > 0 {
		s.SleepFor, _ = duration.Parse(textOf(w.SleepFor)) // only shown
	}
	if w.SleepUntil > 0 {
		s.SleepUntil = time.UnixMilli(int64(math.Round(w.SleepUntil * 1000)))
	}
	s.WaitFor = textOf(w.Timeout)
	return s, nil
}

// textOf is a JSON string's value, or any other JSON as it is.
func textOf(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// StepBody is a step as an endpoint submits it.
func (Format) StepBody(s *engine.Step) []byte {
	fields := map[string]any{"stepId": s.ID, "stepName": s.Name, "stepType": s.Type, "concurrent": s.Concurrent}
	if s.Out != "" {
		fields["out"] = s.Out
	}
	return mustMarshal(fields)
}

// FinishStep is a submitted step with its result. A result never keeps the
// targetStep of its plan: it would be taken for a plan.
func (Format) FinishStep(body []byte, s *engine.Step) []byte {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &fields); err != nil {
		fields = map[string]json.RawMessage{} // ParseStep has read it, so it is an object
	}
	delete(fields, "targetStep")
	if s.Out != textOf(fields["out"]) {
		fields["out"] = mustMarshal(s.Out)
	}
	if s.Type == "Wait" {
		fields["waitEventId"], fields["waitTimeout"] = mustMarshal(s.WaitEventID), mustMarshal(s.WaitTimedOut)
	}
	return mustMarshal(fields)
}

// StepList is the JSON array that an endpoint gets (wire.md, "Steps in a call").
func StepList(entries []engine.StepEntry) []byte {
	b := []byte{'['}
	for i, e := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"messageId":`...)
		b = strconv.AppendQuote(b, e.MessageID)
		b = append(b, `,"body":"`...)
		b = base64.StdEncoding.AppendEncode(b, e.Body)
		b = append(b, `","callType":`...)
		b = strconv.AppendQuote(b, e.CallType)
		b = append(b, '}')
	}
	return append(b, ']')
}

// invocation is the body of a publish that invokes another workflow (wire.md,
// "Invoked runs").
type invocation struct {
	Body    string              `json:"body"`
	Headers map[string][]string `json:"headers"`
	RunID   string              `json:"workflowRunId"`
	Step    json.RawMessage     `json:"step"`
}

// ParseInvocation reads the request of an endpoint to start another run.
func (f Format) ParseInvocation(body []byte) (engine.Invocation, error) {
	var w invocation
	if err := json.Unmarshal(body, &w); err != nil {
		return engine.Invocation{}, refusal.OfValue("body", "", err.Error(), "the JSON of an invocation")
	}
	asks, err := f.ParseStep(w.Step)
	if err != nil {
		return engine.Invocation{}, err
	}
	headers := engine.Header{}
	for name, values := range w.Headers {
		headers[textproto.CanonicalMIMEHeaderKey(name)] = values
	}
	return engine.Invocation{RunID: w.RunID, Body: w.Body, Header: headers, Step: asks, StepBody: w.Step}, nil
}

// InvocationResult is what the endpoint learns when the run that it has started
// has ended.
func (Format) InvocationResult(run *engine.Run) string {
	return string(mustMarshal(struct {
		Body       string `json:"body,omitempty"`
		IsFailed   bool   `json:"isFailed"`
		IsCanceled bool   `json:"isCanceled"`
	}{string(run.Result), run.State == engine.RunFailed, run.State == engine.RunCanceled}))
}
