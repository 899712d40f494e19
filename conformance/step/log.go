package step

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
)

var logSteps = []step{
	{"Given", `two finished runs of different workflows`, (*Scenario).twoRuns},
	{"When", `the (message logs|dead letter queue) (?:are|is) read( again a little later)?`, (*Scenario).readAgain},
	{"When", `the (message logs|dead letter queue) (?:are|is) read (?:without a page size|with a page size of (\d+))`, (*Scenario).readFirst},
	{"When", `the (message logs of the run|dead letter queue) (?:are|is) read (\d+|all) at a time( while another run (?:continues|fails))?`, (*Scenario).readPaged},
	{"When", `the message logs are filtered by the (start|end) date of one of their events`, (*Scenario).filterLogsByDate},
	{"Then", `every answer has the form of the document`, (*Scenario).Formed},
	{"Then", `every run-level state is one of the documented list`, (*Scenario).documentedStates},
	{"Then", `the page holds exactly (\d+) (?:events|entries) and a cursor`, (*Scenario).fullPage},
	{"Then", `the page holds at most (\d+) (?:events|entries), or the request is refused`, (*Scenario).cappedPage},
	{"Then", `every (event of the run|entry) is seen exactly once`, (*Scenario).everyOnce},
	{"Then", `the last page has no cursor(, or an empty one)?`, (*Scenario).listEnds},
	{"Then", `the (list|queue) holds all (?:events|entries) that fit, and no other`, (*Scenario).holdsFitting},
	{"Then", `the list is empty(, or the request is refused)?`, (*Scenario).listEmpty},
}

// readAgain reads what a list has of the run.
func (s *Scenario) readAgain(list, while string) error {
	if while != "" {
		if err := s.Clock.Wait(s.Context, 150*time.Millisecond); err != nil {
			return err
		}
	}
	if list == "message logs" {
		return s.readLogs()
	}
	return s.readQueue()
}

// readLogs reads the logs of the run.
func (s *Scenario) readLogs() error {
	if s.runs.id == "" {
		return s.readAny("message logs")
	}
	if err := s.logged(); err != nil {
		return err
	}
	filters := map[string]string{}
	if s.Bound("logs", "run_id") != "" {
		filters["run_id"] = s.runs.id
	}
	return s.settled(func() error {
		err := s.read("message logs", 0, filters)
		if err == nil {
			s.Asked = s.runs.listed.Responses[0]
			_, err = s.own()
		}
		return err
	})
}

// logged waits until the log of a failed run shows the failure: the dead letter queue may
// show it earlier.
func (s *Scenario) logged() error {
	if s.runs.entry == nil {
		return nil
	}
	if err := s.Assume(s.runFails(), "REQ-LOG-009"); err != nil {
		return err
	}
	return s.still()
}

// readPaged reads the log of the run, or the entries of its workflow. Runs that are triggered between the
// pages add items, which may be listed or not: the next page must continue after the last item, not at
// an offset that new ones shift. What fits are the events of the run, or the entries of its workflow.
func (s *Scenario) readPaged(list, at, racing string) error {
	size, _ := strconv.Atoi(at)
	list, isLog := strings.CutSuffix(list, " of the run")
	filters, fits := s.ofScenario(), func(item any) error {
		_, err := s.Binding("dlq", "url") // otherwise nothing was filtered
		return cmp.Or(err, s.only("/workflowUrl", s.runs.peer.Endpoint.URL)(item))
	}
	if isLog {
		fits = s.only("/workflowRunId", s.runs.id)
		if err := s.know(s.runs.id); err != nil {
			return err
		}
		if filters = map[string]string{"run_id": s.runs.id}; racing != "" {
			filters = map[string]string{"url": s.runs.peer.Endpoint.URL}
		}
		if at == "all" {
			size = len(s.runs.known)
		}
	}
	most := len(s.runs.ids) + 3
	err := s.read(list, size, filters, func() error {
		if racing == "" || len(s.runs.ids) == most {
			return nil
		}
		id, err := s.trigger(s.runs.peer, "{}")
		if err == nil && !isLog {
			_, err = s.buried(id)
		}
		return s.Assume(err, "REQ-DLQ-005")
	})
	s.runs.listed.Fits = fits
	return err
}

// own returns the listed events of the run. It is a failure when there are none.
func (s *Scenario) own() ([]any, error) {
	list := s.runs.listed.Of(s.runs.id)
	if len(list) == 0 {
		return nil, s.FailureOf(&s.runs.listed, "the list has no event of the run", "events of "+s.runs.id, fmt.Sprintf("%d events of others", len(s.runs.listed.Items)))
	}
	return list, nil
}

// documentedStates checks run-level states only: the document closes their list, and leaves
// the list of message-level states open.
func (s *Scenario) documentedStates(events runLog) error {
	for _, e := range events {
		if st := eventState(e); strings.HasPrefix(st, "RUN_") && !slices.Contains(check.RunStates, st) {
			return s.FailureAt(e, "/state", "a run-level state that the document does not list", strings.Join(check.RunStates, ", "))
		}
	}
	return nil
}

func (s *Scenario) everyOnce(what string) error {
	if what == "entry" {
		return s.sameEntries(s.runs.entries)
	}
	return s.sameEvents(s.runs.known)
}

// sameEvents requires each of the events once in the list, as it was read before.
func (s *Scenario) sameEvents(want []any) error {
	return s.ListedOnce(&s.runs.listed, want, s.RowKey("logs"))
}

func (s *Scenario) listEnds(open string) error {
	l := &s.runs.listed
	if last := l.Cursors[len(l.Cursors)-1]; last != "-" && (last != "" || open == "") {
		return s.FailureOf(l, "the last page", "no cursor"+open, strconv.Quote(last))
	}
	return nil
}

// nextWorkflow makes room for another workflow at a longer address, whose runs are later.
func (s *Scenario) nextWorkflow() error {
	s.Longer("the workflow")
	if s.Clock.Virtual() {
		return s.Clock.Pass(s.Context, 5*time.Second)
	}
	return nil
}

// twoRuns makes two finished runs, one after the other. The address of the second workflow
// begins with the address of the first.
func (s *Scenario) twoRuns() error {
	if err := s.finishedRun(); err != nil {
		return err
	}
	first := s.runs.peer
	if err := harness.InTurn(s.nextWorkflow, s.finishedRun); err != nil {
		return err
	}
	s.runs.child = first
	return nil
}

// know reads the events of runs, which a list that is read later must hold. A run without
// events proves nothing.
func (s *Scenario) know(runs ...string) error {
	if err := s.logged(); err != nil {
		return err
	}
	s.runs.known = nil
	for _, id := range runs {
		var events []any
		err := s.settled(func() (err error) {
			if events, err = s.EventsOf(id); err == nil && !slices.ContainsFunc(events, inState("CREATED")) {
				err = s.lacks("CREATED", events)
			}
			return err
		})
		if len(events) == 0 {
			return err
		}
		s.runs.known = append(s.runs.known, events...)
	}
	return nil
}

// lacks is the result of a step whose subject the log does not show: scenarios about the
// requirement that promises it judge that.
func (s *Scenario) lacks(what string, events []any) error {
	promisedBy := cmp.Or(map[string]string{"DELIVERED": "REQ-LOG-008", "ERROR": "REQ-LOG-010"}[what], "REQ-LOG-007")
	return s.Assume(s.FailureOf(events, "the log of the run lacks "+what, what, eventStates(events)), promisedBy)
}

// filterLogsByDate filters by the time of the last event of the first run as the end, or of the first
// one of the second run as the start: both ends of the range are inclusive.
func (s *Scenario) filterLogsByDate(end string) error {
	if err := s.know(s.runs.ids...); err != nil {
		return err
	}
	known := harness.Listing{Items: s.runs.known}
	t, _ := bounds(known.Of(s.runs.ids[1]))
	name, bound := "from", "at least "
	if end == "end" {
		_, t = bounds(known.Of(s.runs.ids[0]))
		name, bound = "to", "at most "
	}
	filters := s.recent("message logs")
	filters[name] = strconv.FormatInt(t, 10)
	return s.readFiltered("message logs", filters, func(e any) error {
		if x, _ := check.Integer(e, "/time"); x == t || (x > t) == (name == "from") {
			return nil
		}
		return s.FailureAt(e, "/time", unfitting, bound+filters[name])
	})
}

// bounds returns the time of the first and of the last of events.
func bounds(events []any) (low, high int64) {
	for _, e := range events {
		t, _ := check.Integer(e, "/time")
		if low == 0 || t < low {
			low = t
		}
		high = max(high, t)
	}
	return low, high
}

// holdsFitting requires that the list contains each known item that matches the filter once, and
// no item that does not match. The known items were read separately before, so that it finds
// filters that list too few items as well as filters that list too many.
func (s *Scenario) holdsFitting(list string) error {
	known, judge := s.runs.known, s.sameEvents
	if list == "queue" {
		known, judge = s.runs.entries, s.sameEntries
	}
	l := &s.runs.listed
	for _, item := range l.Items {
		if err := l.Fits(item); err != nil {
			return err
		}
	}
	want := slices.DeleteFunc(slices.Clone(known), func(item any) bool { return l.Fits(item) != nil })
	if len(want) == 0 {
		return harness.Inconclusive(report.PrerequisiteFailed, "nothing of the scenario fits the filter, so it proves nothing")
	}
	return judge(want)
}

// listEmpty may accept a refusal: a target may reject a value that cannot exist.
func (s *Scenario) listEmpty(refusal string) error {
	if refused := s.Asked.Accepted(); refused != nil {
		if refusal != "" {
			return nil
		}
		return refused
	}
	field := harness.ListField[s.Asked.Operation.ID]
	items, err := s.Asked.List(field)
	if err == nil && len(items) > 0 {
		err = s.Asked.Fails("/"+field, unfitting, "nothing", harness.Shown(items[0]))
	}
	return err
}
