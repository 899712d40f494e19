package harness

import (
	"errors"
	"reflect"
	"runtime"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/conformance/report"
)

// enough is how often the target must miss something in full budgets and never show it until
// scenarios stop waiting for it.
const enough = 3

// patience is the least time for which a confirmation waits for what others have seen.
const patience = 10 * time.Second

// hope is what the target has shown of one thing that scenarios wait for.
type hope struct {
	held    int
	slowest time.Duration   // of those in time
	missed  map[string]bool // by scenario: one may wait for several at once
}

// hopes are those of a run.
type hopes struct {
	mu         sync.Mutex
	of         map[string]*hope
	confirming bool // the run repeats what failed
}

// look calls f with what is known of a thing.
func (h *hopes) look(what string, f func(*hope)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[string]*hope{}
	}
	if h.of[what] == nil {
		h.of[what] = &hope{missed: map[string]bool{}}
	}
	f(h.of[what])
}

// lost reports whether nothing is to be expected from another wait.
func (h *hopes) lost(what string) (lost bool) {
	h.look(what, func(of *hope) {
		lost = of.held == 0 && (len(of.missed) >= enough || len(of.missed) > 0 && h.confirming)
	})
	return lost
}

// within returns how much of a budget a confirmation needs, by what the target has shown so far.
func (h *hopes) within(what string, budget time.Duration) time.Duration {
	h.look(what, func(of *hope) {
		if h.confirming && of.held > 0 {
			budget = min(budget, max(patience, 10*of.slowest))
		}
	})
	return budget
}

// Confirm announces that the scenarios from now on repeat what failed.
func (st *Suite) Confirm() { st.hopes.confirming = true }

// Await repeats check within a budget. When the target has never shown what is awaited, in
// several scenarios, the others only look whether it does: a Given is then inconclusive at
// once, and a Then waits for an eighth of the budget. To confirm a failure, it waits ten times as
// long as others had to wait.
func (s *Scenario) Await(what string, budget time.Duration, check func() error) error {
	if s.Clock.Virtual() {
		return s.Clock.Eventually(s.Context, budget, check)
	}
	began, lost := Now(), false
	err := s.Clock.until(s.Context, func() time.Duration {
		switch lost = s.Suite.hopes.lost(what); {
		case lost && s.Judging:
			return budget / 8
		case lost:
			return min(budget, 2*s.Suite.Target.Timing.Poll.Max)
		}
		return s.Suite.hopes.within(what, budget)
	}, check)
	f, i := (*report.Failure)(nil), (*NoVerdict)(nil)
	failed := errors.As(err, &f) || errors.As(err, &i) && i.Reason == report.PrerequisiteFailed
	switch {
	case err == nil:
		s.Suite.hopes.look(what, func(of *hope) { of.held, of.slowest = of.held+1, max(of.slowest, Since(began)) })
	case failed && s.Context.Err() == nil:
		s.Suite.hopes.look(what, func(of *hope) { of.missed[s.Key] = true })
	}
	if lost && f != nil && !s.Judging {
		f.Got += " (as in other scenarios, so this one did not wait for it)"
	}
	return err
}

// await is Await for what the function check looks for.
func (s *Scenario) await(budget time.Duration, check func() error) error {
	return s.Await(runtime.FuncForPC(reflect.ValueOf(check).Pointer()).Name(), budget, check)
}
