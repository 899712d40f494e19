package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/textproto"
	"time"
	"unicode/utf8"

	"github.com/go-faster/jx"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/duration"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/internal/jsonsyntax"
)

// stepTypes are the execution types of the document ("stepInfo").
var stepTypes = map[string]string{
	"Initial": "Initial", "Run": "Run", "Call": "Call", "SleepFor": "SleepFor", "SleepUntil": "SleepUntil", "Wait": "Wait", "Notify": "Notify", "Invoke": "Invoke",
}

// step is a step as its endpoint submits it (wire.md, "Steps in a call").
type step struct {
	ID          int             `json:"stepId"` // negative: none
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
	w, out, ok := usualStep(body)
	if !ok {
		other := &step{ID: -1}
		if err := json.Unmarshal(body, other); err != nil {
			return engine.Step{}, refusal.OfValue("step", string(body), jsonsyntax.Explain(body, err), "the JSON of a step")
		}
		w, out = *other, textOf(other.Out)
	}
	if w.ID < 0 || w.Type == "" || w.Name == "" && w.TargetStep == 0 {
		return engine.Step{}, refusal.OfValue("step", string(body), "incomplete", "an object with stepId (from 0), stepName and stepType")
	}
	if stepTypes[w.Type] == "" {
		w.Type = "Run" // clients have further types, such as CreateWebhook; the document has eight
	}
	s := engine.Step{
		ID: w.ID, Name: w.Name, Type: w.Type, Out: out, Concurrent: max(1, w.Concurrent), TargetStep: w.TargetStep,
		CallURL: w.CallURL, CallMethod: w.CallMethod, WaitEventID: w.WaitEventID, WaitTimedOut: w.WaitTimeout,
	}
	if len(w.SleepFor) > 0 {
		s.SleepFor, _ = duration.Parse(textOf(w.SleepFor)) // for display only
	}
	if w.SleepUntil > 0 {
		s.SleepUntil = time.UnixMilli(int64(math.Round(w.SleepUntil * 1000)))
	}
	s.WaitFor = textOf(w.Timeout)
	return s, nil
}

// errUnusual makes usualStep leave a step to encoding/json.
var errUnusual = errors.New("unusual step")

// usualStep reads a step with the members that all steps have, in one pass. ok is false for
// any other text, and for each that encoding/json may read differently or refuse.
func usualStep(body []byte) (w step, out string, ok bool) {
	w.ID = -1
	ok = ReadUsual(body, func(d *jx.Decoder) error {
		return d.ObjBytes(func(d *jx.Decoder, name []byte) (err error) {
			switch string(name) {
			case "stepId":
				w.ID, err = d.Int()
			case "stepName":
				w.Name, err = d.Str()
			case "stepType":
				w.Type, err = usualType(d)
			case "out":
				var room [1 << 10]byte // escapes make the length known only at the end
				var text []byte
				text, err = d.StrAppend(room[:0])
				out = string(text)
			case "concurrent":
				w.Concurrent, err = d.Int()
			case "targetStep":
				w.TargetStep, err = d.Int()
			default:
				err = errUnusual
			}
			return err
		})
	})
	if !ok {
		return step{}, "", false
	}
	return w, out, true
}

// usualType does not allocate for the types of the document.
func usualType(d *jx.Decoder) (string, error) {
	var room [32]byte
	text, err := d.StrAppend(room[:0])
	if known := stepTypes[string(text)]; known != "" {
		return known, err
	}
	return string(text), err
}

// ReadUsual reads a JSON text with a function that reads one value. It reports false if the
// function fails, if more follows the value, or if the text is not usual.
func ReadUsual(text []byte, read func(*jx.Decoder) error) bool {
	if !usualText(text) {
		return false
	}
	d := jx.GetDecoder()
	defer jx.PutDecoder(d)
	d.ResetBytes(text)
	return read(d) == nil && d.Skip() == io.EOF //nolint:errorlint // the end within another value is wrapped
}

// usualText reports whether a text is UTF-8 without control characters and without numeric
// escapes, which may name half a character. All readers of JSON agree on its strings.
func usualText(text []byte) bool {
	for i, b := range text {
		if b < ' ' || b == '\\' && i+1 < len(text) && text[i+1] == 'u' {
			return false
		}
	}
	return utf8.Valid(text)
}

// textOf returns the value of a JSON string, "" for null, or any other JSON as is.
func textOf(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// StepBody returns a step in the form in which an endpoint submits it.
func (Format) StepBody(s *engine.Step) []byte {
	fields := map[string]any{"stepId": s.ID, "stepName": s.Name, "stepType": s.Type, "concurrent": s.Concurrent}
	if s.Out != "" {
		fields["out"] = s.Out
	}
	return mustMarshal(fields)
}

// FinishStep returns a submitted step with its result. It removes targetStep, which
// would mark the result as a plan.
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

// StepList returns the JSON array that an endpoint receives (wire.md, "Steps in a
// call").
func StepList(entries []engine.StepEntry) []byte {
	const around = 100 // bytes of an entry besides its body
	size := 2
	for i := range entries {
		size += around + base64.StdEncoding.EncodedLen(len(entries[i].Body))
	}
	b := append(make([]byte, 0, size), '[')
	for i := range entries {
		e := &entries[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(append(b, `{"messageId":`...), e.MessageID)
		b = base64.StdEncoding.AppendEncode(append(b, `,"body":"`...), e.Body)
		b = append(appendQuoted(append(b, `","callType":`...), e.CallType), '}')
	}
	return append(b, ']')
}

// appendQuoted appends an id or a call type as a JSON string.
func appendQuoted(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return append(b, mustMarshal(text)...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// invocation is the body of a publish that invokes another workflow (wire.md,
// "Invoked runs").
type invocation struct {
	Body    string              `json:"body"`
	Headers map[string][]string `json:"headers"`
	RunID   string              `json:"workflowRunId"`
	Step    json.RawMessage     `json:"step"`
}

// ParseInvocation reads an endpoint's request to start another run.
func (f Format) ParseInvocation(body []byte) (engine.Invocation, error) {
	var w invocation
	if err := json.Unmarshal(body, &w); err != nil {
		return engine.Invocation{}, refusal.OfValue("body", "", jsonsyntax.Explain(body, err), "the JSON of an invocation")
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

// InvocationResult returns the result that an endpoint receives when the run that
// it invoked has ended.
func (Format) InvocationResult(run *engine.Run) string {
	return string(mustMarshal(struct {
		Body       string `json:"body,omitempty"`
		IsFailed   bool   `json:"isFailed"`
		IsCanceled bool   `json:"isCanceled"`
	}{string(run.Result), run.State == engine.RunFailed, run.State == engine.RunCanceled}))
}
