package wire

import (
	"encoding/json"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/spec/header"
)

// Format is the wire of the service.
type Format struct{}

// callback is the body of a callback (decided: 26; wire.md, "Callbacks").
// Byte strings travel as base64.
type callback struct {
	Status          int                 `json:"status"`
	Header          map[string][]string `json:"header"`
	Body            []byte              `json:"body"`
	BodyNote        string              `json:"bodyNote,omitempty"` // why body is not the whole answer
	Retried         int                 `json:"retried"`
	MaxRetries      int                 `json:"maxRetries"`
	DLQID           string              `json:"dlqId,omitempty"`
	SourceMessageID string              `json:"sourceMessageId"`
	TopicName       string              `json:"topicName,omitempty"`
	EndpointName    string              `json:"endpointName,omitempty"`
	URL             string              `json:"url"`
	Method          string              `json:"method"`
	SourceHeader    map[string][]string `json:"sourceHeader"`
	SourceBody      []byte              `json:"sourceBody"`
	NotBefore       int64               `json:"notBefore"`
	CreatedAt       int64               `json:"createdAt"`
	ScheduleID      string              `json:"scheduleId,omitempty"`
	CallerIP        string              `json:"callerIP,omitempty"`
	RunID           string              `json:"workflowRunId,omitempty"`
	RunCreatedAt    int64               `json:"workflowCreatedAt,omitempty"`
}

// CallbackBody is what a callback delivers.
func (Format) CallbackBody(r *engine.Report) []byte {
	m := &r.Source
	body := callback{
		Status:          r.Outcome.Status,
		Header:          presentHeader(r.Outcome.Header),
		Body:            append([]byte{}, r.Outcome.Body...), // "" in place of null
		BodyNote:        r.Outcome.Note,
		Retried:         m.Retried,
		MaxRetries:      m.MaxRetries,
		DLQID:           r.DLQID,
		SourceMessageID: m.ID,
		TopicName:       m.Group,
		EndpointName:    m.EndpointName,
		URL:             m.URL,
		Method:          m.Method,
		SourceHeader:    presentHeader(m.Forward),
		SourceBody:      append([]byte{}, m.Body...),
		NotBefore:       m.NotBefore.UnixMilli(),
		CreatedAt:       m.CreatedAt.UnixMilli(),
		ScheduleID:      m.ScheduleID,
		CallerIP:        m.CallerIP,
	}
	if r.Run != nil {
		body.RunID, body.RunCreatedAt = r.Run.ID, r.Run.CreatedAt.UnixMilli()
	}
	return mustMarshal(body)
}

// presentHeader is a header that is an object in JSON even if there is none.
func presentHeader(h engine.Header) map[string][]string {
	if h == nil {
		return map[string][]string{}
	}
	return h
}

// mustMarshal writes what holds only strings, numbers, booleans and bytes.
func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("wire: " + err.Error()) // such values always marshal
	}
	return b
}

// statusNonRetryable, with its header set to true, ends a message at once
// (wire.md, "Retries").
const statusNonRetryable = 489

// errorStepHeader is where the JavaScript client names the step that threw; the
// interface document does not have it.
const errorStepHeader = header.Prefix + "Error-Step-Name"

// ReadAnswer finds what a destination's answer says beside its status.
func (Format) ReadAnswer(o *engine.Outcome) engine.Answer {
	library := firstValue(o.Header, libraryHeader)
	return engine.Answer{
		Final:    o.Status == statusNonRetryable && strings.EqualFold(firstValue(o.Header, header.NonRetryableError), "true"),
		Step:     firstValue(o.Header, errorStepHeader),
		Workflow: library != "" || firstValue(o.Header, header.WorkflowSDKVersion) != "",
		Library:  strings.HasPrefix(library, "v"),
	}
}

// firstValue is the first value of a header, whose name is in canonical form.
func firstValue(h engine.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// PublishedName is the name under which a publisher sends a header that is for
// the destination.
func (Format) PublishedName(name string) string { return header.ForwardPrefix + name }
