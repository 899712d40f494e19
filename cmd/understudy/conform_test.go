package main

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// everything is all that the suite has, extensions included.
var everything = []spec.Basis{spec.Stated, spec.Implied, spec.Open, spec.Extension}

// judge runs the suite and reports each scenario as a test of its own.
func judge(t *testing.T, cfg conformance.Config) *conformance.Report {
	t.Helper()
	report, err := conformance.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range report.Results {
		r := &report.Results[i]
		if r.Reason == conformance.DriverMissing && cfg.Target.Drivers["clock"].Kind == "" && slices.Contains(r.Tags, "@needs-driver-clock") {
			continue // what takes minutes needs a clock that is moved
		}
		if r.Reason == conformance.BudgetExhausted && slices.Contains(r.Tags, "@time-window") {
			t.Logf("%s: %s", r.Name, r.Detail) // a machine that is too busy for windows of a second
			continue
		}
		if r.Verdict != conformance.Pass && r.Verdict != conformance.Observed {
			t.Errorf("%s: %s\n  %s %s %s", r.Location, r.Name, r.Verdict, r.Reason, r.Detail)
		}
	}
	return report
}

// The whole suite against a stand-in of our own, time moved: under ten seconds.
func TestConformOwn(t *testing.T) {
	u := mockserver.RunT(t)
	cfg := conformance.Config{Target: ownTarget(u.Env(), true), Basis: everything, SelfTest: true, Plugin: hostPlugin}
	if raced { // what is left is what may race, and takes no time of the world
		cfg.Tags = "not @time-window and not @time-long"
	}
	report := judge(t, cfg)
	if !raced && report.Duration > 10*time.Second {
		t.Errorf("the suite took %s; accepted are 10 s", report.Duration)
	}
	t.Logf("%d scenarios in %s", len(report.Results), report.Duration.Round(time.Millisecond))
}

// The same scenarios against a separate process in real time, twice at once with
// one account: under three minutes.
func TestConformProcess(t *testing.T) {
	if raced {
		t.Skip("it measures time; TestConformOwn looks for races")
	}
	server := serve(t, build(t))
	var vars []mockserver.EnvVar
	for _, v := range server.env {
		name, value, _ := strings.Cut(v, "=")
		vars = append(vars, mockserver.EnvVar{Name: name, Value: value})
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			report := judge(t, conformance.Config{Target: ownTarget(vars, false), Basis: everything, Concurrency: 24, Plugin: hostPlugin})
			if report.Duration > 3*time.Minute {
				t.Errorf("the suite took %s; accepted are 3 minutes", report.Duration)
			}
			t.Logf("%d scenarios in %s", len(report.Results), report.Duration.Round(time.Millisecond))
		})
	}
	wg.Wait()
}

// A selection that is empty, or a typing error in it, is never green.
func TestConformSelectsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--tags", "@sttaed"}, "no scenario has @sttaed"},
		{[]string{"--tags", "@stated and"}, "it ends where a tag is expected"},
		{[]string{"--tags", "stated"}, `"stated" stands where a tag such as @stated is expected`},
		{[]string{"--profile", "MGS"}, `profile "MGS": accepted are MSG, GROUP`},
		{[]string{"--scenario", "Nothing of the kind"}, "no scenario is selected"},
		{[]string{"--requirement", "REQ-XXX-001"}, "no scenario is selected"},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"conform"}, c.args...), &out, &errs)
		if code != conformance.ExitUsage || !strings.Contains(errs.String(), c.want) {
			t.Errorf("conform %q: exit %d, %q; want 2 and %q", c.args, code, errs.String(), c.want)
		}
	}
}

func TestConformList(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"conform", "--list", "--requirement", "REQ-RTY-004"}, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "Without retries there is one attempt") }) || lines[len(lines)-1] != "1 scenarios" {
		t.Errorf("list:\n%s", out.String())
	}
}
