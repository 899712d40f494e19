package harness

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	"github.com/understudy-mock/understudy/conformance/report"
)

// NoVerdict ends a scenario without a verdict on the target.
type NoVerdict struct {
	Verdict report.Verdict // Inconclusive, NotApplicable or HarnessError
	Reason  report.Reason
	Detail  string
	failure *report.Failure // the failure that is the evidence, if any
	cause   error           // the original error, nil for none
}

// Error is the reason, with its detail.
func (i *NoVerdict) Error() string { return string(i.Reason) + ": " + i.Detail }

// Unwrap returns the original error, nil for none.
func (i *NoVerdict) Unwrap() error { return i.cause }

// Is matches godog.ErrSkip, so that godog skips the rest of the scenario.
func (i *NoVerdict) Is(target error) bool { return target == godog.ErrSkip }

// Inconclusive returns the reason why a scenario cannot judge the target.
func Inconclusive(reason report.Reason, format string, args ...any) error {
	return &NoVerdict{Verdict: report.Inconclusive, Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// Fault returns an error of the suite or a driver, not of the target.
func Fault(reason report.Reason, format string, args ...any) error {
	return &NoVerdict{Verdict: report.HarnessError, Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// Guard calls f and converts a panic into an error of the suite: it is no verdict on the target.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Fault("", "the suite panicked: %v at %s", p, panickedAt())
		}
	}()
	return f()
}

// panickedAt returns the line that panicked, from a function deferred by Guard.
func panickedAt() string {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers[:])])
	for panicked := false; ; {
		frame, more := frames.Next()
		if ours := !strings.HasPrefix(frame.Function, "runtime."); !more || panicked && ours {
			return fmt.Sprintf("%s:%d", path.Base(frame.File), frame.Line)
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
	}
}

// Unasserted returns an error for a failed exchange or a delivery that no step has judged,
// and for an answer that breaks the document: a scenario that ignores them proves nothing.
// It checks only self-tests with a moved clock, where nothing arrives late.
func (s *Scenario) Unasserted() error {
	if !s.Suite.SelfTest || !s.Clock.Virtual() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.Result.Exchanges {
		x := &s.Result.Exchanges[i]
		if s.unlooked[i] && (x.Status >= 300 || x.Status == 0) {
			return fmt.Errorf("unasserted exchange: %s %s answered %d, and no step looked at it", x.Method, x.URL, x.Status)
		}
		if len(x.Problems) > 0 {
			return fmt.Errorf("the answer of %s breaks the document: %s", x.Operation, x.Problems[0])
		}
	}
	for _, e := range s.Endpoints {
		for _, got := range e.Deliveries() {
			if !got.Looked.Load() && !e.Aside {
				return fmt.Errorf("unasserted delivery to %s: %s %s", e.Name, got.Method, Clip(string(got.Body)))
			}
		}
	}
	return nil
}

// Observe records what a target does at an open point.
func (s *Scenario) Observe(point, value string) {
	s.Suite.Observe(point, value)
}

// Stepped records a step. The first step that does not pass decides the verdict.
func (s *Scenario) Stepped(text string, status godog.StepResultStatus, err error) {
	st := report.Step{Text: text, Verdict: report.Pass}
	switch {
	case s.Result.Verdict != "":
		st.Verdict = report.NotSelected // after the step that decided
	case status == godog.StepUndefined || status == godog.StepAmbiguous || status == godog.StepPending:
		err = Fault("", "no single step matches %q", text)
	}
	if s.Result.Verdict == "" && err != nil {
		s.Note(err)
		st.Verdict, st.Detail = s.Result.Verdict, s.Masked(err.Error())
		if s.Result.Failure != nil {
			s.Result.Failure.Step = text
		}
	}
	s.Result.Steps = append(s.Result.Steps, st)
}

// Note turns an error into the verdict of a scenario.
func (s *Scenario) Note(err error) {
	r := &s.Result
	if err == nil {
		return
	}
	var f *report.Failure
	var i *NoVerdict
	broken := errors.As(err, &i) && i.Verdict == report.HarnessError
	switch cause := s.Suite.Over(); {
	case cause != nil && (broken || i == nil):
		err = CutOff(cause) // the end of the run has interrupted it
	case broken && i.Reason == report.DriverFailed:
		errors.As(context.Cause(s.Context), &i) // the end of the scenario's time has interrupted a driver
		err = i
	}
	switch {
	case errors.As(err, &i):
		r.Verdict, r.Reason, r.Detail, r.Failure = i.Verdict, i.Reason, i.Detail, i.failure
	case errors.As(err, &f):
		r.Verdict, r.Failure, r.Detail = report.Fail, f, err.Error()
	default:
		r.Verdict, r.Failure, r.Detail = report.Fail, &report.Failure{Message: err.Error(), Exchange: s.judged()}, err.Error()
	}
	if r.Verdict == report.Fail {
		r.Verdict = report.Weigh(r.Basis, slices.Contains(r.Tags, "@leak")) // a leak fails, whatever its basis
	}
}

// Assume converts a failure of a precondition to an inconclusive verdict: scenarios about the
// requirements that promise it judge it. In one of these scenarios it remains a failure, since what
// a requirement promises is no precondition of itself.
func (s *Scenario) Assume(err error, promisedBy ...string) error {
	if err == nil || slices.ContainsFunc(promisedBy, func(id string) bool { return slices.Contains(s.Result.Requirements, id) }) {
		return err
	}
	f, ok := err.(*report.Failure)                //nolint:errorlint // as it was made
	if m, gone := err.(*missingOperation); gone { //nolint:errorlint // as it was made
		f, ok = m.Failure, true
	}
	if ok {
		return &NoVerdict{Verdict: report.Inconclusive, Reason: report.PrerequisiteFailed, Detail: f.Error(), failure: f}
	}
	return err
}

// Assuming is Assume for a call of InTurn.
func (s *Scenario) Assuming(call func() error, promisedBy ...string) func() error {
	return func() error { return s.Assume(call(), promisedBy...) }
}

// InTurn makes calls until one fails.
func InTurn(calls ...func() error) error {
	for _, call := range calls {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}
