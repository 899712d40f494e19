package step

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
)

// statistics holds the readings of a scenario.
type statistics struct {
	before map[string]any // by period
	begun  time.Time      // target's time of the first of them
	now    *harness.Response
	at     time.Time // target's time of the last reading
}

var statsSteps = []step{
	{"Given", `the usage statistics as they are now`, (*Scenario).statsBefore},
	{"Given", `a delivered message`, (*Scenario).deliveredMessage},
	{"Given", `the run has been cancelled`, (*Scenario).hasBeenCancelled},
	{"When", `the usage statistics are read (?:without a period|for the period "(\w+)"|until they have (moved))`, (*Scenario).readStatsAs},
	{"Then", `the last point of every per-period series is at most 2 minutes old`, (*Scenario).endsNow},
	{"Then", `each item of the daily requests, billings and bandwidths is that of the day with its index`, (*Scenario).arraysLineUp},
	{"Then", `the array of days( and the daily requests, billings and bandwidths)? ha(?:s|ve) one item for each day of the current month`, (*Scenario).daysOfMonth},
	{"Then", `these figures have (not )?risen:`, (*Scenario).risen},
}

// getStats reads the statistics and records the target's time, with which later steps
// compare the newest point and the days.
func (s *Scenario) getStats(period string) (*harness.Response, error) {
	if s.User == "" {
		return nil, harness.Inconclusive(report.FixtureUnsatisfied, "fixtures.stats_user_id: whose statistics")
	}
	q := harness.Request{Operation: "getUsageStatistics", Vars: map[string]string{"id": s.User}, Path: s.StatsPath()}
	if period != "" {
		q.Query = url.Values{"period": {period}}
	}
	at, err := s.Clock.Target(s.Context)
	if err != nil {
		return nil, err
	}
	s.stats.at = at
	return s.Demand(q)
}

func (s *Scenario) statsBefore() error {
	s.stats.before = map[string]any{}
	for period := range check.Periods {
		a, err := s.getStats(period)
		if err != nil {
			return s.Assume(err, "REQ-STA-001")
		}
		if s.stats.before[period] = a.JSON; s.stats.begun.IsZero() {
			s.stats.begun = s.stats.at
		}
	}
	return nil
}

func (s *Scenario) readStats(period string) (err error) {
	s.stats.now, err = s.getStats(period)
	s.Asked = s.stats.now
	return err
}

func (s *Scenario) readStatsAs(period, moved string) error {
	if moved != "" {
		return s.readStatsMoved()
	}
	return s.readStats(period)
}

// readStatsMoved reads until any total differs from before or the budget for statistics is
// spent; the next step checks which one. With a moved clock it reads once.
func (s *Scenario) readStatsMoved() error {
	was := s.totals(s.stats.before["1h"], time.Time{})
	moved := func() error {
		if err := s.readStats(""); err != nil {
			return err
		}
		if maps.Equal(was, s.totals(s.stats.now.JSON, time.Time{})) {
			return s.Failure("the statistics have not moved", "other figures", "the same")
		}
		return nil
	}
	if s.Clock.Virtual() {
		return s.readStats("")
	}
	err := s.Await("statistics", s.Suite.Target.Timing.StatsBudget, moved)
	if err == nil { // other totals may change later
		err = s.Clock.Pass(s.Context, s.Suite.Target.Timing.Poll.First)
	}
	if err != nil {
		return err
	}
	return s.readStats("")
}

// totals returns the totals of all arrays and series by name and field, of the series their points since
// a time, and the daily requests of the UTC day of the last reading.
func (s *Scenario) totals(v any, since time.Time) map[string]float64 {
	out := map[string]float64{}
	sum := func(name string, points []any) {
		for _, p := range points {
			for _, field := range []string{"y", "workflow_message", "workflow_run"} {
				if n, ok := check.At(p, "/"+field); ok {
					f, _ := strconv.ParseFloat(fmt.Sprint(n), 64)
					out[name+" "+field] += f
				}
			}
		}
	}
	recent := func(points []any) []any {
		return slices.DeleteFunc(slices.Clone(points), func(p any) bool {
			t, _, ok := check.StatsTime(p)
			return ok && t.Before(since)
		})
	}
	for _, name := range check.DayArrays {
		points, _ := check.List(v, "/"+name)
		sum(name, points)
	}
	for _, name := range check.PeriodArrays {
		points, _ := check.List(v, "/"+name)
		sum(name, recent(points))
	}
	for _, name := range check.SeriesArrays {
		series, _ := check.List(v, "/"+name)
		for _, one := range series {
			id, _ := check.Text(one, "/id")
			points, _ := check.List(one, "/data_points")
			sum(name+" "+id, recent(points))
		}
	}
	days, _ := check.List(v, "/daily_requests")
	sum("daily_requests of today", slices.DeleteFunc(slices.Clone(days), func(day any) bool {
		t, _, _ := check.StatsTime(day)
		return t.YearDay() != s.stats.at.UTC().YearDay()
	}))
	if n, ok := check.Integer(v, "/dlq_message_count"); ok {
		out["dlq"] = float64(n)
	}
	return out
}

// series returns all arrays of points of the period, by name.
func (s *Scenario) series() (map[string][]any, error) {
	out := map[string][]any{}
	var err error
	for _, name := range check.PeriodArrays {
		if out[name], err = s.stats.now.List(name); err != nil {
			return nil, err
		}
	}
	for _, name := range check.SeriesArrays {
		series, err := s.stats.now.List(name)
		if err != nil {
			return nil, err
		}
		for i, one := range series {
			id, _ := check.Text(one, "/id")
			s.Observe("stats."+name+".id", id)
			if out[name+" "+id], err = s.stats.now.List(fmt.Sprintf("%s/%d/data_points", name, i)); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// timesOf returns the times of points, oldest first: the document does not define their order.
func (s *Scenario) timesOf(name string, points []any) ([]time.Time, error) {
	times := make([]time.Time, len(points))
	for i, p := range points {
		t, _, ok := check.StatsTime(p)
		if !ok {
			return nil, s.stats.now.Fails("/"+strings.Fields(name)[0], fmt.Sprintf("the time of %s, point %d", name, i), check.StatsTimeExample, harness.Shown(p))
		}
		times[i] = t
	}
	slices.SortFunc(times, time.Time.Compare)
	return times, nil
}

// eachSeries applies judge to the series of the period. Series with an id may be empty: the
// document does not define which metrics a target has, nor that each has points.
func (s *Scenario) eachSeries(judge func(name string, points []any) error) error {
	all, err := s.series()
	if err != nil {
		return err
	}
	judged := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(all[name]) == 0 && !slices.Contains(check.PeriodArrays, name) {
			continue
		}
		judged++
		if err := judge(name, all[name]); err != nil {
			return err
		}
	}
	return nil
}

// endsNow allows two minutes, twice the distance of the points of an hour, plus the clock skew.
func (s *Scenario) endsNow() error {
	return s.eachSeries(func(name string, points []any) error {
		times, err := s.timesOf(name, points)
		if err != nil {
			return err
		}
		if len(times) == 0 {
			return s.stats.now.Fails("/"+strings.Fields(name)[0], "the points of "+name, "at least one", "none")
		}
		last := times[len(times)-1]
		if age := s.stats.at.Sub(last); age > 2*time.Minute+s.Skew() || age < -2*time.Minute-s.Skew() {
			return s.stats.now.Fails("/"+strings.Fields(name)[0], "the age of the last point of "+name, "at most 2m", age.String())
		}
		return nil
	})
}

// daysOfMonth uses the UTC time of the reading: at midnight at the end of a month, the current time may be in
// the next month. Of the other arrays it is the stricter reading of the same sentence. Its requirement is
// implied, so that a failure is a warning.
func (s *Scenario) daysOfMonth(arrays string) error {
	t, names := s.stats.at.UTC(), []string{"days"}
	if arrays != "" {
		names = append(names, check.DayArrays...)
	}
	want := time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	for _, name := range names {
		items, err := s.stats.now.List(name)
		if err != nil {
			return err
		}
		if n := len(items); n != want {
			return s.stats.now.Fails("/"+name, "the items of "+name, strconv.Itoa(want), strconv.Itoa(n))
		}
	}
	return nil
}

// arraysLineUp accepts arrays that end today or at the end of the month: the document says
// only of the array of days that it covers the whole month.
func (s *Scenario) arraysLineUp() error {
	days, err := s.stats.now.List("days")
	if err != nil {
		return err
	}
	n, t := len(days), s.stats.at.UTC()
	for _, name := range check.DayArrays {
		items, _ := check.List(s.stats.now.JSON, "/"+name)
		if len(items) < t.Day() || len(items) > n { // only the array days is documented to contain future days
			return s.stats.now.Fails("/"+name, "the items of "+name, fmt.Sprintf("one for each day so far, %d to %d", t.Day(), n), strconv.Itoa(len(items)))
		}
		for i, item := range items {
			day, _, ok := check.StatsTime(item)
			if !ok || day.Day() != i+1 || day.Month() != t.Month() {
				return s.stats.now.Fails(fmt.Sprintf("/%s/%d/x", name, i), "the day of the item", fmt.Sprintf("day %d of the month", i+1), harness.Shown(item))
			}
		}
	}
	return nil
}

// risen requires that totals are higher than before, or are not, in an account of its own.
func (s *Scenario) risen(not string, t *godog.Table) error {
	return s.inEveryPeriod("the figures have risen", func(before any, period string) error {
		since := s.stats.begun.Add(-check.Periods[period].Distance - s.Skew()) // a point may have the time of its start
		was, is := s.totals(before, since), s.totals(s.stats.now.JSON, since)
		for _, r := range t.Rows {
			if name := r.Cells[0].Value; (is[name] > was[name]) == (not != "") && (s.Alone || not == "") {
				return s.stats.now.Fails("/"+strings.Fields(name)[0], "the total of "+name, fmt.Sprintf("%smore than %v in the points since %s", not, was[name], since.UTC().Format(time.DateTime)), fmt.Sprint(is[name]))
			}
		}
		return nil
	})
}

// inEveryPeriod judges the statistics of each period. In real time it reads them within their
// budget until they pass: they may be counted with a delay.
func (s *Scenario) inEveryPeriod(what string, judge func(before any, period string) error) error {
	for _, period := range slices.Sorted(maps.Keys(check.Periods)) {
		read := func() error {
			if err := s.readStats(period); err != nil {
				return err
			}
			return judge(s.stats.before[period], period)
		}
		err := read()
		if err != nil && !s.Clock.Virtual() {
			err = s.Await("statistics of "+period+": "+what, s.Suite.Target.Timing.StatsBudget, read)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Scenario) deliveredMessage() error {
	return s.Assume(harness.InTurn(s.publishIt, func() error { return s.arrives("") }), "REQ-PUB-001")
}

func (s *Scenario) hasBeenCancelled() error {
	if err := s.cancelRun(); err != nil {
		return err
	}
	return s.Assume(s.recorded("the", "RUN_CANCELED"), "REQ-LOG-021")
}
