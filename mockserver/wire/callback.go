package wire

import (
	"encoding/json"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/spec/header"
)

// Format implements engine.Wire with the format of the service.
type Format struct{}

// callback is the body of a callback (decided: 26; wire.md, "Callbacks").
// Bytes are encoded as base64.
type callback struct {
	Status          int                 `json:"status"`
	Header          map[string][]string `json:"header"`
	Body            []byte              `json:"body"`
	BodyNote        string              `json:"bodyNote,omitempty"` // why body is not the whole response
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

// CallbackBody returns the body of a callback.
func (Format) CallbackBody(r *engine.Report) []byte {
	m := &r.Source
	body := callback{
		Status:          r.Outcome.Status,
		Header:          presentHeader(r.Outcome.Header),
		Body:            append([]byte{}, r.Outcome.Body...), // never nil: "" instead of null
		BodyNote:        r.Outcome.Note,
		Retried:         int(m.Retried),
		MaxRetries:      int(m.MaxRetries),
		DLQID:           r.DLQID,
		SourceMessageID: m.ID,
		TopicName:       m.Group,
		EndpointName:    m.EndpointName,
		URL:             m.URL,
		Method:          m.Method,
		SourceHeader:    presentHeader(m.Headers.Forward().Header()),
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

// presentHeader returns h, or an empty map for nil: JSON has an object, not null.
func presentHeader(h engine.Header) map[string][]string {
	if h == nil {
		return map[string][]string{}
	}
	return h
}

// mustMarshal encodes values of strings, numbers, booleans and bytes.
func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("wire: " + err.Error()) // such values always marshal
	}
	return b
}

// statusNonRetryable, together with the header NonRetryableError set to true, ends a
// message without retries (wire.md, "Retries").
const statusNonRetryable = 489

// errorStepHeader is the header with the step that failed, from the JavaScript
// client. It is not in the interface document.
const errorStepHeader = header.Prefix + "Error-Step-Name"

// ReadAnswer reads what a destination's response says in addition to its status.
func (Format) ReadAnswer(o *engine.Outcome) engine.Answer {
	library := firstValue(o.Header, libraryHeader)
	return engine.Answer{
		Final:    o.Status == statusNonRetryable && strings.EqualFold(firstValue(o.Header, header.NonRetryableError), "true"),
		Step:     firstValue(o.Header, errorStepHeader),
		Workflow: library != "" || firstValue(o.Header, header.WorkflowSDKVersion) != "",
		Library:  strings.HasPrefix(library, "v"),
	}
}

// firstValue returns the first value of a header; name is in canonical form.
func firstValue(h engine.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Carries reports whether a header is the one that the destination receives as name, or asks
// to forward it, also to a callback (Svc-Failure-Callback-Forward-NAME).
func (Format) Carries(h, name string) bool {
	return h == name || strings.HasSuffix(h, "-Forward-"+name)
}
