package explore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
)

// Service is what explore needs of a server: one account with a manual clock, whose attempts
// and calls go through a Conductor.
type Service struct {
	URL       string
	Account   *engine.Account
	Conductor *Conductor
	Reset     func() error // of everything but the configuration
}

// Scenario is what happens from outside, on one application and service.
type Scenario interface {
	// Reset brings the application to its first state.
	Reset(ctx context.Context) error
	// Play does the steps of the scenario. Each begins and ends with the methods of c.
	Play(ctx context.Context, c *Case) error
	// State is the state of the application after all; nil: it shows none.
	State(ctx context.Context) ([]byte, error)
	// Check is the user's own check; an error is why it does not hold.
	Check(ctx context.Context, o *Observation) error
	// Quiet is how long the application must not call before a case ends, in real time, and whether
	// each case must wait for it: otherwise only those do for which it makes a difference.
	Quiet() (d time.Duration, always bool)
}

// Case is one run of the scenario.
type Case struct {
	Service *Service
	Plan    Plan
	steps   int
}

// Do runs a step: what it publishes is delivered after its end. A step that fails is done once more
// for each fault of the plan, as a caller does who gets an error, and once more after an outage of an outside service.
func (c *Case) Do(ctx context.Context, step func() error) error {
	c.steps++
	for try := 0; ; try++ {
		name := fmt.Sprintf("start.%d", c.steps)
		c.Service.Conductor.beginStep(name)
		err := step()
		c.Service.Conductor.endStep()
		switch {
		case err == nil:
			return c.Service.Account.Settle(ctx)
		case try >= len(c.Plan) && !c.Service.Conductor.recovers(name) || ctx.Err() != nil:
			return fmt.Errorf("step %d: %w", c.steps, err)
		}
		if err := c.Service.Account.Settle(ctx); err != nil {
			return err
		}
	}
}

// Advance moves the clock; what becomes due is delivered.
func (c *Case) Advance(ctx context.Context, d time.Duration) error {
	a := c.Service.Account
	_, err := a.Advance(ctx, a.Now().Add(d))
	return err
}

// Observation is what can be seen of a case from outside.
type Observation struct {
	Effects map[string]int    `json:"effects"`         // number of calls to outside services by what they do
	State   any               `json:"state,omitempty"` // of the application
	Runs    map[string]string `json:"runs,omitempty"`  // state by name
	DLQ     []string          `json:"dlq,omitempty"`   // names
	Trace   []Point           `json:"trace"`

	Unfinished string   `json:"unfinished,omitempty"` // why the case did not end
	Check      string   `json:"check,omitempty"`      // why the user's check does not hold
	Unreached  bool     `json:"unreached,omitempty"`  // a point of the plan was not reached
	Stuck      []string `json:"stuck,omitempty"`      // what waited for another delivery
	Repaired   bool     `json:"repaired,omitempty"`   // the DLQ was retried at the end

	repeated   []string       // effects that one run had more than once
	ofFailures map[string]int // effects that failure callbacks caused
	sequence   []string       // effects in their order
}

// Order is the place of each name in the trace.
func (o *Observation) order() map[string]int {
	out := map[string]int{}
	for _, p := range o.Trace {
		if _, known := out[p.Base]; !known {
			out[p.Base] = len(out)
		}
	}
	return out
}

// outcomes is a hash of the trace: cases with the same one look the same to the application.
func (o *Observation) outcomes() [sha256.Size]byte {
	var b strings.Builder
	for _, p := range o.Trace {
		b.WriteString(p.Name + " " + p.Outcome + "\n")
	}
	return sha256.Sum256([]byte(b.String()))
}

// runCase plays the scenario once. A hasty case does not wait until the application is quiet.
func (x *explorer) runCase(ctx context.Context, w Worker, plan Plan, hasty bool) (*Observation, error) {
	s := w.Service
	if err := s.Reset(); err != nil {
		return nil, fmt.Errorf("reset of the server: %w", err)
	}
	if err := w.Scenario.Reset(ctx); ctx.Err() != nil {
		return nil, ctx.Err() // the search is over; an error is its result
	} else if err != nil {
		return nil, fmt.Errorf("reset of the application: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, x.limit)
	defer cancel()
	quiet, always := w.Scenario.Quiet()
	if hasty && !always {
		quiet = 0
	}
	s.Conductor.begin(s.Account, plan, x.cfg.Keys, x.rank)
	stopped := make(chan string, 1)
	go func() {
		stopped <- s.Conductor.run(limited, x.cfg.CaseTimeout)
		cancel()
	}()
	c := &Case{Service: s, Plan: plan}
	o := &Observation{}
	err := w.Scenario.Play(limited, c)
	if err == nil {
		err = c.drain(limited, quiet)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && limited.Err() != nil:
		o.Unfinished = "did not become idle within " + x.limit.String() + ": " + err.Error()
	case err != nil:
		o.Unfinished = err.Error()
	}
	has := func(f Fault) bool { return slices.ContainsFunc(plan, func(p Choice) bool { return p.Fault == f }) }
	if has(Down) || has(Outage) && !s.Conductor.told() { // after an outage, what the application does in its failure callback is final
		c.repair(limited, quiet, o)
	}
	if err := x.observe(limited, w, o); err != nil {
		return nil, err
	}
	cancel()
	o.Unfinished = cmp.Or(<-stopped, o.Unfinished)
	return o, ctx.Err()
}

// drain delivers until only schedules are left and the application is quiet.
func (c *Case) drain(ctx context.Context, quiet time.Duration) error {
	for {
		p, err := c.Service.Account.AdvanceUntil(ctx, true)
		if err != nil {
			return err
		}
		if waited := c.Service.Conductor.quietFor(ctx, quiet); !waited && p.TimersFired+p.Attempts == 0 {
			return ctx.Err()
		}
	}
}

// repair retries the DLQ after an outage, as a person would.
func (c *Case) repair(ctx context.Context, quiet time.Duration, o *Observation) {
	if o.Unfinished != "" {
		return
	}
	o.Repaired = true
	c.Service.Conductor.beginStep("repair")
	c.Service.Conductor.allUp()
	cursor, err := "more", error(nil)
	for err == nil && cursor != "" {
		_, cursor, err = c.Service.Account.RetryDLQs(engine.Filter{}, engine.Options{})
	}
	for cursor = "more"; err == nil && cursor != ""; {
		_, cursor, err = c.Service.Account.RestartAll(engine.Filter{}, engine.Options{}, true)
	}
	c.Service.Conductor.endStep()
	if err == nil {
		err = c.drain(ctx, quiet)
	}
	if err != nil {
		o.Unfinished = "the DLQ could not be retried: " + err.Error()
	}
}

// every reads all pages of a list.
func every[T any](read func(engine.Filter) (engine.Page[T], error)) (all []T, err error) {
	for f := (engine.Filter{}); ; {
		p, err := read(f)
		if all = append(all, p.Items...); err != nil || p.Cursor == "" {
			return all, err
		}
		f.Cursor = p.Cursor
	}
}

// observe reads what can be seen of the case.
func (x *explorer) observe(ctx context.Context, w Worker, o *Observation) error {
	s := w.Service
	messages, runs := s.Conductor.idNames()
	o.Trace, o.Stuck = s.Conductor.trace()
	o.Unreached = s.Conductor.unreached()
	s.Conductor.counted(o)
	list, err := every(s.Account.RunSummaries)
	if err != nil {
		return fmt.Errorf("runs: %w", err)
	}
	o.Runs = map[string]string{}
	byID := map[string]*engine.RunSummary{}
	for i := range list {
		byID[list[i].ID] = &list[i]
	}
	for id, r := range byID {
		if r.Predecessor != nil && byID[r.Predecessor.ID] != nil {
			continue // it continues that one
		}
		for r.Successor != nil && byID[r.Successor.ID] != nil {
			r = byID[r.Successor.ID]
		}
		o.Runs[runs[id]] = string(r.State)
	}
	failed, err := every(s.Account.DLQ)
	if err != nil {
		return fmt.Errorf("DLQ: %w", err)
	}
	for i := range failed {
		o.DLQ = append(o.DLQ, messages[failed[i].Message.ID])
	}
	slices.Sort(o.DLQ)
	if o.Unfinished != "" {
		return nil
	}
	text, err := w.Scenario.State(ctx)
	if err != nil { // it has ended, or cannot answer any more
		o.Unfinished = "state of the application: " + err.Error()
		return nil //nolint:nilerr // an observation of the case, not of the search
	}
	if len(text) > 0 && json.Unmarshal(text, &o.State) != nil {
		o.State = string(text)
	}
	if err := w.Scenario.Check(ctx, o); err != nil {
		o.Check = err.Error()
	}
	return nil
}
