package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/mutant"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/ratelimit"
	"github.com/understudy-mock/understudy/spec"
)

// mutated runs the suite against a stand-in that is changed, and counts how often
// the change was taken.
func mutated(t *testing.T, m *mutant.Mutant) (*conformance.Report, int64) {
	t.Helper()
	var hits atomic.Int64
	parts := m.Build(func() { hits.Add(1) })
	s, err := mockserver.Run(mockserver.Config{Clock: "manual", Log: quietLog(), Transport: parts.Delivery})
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
	target := ownTarget(s.Env(), true)
	urls := &target.Target.URLs
	for _, u := range []*string{&urls.Base, &urls.Region, &urls.Dev, &urls.Vector} {
		*u = front.URL
	}
	urls.KV = front.URL + "/kv"
	cfg := conformance.Config{
		Target: target, Basis: []spec.Basis{spec.Stated, spec.Implied}, Concurrency: 8, Plugin: mutatedPlugin(parts),
		Profiles: []string{"MSG", "GROUP", "WF-READ", "WF-RECOVER", "FLOW", "USAGE", "INDEX"},
	}
	if parts.Plugin != nil || parts.Host != nil || parts.App != nil || parts.Storage != nil {
		cfg.Profiles = []string{"RATELIMIT"}
	} else if !aboutPages(m) {
		cfg.Tags = "not @time-long"
	}
	if register, err := spec.LoadRequirements(); err == nil && m.Breaks != "" && os.Getenv("MUTANTS") != "full" {
		cfg.Profiles = []string{register.ByID("REQ-" + m.Breaks).Profile}
	}
	report, err := conformance.Run(t.Context(), cfg)
	if err != nil {
		t.Fatalf("%s: %v", m.ID, err)
	}
	return report, hits.Load()
}

// aboutPages says for whom pages are filled, which takes a while.
func aboutPages(m *mutant.Mutant) bool {
	return slices.Contains([]string{"DLQ-002", "LOG-002"}, m.Breaks) || slices.Contains([]string{"L07", "L12", "L13", "L21", "L22"}, m.ID)
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
func failed(r *conformance.Report) map[string][]string {
	out := map[string][]string{}
	for i := range r.Results {
		x := &r.Results[i]
		if x.Verdict == conformance.Fail || x.Verdict == conformance.Warn || x.Verdict == conformance.HarnessError {
			for _, id := range x.Requirements {
				id = strings.TrimPrefix(id, "REQ-")
				out[id] = append(out[id], x.Name)
			}
		}
	}
	return out
}

// tooBusy reports whether the machine was too slow for windows of a second.
func tooBusy(r *conformance.Report) bool {
	return slices.ContainsFunc(r.Results, func(x conformance.Result) bool { return x.Reason == conformance.BudgetExhausted })
}

// stated reports whether the interface document says so.
func stated(t *testing.T, id string) bool {
	t.Helper()
	register, err := spec.LoadRequirements()
	if err != nil {
		t.Fatal(err)
	}
	q := register.ByID("REQ-" + id)
	return q != nil && q.Basis == spec.Stated
}

// TestMutants: each broken implementation is caught, and by the requirement that
// it breaks. It runs the profile of that requirement; MUTANTS=full runs all.
func TestMutants(t *testing.T) {
	if raced {
		t.Skip("it looks for survivors, not for races")
	}
	all := mutant.All()
	if len(all) < 90 {
		t.Errorf("%d mutants; 90 are the least", len(all))
	}
	rows := make([]string, len(all))
	t.Run("all", func(t *testing.T) {
		for i := range all {
			m := &all[i]
			t.Run(m.ID, func(t *testing.T) {
				t.Parallel()
				report, hits := mutated(t, m)
				broken := failed(report)
				for n := 0; n < 3 && len(broken[m.Breaks]) == 0 && tooBusy(report); n++ {
					report, hits = mutated(t, m)
					broken = failed(report)
				}
				var collateral, accidents []string
				for id := range broken {
					switch {
					case id == m.Breaks:
					case slices.Contains(m.Collateral, id) || !stated(t, id):
						collateral = append(collateral, id)
					default:
						accidents = append(accidents, fmt.Sprintf("%s (%s)", id, broken[id][0]))
					}
				}
				slices.Sort(collateral)
				slices.Sort(accidents)
				killers := broken[m.Breaks]
				switch {
				case hits == 0:
					t.Errorf("%s is a broken mutant: its change was never taken", m.ID)
				case len(killers) == 0:
					t.Errorf("%s survives: %s", m.ID, m.Text)
				case len(accidents) > 0:
					t.Errorf("%s is caught by accident as well: %s", m.ID, strings.Join(accidents, "; "))
				}
				rows[i] = fmt.Sprintf("%-6s %-8s %-58.58s %-64.64s %s", m.ID, m.Breaks, m.Text, cmp.Or(strings.Join(killers, " | "), "SURVIVES"), strings.Join(collateral, " "))
			})
		}
	})
	if os.Getenv("MUTANTS") != "" { // make mutants prints the table
		fmt.Printf("%-6s %-8s %-58s %-64s %s\n%s\n", "mutant", "breaks", "how", "killed by", "collateral", strings.Join(rows, "\n"))
	}
}

// Every stated requirement is hit by a mutant.
func TestMutantsHitEveryStatedRequirement(t *testing.T) {
	t.Parallel()
	register, err := spec.LoadRequirements()
	if err != nil {
		t.Fatal(err)
	}
	hit := map[string]bool{}
	ids := map[string]bool{}
	for _, m := range mutant.All() {
		hit["REQ-"+m.Breaks] = true
		if ids[m.ID] || register.ByID("REQ-"+m.Breaks) == nil {
			t.Errorf("%s: the id is there twice, or it breaks %q, which is no requirement", m.ID, m.Breaks)
		}
		ids[m.ID] = true
	}
	for _, q := range register.Requirements {
		if q.Basis == spec.Stated && q.Excluded == "" && !hit[q.ID] {
			t.Errorf("no mutant breaks %s: %s", q.ID, q.Text)
		}
	}
}

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
			report, hits := mutated(t, m)
			if hits == 0 {
				t.Errorf("%s: its change was never taken", m.ID)
			}
			for j := range report.Results {
				if r := &report.Results[j]; r.Verdict == conformance.Fail || r.Verdict == conformance.HarnessError {
					t.Errorf("%s (%s): %s %s: %s", m.ID, m.Text, r.Location, r.Name, r.Detail)
				}
			}
		})
	}
}
