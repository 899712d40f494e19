package ui_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec/api"
)

// apiTime matches a time in a sentence of the API.
var apiTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// sentence is a reason of the API as the page writes it: times as in the rest of the page.
func sentence(reason string) string {
	return apiTime.ReplaceAllStringFunc(reason, func(word string) string {
		at, _ := time.Parse(time.RFC3339, word)
		if strings.Contains(word, ".") {
			return at.Format("2 Jan 2006 15:04:05.000 UTC")
		}
		return at.Format("2 Jan 2006 15:04:05 UTC")
	})
}

// whyStatements compares every sentence of why on the page of a message, a run or an entry with the API:
// their number and order, the words, the times and the rules; and the filled button with the next step.
func whyStatements(t *testing.T, u *mockserver.TestServer, list, id string) {
	t.Helper()
	what := list + "/" + id + ": "
	reasons := fetch[struct{ Reasons []api.Reason }](t, u, "/_understudy/explain/"+id).Reasons
	view := read(t, u, "ui/"+list+"/"+id).at("view")
	lines := view.first("ul", "reasons").all("li", "")
	if len(lines) == 0 { // what has succeeded has no card
		expect.True(t, what+"no reason is left out", len(reasons) <= 1 && reasons[0].Kind == "" && strings.HasPrefix(reasons[0].Reason, "ended "))
		return
	}
	expect.Equal(t, what+"number of reasons", len(lines), len(reasons))
	next := (*api.Remedy)(nil)
	for i, r := range reasons {
		if i >= len(lines) {
			break
		}
		text := lines[i].text()
		if want := sentence(r.Reason); !strings.HasPrefix(text, want) {
			t.Errorf("%sreason %d: got %q, want it to begin with %q", what, i, text, want)
		}
		times := lines[i].instants(t)
		if until := r.Until != 0 && r.Kind != "clock"; until != strings.Contains(text, ", until ") || until && times[len(times)-1] != r.Until {
			t.Errorf("%sreason %d: got %q, want it to end at %d", what, i, text, r.Until)
		}
		expect.Equal(t, what+"the rule", strings.HasSuffix(text, " by "+r.Rule), r.Rule != "")
		if next == nil {
			next = r.Next
		}
	}
	if next == nil || list == "dlq" {
		return
	}
	filled := ""
	for _, tag := range []string{"button", "summary"} {
		for _, one := range view.first("", "actions").all(tag, "main") {
			filled += one.text()
		}
	}
	want := map[string]string{"notify": "Notify " + next.Subject + "…", "unpause key": "Unpause " + next.Subject, "unpause queue": "Unpause " + next.Subject, "advance": "Advance to its "}[next.Do]
	if list == "messages" && next.Do == "advance" {
		want = "Attempt now"
	}
	expect.True(t, what+"the filled button "+filled+" does the next step "+next.Do, want != "" && strings.HasPrefix(filled, want))
}

// compareStatements compares two runs of one workflow on the page with the API: a row for each step of
// either, in pairs by name, with its real duration.
func compareStatements(t *testing.T, u *mockserver.TestServer, ids []string) {
	t.Helper()
	if len(ids) < 2 {
		return
	}
	view := read(t, u, "ui/compare/"+ids[0]+"?with="+ids[1]).at("view")
	tables := view.all("table", "pairs")
	facts := map[string][]string{}
	for _, tr := range tables[0].all("tr", "") {
		if name := tr.first("th", "").text(); len(tr.all("td", "")) == 2 {
			facts[name] = texts(tr.all("td", ""))
		}
	}
	want, traces := [2]map[string][]string{}, [2]runTrace{}
	for i, id := range ids[:2] {
		truth, trace := truthOf(t, u, id), fetch[runTrace](t, u, "/_understudy/runs/"+id)
		expect.Equal(t, "state of "+id, facts["State"][i], truth.WorkflowState)
		expect.Equal(t, "start of "+id, facts["Started"][i], time.UnixMilli(truth.WorkflowRunCreatedAt).UTC().Format("2 Jan 2006 15:04:05.000 UTC"))
		want[i], traces[i] = comparedSteps(&trace), trace
	}
	got := [2]map[string][]string{{}, {}}
	for _, tr := range view.all("section", "")[0].all("tr", "") {
		name, cells := tr.first("th", "").text(), tr.all("td", "")
		if len(cells) != 2 {
			continue
		}
		for i, cell := range cells {
			if text := cell.text(); text != "not in this run" {
				got[i][name] = append(got[i][name], text)
				link, _ := url.Parse(cell.first("a", "").is("href"))
				at, err := strconv.Atoi(link.Query().Get("step"))
				expect.True(t, "the link of "+name+" leads to the step", err == nil && at < len(traces[i].Spans) && slices.Contains([]string{name, ""}, traces[i].Spans[at].Step.StepName))
			}
		}
		alone := cells[0].text() == "not in this run" || cells[1].text() == "not in this run"
		expect.True(t, "the row of "+name+" is in both runs, or marked", !alone || tr.is("class") == "other")
		expect.True(t, "the row of "+name+" is in pairs by name", !alone || len(want[0][name]) != len(want[1][name]))
	}
	for i, id := range ids[:2] {
		for name := range got[i] {
			expect.True(t, "the step "+name+" is one of the run "+id, len(want[i][name]) > 0)
		}
		for name, list := range want[i] {
			expect.Equal(t, "rows of "+name+" in "+id, len(got[i][name]), len(list))
			for j := range min(len(list), len(got[i][name])) {
				if text := got[i][name][j]; !strings.HasPrefix(text, list[j]) {
					t.Errorf("%s of %s: got %q, want %q", name, id, text, list[j])
				}
			}
		}
	}
}

// comparedSteps are the steps of a run with what the comparison says first about each: how long its attempts
// worked in real time or, of a sleep or a wait, how long it lasted on the clock.
func comparedSteps(trace *runTrace) map[string][]string {
	steps := map[string][]string{}
	for _, s := range trace.Spans {
		worked, failures, name := 0.0, 0, s.Step.StepName
		for _, p := range s.Parts {
			worked += p.DurationMs
			if p.Kind == "failed" {
				failures++
			}
		}
		if s.Type == "Plan" || s.Type == "Initial" && len(s.Parts) == 0 || name == "end of the workflow" && failures == 0 {
			continue
		}
		if name == "" {
			name = "next step"
			if n := len(s.Parts); n > 0 && s.Parts[n-1].Kind == "failed" {
				name = "the step that failed"
			}
		}
		end := s.To
		if end == 0 {
			end = trace.Now
		}
		waits := strings.HasPrefix(s.Type, "Sleep") || s.Type == "Wait" || len(s.Parts) > 0 && slices.Contains([]string{"sleeping", "waiting"}, s.Parts[len(s.Parts)-1].Kind)
		text := "" // not finished
		switch {
		case s.Kept:
			text = "kept"
		case waits:
			text = strings.Join(strings.Fields(spanText(float64(end - s.From)))[:2], " ")
		case s.To != 0 && worked > 0 && worked < 1:
			text = "<1 ms"
		case s.To != 0 && worked > 0:
			text = strings.Join(strings.Fields(spanText(worked))[:2], " ")
		}
		steps[name] = append(steps[name], text)
	}
	return steps
}

// spanText writes a duration in ms as the page does.
func spanText(ms float64) string {
	d := time.Duration(ms+0.5) * time.Millisecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d m", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours())/24)
}

// usageSeries is a series of the statistics of the interface.
type usageSeries struct {
	ID         string `json:"id"`
	DataPoints []struct {
		Y float64
	} `json:"data_points"`
}

func (s usageSeries) sum() (n float64) {
	for _, p := range s.DataPoints {
		n += p.Y
	}
	return n
}

// statisticsStatements compares the charts of messages, runs and attempts with the statistics of the
// interface: the numbers in words, and the bars. Only outcomes are bars.
func statisticsStatements(t *testing.T, u *mockserver.TestServer, period string) {
	t.Helper()
	usage := fetch[map[string]json.RawMessage](t, u, "/_understudy/as/"+account(t, u)+"/v2/qstash/stats/"+account(t, u)+"?period="+period)
	lists := map[string][]usageSeries{"Messages": nil, "Workflow runs": nil}
	for name, raw := range usage {
		title := map[bool]string{true: "Workflow runs", false: "Messages"}[strings.Contains(name, "workflow")]
		if list := lists[title]; strings.HasSuffix(name, "_messages") && json.Unmarshal(raw, &list) == nil {
			lists[title] = list
		}
	}
	var all []struct{ Y float64 }
	expect.True(t, "the interface has attempts", json.Unmarshal(usage["daily_used"], &all) == nil)
	page := read(t, u, "ui/statistics?period="+period).at("view")
	charts := map[string]reading{}
	for _, section := range page.all("section", "card") {
		charts[section.is("data-title")] = section
	}
	used := 0.0
	for _, p := range all {
		used += p.Y
	}
	expect.Equal(t, "attempts of the period", charts["Delivery attempts"].first("h2", "").first("span", "soft").text(), strconv.Itoa(int(used)))
	for title, list := range lists {
		var want []string
		bars, lines := 0, 0
		for _, s := range list {
			want = append(want, fmt.Sprintf("%s %d", s.ID, int(s.sum())))
			for _, p := range s.DataPoints {
				if line := slices.Contains([]string{"created", "started", "retried"}, s.ID); p.Y > 0 && line {
					lines++
				} else if p.Y > 0 {
					bars++
				}
			}
		}
		chart := charts[title]
		expect.Equal(t, "legend of "+title, strings.Join(texts(chart.first("p", "legend").all("span", "item")), ", "), strings.Join(want, ", "))
		drawn := chart.all("rect", "series")
		drawnLines, over := len(chart.all("rect", "line")), len(chart.all("rect", "over"))
		expect.Equal(t, "lines of "+title, drawnLines, lines)
		expect.Equal(t, "bars of "+title, len(drawn)-drawnLines-over, bars)
	}
}

// searchStatements compares the order of a search on the page with that of the API, in which the messages of
// a run that was found are counted at it.
func searchStatements(t *testing.T, u *mockserver.TestServer, words string) {
	t.Helper()
	hits := fetch[struct{ Hits []api.SearchHit }](t, u, "/_understudy/search?q="+url.QueryEscape(words)).Hits
	runs, want, more := map[string]bool{}, map[string][]string{}, map[string]int{}
	for _, h := range hits {
		runs[h.ID] = h.Kind == "run"
	}
	for _, h := range hits {
		if h.Kind == "message" && runs[h.WorkflowRunID] {
			more[h.WorkflowRunID]++
			continue
		}
		want[h.Kind] = append(want[h.Kind], h.ID)
	}
	page := read(t, u, "ui/search?q="+url.QueryEscape(words)).at("view")
	for _, kind := range []string{"run", "dlq", "message"} {
		var got []string
		for _, section := range page.all("section", "") {
			if section.is("aria-labelledby") != "h-found-"+kind {
				continue
			}
			for _, li := range section.all("li", "") {
				id := li.first("a", "").text()
				got = append(got, id)
				counted := ""
				if n := more[id]; n > 0 {
					counted = fmt.Sprintf("with %d of its messages", n)
				}
				expect.True(t, "the messages of "+id, counted == "" || strings.Contains(li.text(), counted))
			}
		}
		expect.Equal(t, "order of "+kind+" in the search for "+words, strings.Join(got, " "), strings.Join(want[kind], " "))
	}
}
