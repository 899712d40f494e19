package step

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
)

// times returns the times, in Unix ms, that a date filter may compare: the document does
// not say which time of an entry it is.
func (s *Scenario) times(entry any) ([]int64, error) {
	var all []int64
	for _, field := range []string{"createdAt", "workflowCreatedAt", "notBefore"} {
		if t, ok := check.Integer(entry, "/"+field); ok {
			all = append(all, t)
		}
	}
	run, _ := check.Text(entry, "/workflowRunId")
	var events []any
	_ = s.settled(func() (err error) { // without the end of the run there is one time less
		if events, err = s.EventsOf(run); err == nil && !slices.ContainsFunc(events, inState("RUN_FAILED")) {
			err = s.lacks("RUN_FAILED", events)
		}
		return err
	})
	for _, e := range events {
		if t, ok := check.Integer(e, "/time"); ok && eventState(e) == "RUN_FAILED" {
			all = append(all, t)
		}
	}
	slices.Sort(all)
	if len(all) == 0 {
		return nil, harness.Inconclusive(report.PrerequisiteFailed, "the entry has no times")
	}
	return slices.Compact(all), nil
}

// listedBy reports whether the queue lists an entry when it is filtered by a date.
func (s *Scenario) listedBy(entry any, param string, t int64) (bool, error) {
	filters := map[string]string{param: strconv.FormatInt(t, 10)}
	if s.Bound("dlq", "run_id") != "" {
		filters["run_id"], _ = check.Text(entry, "/workflowRunId")
	}
	l, err := s.ReadList("listWorkflowDLQ", "dlq", 0, filters)
	if err != nil && !harness.EndlessCursor(err) {
		return false, err
	}
	s.runs.listed = l
	return slices.ContainsFunc(l.Items, func(e any) bool { return entryID(e) == entryID(entry) }), nil
}

func (s *Scenario) filterQueueByDate(end string) error {
	s.runs.dated = map[string]string{"start": "from", "end": "to"}[end]
	_, err := s.Binding("dlq", s.runs.dated)
	return err
}

// dateIsInclusive filters by dates at and next to each time that the filter may compare,
// and by dates an hour away, which give the same result for all of these times.
func (s *Scenario) dateIsInclusive() error {
	param, outward := s.runs.dated, int64(1) // a later end date lists more
	if param == "from" {
		outward = -1
	}
	const hour = 3_600_000
	for _, entry := range s.runs.entries {
		times, err := s.times(entry)
		if err != nil {
			return err
		}
		inner, outer := times[0], times[len(times)-1]
		if param == "from" {
			inner, outer = outer, inner
		}
		type probe struct {
			t    int64
			want bool
		}
		probes := []probe{{outer + hour*outward, true}, {inner - hour*outward, false}}
		if param == "to" { // an entry has no time before the first
			probes = append(probes, probe{inner - 1, false})
		}
		for _, p := range probes {
			listed, err := s.listedBy(entry, param, p.t)
			if err != nil {
				return err
			}
			if listed != p.want {
				return s.FailureOf(&s.runs.listed, fmt.Sprintf("the entry and the date %s=%d", param, p.t), fmt.Sprintf("listed: %v; its times are %d", p.want, times), fmt.Sprintf("listed: %v", listed))
			}
		}
		if err := s.boundary(entry, param, outward, times); err != nil {
			return err
		}
		if err := s.wholeSecond(entry, param, times[len(times)-1]); err != nil {
			return err
		}
	}
	return nil
}

// boundary fails when a date equal to a time of the entry does not list it, but the next
// date outward does.
func (s *Scenario) boundary(entry any, param string, outward int64, times []int64) error {
	for _, t := range times {
		listed, err := s.listedBy(entry, param, t)
		if err != nil {
			return err
		}
		if listed || slices.Contains(times, t+outward) {
			continue
		}
		missed := s.runs.listed
		if listed, err = s.listedBy(entry, param, t+outward); err != nil {
			return err
		}
		if listed {
			return s.FailureOf(&missed, "the "+param+" date of an entry is not inclusive", fmt.Sprintf("listed with %s=%d", param, t), fmt.Sprintf("listed with %d only", t+outward))
		}
	}
	return nil
}

// wholeSecond fails when the last time of the entry is within a second, but the first end date
// that lists it, or the last start date, is exactly the end of that second. A target may compare
// a later time, which it does not show, but hardly one of these.
func (s *Scenario) wholeSecond(entry any, param string, last int64) error {
	end := (last/1000 + 1) * 1000
	wrong, want := last, "listed"
	if param == "from" {
		wrong, want = last+1, "not listed"
	}
	var evidence harness.Listing
	for i, t := range []int64{wrong, end - 1, end} {
		listed, err := s.listedBy(entry, param, t)
		if cut := (param == "from") != (i == 2); err != nil || listed != cut {
			return err
		}
		if i == 0 {
			evidence = s.runs.listed
		}
	}
	return s.FailureOf(&evidence, "the "+param+" date of an entry is taken as a whole second", fmt.Sprintf("%s with %s=%d: its last time is %d", want, param, wrong, last), fmt.Sprintf("the same as with %d", end-1))
}
