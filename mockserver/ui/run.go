package ui

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
)

// runsView has what waits for events beside the runs: that is what people look for
// when a run stands still.
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
	From, To  int64  // Unix ms; To is 0 while it is not over
	Kept      bool   // it ran in the run that this one resumes
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

// WaitEnd is how the wait for an event ended, "" while it lasts.
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
	Kind     string // running, failed, retrying, sleeping, waiting
	From, To int64
}

// Name is what the row is called.
func (s *span) Name() string {
	switch {
	case s.Step.StepName != "":
		return s.Step.StepName
	case len(s.Parts) > 0 && s.Parts[len(s.Parts)-1].Kind == "failed":
		return "the step that failed"
	case s.To != 0:
		return "end of the workflow"
	}
	return "next step"
}

// flow is a run with all that is known of it.
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
	Now           int64
	Runs          bool // it has not ended
	Failed        bool
}

// Asleep reports whether a step sleeps now.
func (f *flow) Asleep(s *span) bool {
	return f.Runs && s.To > f.Now && (s.Type == "SleepFor" || s.Type == "SleepUntil")
}

// runView shows the latest events of a long run; its steps are always whole.
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
	return &f, nil
}

// mostEvents is how many events of a run are shown, the last ones.
const mostEvents = 500

// blame gives each span the errors of its calls.
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

// The waterfall, in the units of its view box.
const (
	rowHeight  = 26
	labelWidth = 190
	axisWidth  = 760
	axisHeight = 22
)

// Waterfall draws the spans on the time axis.
func (f *flow) Waterfall() template.HTML {
	if len(f.Spans) == 0 {
		return ""
	}
	started, _ := readNumber(f.Row["workflowRunCreatedAt"])
	first := min(int64(started), f.Spans[0].From) // spans are in the order in which they begin
	last := first
	for _, s := range f.Spans {
		last = max(last, s.From, s.To)
		for _, p := range s.Parts {
			last = max(last, p.From, p.To)
		}
	}
	if f.Runs {
		last = max(last, f.Now)
	}
	d := drawing{first: first, length: max(1, last-first)}
	height := axisHeight + rowHeight*len(f.Spans)
	d.open("waterfall", "group", labelWidth+axisWidth+10, height, fmt.Sprintf("Waterfall of %d steps over %s", len(f.Spans), durationText(d.length)))
	for i := range 5 {
		if d.length < 5 && i > 0 { // the clock stood still
			break
		}
		x := labelWidth + axisWidth*i/4
		d.printf(`<line class="grid" x1="%d" x2="%d" y1="%d" y2="%d"/><text class="axis%s" x="%d" y="14">%s</text>`, x, x, axisHeight, height,
			[]string{"", " middle", " middle", " middle", " end"}[i], x, escapeHTML("+"+durationText(d.length*int64(i)/4)))
	}
	for i := range f.Spans {
		d.row(i, &f.Spans[i], f.Now)
	}
	return d.close()
}

// drawing writes SVG; everything that is not ours goes through escaped.
type drawing struct {
	strings.Builder
	first, length int64
}

func (d *drawing) printf(format string, args ...any) { _, _ = fmt.Fprintf(d, format, args...) }

// open begins a picture; one with links in it is a group to those who cannot see it.
func (d *drawing) open(class, role string, width, height int, title string) {
	d.printf(`<svg class="%s" viewBox="0 0 %d %d" role="%s" aria-label="%s">`, class, width, height, role, escapeHTML(title))
}

func (d *drawing) close() template.HTML {
	d.WriteString("</svg>")
	return template.HTML(d.String()) //nolint:gosec // built of numbers, constants, and escaped text
}

func (d *drawing) x(at int64) int {
	return labelWidth + int(int64(axisWidth)*(at-d.first)/d.length)
}

func (d *drawing) row(i int, s *span, now int64) {
	y := axisHeight + rowHeight*i
	name := s.Name()
	d.printf(`<a href="#step-%d"><rect class="row" x="0" y="%d" width="%d" height="%d"/><text class="label" x="6" y="%d">%s</text>`,
		i, y, labelWidth+axisWidth+10, rowHeight, y+17, escapeHTML(cutText(name, 26)))
	for _, p := range s.Parts {
		to := p.To
		if to == 0 {
			to = now
		}
		if p.Kind == "waiting" && to == p.From {
			continue // it did not wait
		}
		x := d.x(p.From)
		d.printf(`<rect class="part %s" x="%d" y="%d" width="%d" height="14" rx="2"><title>%s</title></rect>`,
			escapeHTML(p.Kind), x, y+6, max(3, d.x(to)-x), escapeHTML(fmt.Sprintf("%s: %s for %s", name, p.Kind, durationText(to-p.From))))
	}
	if len(s.Parts) == 0 {
		d.printf(`<rect class="part point" x="%d" y="%d" width="4" height="14" rx="2"/>`, d.x(s.From), y+6)
	}
	d.WriteString("</a>")
}

func escapeHTML(text string) string { return template.HTMLEscapeString(text) }

// cutText shortens a text to so many characters; what is not there is empty.
func cutText(v any, most int) string {
	text, _ := v.(string)
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
