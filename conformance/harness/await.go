package harness

import (
	"errors"
	"reflect"
	"runtime"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/conformance/report"
)

// enough is how often the target must miss something in full budgets, and never show it, until
// scenarios stop waiting for it.
const enough = 3

// hopes records what the target has shown in time, and how often it has not.
type hopes struct {
	mu     sync.Mutex
	held   map[string]bool
	missed map[string]int
}

// note records the end of a wait.
func (h *hopes) note(what string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil {
		h.held, h.missed = map[string]bool{}, map[string]int{}
	}
	if err == nil {
		h.held[what] = true
	} else {
		h.missed[what]++
	}
}

// lost reports whether nothing is to be expected from another wait.
func (h *hopes) lost(what string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.missed[what] >= enough && !h.held[what]
}

// Await repeats check within a budget. When the target has never shown what is awaited, in
// several scenarios, a further one only looks whether it does: a Given is then inconclusive at
// once, and a Then waits for a quarter of the budget.
func (s *Scenario) Await(what string, budget time.Duration, check func() error) error {
	if s.Clock.Virtual() {
		return s.Clock.Eventually(s.Context, budget, check)
	}
	lost := s.Suite.hopes.lost(what)
	switch {
	case lost && s.Judging:
		budget /= 4
	case lost:
		budget = min(budget, 2*s.Suite.Target.Timing.Poll.Max)
	}
	err := s.Clock.Eventually(s.Context, budget, check)
	f, i := (*report.Failure)(nil), (*NoVerdict)(nil)
	failed := errors.As(err, &f) || errors.As(err, &i) && i.Reason == report.PrerequisiteFailed
	if err == nil || failed && s.Context.Err() == nil {
		s.Suite.hopes.note(what, err)
	}
	if lost && f != nil && !s.Judging {
		f.Message += " (it was missing in earlier scenarios, so this one did not wait for it)"
	}
	return err
}

// await is Await for what the function check looks for.
func (s *Scenario) await(budget time.Duration, check func() error) error {
	return s.Await(runtime.FuncForPC(reflect.ValueOf(check).Pointer()).Name(), budget, check)
}
