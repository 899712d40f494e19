package conformance

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec/header"
)

// one waits for the first delivery to an endpoint.
func (s *toolkit) one(name string) (*receiver.Received, error) {
	var got *receiver.Received
	e := s.endpoint(name)
	err := s.within(func() error {
		if all := e.Look(); len(all) > 0 {
			got = all[0]
			return nil
		}
		return s.failure("no delivery to "+name, "a delivery", "none")
	})
	return got, err
}

// failure is one about what came to the receiver.
func (s *toolkit) failure(message, want, got string) error {
	return &report.Failure{Message: message, Want: want, Got: clip(got), Exchange: s.judged()}
}

// carrying names a header of a delivery that holds a value.
func carrying(got *receiver.Received, value string) string {
	for name, values := range got.Header {
		if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, value) }) {
			return name
		}
	}
	return ""
}

// valuesOf are the values of a header, which may have been joined on the way.
func valuesOf(got *receiver.Received, name string) []string {
	var out []string
	for _, v := range got.Header.Values(name) {
		for part := range strings.SplitSeq(v, ",") {
			out = append(out, strings.TrimSpace(part))
		}
	}
	return out
}

// settled waits for n deliveries without moving time.
func (s *toolkit) settled(e *receiver.Endpoint, n int) error {
	check := func() error {
		if got := e.Look(); len(got) < n {
			return fmt.Errorf("%d of %d deliveries", len(got), n)
		}
		return nil
	}
	if s.clock.virtual() {
		if err := s.clock.pass(s.ctx, 0); err != nil {
			return err
		}
		return check()
	}
	return s.within(check)
}

// absent proves that something has not happened: a sentinel is published on a
// route that nothing holds, and what should not have come would have come before
// it (or soon after: the longer of one second and three times its way).
func (s *toolkit) absent(check func() error) error {
	e := s.endpoint(fmt.Sprintf("sentinel %d", len(s.endpoints)))
	started := now()
	a, err := s.do(ask{op: "publishMessage", vars: map[string]string{"destination": e.URL}, method: s.publishMethod(), body: []byte("sentinel"), aside: true})
	if err != nil {
		return err
	}
	if err := a.accepted(); err != nil {
		return skip(report.PrerequisiteFailed, "the sentinel was refused with status %d", a.status)
	}
	if err := s.settled(e, 1); err != nil {
		return skip(report.PrerequisiteFailed, "the sentinel did not arrive")
	}
	if !s.clock.virtual() {
		if err := s.clock.pass(s.ctx, max(time.Second, 3*since(started))); err != nil {
			return err
		}
	}
	return check()
}

// within waits for a check with the budget for deliveries, and eventually with
// that for what is read later.
func (s *toolkit) within(check func() error) error {
	return s.clock.eventually(s.ctx, s.suite.target.Timing.DeliveryBudget, check)
}

func (s *toolkit) eventually(check func() error) error {
	return s.clock.eventually(s.ctx, s.suite.target.Timing.SettleBudget, check)
}

func (s *toolkit) afterRetries(check func() error) error {
	return s.clock.eventually(s.ctx, s.suite.target.Timing.RetryBudget, check)
}

// afterRun waits for what is read of a run: its retries, and then the reading.
func (s *toolkit) afterRun(check func() error) error {
	t := &s.suite.target.Timing
	return s.clock.eventually(s.ctx, t.RetryBudget+t.SettleBudget, check)
}

// longer gives a nickname to another endpoint, whose URL begins with that of the
// one which had it.
func (s *toolkit) longer(name string) {
	e := s.suite.receiver.Longer(s.named[name], name)
	e.Wake = s.wake
	s.named[name] = e
	s.endpoints = append(s.endpoints, e)
}

// endpoint is the destination with that nickname, made when first named.
func (s *toolkit) endpoint(name string, script ...receiver.Reply) *receiver.Endpoint {
	if e := s.named[name]; e != nil {
		return e
	}
	e := s.suite.receiver.Endpoint(s.suite.id, s.key, name, script...)
	e.Wake = s.wake
	s.named[name] = e
	s.endpoints = append(s.endpoints, e)
	return e
}

// wake tells who waits that a delivery came.
func (s *toolkit) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.arrived)
	s.arrived = make(chan struct{})
}

func (s *toolkit) arrivals() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrived
}

// afterSuccess is the requirement that a delivery that succeeded is not repeated.
const afterSuccess = "REQ-RTY-003"

// tries are the deliveries to an endpoint. Repeating one that succeeded is legal,
// if unusual: all but the scenarios about it judge without such repeats.
func (s *toolkit) tries(e *receiver.Endpoint) []*receiver.Received {
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
func (s *toolkit) quiet(attempts []*receiver.Received) error {
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
	return s.clock.pass(s.ctx, min(2*wait, s.clock.scaled(s.suite.target.Timing.RetryBudget)))
}

// retryWait is how long the target waits before it tries a delivery again, which
// the document does not show: it is measured, once in a run. It is 0 where no
// retry comes within its budget; another scenario says so.
func (st *shared) retryWait(s *toolkit) (time.Duration, error) {
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
