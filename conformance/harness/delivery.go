package harness

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec/header"
)

// FirstDelivery waits for the first delivery to an endpoint.
func (s *Scenario) FirstDelivery(name string) (*receiver.Received, error) {
	var got *receiver.Received
	e := s.Endpoint(name)
	err := s.Within(func() error {
		if all := e.Look(); len(all) > 0 {
			got = all[0]
			return nil
		}
		return s.Failure("no delivery to "+name, "a delivery", "none")
	})
	return got, err
}

// Failure returns a failure that refers to the exchange that the step judges.
func (s *Scenario) Failure(message, want, got string) error {
	return &report.Failure{Message: message, Want: want, Got: Clip(got), Exchange: s.judged()}
}

// FailureOf returns a failure that refers to the exchange whose answer has the value: see
// ExchangeOf.
func (s *Scenario) FailureOf(value any, message, want, got string) error {
	return &report.Failure{Message: message, Want: want, Got: Clip(got), Exchange: s.ExchangeOf(value)}
}

// FailureAt returns a failure of the value at a JSON pointer of an item, and shows only
// that value.
func (s *Scenario) FailureAt(item any, pointer, message, want string) error {
	got := "nothing"
	if v, has := check.At(item, pointer); has {
		got = Shown(v)
	}
	exchange, place := s.place(item)
	return &report.Failure{Message: message, Pointer: place + pointer, Want: want, Got: got, Exchange: exchange}
}

// Carrying returns the name of a header of a delivery that contains value, "" for none.
func Carrying(got *receiver.Received, value string) string {
	for name, values := range got.Header {
		if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, value) }) {
			return name
		}
	}
	return ""
}

// ValuesOf returns the values of a header, split at commas: a proxy may have joined them.
func ValuesOf(got *receiver.Received, name string) []string {
	var out []string
	for _, v := range got.Header.Values(name) {
		for part := range strings.SplitSeq(v, ",") {
			out = append(out, strings.TrimSpace(part))
		}
	}
	return out
}

// Settled waits for n deliveries without moving time.
func (s *Scenario) Settled(e *receiver.Endpoint, n int) error {
	check := func() error {
		if got := e.Look(); len(got) < n {
			return s.Failure("deliveries to "+e.Name, fmt.Sprintf("at least %d", n), fmt.Sprint(len(got)))
		}
		return nil
	}
	if s.Clock.Virtual() {
		if err := s.Clock.Pass(s.Context, 0); err != nil {
			return err
		}
		return check()
	}
	return s.Within(check)
}

// Absent proves that something has not happened: it publishes a sentinel on a route that
// nothing delays, and calls check when it has arrived. In real time it first waits three
// times as long as the sentinel took, at least one second.
func (s *Scenario) Absent(check func() error) error {
	e := s.Endpoint(fmt.Sprintf("sentinel %d", len(s.Endpoints)))
	started := Now()
	a, err := s.Do(Request{Operation: "publishMessage", Vars: map[string]string{"destination": e.URL}, Method: s.PublishMethod(), Body: []byte("sentinel"), Aside: true})
	if err != nil {
		return err
	}
	if err := a.Accepted(); err != nil {
		return Inconclusive(report.PrerequisiteFailed, "the sentinel was refused with status %d", a.Status)
	}
	if err := s.Settled(e, 1); err != nil {
		return Inconclusive(report.PrerequisiteFailed, "the sentinel did not arrive")
	}
	if !s.Clock.Virtual() {
		if err := s.Clock.Pass(s.Context, max(time.Second, 3*Since(started))); err != nil {
			return err
		}
	}
	return check()
}

// Within repeats check within the budget for deliveries.
func (s *Scenario) Within(check func() error) error {
	return s.await(s.Suite.Target.Timing.DeliveryBudget, check)
}

// Eventually repeats check within the budget for data that is read after a delay.
func (s *Scenario) Eventually(check func() error) error {
	return s.await(s.Suite.Target.Timing.SettleBudget, check)
}

// AfterRetries repeats check within the budget of one retry: timing.retry_budget, or less when
// messages say how soon they are tried again.
func (s *Scenario) AfterRetries(check func() error) error {
	t := &s.Suite.Target.Timing
	return s.await(s.sooner(2*t.DeliveryBudget, t.RetryBudget), check)
}

// AfterRun repeats check within RunBudget.
func (s *Scenario) AfterRun(check func() error) error { return s.await(s.RunBudget(), check) }

// RunBudget is the budget of one retry and of reading the result.
func (s *Scenario) RunBudget() time.Duration {
	t := &s.Suite.Target.Timing
	return s.sooner(t.DeliveryBudget, t.RetryBudget) + t.SettleBudget
}

// sooner is the first budget, if the suite sets the delay before retries and it is less.
func (s *Scenario) sooner(set, otherwise time.Duration) time.Duration {
	if s.Bound("headers", "retry_delay") == "" {
		return otherwise
	}
	return min(set, otherwise)
}

// Longer assigns a nickname to a new endpoint, whose URL begins with the URL of the
// endpoint that had the nickname before.
func (s *Scenario) Longer(name string) {
	e := s.Suite.Receiver.Longer(s.Named[name], name)
	e.Wake, e.Guard = s.wake, s.guard
	s.Named[name] = e
	s.Endpoints = append(s.Endpoints, e)
}

// Endpoint returns the destination with a nickname, and creates it at the first call.
func (s *Scenario) Endpoint(name string, script ...receiver.Reply) *receiver.Endpoint {
	if e := s.Named[name]; e != nil {
		return e
	}
	e := s.Suite.Receiver.Endpoint(s.Suite.ID, s.Key, name, script...)
	e.Wake, e.Guard = s.wake, s.guard
	s.Named[name] = e
	s.Endpoints = append(s.Endpoints, e)
	return e
}

// guard calls f, which responds to a delivery, and records a panic.
func (s *Scenario) guard(f func()) {
	err := Guard(func() error { f(); return nil })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = errors.Join(s.broken, err)
}

// Broken returns the panics of endpoints, which make any verdict worthless; nil for none.
func (s *Scenario) Broken() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// wake signals the waits of this scenario that a delivery has arrived.
func (s *Scenario) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.arrived)
	s.arrived = make(chan struct{})
}

func (s *Scenario) arrivals() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrived
}

// repeats reports whether a requirement is about repeats of a successful delivery: that there is none, or
// that a failure callback is sent once.
func repeats(id string) bool { return id == "REQ-RTY-003" || id == "REQ-CBK-002" }

// Tries returns the deliveries to an endpoint. It leaves out repeats of a successful
// delivery, which are legal, unless the scenario is about them.
func (s *Scenario) Tries(e *receiver.Endpoint) []*receiver.Received {
	all := e.Look()
	if slices.ContainsFunc(s.Result.Requirements, repeats) {
		return all
	}
	var out []*receiver.Received
	done := map[string]bool{} // bodies that were accepted
	for _, got := range all {
		if done[string(got.Body)] {
			s.Observe("delivery.after-success", "repeated")
			continue
		}
		out = append(out, got)
		if status := got.Status.Load(); status >= 200 && status < 300 {
			done[string(got.Body)] = true
		}
	}
	return out
}

// AwaitQuiet waits until a further retry would have happened: two days of a moved clock or,
// in real time, twice the longest measured wait between two attempts, and at least the
// delivery of a sentinel.
func (s *Scenario) AwaitQuiet(attempts []*receiver.Received) error {
	if s.Clock.Virtual() {
		return s.Clock.Pass(s.Context, 48*time.Hour)
	}
	wait, err := s.Suite.retryWait(s)
	if err != nil {
		return err
	}
	for i := 1; i < len(attempts); i++ {
		wait = max(wait, attempts[i].At.Sub(attempts[i-1].At))
	}
	began := Now()
	if err := s.Absent(func() error { return nil }); err != nil {
		return err
	}
	return s.Clock.Pass(s.Context, min(2*wait, s.Clock.Scaled(s.Suite.Target.Timing.RetryBudget))-Since(began))
}

// RetryDelay is the delay before a retry, in ms, of messages whose header for it is bound.
const RetryDelay = "250"

// retryWait returns how long the target waits before a retry. The document does not define
// it, so it is measured once per run. It is 0 when no retry comes within its budget;
// another scenario reports that.
func (st *Suite) retryWait(s *Scenario) (time.Duration, error) {
	st.measuring.Lock()
	defer st.measuring.Unlock()
	if st.measured {
		return st.wait, nil
	}
	e := s.Endpoint("measured destination")
	e.Answer(receiver.Reply{}, receiver.Reply{Status: http.StatusServiceUnavailable})
	h := http.Header{header.Retries: {"1"}}
	if name := s.Bound("headers", "retry_delay"); name != "" {
		h.Set(name, RetryDelay)
	}
	_, err := s.Demand(Request{Operation: "publishMessage", Vars: map[string]string{"destination": e.URL}, Method: s.PublishMethod(), Header: h, Body: []byte("measured"), Aside: true})
	if err != nil {
		return 0, s.Assume(err, "REQ-PUB-001")
	}
	_ = s.AfterRetries(func() error { // without a retry there is nothing to measure
		if all := e.Look(); len(all) > 1 {
			st.wait = all[1].At.Sub(all[0].At)
			st.Observe("retry.wait", st.wait.Round(100*time.Millisecond).String())
			return nil
		}
		return errors.New("no retry yet")
	})
	st.measured = true
	return st.wait, nil
}
