package conformance

import (
	"bytes"
	"fmt"
	"time"

	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/spec"
)

var retrySteps = []step{
	{"Then", `exactly (\d+) attempts? (?:is|are) made`, (*scenario).exactlyAttempts},
	{"Then", `the last attempt was answered (\d+)`, (*scenario).lastAnswered},
	{"Then", `every attempt carries the body and the header "([^"]+)" with the value "([^"]+)"`, (*scenario).everyAttemptCarries},
}

func (s *scenario) exactlyAttempts(n int) error { return s.attempts(to, n) }

// attempts waits for n calls to an endpoint, and then makes sure that no further
// one comes.
func (s *scenario) attempts(name string, n int) error {
	e := s.endpoint(name)
	count := func() error {
		if got := len(s.tries(e)); got < n {
			return s.failure("attempts at "+name, fmt.Sprint(n), fmt.Sprint(got))
		}
		return nil
	}
	if err := s.afterRetries(count); err != nil {
		return err
	}
	if err := s.quiet(); err != nil {
		return err
	}
	if got := len(s.tries(e)); got != n {
		return s.failure("attempts at "+name, fmt.Sprint(n), fmt.Sprint(got))
	}
	return nil
}

// tries are the deliveries to an endpoint. Making one that succeeded again is
// legal, if unusual: what the document states is judged without such repeats.
func (s *scenario) tries(e *receiver.Endpoint) []*receiver.Received {
	all := e.Look()
	if s.result.Basis != spec.Stated {
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

// quiet lets so much time pass that a further retry would have come: two days of
// a moved clock, or three retry delays where they are bound, or a sentinel's way.
func (s *scenario) quiet() error {
	if s.clock.virtual() {
		return s.clock.pass(s.ctx, 48*time.Hour)
	}
	if err := s.absent(func() error { return nil }); err != nil {
		return err
	}
	if s.publish.header.Get(s.bound("headers", "retry_delay")) != "" {
		return s.clock.pass(s.ctx, 2*time.Second)
	}
	return nil
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
