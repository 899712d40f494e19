package ui

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
)

// runsView loads the runs and the waiters for events, because a run often waits for one.
func runsView(v *visit) (any, error) {
	d, err := v.list("runs")
	if err != nil {
		return nil, err
	}
	var w doc
	err = v.get(&w, "waiters", nil)
	d["waiters"] = w["waiters"]
	return d, err
}

// span is a step on the time axis.
type span struct {
	Step      stepInfo
	Type      string
	MessageID string
	Invoked   string `json:"invokedWorkflowRunId"`
	From, To  int64  // Unix ms; To is 0 until the end
	Kept      bool   // it ran in the run that this one resumes
	Critical  bool   // it is on the critical path
	Parts     []part
	Errors    []doc
}

type stepInfo struct {
	StepID                                       int
	StepName, Out, CallURL, CallMethod, CallBody string
	CallResponseStatus                           int
	CallResponseBody, WaitEventID                string
	CallHeaders                                  map[string][]string
	InvokedWorkflowRunBody, InvokedWorkflowURL   string
	WaitTimeout                                  *bool
	WaitTimeoutDeadline                          int64
	SleepFor, SleepUntil                         int64
	MessageID                                    string
}

// WaitEnd is how the wait for an event ended; "" while it lasts.
func (s *stepInfo) WaitEnd() string {
	switch {
	case s.WaitTimeout == nil:
		return ""
	case *s.WaitTimeout:
		return "timed out"
	}
	return "notified"
}

type part struct {
	Kind           string // running, failed, canceled, retrying, sleeping, waiting
	From, To       int64
	Attempt        int // from 1; 0: not an attempt
	ResponseStatus int
	Cause          string
}

// Name is the title of the row.
func (s *span) Name() string {
	switch {
	case s.Step.StepName != "":
		return s.Step.StepName
	case len(s.Parts) > 0 && s.Parts[len(s.Parts)-1].Kind == "failed":
		return "the step that failed"
	}
	return "next step"
}

// flow is the data of the view of a run.
type flow struct {
	Run           doc
	Row           doc
	Payload       string
	PayloadBase64 string
	Headers       map[string][]string
	Spans         []span
	Events        []doc
	Waiters       []doc
	Reasons       []doc
	Failure       doc
	Others        []string // ids of runs of the same workflow, for comparison
	Lineage       []doc
	Now           int64
	Runs          bool // the run has not ended
	Failed        bool
}

// Kept returns the names of the steps that ran in the run that this one resumes.
func (f *flow) Kept() (names []string) {
	for i := range f.Spans {
		if s := &f.Spans[i]; s.Kept && s.Type != "Initial" {
			names = append(names, s.Name())
		}
	}
	return names
}

// Condition is the state of a step whose times alone would mislead: sleeping or delayed until
// a time in the future, cancelled, or not finished because the run failed; "" for others.
func (f *flow) Condition(s *span) string {
	switch {
	case f.Runs && s.To > f.Now && s.Type == "Initial":
		return "delayed"
	case f.Runs && s.To > f.Now && strings.HasPrefix(s.Type, "Sleep"):
		return "sleeping"
	case f.Runs || !f.cut(s):
		return ""
	case f.Row["workflowState"] == "RUN_CANCELED":
		return "cancelled"
	}
	return "not finished"
}

// cut reports whether the end of the run ended the step before its own end.
func (f *flow) cut(s *span) bool {
	if len(s.Parts) == 0 || f.instant("workflowRunCompletedAt") != utcText(s.To) {
		return false
	}
	last := &s.Parts[len(s.Parts)-1]
	switch last.Kind {
	case "sleeping":
		return s.Type == "Initial" || max(last.From+s.Step.SleepFor, s.Step.SleepUntil) > s.To
	case "waiting":
		return s.Step.WaitTimeout == nil && s.Step.Out == ""
	}
	return last.Kind == "retrying" || last.Kind == "canceled"
}

// runView loads a run with all its steps and its latest events.
func runView(v *visit, id string) (any, error) {
	var f flow
	if err := v.get(&f, "runs/"+url.PathEscape(id), nil); err != nil {
		return nil, err
	}
	f.Runs, f.Failed = f.Row["workflowState"] == "RUN_STARTED", f.Row["dlqId"] != nil
	if n := len(f.Events) - mostEvents; n > 0 {
		f.Events = f.Events[n:]
	}
	f.blame()
	return &f, f.compareWith(v, id)
}

// mostEvents is how many of the latest events of a run are shown.
const mostEvents = 500

// blame assigns the error events to the spans of their messages.
func (f *flow) blame() {
	for _, e := range f.Events {
		if e["state"] != "ERROR" {
			continue
		}
		for i := range f.Spans {
			s := &f.Spans[i]
			at, _ := e["time"].(float64)
			if s.MessageID != "" && s.MessageID == e["messageId"] && int64(at) >= s.From {
				s.Errors = append(s.Errors, e)
				break
			}
		}
	}
}

// drawing writes SVG. Callers must pass all data through escapeHTML.
type drawing struct{ strings.Builder }

func (d *drawing) printf(format string, args ...any) { _, _ = fmt.Fprintf(d, format, args...) }

func (d *drawing) close() template.HTML {
	d.WriteString("</svg>")
	return template.HTML(d.String()) //nolint:gosec // numbers, constants and escaped text
}

func escapeHTML(text string) string { return template.HTMLEscapeString(text) }

// cutText shortens a text to at most most characters; "" for a value that is not a string.
func cutText(v any, most int) string {
	text, _ := v.(string)
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
