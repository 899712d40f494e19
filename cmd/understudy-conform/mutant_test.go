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
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/proxy"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/ratelimit"
	"github.com/understudy-mock/understudy/spec"
)

// trial is a run of the suite against a changed stand-in: how much of the suite, and
// whether it runs in real time (live) or with a moved clock.
type trial struct {
	scope      string // requirement: scenarios of the broken requirement; profile: scenarios of its profile; full: all
	live       bool
	names      []string // only these scenarios, until one fails; nil: by the scope
	everything bool     // extensions too
	worlds     int      // generated worlds beside the scenarios
}

// trialOf reads the environment: MUTANTS is the scope, and LIVE=1 selects real time.
func trialOf() trial {
	return trial{scope: cmp.Or(os.Getenv("MUTANTS"), "requirement"), live: os.Getenv("LIVE") != ""}
}

// mutated runs the suite through a proxy against a changed stand-in. It returns the report, how
// often the traffic differed from that of the correct stand-in, and the findings of the proxy.
func mutated(t *testing.T, m *mutant, how trial) (*report.Report, int64, []proxy.Finding) {
	t.Helper()
	var hits atomic.Int64
	parts := m.Build(func() { hits.Add(1) })
	config := mockserver.Config{Clock: "manual", Log: quietLog(), Transport: parts.Delivery, Dialect: neutral()}
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
	own := unhurriedTarget(environment(s), !how.live)
	watcher, address := watching(t, front.URL, own.Bindings)
	urls := &own.Target.URLs
	for _, u := range []*string{&urls.Base, &urls.Region, &urls.Dev, &urls.Vector} {
		*u = address
	}
	urls.KV = address + "/kv"
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
	if how.scope == "worlds" {
		cfg.Areas, cfg.Tags, how.worlds = []string{"worlds"}, "", 3
	}
	cfg.Worlds = harness.Worlds{Count: how.worlds, Seed: 1}
	if how.everything {
		cfg.Basis, cfg.Profiles = append(cfg.Basis, spec.Extension), append(cfg.Profiles, "EXT")
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if how.names != nil {
		cfg.Profiles, cfg.Names = nil, how.names
		cfg.Progress = func(_, _ int, _ []string, last *report.Result) {
			if last.Verdict == report.Fail || last.Verdict == report.Warn {
				stop()
			}
		}
	}
	judged, err := conformance.Run(ctx, cfg)
	if errors.Is(err, conformance.ErrPreflight) && strings.HasPrefix(m.Breaks(), "AUT-00") && strings.Contains(err.Error(), "are the credentials right?") {
		// The preflight cannot distinguish a credential that is never accepted from a wrong one.
		return &report.Report{Results: []report.Result{{Name: "the preflight", Verdict: report.Fail, Requirements: []string{"REQ-" + m.Breaks()}}}}, hits.Load(), nil
	}
	if errors.Is(err, conformance.ErrPreflight) && how.names != nil {
		return &report.Report{Results: []report.Result{{Name: err.Error(), Verdict: report.Fail, Requirements: []string{"the preflight"}}}}, hits.Load(), nil
	}
	if err != nil {
		t.Fatalf("%s: %v", m.ID, err)
	}
	return judged, hits.Load(), watcher.Findings()
}

// watching starts a proxy in front of a server and returns its URL.
func watching(t *testing.T, upstream string, bindings target.Bindings) (*proxy.Proxy, string) {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.New(proxy.Config{Upstream: u, Bindings: bindings, Log: quietLog()})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(p)
	t.Cleanup(front.Close)
	return p, front.URL
}

// requirement returns a requirement of the register.
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

// aboutPages reports whether a mutant, or a list of latitudes, needs the slow scenarios that fill pages.
func aboutPages(m *mutant) bool {
	return slices.ContainsFunc(append(strings.Fields(m.ID), m.Breaks()), func(id string) bool {
		return slices.Contains([]string{"DLQ-002", "LOG-002", "L07", "L12", "L13", "L21", "L22"}, id)
	})
}

// mutatedPlugin hosts the rate-limit plugin with the changes of a mutant.
func mutatedPlugin(parts mutantParts) conformance.PluginHost {
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
		cfg.Log, cfg.Timeout = quietLog(), 20*time.Second // as in hostPlugin
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

// failed returns the names of the scenarios that did not pass, by requirement.
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

// notPassed lists the scenarios that did not pass, one line each, with the reason.
func notPassed(r *report.Report) (lines string) {
	for i := range r.Results {
		if x := &r.Results[i]; x.Verdict != report.Pass {
			lines += fmt.Sprintf("\n  %s: %s %s %s", x.Name, x.Verdict, x.Reason, x.Detail)
		}
	}
	return lines
}

// named checks that the proxy has exactly one finding for a mutant that is visible in traffic.
func named(t *testing.T, m *mutant, found []proxy.Finding) {
	t.Helper()
	visible := slices.Contains(inTraffic, m.ID)
	names := 0
	for i := range found {
		if found[i].Requirement == "REQ-"+m.Breaks() {
			names++
		}
	}
	if visible {
		expect.Equal(t, "names", names, 1)
		expect.Equal(t, "number of found", len(found), 1)
	}
}

// inTraffic lists the mutants that a single exchange shows. Sorted.
var inTraffic = []string{
	"DLQ-001.1", "DLQ-001.2", "DLQ-001.3", "DLQ-001.4", "DLQ-001.5", "DLQ-002.1", "DLQ-002.2", "DLQ-003.2", "DLQ-003.6", "DLQ-004.1", "DLQ-004.2", "DLQ-004.3",
	"DLQ-004.4", "DLQ-004.5", "DLQ-004.6", "DLQ-004.7", "DLQ-006.1", "DLQ-006.2", "DLQ-006.3", "DLQ-007.1", "DLQ-007.2", "DLQ-007.3", "DLQ-008.1", "DLQ-008.2",
	"DLQ-008.3", "DLQ-008.4", "DLQ-008.8", "DLQ-008.9", "DLQ-008.11", "DLQ-008.12", "DLQ-011.2", "DLQ-018.1", "DLQ-019.2", "DLQ-019.3",
	"FLC-002.1", "FLC-002.2", "FLC-002.3", "FLC-002.4",
	"LOG-001.1", "LOG-001.2", "LOG-001.4", "LOG-002.1", "LOG-002.2", "LOG-003.1", "LOG-004.1", "LOG-004.2", "LOG-004.5", "LOG-005.1", "LOG-005.2", "LOG-005.3",
	"LOG-005.4", "LOG-006.1", "LOG-006.2", "LOG-006.3", "LOG-006.4", "LOG-011.1", "LOG-011.2", "LOG-011.4", "LOG-011.6", "LOG-011.8", "LOG-011.11", "LOG-013.2",
	"LOG-022.1", "LOG-022.2", "LOG-022.3",
	"RST-001.1", "RST-001.3", "RST-001.4", "RST-005.1", "RST-005.3",
	"SRC-001.1", "SRC-001.2", "SRC-001.3", "SRC-001.4",
	"STA-001.1", "STA-001.2", "STA-001.3", "STA-002.1", "STA-002.2", "STA-002.3", "STA-003.1", "STA-003.2", "STA-003.3", "STA-004.1", "STA-004.2", "STA-004.3",
	"STA-005.1", "STA-005.3", "STA-006.1", "STA-007.1", "STA-007.2", "STA-007.3", "STA-008.1", "STA-008.2", "STA-010.1", "STA-010.2", "STA-010.3",
	"VEC-001.1", "VEC-001.2", "VEC-001.3", "VEC-002.1", "VEC-002.2", "VEC-002.3", "VEC-003.1", "VEC-003.2", "VEC-003.3", "VEC-005.1", "VEC-005.2", "VEC-005.3",
	"VEC-006.1", "VEC-006.2", "VEC-006.3", "VEC-007.1", "VEC-007.2", "VEC-007.3",
}

// TestMutants checks that each broken implementation fails the requirement that it breaks.
// It runs the scenarios of that requirement; MUTANTS=full runs all. LIVE=1 runs in real
// time; TIMES=5 repeats each mutant five times, and all runs must agree. It tries the first mutant of
// each requirement, with -short of some; MUTANTS_OF_A_REQUIREMENT=20 tries all.
func TestMutants(t *testing.T) {
	effort.Unraced(t, "it looks for survivors, not for races")
	times, _ := strconv.Atoi(os.Getenv("TIMES"))
	how, all := trialOf(), allMutants()
	seen, most := map[string]int{}, effort.Amount(t, "MUTANTS_OF_A_REQUIREMENT", 1, 1)
	all = slices.DeleteFunc(all, func(m mutant) bool { seen[m.Breaks()]++; return seen[m.Breaks()] > most })
	tried, every := 0, max(1, len(all)/effort.Amount(t, "MUTANTS_TRIED", 20, len(all)))
	all = slices.DeleteFunc(all, func(mutant) bool { tried++; return tried%every != 0 })
	rows := make([]string, len(all))
	t.Run("all", func(t *testing.T) {
		for i := range all {
			t.Run(all[i].ID, func(t *testing.T) {
				t.Parallel()
				for range max(times, 1) {
					rows[i] = killed(t, &all[i], how)
				}
			})
		}
	})
	t.Run("derived", derivedMutants)
	if os.Getenv("MUTANTS") != "" { // to read
		fmt.Printf("%-10s %-64s %-64s %s\n%s\n", "mutant", "how", "killed by", "what else fails", strings.Join(rows, "\n"))
	}
}

// killed checks that a mutant fails the requirement that it breaks, and returns its row of the table.
func killed(t *testing.T, m *mutant, how trial) string {
	t.Helper()
	judged, hits, found := mutated(t, m, how)
	broken := failed(judged)
	if len(broken[m.Breaks()]) == 0 && how.scope == "requirement" { // worlds find a requirement by rules of others
		how.scope = "worlds"
		return killed(t, m, how)
	}
	killers := broken[m.Breaks()]
	switch {
	case len(killers) == 0 && hits == 0:
		t.Errorf("%s is not a mutant: the traffic did not change: %s%s", m.ID, m.Text, notPassed(judged))
	case len(killers) == 0:
		t.Errorf("%s survives: %s%s", m.ID, m.Text, notPassed(judged))
	case hits == 0:
		t.Errorf("%s is not a mutant: the traffic did not change, but %q fails", m.ID, killers[0])
	}
	for i := range judged.Results {
		if f := judged.Results[i].Failure; f != nil && judged.Results[i].Verdict != report.Inconclusive && (f.Want == "" || f.Got == "") {
			t.Errorf("%s: the failure says neither what was expected nor what came: %s", judged.Results[i].Name, f.Error())
		}
	}
	if leak := m.Breaks() == "AUT-005" || m.Breaks() == "AUT-006"; leak { // implied, but a leak fails
		expect.Equal(t, "exit code for a leak", judged.ExitCode(), report.ExitFailed)
	}
	named(t, m, found)
	delete(broken, m.Breaks())
	keepKillers(t, m, killers, broken)
	return fmt.Sprintf("%-10s %-64.64s %-64.64s %s", m.ID, m.Text, cmp.Or(strings.Join(killers, " | "), "SURVIVES"), strings.Join(slices.Sorted(maps.Keys(broken)), " "))
}

// TestGeneratedMutants compares the list that --coverage and --explain print with the tables.
func TestGeneratedMutants(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	for _, m := range allMutants() {
		fmt.Fprintf(&list, "%s  %s\n", m.ID, m.Text)
	}
	expect.Generated(t, "mutants.txt", list.String())
}

// TestPagesCountMutants checks the numbers of servers in the pages: of broken ones by hundreds.
func TestPagesCountMutants(t *testing.T) {
	t.Parallel()
	broken := fmt.Sprintf("more than %d broken servers", len(allMutants())/100*100)
	for page, counts := range map[string][]string{"README.md": {broken}, "docs/conformance/README.md": {broken, fmt.Sprintf("with %d unusual but correct ones", len(latitudeRows))}} {
		text, err := os.ReadFile("../../" + page)
		expect.NoError(t, err)
		for _, count := range counts {
			expect.Contains(t, page, strings.Join(strings.Fields(string(text)), " "), count)
		}
	}
}

// Each stated requirement is broken in at least three ways, and the tables are in order.
func TestMutantsOfEveryStatedRequirement(t *testing.T) {
	t.Parallel()
	register, err := spec.LoadRequirements()
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string]int{}
	for _, m := range allMutants() {
		ways["REQ-"+m.Breaks()]++
		if want := fmt.Sprintf("%s.%d", m.Breaks(), ways["REQ-"+m.Breaks()]); m.ID != want {
			t.Errorf("%s: the id at this place is %s", m.ID, want)
		}
		requirement(t, m.Breaks())
	}
	for _, q := range register.Requirements {
		ofClients := strings.HasPrefix(q.ID, "REQ-CLI-") // proven by broken clients
		if q.Basis != spec.Stated || q.Excluded != "" || ofClients {
			continue
		}
		if got := ways[q.ID]; got < 3 {
			t.Errorf("mutants that break %s: got %d, want at least 3: %s", q.ID, got, q.Text)
		}
	}
}

// usualLatitudes lists the latitudes that the stand-in itself takes, so that its traffic
// does not change.
var usualLatitudes = []string{"L01", "L11", "L13", "L14", "L15", "L17", "L25", "L26", "L34"}

// combinedLatitudes are latitudes that one implementation may have together. Each is in one of them,
// but those of the plugin, which are tried alone.
var combinedLatitudes = []string{
	"L01 L07 L14 L16 L19 L21 L23 L25 L27 L30",
	"L02 L08 L10 L17 L20 L22 L24 L26 L29",
	"L03 L09 L11 L12 L18 L28 L31",
	"L04 L13 L15",
	"L05 L32",
	"L06 L35",
	"L33",
	"L34",
}

// combine returns an implementation with all latitudes of a list, and counts how often each of them
// changes the traffic.
func combine(list string) (m mutant, hits map[string]*atomic.Int64) {
	hits = map[string]*atomic.Int64{}
	m = mutant{ID: list, Text: list}
	for i := range latitudeRows {
		one := &latitudeRows[i]
		if !slices.Contains(strings.Fields(list), one.ID) {
			continue
		}
		n := &atomic.Int64{}
		hits[one.ID] = n
		build := func(func()) mutantParts { return one.Build(func() { n.Add(1) }) }
		if m.Build != nil {
			build = joinChanges(m.Build, build)
		}
		m.Build = build
	}
	return m, hits
}

// TestLatitudes checks that no legal variation fails: several of them together, and with
// MUTANTS=full each alone. With -short, it tries a few.
func TestLatitudes(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for verdicts, not for races")
	lists := combinedLatitudes
	if tried := strings.Fields(strings.Join(lists, " ")); len(tried) != len(latitudeRows) {
		t.Errorf("%d latitudes are combined; there are %d", len(tried), len(latitudeRows))
	}
	switch {
	case os.Getenv("MUTANTS") == "full":
		lists = strings.Fields(strings.Join(lists, " "))
	case effort.Amount(t, "LATITUDES", 10, 35) < len(latitudeRows):
		lists = combinedLatitudes[:1] // has an answer, an event, a refusal and a delivery
	}
	for _, list := range lists {
		t.Run(list, func(t *testing.T) {
			t.Parallel()
			m, hits := combine(list)
			judged, _, found := mutated(t, &m, trialOf())
			for i := range found {
				t.Errorf("the proxy found %s", found[i].String())
			}
			for id, n := range hits {
				if usual := slices.Contains(usualLatitudes, id); usual != (n.Load() == 0) {
					t.Errorf("%s: the traffic changed %d times; listed in usualLatitudes: %v", id, n.Load(), usual)
				}
			}
			keepVerdicts(t, "latitudes "+list, judged)
			for j := range judged.Results {
				if r := &judged.Results[j]; r.Verdict == report.Fail || r.Verdict == report.HarnessError {
					t.Errorf("%s %s: %s", r.Location, r.Name, r.Detail)
				}
			}
		})
	}
}
