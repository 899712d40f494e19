package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/understudy-mock/understudy/conformance/mutant"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/docs"
	"github.com/understudy-mock/understudy/internal/effort"
	"github.com/understudy-mock/understudy/spec"
)

// profilesOf are the profiles of the scenarios that judge an operation, and what they need.
var profilesOf = map[string][]string{
	"delivery":                {"MSG", "GROUP", "FLOW", "WF-READ", "WF-RECOVER"},
	"deleteSearchIndex":       {"INDEX"},
	"getUsageStatistics":      {"USAGE"},
	"getVectorInfo":           {"INDEX"},
	"listWorkflowDLQ":         {"WF-RECOVER"},
	"listWorkflowMessageLogs": {"WF-READ", "WF-RECOVER"},
	"publishMessage":          {"MSG", "GROUP", "FLOW", "WF-READ", "WF-RECOVER"},
	"restartWorkflowRun":      {"WF-RECOVER"},
	"resumeFlowControlKey":    {"FLOW"},
	"updateURLGroup":          {"GROUP"},
}

// derived returns the derived mutants.
func derived(t *testing.T) []mutant.Mutant {
	t.Helper()
	doc, err := spec.Load()
	if err != nil {
		t.Fatal(err)
	}
	text, err := docs.Files.ReadFile("interface.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := mutant.Derived(doc, shownIn(string(text), ownTarget(nil, true).Bindings))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// shownIn reports whether the interface document, or the bindings of the target, show a name.
func shownIn(document string, b target.Bindings) func(name string) bool {
	bound := map[string]bool{"svc-callback": true, "svc-delay": true, "svc-timeout": true}
	for _, names := range []map[string]string{b.Headers, b.Logs, b.DLQ, b.Fields["dlq"], b.Fields["log"], b.Fields["step"]} {
		for _, name := range names {
			bound[name], bound[strings.ToLower(name)] = true, true
		}
	}
	lower := strings.ToLower(document)
	return func(name string) bool {
		text := document
		if strings.HasPrefix(strings.ToLower(name), "svc-") {
			name, text = strings.ToLower(name), lower
		}
		return bound[name] || regexp.MustCompile(`(^|[^\w-])`+regexp.QuoteMeta(name)+`([^\w-]|$)`).MatchString(text)
	}
}

// derivedMutants checks that the suite fails every derived mutant that changes something, except
// those in testdata/survivors.txt. With MUTANTS=full it tries all, otherwise a sample. DERIVED is a
// pattern of their names.
func derivedMutants(t *testing.T) {
	all := derived(t)
	text, err := os.ReadFile(filepath.Join("testdata", "survivors.txt"))
	if err != nil {
		t.Fatal(err)
	}
	accepted := strings.Split(string(text), "\n")
	if pattern := os.Getenv("DERIVED"); pattern != "" {
		all = slices.DeleteFunc(all, func(m mutant.Mutant) bool { return !regexp.MustCompile(pattern).MatchString(m.ID) })
	} else if os.Getenv("MUTANTS") != "full" {
		all = slices.DeleteFunc(all, func(m mutant.Mutant) bool { return slices.Contains(accepted, m.ID) })
		n := max(len(all)/effort.Amount(t, "DERIVED_MUTANTS", 4, 10), 1)
		for i := range all {
			if i*n < len(all) {
				all[i] = all[i*n]
			}
		}
		all = all[:len(all)/n]
	}
	var mu sync.Mutex
	counts := map[string]int{}
	var rows []string
	t.Run("each", func(t *testing.T) {
		for i := range all {
			t.Run(all[i].ID, func(t *testing.T) {
				t.Parallel()
				judged, hits, _ := mutated(t, &all[i], trial{scope: "full", only: profilesOf[strings.Split(all[i].ID, "/")[1]]})
				result := "killed"
				switch killers := failed(judged); {
				case hits == 0:
					result = "without effect"
				case len(killers) == 0:
					result = "SURVIVES"
					if !slices.Contains(accepted, all[i].ID) {
						t.Errorf("%s survives", all[i].ID)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				counts[result]++
				rows = append(rows, fmt.Sprintf("%-16s %s (%d)", result, all[i].ID, hits))
			})
		}
	})
	slices.Sort(rows)
	t.Logf("derived mutants: %v\n%s", counts, strings.Join(rows, "\n"))
}
