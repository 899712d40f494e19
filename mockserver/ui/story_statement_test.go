package ui_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// shownStep is a step of a run on the page: its row, and the pane that the row opens.
type shownStep struct {
	name      string
	row, pane reading
}

// shownSteps opens every row of a run.
func shownSteps(t *testing.T, u *mockserver.TestServer, id string) (list []shownStep) {
	t.Helper()
	rows := map[int]reading{}
	for _, li := range read(t, u, "ui/runs/"+id+"?plan=shown").all("li", "") {
		if at, err := strconv.Atoi(strings.TrimPrefix(li.is("id"), "step-")); err == nil {
			rows[at] = li
		}
	}
	for i := range len(rows) {
		row := rows[i]
		page := read(t, u, "ui/runs/"+id+"?step="+strconv.Itoa(i))
		list = append(list, shownStep{row.first("span", "cut").text(), row, page.at("pane")})
		if got := page.at("h-pane").first("span", "").text(); got != list[i].name {
			t.Errorf("the pane of row %d is that of the step %q, want %q", i, got, list[i].name)
		}
	}
	return list
}

// stepStatements compares the rows and their panes with the run in the interface. Steps with
// the same name have separate rows.
func stepStatements(t *testing.T, shown []shownStep, truth *runTruth) {
	t.Helper()
	at, seen := -1, map[string]int{}
	for _, group := range truth.Steps {
		if group.Type == "next" {
			continue
		}
		for _, s := range group.Steps {
			rows := []int{}
			for i := range shown {
				if shown[i].name == s.StepName {
					rows = append(rows, i)
				}
			}
			if seen[s.StepName] >= len(rows) {
				t.Errorf("rows of the step %s: got %d, want more than %d", s.StepName, len(rows), seen[s.StepName])
				continue
			}
			row := rows[seen[s.StepName]]
			if seen[s.StepName]++; group.Type == "sequential" && seen[s.StepName] == 1 {
				if row < at {
					t.Errorf("the page shows the step %s too early, as row %d", s.StepName, row)
				}
				at = row
			}
			li, text := shown[row].row, shown[row].row.text()+" "+shown[row].pane.text()
			if asleep := s.State == "STEP_PROGRESS" && s.StepType == "SleepFor"; asleep != strings.Contains(li.text(), "sleeping") {
				t.Errorf("the page says of the step %s: %s; asleep is %v", s.StepName, text, asleep)
			}
			for word, want := range map[string]bool{
				": timed out": s.WaitTimeout != nil && *s.WaitTimeout,
				": notified":  s.State == "STEP_SUCCESS" && s.WaitTimeout != nil && !*s.WaitTimeout,
				"in progress": s.State == "STEP_PROGRESS" && s.StepType != "SleepFor" || s.State == "STEP_RETRY",
			} {
				if strings.Contains(text, word) != want {
					t.Errorf("the page says of the step %s: %s; %q should be there: %v", s.StepName, text, word, want)
				}
			}
			if s.SleepFor > 0 && s.State == "STEP_SUCCESS" {
				slept := spanned(t, li.first("", "took").text())
				want := time.Duration(s.SleepFor) * time.Millisecond
				if !strings.Contains(text, "kept") && !near(slept, want) {
					t.Errorf("the page says of the sleep %s: got %s in %q, want %s", s.StepName, slept, text, want)
				}
			}
		}
	}
}

// runTrace is a run in the control API.
type runTrace struct {
	Now   int64
	Spans []struct {
		Type           string
		MessageID      string
		From, To       int64
		Kept, Critical bool
		Step           struct{ StepName string }
		Parts          []struct {
			Kind           string
			From, To       int64
			Attempt        int
			ResponseStatus int
			DurationMs     float64
		}
	}
	Events []struct {
		MessageID, State string
		Time             int64
		ResponseStatus   int
	}
	Failure struct {
		Reason, MessageID string
		Attempt           int
	}
	Lineage []struct{ Relation, Kind, ID, State string }
}

// spanStatements compares each row and pane with its span, and the attempts of the span
// with the log: their number, start times and failures.
func spanStatements(t *testing.T, u *mockserver.TestServer, id string, shown []shownStep) {
	t.Helper()
	trace := fetch[runTrace](t, u, "/_understudy/runs/"+id)
	if len(trace.Spans) != len(shown) {
		t.Fatalf("rows of the waterfall: got %d, want %d", len(shown), len(trace.Spans))
	}
	began, failed := map[string][]int64{}, map[string][]int{}
	for _, e := range trace.Events {
		switch e.State {
		case "ACTIVE":
			began[e.MessageID] = append(began[e.MessageID], e.Time)
		case "ERROR":
			failed[e.MessageID] = append(failed[e.MessageID], e.ResponseStatus)
		}
	}
	for i, s := range trace.Spans {
		row, pane := shown[i].row, shown[i].pane
		what := fmt.Sprintf("row %d, %s: ", i, shown[i].name)
		if s.Step.StepName != "" {
			expect.Equal(t, what+"name", shown[i].name, s.Step.StepName)
		}
		expect.Equal(t, what+"kept", slices.Contains(strings.Fields(row.is("class")), "kept"), s.Kept)
		var starts []int64
		var answers []string
		failures := 0
		at := s.From
		for _, p := range s.Parts {
			expect.True(t, what+"its parts follow each other", p.From >= at && (p.To == 0 || p.To >= p.From))
			if at = p.To; p.Attempt == 0 {
				continue
			}
			starts = append(starts, p.From)
			if p.Kind == "failed" {
				failures++
				answers = append(answers, strconv.Itoa(p.ResponseStatus))
			}
		}
		if wire := began[s.MessageID]; !slices.Equal(starts, wire) {
			t.Errorf("%sattempts of %s begin: got %v, want those of the log %v", what, s.MessageID, starts, wire)
		}
		if wire := failed[s.MessageID]; failures > len(wire) {
			t.Errorf("%sfailed attempts: got %d, want at most %d, as the log has them", what, failures, len(wire))
		}
		tries := pane.first("ol", "tries").all("li", "")
		expect.Equal(t, what+"attempts in the pane", len(tries), len(starts))
		for k, li := range tries {
			if got := li.instants(t); len(got) != 1 || got[0] != starts[k] {
				t.Errorf("%sattempt %d begins: got %v, want %d", what, k+1, got, starts[k])
			}
		}
		for _, answer := range answers {
			expect.Contains(t, what+"the attempts", pane.first("ol", "tries").text(), answer)
		}
		tookStatement(t, what, row, &trace, i)
		times := pane.first("p", "").instants(t)
		if want := []int64{s.From, s.To}; s.To != 0 && !slices.Equal(times, want) {
			t.Errorf("%stimes of the pane: got %v, want %v", what, times, want)
		}
		pictureStatements(t, what, row, &trace, i)
	}
}

// tookStatement compares the duration of a row: that of its attempts in real time or, of a
// sleep or a wait, that on the clock.
func tookStatement(t *testing.T, what string, row reading, trace *runTrace, i int) {
	t.Helper()
	s, worked, clock := trace.Spans[i], 0.0, false
	for _, p := range s.Parts {
		worked += p.DurationMs
	}
	if s.To == 0 || s.Kept {
		return
	}
	took := row.first("", "took").text()
	for _, one := range row.first("", "took").all("span", "faint") {
		clock = clock || one.is("title") != ""
	}
	want := time.Duration(math.Round(worked)) * time.Millisecond
	if clock || worked == 0 {
		want = time.Duration(s.To-s.From) * time.Millisecond
	}
	if _, after, attempts := strings.Cut(took, "attempts "); attempts {
		took = after
	}
	if took != "<1 ms" && !near(spanned(t, firstSpan.FindString(took)), want) {
		t.Errorf("%stook: got %q, want %s", what, took, want)
	}
}

// pictureStatements counts the drawn parts of a row: one for each part that took time or
// was an attempt.
func pictureStatements(t *testing.T, what string, row reading, trace *runTrace, i int) {
	t.Helper()
	drawn, want := map[string]int{}, map[string]int{}
	for _, one := range row.first("svg", "lane").all("", "part") {
		if kind := strings.Fields(one.is("class"))[1]; kind != "kept" {
			drawn[kind]++
		}
	}
	for _, p := range trace.Spans[i].Parts {
		if p.To == 0 {
			p.To = trace.Now
		}
		if p.Attempt > 0 || p.To > p.From {
			want[p.Kind]++
		}
	}
	if fmt.Sprint(drawn) != fmt.Sprint(want) {
		t.Errorf("%sdrawn: got %v, want %v", what, drawn, want)
	}
}

// lineageStatements compares the chain with the control API, and checks that the linked
// entities link back.
func lineageStatements(t *testing.T, page reading, id string, u *mockserver.TestServer) {
	t.Helper()
	trace := fetch[runTrace](t, u, "/_understudy/runs/"+id)
	links := page.first("", "chain").all("a", "")
	expect.Equal(t, "number of links of the chain", len(links), len(trace.Lineage))
	for i, l := range trace.Lineage {
		expect.Equal(t, "the id that the chain names", links[i].is("title"), l.Kind+" "+l.ID)
		there := read(t, u, strings.TrimPrefix(links[i].is("href"), "/_understudy/"))
		whole := there.at("view").text()
		for _, one := range there.all("", "") {
			whole += " " + one.is("title")
		}
		expect.Contains(t, "the view that the chain leads to", whole, l.ID)
		back := false
		for _, one := range there.first("", "chain").all("a", "") {
			back = back || one.is("title") == "run "+id
		}
		expect.True(t, "the chain of "+l.ID+" leads back to "+id, back)
	}
	if trace.Failure.Reason != "" {
		expect.Contains(t, "the first reason", page.first("ul", "reasons").first("li", "").text(), trace.Failure.Reason)
		answer := page.first("", "actions").all("a", "")
		found := slices.ContainsFunc(answer, func(a reading) bool {
			return a.is("href") == fmt.Sprintf("/_understudy/ui/messages/%s?attempt=%d&part=response", trace.Failure.MessageID, trace.Failure.Attempt)
		})
		expect.True(t, "the answer of the endpoint can be opened", found)
		there := read(t, u, fmt.Sprintf("ui/messages/%s?attempt=%d&part=response", trace.Failure.MessageID, trace.Failure.Attempt))
		expect.Equal(t, "the attempt that is shown", there.at("attempt-"+strconv.Itoa(trace.Failure.Attempt)).is("aria-current"), "true")
	}
}

// TestKeptStepsTookWhatTheEarlierRunSays resumes a run twice: the kept steps and forks of the second run took what the first
// run says, sleeps and waits as well, on both axes; what the run before does not know has no duration.
func TestKeptStepsTookWhatTheEarlierRunSays(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	failed(w, "r")
	w.broken.Store(true)
	again(t, w, "resume")
	second := newest(t, u)
	u.Advance(time.Hour)
	w.broken.Store(false)
	again(t, w, "resume")
	third := newest(t, u)
	took := func(id, query string) map[string]string {
		rows := map[string]string{}
		for _, li := range read(t, u, "ui/runs/"+id+query).first("ol", "steps").all("li", "") {
			if name := li.first("span", "cut").text(); id == "r" || slices.Contains(strings.Fields(li.is("class")), "kept") {
				rows[name] = li.first("span", "took").text()
			}
		}
		return rows
	}
	for _, query := range []string{"", "?durations=clock"} {
		first := took("r", query)
		kept := took(second, query)
		expect.Equal(t, "kept rows", len(kept), 6)
		for name, text := range kept {
			expect.Equal(t, query+" "+name, text, first[name])
		}
		for name, text := range took(third, query) {
			expect.Equal(t, query+" "+name+", which the second run kept", text, map[bool]string{false: "kept"}[strings.HasPrefix(name, "Parallel")])
		}
	}
}
