package mockserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/explore"
)

// ExploreConfig says what Explore tries. The zero value tries all faults, alone and in pairs, for
// a minute.
type ExploreConfig = explore.Config

// conducting is the hook of deliveries for a conductor; nil for none.
func conducting(c *explore.Conductor) func(context.Context, engine.Attempt, func(string) engine.Outcome) engine.Outcome {
	if c == nil {
		return nil
	}
	return c.Attempt
}

// exploredParallel is more than the messages of a scenario: which of them wait for a place would depend on their arrival.
const exploredParallel = 1 << 16

// RunExplored starts a stand-in for package explore: in memory, with a manual clock.
func RunExplored(cfg Config) (*Server, *explore.Service, error) {
	cfg.Clock, cfg.conduct = "manual", explore.NewConductor()
	cfg.Parallel, cfg.perHost = exploredParallel, exploredParallel
	s, err := Run(cfg)
	if err != nil {
		return nil, nil, err
	}
	first := s.tenants.First()
	return s, &explore.Service{
		URL: s.ListensAt(), Account: first.Account, Conductor: cfg.conduct,
		Reset: func() error { return s.tenants.Reset(first) },
	}, nil
}

// ExploreCase is one run of a scenario.
type ExploreCase struct {
	*TestServer
	Context context.Context //nolint:containedctx // of the case: the function of the user has no other argument

	c       *explore.Case
	state   func() any
	check   func() error
	cleanup []func()
	err     error // of the first step that failed
}

// Cleanup adds a function that runs when the case has ended, such as one that stops the application.
func (c *ExploreCase) Cleanup(do func()) { c.cleanup = append(c.cleanup, do) }

// Do runs a step of the scenario, such as a request to the application. What it publishes is
// delivered after its end. A step that returns an error with a fault is done once more, as a
// caller does who gets an error.
func (c *ExploreCase) Do(step func() error) { c.keep(c.c.Do(c.Context, step)) }

// keep keeps the first error of the case.
func (c *ExploreCase) keep(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Advance moves the clock, and returns when all deliveries that become due have ended.
func (c *ExploreCase) Advance(d time.Duration) {
	c.keep(c.c.Advance(c.Context, d))
}

// State sets the function that reads the final state of the application. It runs when
// all deliveries have ended; the result is compared as JSON.
func (c *ExploreCase) State(read func() any) { c.state = read }

// Check sets a check of the user, which runs when all deliveries have ended.
func (c *ExploreCase) Check(holds func() error) { c.check = holds }

// Explore runs a scenario again and again, each time with one or two things that an at-least-once
// service may do, and fails t for each that changes what the application does: its calls to
// outside services, its state, its runs, the DLQ. scenario builds a new application, with a new
// state, and does its steps.
//
//	mockserver.Explore(t, mockserver.ExploreConfig{}, func(c *mockserver.ExploreCase) {
//		shop := newShop(c.URL(), c.Outside("payments").URL())
//		c.Cleanup(shop.Close)
//		c.State(func() any { return shop.Orders() })
//		c.Do(func() error { return shop.Checkout(1) })
//	})
func Explore(t TB, cfg ExploreConfig, scenario func(c *ExploreCase)) {
	t.Helper()
	s, service, err := RunExplored(Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("understudy: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	played := &functionScenario{u: &TestServer{Server: s, t: t}, play: scenario}
	defer played.end()
	result, err := explore.Run(context.Background(), cfg, explore.Worker{Service: service, Scenario: played})
	if err != nil {
		t.Fatalf("explore: %v", err)
	}
	for _, f := range result.Findings {
		t.Errorf("%s", f.Text())
	}
}

// functionScenario is a scenario that is a function of a Go test.
type functionScenario struct {
	u    *TestServer
	play func(*ExploreCase)
	last *ExploreCase
}

// Reset ends the application of the case before.
func (s *functionScenario) Reset(context.Context) error {
	s.end()
	return nil
}

func (s *functionScenario) end() {
	if s.last != nil {
		for _, do := range slices.Backward(s.last.cleanup) {
			do()
		}
		s.last = nil
	}
}

func (s *functionScenario) Quiet() (time.Duration, bool) { return explore.DefaultQuiet, false }

func (s *functionScenario) Play(ctx context.Context, c *explore.Case) error {
	s.last = &ExploreCase{TestServer: s.u, Context: ctx, c: c}
	s.play(s.last)
	return s.last.err
}

func (s *functionScenario) State(context.Context) ([]byte, error) {
	if s.last.state == nil {
		return nil, nil
	}
	return json.Marshal(s.last.state())
}

func (s *functionScenario) Check(context.Context, *explore.Observation) error {
	if s.last.check == nil {
		return nil
	}
	return s.last.check()
}
