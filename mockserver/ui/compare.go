package ui

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/spec/api"
)

// compared is a comparison of two attempts or runs.
type compared struct {
	Kind    string // messages, runs
	Names   [2]string
	IDs     [2]string
	Numbers [2]string // of the attempts
	Facts   []DiffPair
	Texts   []comparedText
	Headers []comparedHeaders
	Steps   []comparedStep

	Others   []string // ids of runs to choose from, if the address names only one
	Attempts []int    // to choose from; nil if fewer than two
}

// comparedText is the difference of a text of both sides.
type comparedText struct {
	Title string
	Lines []DiffLine
	Equal content // the text, if it is equal on both sides
}

type comparedHeaders struct {
	Title           string
	Different, Same []DiffPair
}

// comparedStep is a step of both runs; nil for a run that does not have it.
type comparedStep struct {
	First, Second *fallRow
	Out           []DiffLine
}

// Differs reports whether the step differs between the runs. It ignores the attempts of
// a step that was kept from an earlier run, because it has none.
func (s *comparedStep) Differs() bool {
	if s.First == nil || s.Second == nil || len(s.Out) > 0 {
		return true
	}
	kept := s.First.Kept || s.Second.Kept
	return !kept && (s.First.Failures() != s.Second.Failures() || s.First.Attempts != s.Second.Attempts)
}

// Row is the row of the step, in the first run that has it.
func (s *comparedStep) Row() *fallRow { return cmp.Or(s.First, s.Second) }

// alignSteps pairs the rows of two runs by the names of their steps, whatever the order, because
// parallel steps end in any.
func alignSteps(first, second []*fallRow) (pairs []comparedStep) {
	for _, r := range first {
		s := comparedStep{First: r}
		if i := slices.IndexFunc(second, func(other *fallRow) bool { return other.Name() == r.Name() }); i >= 0 {
			s.Second = second[i]
			second = slices.Delete(second, i, i+1)
			s.Out = DiffLines(prettyJSON(showBody(r.Step.Out, "").Text), prettyJSON(showBody(s.Second.Step.Out, "").Text))
		}
		pairs = append(pairs, s)
	}
	for _, r := range second {
		pairs = append(pairs, comparedStep{Second: r})
	}
	return pairs
}

// steps are the rows of the steps, those of forks too, without the calls that only plan.
func (f *flow) steps() (rows []*fallRow) {
	for _, r := range f.Fall(nil, "manual").Rows {
		if r.span != nil {
			rows = append(rows, r)
		}
		rows = append(rows, r.Branches...)
	}
	return rows
}

// comparableAttempts returns the numbers of the attempts that can be compared; nil if there are
// fewer than two.
func comparableAttempts(line []moment) (numbers []int) {
	for i := range line {
		if line[i].Comparable() {
			numbers = append(numbers, line[i].Number)
		}
	}
	if len(numbers) < 2 {
		return nil
	}
	return numbers
}

// compareWith finds the latest runs of the same workflow. Runs that this run restarts or
// resumes, or that restart or resume it, come first.
func (f *flow) compareWith(v *visit, id string) error {
	var known struct{ Runs []doc }
	err := v.get(&known, "runs", url.Values{"url": {text(f.Row["workflowUrl"])}, "count": {"20"}})
	for _, r := range slices.Concat(f.Lineage, known.Runs) {
		other := cmp.Or(text(r["workflowRunId"]), text(r["id"]))
		related := strings.HasPrefix(text(r["relation"]), "res") && r["known"] == true // restarts, resumed as
		if (related || r["workflowUrl"] == f.Row["workflowUrl"]) && other != id && !slices.Contains(f.Others, other) {
			f.Others = append(f.Others, other)
		}
	}
	return err
}

// comparedThings compares two runs if the address names another run, two attempts if it names
// these, and otherwise offers the choice.
func comparedThings(v *visit, id string) (any, error) {
	if id == "" {
		return nil, refuse(http.StatusNotFound, "page not found: compare/ID names a message or a run")
	}
	if with := strings.TrimSpace(v.query.Get("with")); with != "" {
		return comparedRuns(v, id, with)
	}
	if v.query.Get("first") != "" || v.query.Get("second") != "" {
		return comparedAttempts(v, id)
	}
	return comparableThings(v, id)
}

// comparableThings is the choice of what to compare with a run, or of the attempts of a message.
func comparableThings(v *visit, id string) (any, error) {
	if data, err := runView(v, id); err == nil {
		run, _ := data.(*flow)
		err = run.compareWith(v, id)
		return &compared{Kind: "runs", Others: run.Others}, err
	} else if refusal(err, http.StatusNotFound) == "" {
		return nil, err
	}
	data, err := messageView(v, id)
	if message, ok := data.(*letter); ok {
		return &compared{Kind: "messages", Attempts: message.Attempts}, nil
	}
	if refusal(err, http.StatusNotFound) != "" {
		err = refuse(http.StatusNotFound, fmt.Sprintf("compare/%s: not found: must be the id of a run or a message", id))
	}
	return nil, err
}

// notKept is what is shown for the parts of an attempt that only the journal has.
const notKept = "not kept: the journal of deliveries is in memory"

// comparedAttempts reads both attempts from the journal of deliveries. After a restart, or when
// the journal has dropped an attempt, the log still has its outcome and its answer.
func comparedAttempts(v *visit, id string) (any, error) {
	var l letter
	if err := v.get(&l, "messages/"+url.PathEscape(id), url.Values{"maxBody": {mostBody}}); err != nil {
		return nil, err
	}
	line := timelineOf(l.Events, l.Deliveries)
	var sides [2]*moment
	for i, name := range []string{"first", "second"} {
		text := v.query.Get(name)
		n, err := strconv.Atoi(text)
		at := slices.IndexFunc(line, func(m moment) bool { return m.Kind == "attempt" && m.Number == n })
		switch {
		case err != nil:
			return nil, refuse(http.StatusBadRequest, fmt.Sprintf("%s: invalid value %q: must be the number of an attempt", name, text))
		case at < 0:
			return nil, refuse(http.StatusNotFound, fmt.Sprintf("%s: attempt %d of message %s: not found in the log", name, n, id))
		case !line[at].Comparable():
			return nil, refuse(http.StatusNotFound, fmt.Sprintf("%s: attempt %d of message %s: in flight, or cut short: the log has no outcome of it", name, n, id))
		}
		sides[i] = &line[at]
	}
	c := compared{Kind: "messages", IDs: [2]string{id, id}, Attempts: comparableAttempts(line)}
	for i, m := range sides {
		c.Numbers[i] = strconv.Itoa(m.Number)
		c.Names[i] = "Attempt " + c.Numbers[i]
	}
	a, b := sides[0], sides[1]
	c.facts([]string{"Began", "Status", "What went wrong", "Duration", "Request"}, a.facts(), b.facts())
	if a.Wire != nil && b.Wire != nil {
		c.header("Request headers", a.Wire.Request.Headers, b.Wire.Request.Headers)
		c.body("Request body", &a.Wire.Request, &b.Wire.Request)
		if x, y := a.Wire.Signature(), b.Wire.Signature(); x != nil && y != nil {
			c.text("Claims of the signatures", readableContent(x.Claims), readableContent(y.Claims))
		}
	}
	c.header("Response headers", a.Answer().Headers, b.Answer().Headers)
	c.body("Response body", a.Answer(), b.Answer())
	return &c, nil
}

// facts are the texts about an attempt that are compared.
func (m *moment) facts() []string {
	status, took, request := "no response", notKept, notKept
	if n := m.Answer().Status; n != 0 {
		status = strconv.Itoa(n)
	}
	if m.Wire != nil {
		took, request = tookText(m.Wire.DurationMs), m.Wire.Method+" "+m.Wire.URL
	}
	return []string{utcText(m.Time), status, m.Cause, took, request}
}

// facts adds the values of both sides, except those that both lack.
func (c *compared) facts(names, first, second []string) {
	for i, name := range names {
		if first[i] != "" || second[i] != "" {
			c.Facts = append(c.Facts, DiffPair{Name: name, First: first[i], Second: second[i]})
		}
	}
}

func (c *compared) header(title string, first, second map[string][]string) {
	h := comparedHeaders{Title: title}
	if h.Different, h.Same = DiffHeaders(first, second); len(h.Different)+len(h.Same) > 0 {
		c.Headers = append(c.Headers, h)
	}
}

func (c *compared) body(title string, first, second *api.Content) {
	c.text(title, showBody(first.Body, first.BodyBase64, first.BodyBytes), showBody(second.Body, second.BodyBase64, second.BodyBytes))
}

// text compares the shown parts of two bodies; JSON is indented.
func (c *compared) text(title string, first, second content) {
	t := comparedText{Title: title, Lines: DiffLines(prettyJSON(first.Text), prettyJSON(second.Text))}
	if len(t.Lines) == 0 {
		t.Equal = first
	}
	c.Texts = append(c.Texts, t)
}

// comparedRuns aligns the steps of two runs of one workflow by their names.
func comparedRuns(v *visit, id, with string) (any, error) {
	var runs [2]*flow
	for i, one := range []string{id, with} {
		data, err := runView(v, one)
		if err != nil {
			return nil, err
		}
		runs[i], _ = data.(*flow)
	}
	a, b := runs[0], runs[1]
	if a.Row["workflowUrl"] != b.Row["workflowUrl"] {
		return nil, refuse(http.StatusBadRequest, fmt.Sprintf("with: invalid value %q: must be a run of the same workflow, %v", with, a.Row["workflowUrl"]))
	}
	c := compared{Kind: "runs", Names: [2]string{id, with}, IDs: [2]string{id, with}}
	c.facts([]string{"State", "Started", "Ended", "Took", "What went wrong"}, a.facts(), b.facts())
	c.text("Input", showBody(a.Payload, a.PayloadBase64), showBody(b.Payload, b.PayloadBase64))
	c.text("Output", showBody(a.Run["workflowRunResponse"], ""), showBody(b.Run["workflowRunResponse"], ""))
	c.header("Input headers", a.Headers, b.Headers)
	c.Steps = alignSteps(a.steps(), b.steps())
	return &c, nil
}

// facts are the texts about a run that are compared. It took its time so far if it has not ended.
func (f *flow) facts() []string {
	end, more := f.Row["workflowRunCompletedAt"], ""
	if f.Runs {
		end, more = f.Now, " so far"
	}
	return []string{text(f.Row["workflowState"]), f.instant("workflowRunCreatedAt"), f.instant("workflowRunCompletedAt"), spanBetween(f.Row["workflowRunCreatedAt"], end) + more, text(f.Failure["reason"])}
}

func (f *flow) instant(name string) string { return utcText(int64(number(f.Row[name]))) }
