package ui

import (
	"html/template"
	"net/url"
	"strconv"
	"strings"
)

// runsView loads the runs and the waiters for events, because a run often waits for one.
func runsView(v *visit) (any, error) {
	d, err := v.counted("runs", v.now.Runs)
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
	StepID, Concurrent                           int
	StepName, Out, CallURL, CallMethod, CallBody string
	CallResponseStatus                           int
	CallResponseBody, WaitEventID                string
	WaitTimeout                                  *bool
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
	DurationMs     float64 // real time of an attempt

	epoch        int // of an attempt, see fall.go
	begins, ends float64
	x, to        float64 // position
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
	Reasons       []doc
	Failure       doc
	Others        []string // ids of runs of the same workflow, for comparison
	Lineage       []doc
	Trace         struct{ URL string }
	Now           int64
	Runs          bool // the run has not ended

	Branches map[int]int // number of branches of a fork, by the index of its group of steps
	Earlier  *flow       // the run that this one resumes, if the account still has it
	Answer   *reply      // of the failed attempt; nil if there is none
	Opened   *attempt    // the delivery of the step that is shown, if it is stored
	Logged   int         // number of events, of which the latest are shown
}

// Headline is the name of the workflow: the path of its URL.
func (f *flow) Headline() string { return pathOf(f.Row["workflowUrl"]) }

// reply is the endpoint's answer to an attempt.
type reply struct {
	Status     int
	Body       any
	Size       int
	DurationMs float64
	Same       int    // of how many attempts it is the answer, if it is the answer to all of them
	Link       string // where the whole of it is

	Encoded, URL any // of the answer to a message
}

// pathOf is the path of a URL; the host, if the URL has no path.
func pathOf(v any) string {
	at, err := url.Parse(text(v))
	if err != nil || at.Host == "" || strings.Trim(at.Path, "/") == "" {
		return strings.TrimSuffix(plainURL(v), "/")
	}
	return at.Path
}

// groups returns the index of the group of each step in the run, by the id of the step or, for
// steps without a result, of their message.
func (f *flow) groups() map[string]int {
	known := map[string]int{}
	f.Branches = map[int]int{}
	for i, g := range asList(f.Run["steps"]) {
		steps := asList(g["steps"])
		if g["type"] == "parallel" {
			f.Branches[i] = len(steps)
		}
		for _, s := range steps {
			if id, ok := readNumber(s["stepId"]); ok {
				known[strconv.Itoa(int(id))] = i
			}
			if id, _ := s["messageId"].(string); id != "" && s["state"] != "STEP_SUCCESS" {
				known[id] = i
			}
		}
	}
	return known
}

// asList is a list of JSON objects; empty for other values.
func asList(v any) (out []doc) {
	list, _ := v.([]any)
	for _, one := range list {
		if d, ok := one.(doc); ok {
			out = append(out, d)
		}
	}
	return out
}

// answer finds the answer to the attempt that failed, in the log.
func (f *flow) answer() {
	attempts := 0
	for _, e := range f.Events {
		if f.Failure == nil || e["messageId"] != f.Failure["messageId"] || e["state"] != "ERROR" {
			continue
		}
		attempts++
		a := &reply{Status: int(number(e["responseStatus"])), Body: e["responseBody"], Size: len(text(e["responseBody"]))}
		if f.Answer != nil && f.Answer.Body == a.Body && f.Answer.Status == a.Status && f.Answer.Same == attempts-1 || attempts == 1 {
			a.Same = attempts
		}
		f.Answer = a
	}
	for i := range f.Spans {
		if tried := f.Spans[i].Tried(); f.Answer != nil && f.Spans[i].MessageID == f.Failure["messageId"] && len(tried) > 0 {
			f.Answer.DurationMs, f.Answer.Link = tried[len(tried)-1].DurationMs, strconv.Itoa(i)
		}
	}
	if f.Answer != nil && f.Answer.Status == 0 {
		f.Answer = nil
	}
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
	f.Runs = f.Row["workflowState"] == "RUN_STARTED"
	f.answer()
	before, _ := f.Row["predecessor"].(doc)
	var earlier flow
	if before["resumed"] == true && v.get(&earlier, "runs/"+url.PathEscape(text(before["workflowRunId"])), nil) == nil {
		f.Earlier = &earlier
	}
	if f.Logged = len(f.Events); f.Logged > mostEvents {
		f.Events = f.Events[f.Logged-mostEvents:]
	}
	f.blame()
	if s := f.Shown(v.query); s != nil && s.MessageID != "" {
		var l struct{ Deliveries []attempt }
		if v.get(&l, "messages/"+url.PathEscape(s.MessageID), nil) == nil && len(l.Deliveries) > 0 {
			f.Opened = &l.Deliveries[len(l.Deliveries)-1]
		}
	}
	return &f, nil
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

func escapeHTML(text string) string { return template.HTMLEscapeString(text) }

// cutText shortens a text to at most most characters; "" for a value that is not a string.
func cutText(v any, most int) string {
	runes := []rune(text(v))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}
