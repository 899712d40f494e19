package main

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/internal/recorder"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec"
)

// changedDeletes answers a delete with another media type and status.
func changedDeletes(mediaType string, status int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		rec := recorder.Serve(next, r)
		maps.Copy(w.Header(), rec.Header())
		if r.Method == http.MethodDelete && rec.Status == http.StatusOK {
			w.Header().Set("Content-Type", mediaType)
			rec.Status = status
		}
		w.WriteHeader(rec.Status)
		_, _ = w.Write(rec.Body.Bytes()) // the client may have disconnected
	}
}

// An answer that breaks a requirement is a finding of it, once, although the scenario that got
// the answer is about another one.
func TestConformJudgesEveryAnswer(t *testing.T) {
	t.Parallel()
	judged := fronted(t, changedDeletes("text/plain", http.StatusOK), func(cfg *conformance.Config, _ *httptest.Server) {
		cfg.Requirements = []string{"REQ-SRC-002", "REQ-SRC-003"}
	})
	var found []*report.Result
	for i := range judged.Results {
		if r := &judged.Results[i]; r.Verdict == report.Fail {
			found = append(found, r)
		} else {
			expect.Equal(t, r.Name, r.Verdict, report.Pass)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d failures, want 1: %s", len(found), notPassed(judged))
	}
	f := found[0]
	expect.Equal(t, "requirements", f.Requirements, []string{"REQ-SRC-001"})
	expect.Equal(t, "tries: the scenario ran again", f.Tries, []report.Verdict{report.Fail, report.Fail})
	expect.Equal(t, "expected", f.Failure.Want, "application/json")
	expect.Contains(t, "got", f.Failure.Got, "text/plain")
	expect.Equal(t, "operation of the answer", f.Exchanges[f.Failure.Exchange].Operation, "deleteSearchIndex")
	expect.Contains(t, "command", f.Exchanges[f.Failure.Exchange].Curl, "curl -sS -i -X DELETE")
	expect.Equal(t, "exit code", judged.ExitCode(), report.ExitFailed)
}

// The answers of all requests are judged, but only by what the target claims and the run selects.
func TestConformJudgesAnswersByWhatIsSelected(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*conformance.Config){
		"the basis stated is not selected": func(cfg *conformance.Config) { cfg.Basis = []spec.Basis{spec.Implied} },
		"a scenario of the requirement has failed": func(cfg *conformance.Config) {
			cfg.Requirements = append(cfg.Requirements, "REQ-SRC-001")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judged := fronted(t, changedDeletes("application/json", http.StatusAccepted), func(cfg *conformance.Config, _ *httptest.Server) {
				cfg.Requirements = []string{"REQ-SRC-003"}
				change(cfg)
			})
			expect.True(t, "only results of scenarios", !slices.ContainsFunc(judged.Results, func(r report.Result) bool {
				return strings.HasPrefix(r.Name, "No answer breaks")
			}))
		})
	}
}

// otherScenarios get answers of each area, but are about more than the form of an answer.
var otherScenarios = map[string][]string{
	"DLQ": {"One failed run has one entry", "The outcome of the failure callback is stored in the entry", "Every page of the queue is filtered", "A run that is cancelled is not in the queue", "The queue filtered by response status holds all that fits and nothing else"},
	"FLC": {"A key that is paused again is resumed again"},
	"LOG": {"A run has one start and one end"},
	"RST": {"The caller chooses the id of the new run"},
	"SRC": {"Another index stays"},
	"STA": {"A run is counted on the day of its start"},
	"VEC": {"New vectors are counted, pending or ready"},
}

// Broken answers are found in scenarios about other requirements too.
func TestBrokenAnswersAreFoundByOtherScenarios(t *testing.T) {
	effort.Unraced(t, "it looks for survivors, not for races")
	list, err := conformance.List(conformance.Config{})
	if err != nil {
		t.Fatal(err)
	}
	noOther := []string{"DLQ-008.12", "LOG-001.2", "LOG-011.2", "LOG-011.6"} // no other scenario has the entries or events that show it
	all := slices.DeleteFunc(allMutants(), func(m mutant) bool { return !slices.Contains(inTraffic, m.ID) || slices.Contains(noOther, m.ID) })
	every := max(1, len(all)/effort.Amount(t, "BROKEN_ANSWERS", 8, 8))
	for i, m := range all {
		if i%every != 0 {
			continue
		}
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			var names []string
			for _, name := range otherScenarios[m.Breaks()[:3]] {
				i := slices.IndexFunc(list, func(l conformance.Listed) bool { return l.Name == name })
				if i < 0 {
					t.Fatalf("no scenario %q", name)
				}
				if !slices.Contains(list[i].Requirements, "REQ-"+m.Breaks()) {
					names = append(names, name)
				}
			}
			judged, hits, _ := mutated(t, &m, trial{names: names})
			if len(failed(judged)[m.Breaks()]) == 0 && hits > 0 { // without a hit, no other scenario sends such a request
				t.Errorf("%s survives: %s", m.ID, m.Text)
			}
		})
	}
}

// An entry that is not found under the id of its run may be there under another one.
func TestAMissingEntryNamesTheNewestOnes(t *testing.T) {
	t.Parallel()
	m := mutant{ID: "renamed", Build: changeEntries(func(e map[string]any) { e["workflowRunId"] = "renamed_" + textOf(e["workflowRunId"]) })}
	judged, _, _ := mutated(t, &m, trial{names: []string{"A run that fails with status 500 is in the queue"}})
	f := judged.Results[0].Failure
	if f == nil {
		t.Fatal("no failure")
	}
	expect.Contains(t, "got", f.Got, "none; the newest entries are of renamed_wfr_")
}

// A broken server is found by one scenario alone: what needs company brings its own.
func TestMutantsAreFoundWithoutCompany(t *testing.T) {
	effort.Unraced(t, "it looks for survivors, not for races")
	list, err := conformance.List(conformance.Config{Worlds: harness.Worlds{Count: 1}})
	if err != nil {
		t.Fatal(err)
	}
	generated := func(l conformance.Listed) bool { return strings.HasPrefix(l.Location, "worlds.feature:") }
	slices.SortStableFunc(list, func(a, b conformance.Listed) int { // worlds take longest
		return map[bool]int{true: 1}[generated(a)] - map[bool]int{true: 1}[generated(b)]
	})
	all := allMutants()
	every := max(1, len(all)/effort.Amount(t, "MUTANTS_ALONE", 8, 8))
	for i, m := range all {
		if i%every != 0 {
			continue
		}
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			for _, l := range list {
				if generated(l) {
					judged, _, _ := mutated(t, &m, worldsOnly)
					if len(failed(judged)[m.Breaks()]) > 0 {
						return
					}
					break
				}
				if !slices.Contains(l.Requirements, "REQ-"+m.Breaks()) || !aboutPages(&m) && slices.Contains(l.Tags, "@time-long") {
					continue
				}
				judged, _, _ := mutated(t, &m, trial{names: []string{l.Name}})
				if len(failed(judged)[m.Breaks()]) > 0 || judged.Results[0].Requirements[0] == "the preflight" {
					return
				}
			}
			t.Errorf("%s survives each of its scenarios alone: %s", m.ID, m.Text)
		})
	}
}
