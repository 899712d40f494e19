package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/spec/header"
)

var retrySteps = []step{
	{"Then", `exactly (\d+) attempts? (?:is|are) made`, (*scenario).exactlyAttempts},
	{"Then", `the last attempt was answered (\d+)`, (*scenario).lastAnswered},
	{"Then", `every attempt carries the body and the header "([^"]+)" with the value "([^"]+)"`, (*scenario).everyAttemptCarries},
}

func (s *scenario) exactlyAttempts(n int) error { return s.attempts(to, n) }

// attempts waits for n calls to an endpoint, each within the budget of one retry,
// and then makes sure that no further one comes.
func (s *scenario) attempts(name string, n int) error {
	e := s.endpoint(name)
	for want := 1; want <= n; want++ {
		err := s.afterRetries(func() error {
			if got := len(s.tries(e)); got < want {
				return s.failure("attempts at "+name, fmt.Sprint(n), fmt.Sprint(got))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := s.quiet(s.tries(e)); err != nil {
		return err
	}
	if got := len(s.tries(e)); got != n {
		return s.failure("attempts at "+name, fmt.Sprint(n), fmt.Sprint(got))
	}
	return nil
}

// afterSuccess is the requirement that a delivery that succeeded is not repeated.
const afterSuccess = "REQ-RTY-003"

// tries are the deliveries to an endpoint. Repeating one that succeeded is legal,
// if unusual: all but the scenarios about it judge without such repeats.
func (s *scenario) tries(e *receiver.Endpoint) []*receiver.Received {
	all := e.Look()
	if slices.Contains(s.result.Requirements, afterSuccess) {
		return all
	}
	var out []*receiver.Received
	done := map[string]bool{} // bodies that were taken
	for _, got := range all {
		if done[string(got.Body)] {
			s.observe("delivery.after-success", "made again")
			continue
		}
		out = append(out, got)
		if status := got.Status.Load(); status >= 200 && status < 300 {
			done[string(got.Body)] = true
		}
	}
	return out
}

// quiet lets as much time pass as a further retry would have taken: two days of a
// moved clock, or, in real time, twice the longest wait between two attempts that
// was measured, and at least a sentinel's way.
func (s *scenario) quiet(attempts []*receiver.Received) error {
	if s.clock.virtual() {
		return s.clock.pass(s.ctx, 48*time.Hour)
	}
	wait, err := s.suite.retryWait(s)
	if err != nil {
		return err
	}
	for i := 1; i < len(attempts); i++ {
		wait = max(wait, attempts[i].At.Sub(attempts[i-1].At))
	}
	if err := s.absent(func() error { return nil }); err != nil {
		return err
	}
	return s.clock.pass(s.ctx, min(2*wait, s.clock.scaled(s.suite.cfg.Target.Timing.RetryBudget)))
}

// retryWait is how long the target waits before it tries a delivery again, which
// the document does not show: it is measured, once in a run. It is 0 where no
// retry comes within its budget; another scenario says so.
func (st *suite) retryWait(s *scenario) (time.Duration, error) {
	st.measuring.Lock()
	defer st.measuring.Unlock()
	if st.measured {
		return st.wait, nil
	}
	e := s.endpoint("measured destination")
	e.Answer(nil, receiver.Reply{Status: http.StatusServiceUnavailable})
	h := http.Header{header.Retries: {"1"}}
	if name := s.bound("headers", "retry_delay"); name != "" {
		h.Set(name, "1000")
	}
	a, err := s.do(ask{op: "publishMessage", vars: map[string]string{"destination": e.URL}, method: s.publishMethod(), header: h, body: []byte("measured")})
	if err != nil {
		return 0, err
	}
	if err := unless(a.accepted()); err != nil {
		return 0, err
	}
	_ = s.afterRetries(func() error { // without a retry there is nothing to measure
		if all := e.Look(); len(all) > 1 {
			st.wait = all[1].At.Sub(all[0].At)
			st.observe("retry.wait", st.wait.Round(100*time.Millisecond).String())
			return nil
		}
		return errors.New("no retry yet")
	})
	st.measured = true
	return st.wait, nil
}

func (s *scenario) lastAnswered(status int) error {
	all := s.tries(s.endpoint(to))
	if len(all) == 0 || int(all[len(all)-1].Status.Load()) != status {
		return s.failure("the last attempt", fmt.Sprintf("answered %d", status), fmt.Sprintf("%d attempts", len(all)))
	}
	return nil
}

func (s *scenario) everyAttemptCarries(name, value string) error {
	for i, got := range s.endpoint(to).Look() {
		if !bytes.Equal(got.Body, s.publish.body) {
			return s.failure(fmt.Sprintf("attempt %d has another body", i+1), string(s.publish.body), string(got.Body))
		}
		if got.Header.Get(name) != value {
			return s.failure(fmt.Sprintf("attempt %d has another header %s", i+1, name), value, got.Header.Get(name))
		}
	}
	return nil
}
