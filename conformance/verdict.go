package conformance

import (
	"errors"
	"fmt"

	"github.com/cucumber/godog"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec"
)

// inconclusive ends a scenario without a verdict on the target.
type inconclusive struct {
	verdict report.Verdict // Inconclusive, NotApplicable or HarnessError
	reason  report.Reason
	detail  string
	failure *report.Failure // what was seen, if that is the evidence
	cause   error           // nil unless something else went wrong first
}

func (i *inconclusive) Error() string { return string(i.reason) + ": " + i.detail }

// Unwrap gives what went wrong first.
func (i *inconclusive) Unwrap() error { return i.cause }

// Is makes it godog's skip.
func (i *inconclusive) Is(target error) bool { return target == godog.ErrSkip }

// skip says why a scenario cannot judge the target.
func skip(reason report.Reason, format string, args ...any) error {
	return &inconclusive{verdict: report.Inconclusive, reason: reason, detail: fmt.Sprintf(format, args...)}
}

// harness says that the suite or a driver is at fault, not the target.
func harness(reason report.Reason, format string, args ...any) error {
	return &inconclusive{verdict: report.HarnessError, reason: reason, detail: fmt.Sprintf(format, args...)}
}

// unasserted says what no step has looked at: a scenario that passes by not
// looking proves nothing. It counts with a moved clock only, where nothing comes
// late.
func (s *toolkit) unasserted() error {
	if !s.suite.selfTest || !s.clock.virtual() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.result.Exchanges {
		x := &s.result.Exchanges[i]
		if s.unlooked[i] && (x.Status >= 300 || x.Status == 0) {
			return fmt.Errorf("unasserted exchange: %s %s answered %d, and no step looked at it", x.Method, x.URL, x.Status)
		}
		if len(x.Problems) > 0 {
			return fmt.Errorf("the answer of %s breaks the document: %s", x.Operation, x.Problems[0])
		}
	}
	for _, e := range s.endpoints {
		for _, got := range e.Deliveries() {
			if !got.Looked.Load() && !e.Aside {
				return fmt.Errorf("unasserted delivery to %s: %s %s", e.Name, got.Method, clip(string(got.Body)))
			}
		}
	}
	return nil
}

// observe records what a target does at an open point.
func (s *toolkit) observe(point, value string) {
	s.suite.observe(point, value)
}

// stepped records a step; the first that does not pass decides.
func (s *toolkit) stepped(text string, status godog.StepResultStatus, err error) {
	st := report.Step{Text: text, Verdict: report.Pass}
	switch {
	case s.result.Verdict != "":
		st.Verdict = report.NotSelected // behind the one that decided
	case status == godog.StepUndefined || status == godog.StepAmbiguous || status == godog.StepPending:
		err = harness("", "no single step matches %q", text)
	}
	if s.result.Verdict == "" && err != nil {
		s.note(err)
		st.Verdict, st.Detail = s.result.Verdict, s.masked(err.Error())
		if s.result.Failure != nil {
			s.result.Failure.Step = text
		}
	}
	s.result.Steps = append(s.result.Steps, st)
}

// note turns an error into the verdict of a scenario.
func (s *toolkit) note(err error) {
	r := &s.result
	if err == nil {
		return
	}
	var f *report.Failure
	var i *inconclusive
	if cause := s.suite.over(); cause != nil && !errors.As(err, &i) {
		err = cutOff(cause) // what the end of the run interrupts fails for that reason only
	}
	switch {
	case errors.As(err, &i):
		r.Verdict, r.Reason, r.Detail, r.Failure = i.verdict, i.reason, i.detail, i.failure
	case errors.As(err, &f):
		r.Verdict, r.Failure, r.Detail = report.Fail, f, err.Error()
	default:
		r.Verdict, r.Failure, r.Detail = report.Fail, &report.Failure{Message: err.Error(), Exchange: s.judged()}, err.Error()
	}
	if r.Verdict == report.Fail {
		switch r.Basis {
		case spec.Implied:
			r.Verdict = report.Warn
		case spec.Open:
			r.Verdict = report.Observed
		}
	}
}

// unless turns a failure of what a scenario starts from into its being
// inconclusive: that it fails is another scenario's verdict.
func unless(err error) error {
	if err == nil {
		return nil
	}
	f, ok := err.(*report.Failure)                //nolint:errorlint // as it was made
	if m, gone := err.(*missingOperation); gone { //nolint:errorlint // as it was made
		f, ok = m.Failure, true
	}
	if ok {
		return &inconclusive{verdict: report.Inconclusive, reason: report.PrerequisiteFailed, detail: f.Error(), failure: f}
	}
	return err
}
