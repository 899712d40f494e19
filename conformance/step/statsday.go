package step

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
)

// statsDaySteps check single days, and all fields together.
var statsDaySteps = []step{
	{"Then", `no figure but those of billing is above 0`, (*Scenario).figuresAreZero},
	{"Then", `the count of the dead letter queue has risen by (\d+|as many entries as are listed)`, (*Scenario).dlqCountRisen},
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
	totals := s.totals(s.stats.now.JSON, time.Time{})
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
