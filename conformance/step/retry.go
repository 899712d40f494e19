package step

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
)

var retrySteps = []step{
	{"Then", `exactly (\d+) attempts? (?:is|are) made(?: at "([^"]+)")?`, (*Scenario).attempts},
}

// counted requires a number.
func (s *Scenario) counted(what string, want, got int) error {
	if got == want {
		return nil
	}
	return s.Failure(what, strconv.Itoa(want), strconv.Itoa(got))
}

// attempts waits for n calls to an endpoint, each within the budget of one retry, and then
// checks that no further call follows. The waits between retries may grow without bound:
// when the suite cannot set them, only the first retry must come in time.
func (s *Scenario) attempts(n int, name string) error {
	name = cmp.Or(name, theDestination)
	e := s.Endpoint(name)
	for want := 1; want <= n; want++ {
		await := s.AfterRetries
		if want == 1 {
			await = s.Within
		}
		err := await(func() error {
			if got := len(s.Tries(e)); got < want {
				return s.Failure("attempts at "+name, fmt.Sprint(n), fmt.Sprint(got))
			}
			return nil
		})
		if err != nil && want > 2 && !s.Clock.Virtual() && s.Bound("headers", "retry_delay") == "" {
			return harness.Inconclusive(report.BudgetExhausted, "attempt %d has not come within timing.retry_budget (%s): raise it, or name the header that sets the wait in bindings.headers.retry_delay", want, s.Suite.Target.Timing.RetryBudget)
		}
		if err != nil {
			return err
		}
	}
	if err := s.AwaitQuiet(s.Tries(e)); err != nil {
		return err
	}
	for _, other := range s.Endpoints {
		other.Look() // the document says nothing of these
	}
	return s.counted("attempts at "+name, n, len(s.Tries(e)))
}
