package ui_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// reading is a part of a view, as a browser without scripts gets it.
type reading struct{ *html.Node }

// read gets a view.
func read(t testing.TB, u *mockserver.TestServer, path string) reading {
	t.Helper()
	return parsed(t, request(t, u, http.MethodGet, "/_understudy/"+path, ""))
}

// parsed parses a page.
func parsed(t testing.TB, text string) reading {
	t.Helper()
	page, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return reading{page}
}

// all returns the elements with a tag and a class; "" matches any.
func (r reading) all(tag, class string) (list []reading) {
	if r.Node == nil {
		return nil
	}
	for n := range r.Descendants() {
		one := reading{n}
		if n.Type == html.ElementNode && (tag == "" || n.Data == tag) && (class == "" || slices.Contains(strings.Fields(one.is("class")), class)) {
			list = append(list, one)
		}
	}
	return list
}

// first is the first element of all; empty if there is none.
func (r reading) first(tag, class string) reading {
	if list := r.all(tag, class); len(list) > 0 {
		return list[0]
	}
	return reading{}
}

// at is the element with an id.
func (r reading) at(id string) reading {
	for _, one := range r.all("", "") {
		if one.is("id") == id {
			return one
		}
	}
	return reading{}
}

// column is the cell of a row in a column.
func (r reading) column(name string) reading {
	for _, cell := range r.all("td", "") {
		if cell.is("data-col") == name {
			return cell
		}
	}
	return reading{}
}

// is returns the value of an attribute.
func (r reading) is(name string) string {
	if r.Node == nil {
		return ""
	}
	for _, a := range r.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// text is the text content with single spaces. A state is its constant, which is its title.
func (r reading) text() string {
	if r.Node == nil {
		return ""
	}
	var b strings.Builder
	for n := range r.Descendants() {
		if n.Type != html.TextNode {
			continue
		}
		text := n.Data
		if of := (reading{n.Parent}); slices.Contains(strings.Fields(of.is("class")), "state") && of.is("title") != "" {
			text = of.is("title")
		}
		b.WriteString(text + " ")
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// texts returns the texts of a list of elements.
func texts(list []reading) (out []string) {
	for _, one := range list {
		out = append(out, one.text())
	}
	return out
}

// fetch reads a document of the control API, or of the interface.
func fetch[T any](t testing.TB, u *mockserver.TestServer, path string) (to T) {
	t.Helper()
	text := request(t, u, http.MethodGet, path, "")
	if err := json.Unmarshal([]byte(text), &to); err != nil {
		t.Fatalf("%s: %v: %.300s", path, err, text)
	}
	return to
}

// runTruth is a run in the interface.
type runTruth struct {
	WorkflowRunID          string
	WorkflowState          string
	WorkflowRunCreatedAt   int64
	WorkflowRunCompletedAt int64
	DlqID                  string
	Invoker                struct{ WorkflowRunID string }
	Steps                  []struct {
		Type  string
		Steps []struct {
			StepName, StepType, State string
			CreatedAt                 int64
			WaitEventID               string
			WaitTimeout               *bool
			SleepFor                  int64
			Errors                    []struct {
				Status int
				Body   string
			}
		}
	}
}

func truthOf(t testing.TB, u *mockserver.TestServer, id string) runTruth {
	t.Helper()
	found := fetch[struct{ Runs []runTruth }](t, u, "/v2/workflows/logs?groupBy=workflowRunId&workflowRunId="+id)
	if len(found.Runs) != 1 {
		t.Fatalf("%d runs have the id %s", len(found.Runs), id)
	}
	return found.Runs[0]
}

// instants returns the times in a part of a view, in Unix ms.
func (r reading) instants(t testing.TB) (list []int64) {
	t.Helper()
	for _, one := range r.all("time", "") {
		at, err := time.Parse(time.RFC3339, one.is("datetime"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, at.UnixMilli())
	}
	return list
}

var (
	amounts   = regexp.MustCompile(`([\d.]+) (ms|s|m|h|d)\b`)
	firstSpan = regexp.MustCompile(`^[\d.]+ (ms|s|m|h|d)\b( \d+ [smh]\b)?`)
)

// spanned parses a duration of the page, such as 1 h 20 m.
func spanned(t testing.TB, text string) (sum time.Duration) {
	t.Helper()
	units := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	for _, found := range amounts.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(n * float64(units[found[2]]))
	}
	return sum
}

// near reports whether two durations are equal after rounding to two units.
func near(written, real time.Duration) bool {
	return written <= real && real-written <= max(time.Duration(float64(real)*0.05), time.Millisecond)
}

// statements compares the page of a run, and its row in the list, with the interface.
func statements(t *testing.T, u *mockserver.TestServer, id string) {
	t.Helper()
	truth := truthOf(t, u, id)
	page := read(t, u, "ui/runs/"+id).at("view")
	now := fetch[struct{ Now int64 }](t, u, "/_understudy/clock").Now
	end := truth.WorkflowRunCompletedAt
	ended := end != 0
	if !ended {
		end = now
	}
	row := read(t, u, "ui/runs").at("row-" + id)

	if got := page.first("h1", "").first("", "state").text(); got != truth.WorkflowState {
		t.Errorf("the page says %s, want %s", got, truth.WorkflowState)
	}
	if got := row.first("", "state").text(); got != truth.WorkflowState {
		t.Errorf("the list says %s, want %s", got, truth.WorkflowState)
	}
	if got := row.column("created").instants(t); len(got) == 0 || got[0] != truth.WorkflowRunCreatedAt {
		t.Errorf("the list says that it started at %v, want %d", got, truth.WorkflowRunCreatedAt)
	}
	took := ""
	for _, one := range page.all("span", "") {
		if one.is("data-testid") == "took" {
			took = firstSpan.FindString(one.first("b", "").text())
			expect.Equal(t, "it says how long it took", strings.HasPrefix(one.text(), "Took "), ended)
		}
	}
	if real := time.Duration(end-truth.WorkflowRunCreatedAt) * time.Millisecond; ended && !near(spanned(t, took), real) {
		t.Errorf("the page says that it took %q, want %s", took, real)
	}
	first, last := int64(1)<<62, int64(0)
	steps := shownSteps(t, u, id)
	for _, one := range steps {
		for _, at := range one.pane.instants(t) {
			first, last = min(first, at), max(last, at)
		}
	}
	if first < truth.WorkflowRunCreatedAt {
		t.Errorf("the first step starts: got %d, want at least %d, when the run starts", first, truth.WorkflowRunCreatedAt)
	}
	if ended && last > end {
		t.Errorf("the last step ends: got %d, want at most %d, when the run ends", last, end)
	}
	ends := slices.DeleteFunc(slices.Clone(steps), func(one shownStep) bool { return one.name != "end of the workflow" })
	if want := truth.WorkflowState == "RUN_SUCCESS"; (len(ends) == 1) != want || len(ends) > 1 {
		t.Errorf("rows with the end of the workflow: got %d in a run that is %s", len(ends), truth.WorkflowState)
	}
	stepStatements(t, steps, &truth)
	spanStatements(t, u, id, steps)
	lineageStatements(t, page, id, u)
	buttonStatements(t, u, page, &truth)
}

// buttonStatements checks that the page has exactly the buttons that apply to the run.
func buttonStatements(t *testing.T, u *mockserver.TestServer, page reading, truth *runTruth) {
	t.Helper()
	entries := fetch[struct{ Messages []struct{ DlqID string } }](t, u, "/v2/workflows/dlq?workflowRunId="+truth.WorkflowRunID).Messages
	buttons := texts(page.first("", "actions").all("button", ""))
	for name, want := range map[string]bool{
		"Cancel run": truth.WorkflowState == "RUN_STARTED",
		"Restart":    len(entries) > 0,
		"Resume":     len(entries) > 0,
	} {
		if slices.ContainsFunc(buttons, func(b string) bool { return b == name || strings.HasPrefix(b, name+" from ") }) != want {
			t.Errorf("the button %s exists: %v, want %v", name, !want, want)
		}
	}
}
