package step

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
)

// statsDaySteps check single days, and all fields together.
var statsDaySteps = []step{
	{"Then", `no figure but those of billing is above 0`, (*Scenario).figuresAreZero},
	{"Then", `"(\w+)" of today has risen in the daily requests`, (*Scenario).todayRisen},
	{"Then", `the count of the dead letter queue has risen by (\d+|as many entries as are listed)`, (*Scenario).dlqCountRisen},
}

// today returns a field of the daily requests for the UTC day of the last reading.
func (s *Scenario) today(v any, field string) (float64, error) {
	days, _ := check.List(v, "/daily_requests")
	for _, day := range days {
		if t, _, ok := check.StatsTime(day); ok && t.Format("2006-01-02") == s.stats.at.UTC().Format("2006-01-02") {
			n, _ := check.At(day, "/"+field)
			return strconv.ParseFloat(harness.Plain(n), 64)
		}
	}
	return 0, s.stats.now.Fails("/daily_requests", "the daily requests", "an item of today", harness.Shown(days))
}

func (s *Scenario) todayRisen(field string) error {
	return s.inEveryPeriod(field+" of today has risen", func(before any) error {
		was, err := s.today(before, field)
		if err != nil {
			return err
		}
		is, err := s.today(s.stats.now.JSON, field)
		if err == nil && is <= was {
			err = s.stats.now.Fails("/daily_requests", field+" of today", fmt.Sprintf("more than %v", was), fmt.Sprint(is))
		}
		return err
	})
}

// dlqCountRisen requires the exact count if no other scenario uses the account, otherwise
// at least it. A restart may remove its entry or not, so that the count is that of the list.
func (s *Scenario) dlqCountRisen(by string) error {
	n, err := strconv.ParseInt(by, 10, 64)
	if err != nil {
		l, err := s.ReadList("listWorkflowDLQ", "dlq", 0, s.ofScenario())
		if err == nil {
			err = s.readStats("")
		}
		if err != nil {
			return err
		}
		n = int64(len(l.Items))
	}
	was, ok := check.Integer(s.stats.before["1h"], "/dlq_message_count")
	if !ok {
		return harness.Inconclusive(report.PrerequisiteFailed, "dlq_message_count was no number")
	}
	if s.Alone {
		was = 0 // its account is new
	}
	judge := func() error {
		is, _ := check.Integer(s.stats.now.JSON, "/dlq_message_count")
		if s.Alone && is != was+n || is < was+n {
			return s.stats.now.Fails("/dlq_message_count", "the count of the dead letter queue", strconv.FormatInt(was+n, 10), strconv.FormatInt(is, 10))
		}
		return nil
	}
	if err := judge(); err == nil || s.Clock.Virtual() {
		return err
	}
	return s.Eventually(func() error {
		if err := s.readStats(""); err != nil {
			return err
		}
		return judge()
	})
}

// figuresAreZero needs an account that no other scenario uses.
func (s *Scenario) figuresAreZero() error {
	if !s.Alone {
		return harness.Inconclusive(report.DriverMissing, "drivers.account: other scenarios use the account")
	}
	totals := statsTotals(s.stats.now.JSON)
	for _, name := range slices.Sorted(maps.Keys(totals)) {
		if totals[name] != 0 && !strings.Contains(name, "billing") {
			return s.stats.now.Fails("/"+strings.Fields(name)[0], "the total of "+name+" of an account that has done nothing", "0", fmt.Sprint(totals[name]))
		}
	}
	if n, _ := check.Integer(s.stats.now.JSON, "/dlq_message_count"); n != 0 {
		return s.stats.now.Fails("/dlq_message_count", "the count of the dead letter queue of an account that has done nothing", "0", strconv.FormatInt(n, 10))
	}
	return nil
}
