package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/internal/recorder"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// A step that panics is an error of the suite, not a verdict on the target.
func TestAPanicIsAnErrorOfTheSuite(t *testing.T) {
	t.Parallel()
	const tooFew = `@area-limit @cap-ratelimit
Feature: A mistake of the suite

  @REQ-RLP-002 @stated
  Scenario: There are fewer requests than the step reads
    Given a route limited to 1 requests per "1h" by the "fixed-window" algorithm
    When one client sends 1 requests
    Then the last 5 requests reach the application
`
	judged, err := conformance.Run(t.Context(), conformance.Config{
		Target: unhurriedTarget(environment(mockserver.RunT(t, mockserver.Config{Dialect: neutral()})), true), Plugin: pluginInProcess, FS: fstest.MapFS{"limit.feature": {Data: []byte(tooFew)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "verdict", judged.Results[0].Verdict, report.HarnessError)
	expect.Contains(t, "detail", judged.Results[0].Detail, "the suite panicked: runtime error: slice bounds out of range [-4:] at limit.go:")
	expect.Equal(t, "exit code", judged.ExitCode(), report.ExitHarness)
}

// A step about a failure callback needs the header that sets one: without it there is no verdict.
func TestAStepWithoutItsBindingHasNoVerdict(t *testing.T) {
	t.Parallel()
	const unset = `@area-dlq
Feature: A header that the target file does not name

  @REQ-DLQ-011 @stated
  Scenario: The entry of a run with a failure callback
    Given a dead-lettered run with a failure callback
    When the dead letter queue is read
    Then the entry holds:
      | failureCallback | {callback} |
`
	own := unhurriedTarget(environment(mockserver.RunT(t, mockserver.Config{Dialect: neutral()})), true)
	delete(own.Bindings.Headers, "failure_callback")
	judged, err := conformance.Run(t.Context(), conformance.Config{Target: own, FS: fstest.MapFS{"dlq.feature": {Data: []byte(unset)}}})
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "verdict", judged.Results[0].Verdict, report.Inconclusive)
	expect.Equal(t, "reason", judged.Results[0].Reason, report.BindingMissing)
}

// The value of each row counts, also of those that are no header.
func TestARunHasWhatItsTableSays(t *testing.T) {
	t.Parallel()
	const configured = `@area-dlq
Feature: A run with a payload and a label

  @REQ-DLQ-017 @stated
  Scenario: The entry of a run
    Given a run with:
      | payload | order 7 |
      | label   | urgent  |
    And a dead-lettered run
    When the dead letter queue is read
    Then the entry holds:
      | {dlq.body}  | order 7 |
      | {dlq.label} | urgent  |
`
	judged, err := conformance.Run(t.Context(), conformance.Config{Target: unhurriedTarget(environment(mockserver.RunT(t)), true), FS: fstest.MapFS{"dlq.feature": {Data: []byte(configured)}}})
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "verdict: "+judged.Results[0].Detail, judged.Results[0].Verdict, report.Pass)
}

// lists is a server that changes the lists of its answers, from the n-th answer with a list of
// each account on.
type lists struct {
	next   http.Handler
	from   int
	change func(list []any) []any
	answer *string // the body of every answer; nil: the lists are changed

	requests atomic.Int64
	mu       sync.Mutex
	answered map[string]int // answers with a list, by credential
}

// preflight is the largest number of requests before the first scenario.
const preflight = 12

func (l *lists) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := recorder.Serve(l.next, r)
	switch {
	case l.answer != nil && l.requests.Add(1) > preflight && !strings.HasPrefix(r.URL.Path, "/_understudy") && rec.Status < 300:
		rec.Body.Reset()
		rec.Body.WriteString(*l.answer)
	case l.answer == nil && r.Method == http.MethodGet && hasLists.MatchString(r.URL.Path):
		body := l.changed(rec.Body.Bytes(), r.Header.Get("Authorization"))
		rec.Body.Reset()
		rec.Body.Write(body)
	}
	maps.Copy(w.Header(), rec.Header())
	w.Header().Del("Content-Length")
	w.WriteHeader(rec.Status)
	_, _ = w.Write(rec.Body.Bytes()) // the client may have disconnected
}

// hasLists matches the paths of the message logs, the dead letter queue and the statistics.
var hasLists = regexp.MustCompile(`^/v2/(workflows/messageLogs|workflows/dlq|stats/.+)$`)

func (l *lists) changed(body []byte, account string) []byte {
	var answer map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&answer) != nil {
		return body
	}
	l.mu.Lock()
	l.answered[account]++
	change := l.answered[account] > l.from
	l.mu.Unlock()
	for name, member := range answer {
		if list, ok := member.([]any); ok && change {
			answer[name] = l.change(list)
		}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err) // decoded JSON always encodes
	}
	return text
}

// listChange is a change of lists that the document allows, or of all answers.
type listChange struct {
	name   string
	change func([]any) []any
	answer *string
	kept   bool // all items are listed at once: every scenario must pass
	late   bool // all items are listed later, in real time: no scenario may fail
}

var listChanges = []listChange{
	{name: "empty", change: func([]any) []any { return []any{} }},
	{name: "the first item", change: func(list []any) []any { return list[:min(1, len(list))] }},
	{name: "the last item", change: func(list []any) []any { return list[max(0, len(list)-1):] }},
	{name: "reordered", change: reordered, kept: true},
	{name: "late", change: late, late: true},
	{name: "without a body", answer: new("")},
	{name: "an empty object", answer: new("{}")},
	{name: "an empty array", answer: new("[]")},
	{name: "null", answer: new("null")},
}

// reordered reverses a list of events or entries; the document defines the order of statistics.
func reordered(list []any) []any {
	if listedAt(list) != 0 {
		slices.Reverse(list)
	}
	return list
}

// late leaves out the events and entries of the last 300 ms.
func late(list []any) []any {
	return slices.DeleteFunc(list, func(item any) bool { return listedAt([]any{item}) > time.Now().Add(-300*time.Millisecond).UnixMilli() })
}

// listedAt returns the time of the first event or entry of a list, 0 when it has others.
func listedAt(list []any) int64 {
	if len(list) == 0 {
		return 0
	}
	item, _ := list[0].(map[string]any)
	for _, name := range []string{"time", "createdAt"} {
		if n, ok := item[name].(json.Number); ok {
			ms, _ := n.Int64()
			return ms
		}
	}
	return 0
}

// FuzzSteps feeds all steps with lists that are legal, but empty, short, reordered or late from
// some answer on: no step panics, and none passes without the items that it is about.
func FuzzSteps(f *testing.F) {
	effort.Unraced(f, "it looks for verdicts, not for races")
	for _, seed := range [][2]uint8{{0, 1}, {3, 0}, {0, 0}, {0, 3}, {0, 5}, {1, 0}, {2, 2}, {4, 0}, {5, 0}, {6, 0}, {7, 0}, {8, 0}}[:effort.Amount(f, "SEEDS", 1, 12)] {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, change, from uint8) {
		t.Parallel()
		c := listChanges[int(change)%len(listChanges)]
		judged := withLists(t, c, int(from))
		ran := map[string]bool{}
		for i := range judged.Results {
			r := &judged.Results[i]
			for _, st := range r.Steps {
				ran[st.Text] = ran[st.Text] || st.Verdict == report.Pass
			}
			switch {
			case c.answer != nil:
				expect.True(t, r.Location+" does not panic: "+r.Detail, !strings.Contains(r.Detail, "panicked"))
			case r.Verdict == report.HarnessError,
				c.kept && r.Verdict != report.Pass && r.Verdict != report.Observed,
				c.late && (r.Verdict == report.Fail || r.Verdict == report.Warn):
				t.Errorf("%s %d: %s %s: %s %s", c.name, from, r.Location, r.Name, r.Verdict, r.Detail)
			case !c.kept && !c.late && wrongly(r):
				t.Errorf("%s %d: %s %s: it passes, but the last list was empty", c.name, from, r.Location, r.Name)
			}
		}
		if c.kept {
			everyStep(t, slices.Collect(maps.Keys(ran)))
		}
	})
}

// everyStep checks that each registered step has passed at least once.
func everyStep(t *testing.T, passed []string) {
	t.Helper()
	for _, st := range conformance.Steps() {
		if strings.Contains(st.Pattern, "worlds of") || strings.Contains(st.Pattern, "in them has") || strings.HasPrefix(st.Pattern, "for every (?:message|") {
			continue // this run has no worlds
		}
		if st.Area == "target file" {
			continue // CheckTarget runs them
		}
		expression := regexp.MustCompile("^" + st.Pattern + "$")
		expect.True(t, st.Pattern+" has passed", slices.ContainsFunc(passed, expression.MatchString))
	}
}

// withLists runs the suite against a server that changes its lists.
func withLists(t *testing.T, c listChange, from int) *report.Report {
	t.Helper()
	u := mockserver.RunT(t, mockserver.Config{Clock: map[bool]string{true: "real"}[c.late], Dialect: neutral()})
	server := httptest.NewServer(&lists{next: u, from: from, change: c.change, answer: c.answer, answered: map[string]int{}})
	t.Cleanup(server.Close)
	cfg := conformance.Config{Target: unhurriedTarget(environment(u), !c.late), SkipCanary: true}
	cfg.Target.Target.URLs = target.URLs{Base: server.URL, KV: server.URL + "/kv"}
	switch {
	case c.answer != nil:
		cfg.Basis, cfg.Profiles, cfg.Tags = everything, []string{"MSG", "GROUP", "WF-READ", "WF-RECOVER", "FLOW", "USAGE", "INDEX"}, "not @time-long"
	case c.kept:
		cfg.Basis, cfg.Plugin = everything, pluginInProcess
	default:
		cfg.Areas, cfg.Tags = []string{"dlq", "log", "restart", "run", "stats"}, "not @time-long"
	}
	judged, err := conformance.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return judged
}

// wrongly reports whether a scenario passed though the last list that it read was empty.
func wrongly(r *report.Result) bool {
	if r.Verdict != report.Pass || emptyIsRight.MatchString(r.Name) {
		return false
	}
	for _, x := range slices.Backward(r.Exchanges) {
		if _, listed := harness.ListField[x.Operation]; listed {
			return emptyList.MatchString(x.Answer)
		}
	}
	return false
}

// emptyList matches the answer of a list without items.
var emptyList = regexp.MustCompile(`"(events|messages)":\[\]`)

// emptyIsRight matches the names of scenarios about an empty list, about the form of an answer,
// or about a value that the calls of a workflow show as well.
var emptyIsRight = regexp.MustCompile(`holds? nothing|no events|(is|are) an array|empty array|(never|not) in the queue|cursor of every page|flow-control value|entries after a restart|credential is in no call|cancelled run is not in the count|date of the queue is inclusive`)
