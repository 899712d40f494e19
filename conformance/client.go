package conformance

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/understudy-mock/understudy/conformance/client"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/spec"
)

// clientScenarios returns the cases of clients as scenarios.
func clientScenarios() ([]picked, error) {
	cases, err := client.Cases()
	if err != nil {
		return nil, err
	}
	all := make([]picked, len(cases))
	for i := range cases {
		c := &cases[i]
		all[i] = picked{key: c.ID, area: c.Area(), last: c.Last, ofClient: c, result: c.Known()}
	}
	return all, nil
}

// runClient judges a client by the selected cases.
func runClient(ctx context.Context, cfg Config) (*report.Report, error) {
	selection, baselines, err := choose(cfg)
	if err != nil {
		return nil, err
	}
	settings := *cfg.Client
	settings.Concurrency = cfg.Concurrency
	session, err := client.Start(ctx, settings)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPreflight, err)
	}
	defer session.Close(ctx)
	started := harness.Now()
	cr := &clientRun{cfg: &cfg, session: session, total: len(selection)}
	for _, last := range []bool{false, true} {
		cr.pass(ctx, selection, last)
	}
	judged := cr.report(selection)
	judged.Started, judged.Duration = started, report.Span(harness.Since(started))
	judged.Interrupted = ctx.Err() != nil
	for _, b := range baselines {
		b.Known = slices.DeleteFunc(slices.Clone(b.Known), func(k target.Known) bool { return !k.With(session.Hello.Depends) })
		judged.Apply(b, started)
	}
	return judged, nil
}

// clientRun is one run against a client.
type clientRun struct {
	cfg     *Config
	session *client.Session
	total   int

	mu   sync.Mutex
	done int
}

// pass runs the cases that are either for the end or not, on all lanes.
func (cr *clientRun) pass(ctx context.Context, selection []picked, last bool) {
	var running sync.WaitGroup
	work := make(chan *picked)
	for range cr.session.Lanes() {
		running.Go(func() {
			for p := range work {
				cr.run(ctx, p)
			}
		})
	}
	for i := range selection {
		if p := &selection[i]; p.last == last {
			work <- p
		}
	}
	close(work)
	running.Wait()
}

// run runs one case as often as the configuration says.
func (cr *clientRun) run(ctx context.Context, p *picked) {
	for range max(cr.cfg.Repeat, 1) {
		result := cr.session.Run(ctx, p.ofClient)
		if p.judged == nil {
			p.judged = &result
		} else {
			p.judged.Again(&result)
		}
	}
	cr.mu.Lock()
	defer cr.mu.Unlock()
	cr.done++
	if cr.cfg.Progress != nil {
		cr.cfg.Progress(cr.done, cr.total, nil, p.judged)
	}
}

// report combines the results. The client claims the profiles that were asked for.
func (cr *clientRun) report(selection []picked) *report.Report {
	h, notes := &cr.session.Hello, cr.session.Notes
	if noise := cr.session.Noise(); len(noise) > 0 {
		notes["client.noise"] = fmt.Sprintf("%d lines, the first: %s", len(noise), noise[0])
	}
	r := cr.cfg.report()
	r.Claimed, r.Bindings, r.Run, r.Observations = cr.cfg.Profiles, notes, "cl"+strings.ToLower(rand.Text()[:5]), map[string][]string{}
	r.Target = report.Target{Name: h.Name, Version: h.Version, Mode: "client in " + h.Language, Receiver: fmt.Sprintf("%d lanes", cr.session.Lanes())}
	if err := cr.session.Dead(); err != nil {
		r.Unreachable = err.Error()
	}
	late := cr.session.Late()
	var profiles []string
	for i := range selection {
		x := selection[i].judged
		if requests := late[x.Name]; requests != "" && x.Verdict == report.Pass {
			f := &report.Failure{Message: "a request arrived after the end of its call", Want: "none", Got: requests, Exchange: -1}
			x.Verdict, x.Failure, x.Detail, x.Requirements = report.Weigh(spec.Implied, false), f, f.Error(), append(x.Requirements, "REQ-CLI-142")
		}
		r.Results = append(r.Results, *x)
		for _, p := range x.Profiles {
			if !slices.Contains(profiles, p) && (x.Verdict != report.NotApplicable || slices.Contains(cr.cfg.Profiles, p)) {
				profiles = append(profiles, p)
			}
		}
		if x.Verdict == report.Observed {
			r.Observations[x.Requirements[0]] = append(r.Observations[x.Requirements[0]], x.Name)
		}
	}
	r.Summarise(profiles)
	return r
}

// Known returns the entries of the file of expected failures.
func Known(cfg Config) ([]target.Known, error) {
	b := target.Baseline{File: cfg.Target.ExpectedFailures}
	if err := b.Load(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return b.Known, nil
}
