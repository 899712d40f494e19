package step

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/table"
	"github.com/understudy-mock/understudy/conformance/workflow"
	"github.com/understudy-mock/understudy/spec/header"
)

// rowsOf are the rows of a table in a feature file.
func rowsOf(t *godog.Table) (rows []table.Row) {
	for _, r := range t.Rows {
		rows = append(rows, table.Row{Place: r.Cells[0].Value, Want: r.Cells[1].Value})
	}
	return rows
}

// holds judges an item of a list by a table. known are values that are the same for all items.
func (s *Scenario) holds(what string, item any, rows []table.Row, first any, known map[string]string) error {
	miss, err := table.Judge(item, rows, func(name string) (v string, err error) {
		v, has := known[name]
		if !has {
			v, err = s.value(name, item, first)
		}
		if err == nil && !strings.HasPrefix(name, "item ") {
			known[name] = v
		}
		return v, err
	})
	if err != nil || miss == nil {
		return err
	}
	return s.FailureAt(item, miss.Pointer, miss.Pointer[1:]+" of "+what, cmp.Or(harness.Clip(miss.Want), "an empty text"))
}

// value is what a name in a table stands for: a binding of the target file, such as log.response, a
// value at a pointer of the item, of the first one of its list, of the answer, or of the original entry,
// or what the scenario knows of its run. A time may be moved: trigger+60s.
func (s *Scenario) value(name string, item, first any) (string, error) {
	run := &s.runs
	if i := strings.LastIndex(name, "+"); i > 0 {
		by := name[i+1:]
		at, err := s.value(name[:i], item, first)
		if err != nil {
			return "", err
		}
		ms, _ := strconv.ParseInt(at, 10, 64)
		d, err := time.ParseDuration(by)
		if by == "timeout" {
			d, err = time.Duration(run.peer.Steps[0].Seconds)*time.Second, nil
		}
		return strconv.FormatInt(ms+d.Milliseconds(), 10), err
	}
	of, pointer, inItem := strings.Cut(name, " at ")
	if section, field, bound := strings.Cut(cmp.Or(pointer, name), "."); bound {
		v, err := s.Binding("fields."+section, field)
		if err != nil || !inItem {
			return v, err
		}
		pointer = v
	}
	if inItem {
		items := map[string]any{"item": item, "first": first, "original": run.entry}
		if of == "answer" || of == "entry of the message" {
			item, err := s.item(of)
			if err != nil {
				return "", err
			}
			items[of] = item
		}
		v, has := check.At(items[of], "/"+pointer)
		if !has && of == "original" {
			return "", harness.Inconclusive(report.TriggerNotObserved, "the entry of the original run has nothing at /%s", pointer)
		}
		return harness.Plain(v), nil
	}
	millis := func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
	switch name {
	case "run":
		return run.id, nil
	case "new run":
		return run.restarted.run, nil
	case "search index":
		return s.searched.id, nil
	case "time":
		now, err := s.Clock.Target(s.Context)
		return now.UTC().Format("2006-01-02 15:04:05"), err
	case "chosen run":
		return run.restarted.chosen, nil
	case "other key":
		return s.Name("other"), nil
	case "destination":
		return s.Endpoint(theDestination).URL, nil
	case "token":
		return string(s.Auth.Bearer), nil
	case "body":
		return string(s.prepared.body), nil
	case "workflow":
		return run.peer.Endpoint.URL, nil
	case "invoked workflow":
		return run.child.Endpoint.URL, nil
	case "third party":
		return s.Endpoint("third party").URL, nil
	case "event":
		return s.Name("event"), nil
	case "payload":
		return run.payload, nil
	case "response":
		return run.peer.Result, nil
	case "retries":
		return run.header.Get(header.Retries), nil
	case "creation of the run":
		events, err := s.EventsOf(run.id)
		v, _ := check.At(events, "/0/workflowCreatedAt")
		return harness.Plain(v), err
	case "timeout":
		return strconv.Itoa(run.peer.Steps[0].Seconds) + "s", nil
	case "method":
		first, err := s.FirstDelivery(run.peer.Endpoint.Name)
		if err != nil {
			return "", s.Assume(err, "REQ-LOG-007")
		}
		return first.Method, nil
	case "label", "flow key":
		name, err := s.Binding("headers", strings.ReplaceAll(name, " ", "_"))
		return run.header.Get(name), err
	case "callback":
		_, err := s.Binding("headers", "failure_callback")
		if err != nil {
			return "", err
		}
		return run.callback.URL, nil
	case "trigger":
		return millis(run.triggered.Add(-s.Skew())), nil
	case "settled trigger":
		return millis(run.triggered.Add(s.Skew() + s.Clock.Scaled(s.Suite.Target.Timing.SettleBudget))), nil
	case "restart": // in whole seconds, by another clock
		if s.Clock.Virtual() {
			return millis(run.restarted.asked), nil
		}
		return millis(run.restarted.asked.Add(-time.Second)), nil
	case "now":
		now, err := s.Clock.Target(s.Context)
		return millis(now.Add(s.Skew())), err
	}
	return "", harness.Fault("", "unknown name {%s} in a table", name)
}

// itemHolds judges one item by a table.
func (s *Scenario) itemHolds(which string, t *godog.Table) error {
	item, err := s.item(which)
	if err != nil {
		return err
	}
	var first any
	if len(s.answers) > 0 {
		first = s.answers[0].JSON
	}
	return s.holds("the "+which, item, rowsOf(t), first, map[string]string{})
}

// item reads what a sentence names, if a When step has not.
func (s *Scenario) item(which string) (item any, err error) {
	switch which {
	case "entry":
		if s.runs.entry == nil {
			s.runs.entry, err = s.buried(s.runs.id)
		}
		return s.runs.entry, err
	case "entry of the new run":
		return s.buried(s.runs.restarted.run)
	case "entry of the invoked run":
		if _, err := s.FirstDelivery(s.runs.child.Endpoint.Name); err != nil {
			return nil, s.Assume(err, "REQ-LOG-020")
		}
		return s.buried(workflow.InvokedID(s.runs.id, 0))
	case "message":
		a, err := s.Demand(harness.Request{Operation: "getMessage", Vars: map[string]string{"messageId": s.message()}})
		if err != nil {
			return nil, err
		}
		return a.JSON, nil
	case "entry of the message", "callback": // the attempts before and after the wait are judged
		s.Endpoint(theDestination).Look()
		defer s.Endpoint(theDestination).Look()
		if which == "callback" {
			return s.callback()
		}
		return s.deadMessage()
	}
	return cmp.Or(s.runs.restarted.answer, s.Asked).JSON, nil // a later step may have asked
}

// eventsHold judges by a table all events of the run that have a value at a place, or not, or requires
// one that is as the table says.
func (s *Scenario) eventsHold(which, of, place, not, is string, t *godog.Table) error {
	rows, run := rowsOf(t), map[string]string{"run": s.runs.id, "new run": s.runs.restarted.run, "invoked run": workflow.InvokedID(s.runs.id, 0)}[of]
	judge := func(events []any) (err error) {
		judged, known := false, map[string]string{}
		for _, e := range events {
			if v, _ := check.At(e, "/"+place); place != "" && (harness.Plain(v) == is) == (not != "") {
				continue
			}
			judged = true
			err = s.holds("an event "+eventState(e), e, rows, events[0], known)
			if _, failed := err.(*report.Failure); (which == "some") == (err == nil) || err != nil && !failed { //nolint:errorlint // as it was made
				return err
			}
		}
		if !judged && which == "every" {
			return s.lacks(is, events)
		}
		if !judged {
			return s.FailureOf(events, "the log of the run lacks an event", cmp.Or(is, "one"), eventStates(events))
		}
		return err
	}
	if which == "every" {
		return s.check(run, judge)
	}
	return s.eventually("an event with "+rows[0].Place+" "+is, run, judge)
}
