package harness

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec"
)

// An endpoint that panics answers 500 and makes the scenario an error of the suite.
func TestAPanicOfAnEndpointIsAnErrorOfTheSuite(t *testing.T) {
	t.Parallel()
	doc, err := spec.Load()
	if err != nil {
		t.Fatal(err)
	}
	suite := NewSuite(t.Context(), Config{Concurrency: 1}, doc)
	if suite.Receiver, err = receiver.New(t.Context(), suite.Target.Receiver, suite.Dialect); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(suite.Receiver.Close)
	s, err := suite.Begin(t.Context(), report.Result{})
	if err != nil {
		t.Fatal(err)
	}
	e := s.Endpoint("destination")
	e.Respond = func(got *receiver.Received) receiver.Reply {
		return receiver.Reply{Body: string(got.Body[len(got.Body)])} //nolint:gocritic // it panics
	}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	expect.Equal(t, "status", response.StatusCode, http.StatusInternalServerError)
	s.Note(s.Broken())
	expect.Equal(t, "verdict", s.Result.Verdict, report.HarnessError)
	expect.Contains(t, "detail", s.Result.Detail, "index out of range [0] with length 0 at scenario_test.go:")
	none, ok := errors.AsType[*NoVerdict](s.Broken())
	expect.True(t, "the error has no verdict on the target", ok && none.Verdict == report.HarnessError)
}

// A driver that fails because the run or the time of the scenario ends is no fault of the target
// file. Any other failure of a driver is one.
func TestTheEndOfTheRunIsNoErrorOfADriver(t *testing.T) {
	t.Parallel()
	over, end := context.WithCancelCause(t.Context())
	end(errors.New("interrupt signal received"))
	late, end := context.WithCancelCause(t.Context())
	end(Inconclusive(report.BudgetExhausted, "the scenario took longer than 2m0s, its budgets together"))
	for _, c := range []struct {
		run, scenario context.Context //nolint:containedctx // of a case
		verdict       report.Verdict
		reason        report.Reason
	}{
		{over, t.Context(), report.Inconclusive, report.Interrupted},
		{t.Context(), late, report.Inconclusive, report.BudgetExhausted},
		{t.Context(), t.Context(), report.HarnessError, report.DriverFailed},
	} {
		s := &Scenario{Suite: &Suite{Context: c.run}, Context: c.scenario}
		s.Note(Fault(report.DriverFailed, "clock: Post: %v", context.Cause(c.scenario)))
		expect.Equal(t, "verdict", s.Result.Verdict, c.verdict)
		expect.Equal(t, "reason", s.Result.Reason, c.reason)
	}
}
