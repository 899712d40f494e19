package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/mutant"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/ratelimit"
	"github.com/understudy-mock/understudy/spec"
)

// trial is one run of the suite against a changed stand-in: how much of the suite,
// and whether time is moved or that of the world.
type trial struct {
	scope string // requirement: scenarios of what the mutant breaks; profile: those of its profile; full: all
	live  bool
}

// trialOf is what the environment asks for. MUTANTS is the scope, and LIVE=1
// takes the time of the world.
func trialOf() trial {
	return trial{scope: cmp.Or(os.Getenv("MUTANTS"), "requirement"), live: os.Getenv("LIVE") != ""}
}

// mutated runs the suite against a stand-in that is changed, and counts how often
// something else went over the wire.
func mutated(t *testing.T, m *mutant.Mutant, how trial) (*report.Report, int64) {
	t.Helper()
	var hits atomic.Int64
	parts := m.Build(func() { hits.Add(1) })
	config := mockserver.Config{Clock: "manual", Log: quietLog(), Transport: parts.Delivery}
	if how.live {
		config.Clock = ""
	}
	s, err := mockserver.Run(config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var handler http.Handler = s
	if parts.API != nil {
		handler = parts.API(s)
	}
	front := httptest.NewServer(handler)
	defer front.Close()
	own := ownTarget(s.Env(), !how.live)
	urls := &own.Target.URLs
	for _, u := range []*string{&urls.Base, &urls.Region, &urls.Dev, &urls.Vector} {
		*u = front.URL
	}
	urls.KV = front.URL + "/kv"
	cfg := conformance.Config{
		Target: own, Basis: []spec.Basis{spec.Stated, spec.Implied}, Concurrency: 8, Plugin: mutatedPlugin(parts),
		Profiles: []string{"MSG", "GROUP", "WF-READ", "WF-RECOVER", "FLOW", "USAGE", "INDEX"},
	}
	if how.live {
		cfg.Concurrency = 24
	}
	if parts.Plugin != nil || parts.Host != nil || parts.App != nil || parts.Storage != nil {
		cfg.Profiles = []string{"RATELIMIT"}
	} else if !aboutPages(m) {
		cfg.Tags = "not @time-long"
	}
	if id := m.Breaks(); id != "" && how.scope == "requirement" {
		cfg.Requirements = []string{"REQ-" + id}
	} else if id != "" && how.scope == "profile" {
		cfg.Profiles = []string{requirement(t, id).Profile}
	}
	judged, err := conformance.Run(t.Context(), cfg)
	if errors.Is(err, conformance.ErrPreflight) && m.Breaks() == "AUT-004" && strings.Contains(err.Error(), "are the credentials right?") {
		// From outside, a credential that is never taken is a wrong one.
		return &report.Report{Results: []report.Result{{Name: "the preflight", Verdict: report.Fail, Requirements: []string{"REQ-AUT-004"}}}}, hits.Load()
	}
	if err != nil {
		t.Fatalf("%s: %v", m.ID, err)
	}
	return judged, hits.Load()
}

// requirement is that of the register.
func requirement(t *testing.T, id string) *spec.Requirement {
	t.Helper()
	register, err := spec.LoadRequirements()
	if err != nil {
		t.Fatal(err)
	}
	q := register.ByID("REQ-" + id)
	if q == nil {
		t.Fatalf("no requirement %s in the register", id)
	}
	return q
}

// aboutPages says for whom pages are filled, which takes a while.
func aboutPages(m *mutant.Mutant) bool {
	return slices.Contains([]string{"DLQ-002", "LOG-002"}, m.Breaks()) || slices.Contains([]string{"L07", "L12", "L13", "L21", "L22"}, m.ID)
}

// mutatedPlugin hosts the rate-limit plugin with the changes of a mutant.
func mutatedPlugin(parts mutant.Parts) conformance.PluginHost {
	return func(_ context.Context, config []byte, upstream string) (string, func(), error) {
		var plain map[string]any
		if err := json.Unmarshal(config, &plain); err != nil {
			return "", nil, err
		}
		if parts.Plugin != nil {
			parts.Plugin(plain)
		}
		text, err := json.Marshal(plain)
		if err != nil {
			return "", nil, err
		}
		cfg, err := ratelimit.Parse(text)
		if err != nil {
			return "", nil, err
		}
		target, err := url.Parse(upstream)
		if err != nil {
			return "", nil, err
		}
		cfg.Log = quietLog()
		if parts.Storage != nil {
			cfg.Client = &http.Client{Transport: parts.Storage(http.DefaultTransport)}
		}
		limit, err := ratelimit.New(cfg)
		if err != nil {
			return "", nil, err
		}
		var app http.Handler = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
		host := limit(app)
		if parts.Host != nil {
			host = parts.Host(host)
		}
		if parts.App != nil {
			host = parts.App(host, app)
		}
		server := httptest.NewServer(host)
		return server.URL, server.Close, nil
	}
}

// failed are the requirements that did not hold, and the scenarios that said so.
func failed(r *report.Report) map[string][]string {
	out := map[string][]string{}
	for i := range r.Results {
		x := &r.Results[i]
		if x.Verdict == report.Fail || x.Verdict == report.Warn || x.Verdict == report.HarnessError {
			for _, id := range x.Requirements {
				id = strings.TrimPrefix(id, "REQ-")
				out[id] = append(out[id], x.Name)
			}
		}
	}
	return out
}

// notPassed says what did not pass, and why, one line each.
func notPassed(r *report.Report) (lines string) {
	for i := range r.Results {
		if x := &r.Results[i]; x.Verdict != report.Pass {
			lines += fmt.Sprintf("\n  %s: %s %s %s", x.Name, x.Verdict, x.Reason, x.Detail)
		}
	}
	return lines
}

// tooBusy reports whether the machine was too slow for windows of a second.
func tooBusy(r *report.Report) bool {
	return slices.ContainsFunc(r.Results, func(x report.Result) bool { return x.Reason == report.BudgetExhausted })
}

// TestMutants: each broken implementation is caught by the requirement that it
// breaks. It runs the scenarios of that requirement; MUTANTS=full runs all. With
// LIVE=1 time is that of the world; TIMES=5 runs each so often, and all verdicts
// must agree.
func TestMutants(t *testing.T) {
	if raced {
		t.Skip("it looks for survivors, not for races")
	}
	times, _ := strconv.Atoi(os.Getenv("TIMES"))
	how, all := trialOf(), mutant.All()
	rows := make([]string, len(all))
	t.Run("all", func(t *testing.T) {
		for i := range all {
			m := &all[i]
			t.Run(m.ID, func(t *testing.T) {
				t.Parallel()
				for range max(times, 1) {
					judged, hits := mutated(t, m, how)
					broken := failed(judged)
					for n := 0; n < 3 && len(broken[m.Breaks()]) == 0 && tooBusy(judged); n++ {
						judged, hits = mutated(t, m, how)
						broken = failed(judged)
					}
					killers := broken[m.Breaks()]
					switch {
					case len(killers) == 0 && hits == 0:
						t.Errorf("%s is no mutant: nothing else went over the wire: %s", m.ID, m.Text)
					case len(killers) == 0:
						t.Errorf("%s survives: %s%s", m.ID, m.Text, notPassed(judged))
					case hits == 0:
						t.Errorf("%s is no mutant, yet %q fails", m.ID, killers[0])
					}
					delete(broken, m.Breaks())
					rows[i] = fmt.Sprintf("%-10s %-64.64s %-64.64s %s", m.ID, m.Text, cmp.Or(strings.Join(killers, " | "), "SURVIVES"), strings.Join(slices.Sorted(maps.Keys(broken)), " "))
				}
			})
		}
	})
	if os.Getenv("MUTANTS") != "" { // make mutants prints the table
		fmt.Printf("%-10s %-64s %-64s %s\n%s\n", "mutant", "how", "killed by", "what else fails", strings.Join(rows, "\n"))
	}
}

// Each requirement that the document states is broken in at least three ways, and
// the tables are in order.
func TestMutantsOfEveryStatedRequirement(t *testing.T) {
	t.Parallel()
	register, err := spec.LoadRequirements()
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string]int{}
	for _, m := range mutant.All() {
		ways["REQ-"+m.Breaks()]++
		if want := fmt.Sprintf("%s.%d", m.Breaks(), ways["REQ-"+m.Breaks()]); m.ID != want {
			t.Errorf("%s: the id at this place is %s", m.ID, want)
		}
		requirement(t, m.Breaks())
	}
	for _, q := range register.Requirements {
		if q.Basis == spec.Stated && q.Excluded == "" && ways[q.ID] < 3 {
			t.Errorf("%d mutants break %s; at least 3: %s", ways[q.ID], q.ID, q.Text)
		}
	}
}

// usualLatitudes are what our server does anyway, or does at another time.
var usualLatitudes = []string{"L01", "L11", "L13", "L14", "L15", "L17", "L22", "L25", "L26", "L34"}

// TestLatitudes: each legal variation passes everything that is stated.
func TestLatitudes(t *testing.T) {
	if raced {
		t.Skip("it looks for verdicts, not for races")
	}
	all := mutant.Latitudes()
	if len(all) != 34 {
		t.Errorf("%d latitudes; there are 34", len(all))
	}
	for i := range all {
		m := &all[i]
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			judged, hits := mutated(t, m, trialOf())
			if usual := slices.Contains(usualLatitudes, m.ID); usual != (hits == 0) {
				t.Errorf("%s: something else went over the wire %d times; as our server does anyway: %v", m.ID, hits, usual)
			}
			for j := range judged.Results {
				if r := &judged.Results[j]; r.Verdict == report.Fail || r.Verdict == report.HarnessError {
					t.Errorf("%s (%s): %s %s: %s", m.ID, m.Text, r.Location, r.Name, r.Detail)
				}
			}
		})
	}
}
