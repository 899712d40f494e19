package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/understudy-mock/understudy/conformance/mutant"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/docs"
	"github.com/understudy-mock/understudy/internal/effort"
	"github.com/understudy-mock/understudy/internal/expect"
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
	text, err := docs.Files.ReadFile("reference/interface.md")
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

// fewDerived are those of a short test; the suite finds each of them: fields, filters, options and
// deliveries.
var fewDerived = []string{
	"derived/delivery/body lost/run",
	"derived/delivery/first value only/group",
	"derived/delivery/forwarded header/retried",
	"derived/delivery/never sent/held",
	"derived/delivery/path in lower case/always",
	"derived/listWorkflowDLQ/field/messages/[]/callerIP/missing/always",
	"derived/listWorkflowDLQ/field/messages/[]/callerIP/type/always",
	"derived/listWorkflowDLQ/query/label/ignored/always",
	"derived/listWorkflowDLQ/query/responseStatus/inverted",
	"derived/restartWorkflowRun/field/workflowRunId/missing/always",
}

// derivedMutants tries the derived mutants: all with MUTANTS=full, those that match the pattern
// DERIVED, or a few that must fail. Of the others it prints those that the suite does not
// find: some are legal, and each of the rest is a scenario to write.
func derivedMutants(t *testing.T) {
	all, few := derived(t), false
	if pattern := os.Getenv("DERIVED"); pattern != "" {
		matching := regexp.MustCompile(pattern)
		all = slices.DeleteFunc(all, func(m mutant.Mutant) bool { return !matching.MatchString(m.ID) })
	} else if few = os.Getenv("MUTANTS") != "full"; few {
		all = slices.DeleteFunc(all, func(m mutant.Mutant) bool { return !slices.Contains(fewDerived, m.ID) })
		expect.Equal(t, "mutants of a short test", len(all), len(fewDerived))
		all = all[len(all)-effort.Amount(t, "DERIVED_MUTANTS", 4, 10):] // deliveries, the first ones, take longest
	}
	var mu sync.Mutex
	found := map[string][]string{}
	t.Run("each", func(t *testing.T) {
		for i := range all {
			t.Run(all[i].ID, func(t *testing.T) {
				t.Parallel()
				_, operation, _ := strings.Cut(all[i].ID, "/")
				operation, _, _ = strings.Cut(operation, "/")
				judged, hits, _ := mutated(t, &all[i], trial{scope: "full", only: profilesOf[operation]})
				result := "found"
				if hits == 0 {
					result = "without effect"
				} else if len(failed(judged)) == 0 {
					result = "not found"
				}
				if few && result != "found" {
					t.Errorf("%s is %s", all[i].ID, result)
				}
				mu.Lock()
				defer mu.Unlock()
				found[result] = append(found[result], all[i].ID)
			})
		}
	})
	if !few { // to read
		for _, result := range []string{"found", "without effect", "not found"} {
			slices.Sort(found[result])
			fmt.Printf("%d derived mutants are %s\n", len(found[result]), result)
		}
		fmt.Printf("without effect:\n%s\nnot found:\n%s\n", strings.Join(found["without effect"], "\n"), strings.Join(found["not found"], "\n"))
	}
}
