package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/mockserver"
)

// A target file may leave out every binding: what needs it has no verdict, and nothing fails.
func TestConformWithoutABinding(t *testing.T) {
	effort.Unraced(t, "it looks for verdicts, not for races")
	for _, left := range unboundNames(t) {
		t.Run(left, func(t *testing.T) {
			t.Parallel()
			own := ownTarget(environment(mockserver.RunT(t)), true)
			section, key, _ := strings.Cut(left, " ")
			from := map[string]map[string]string{
				"headers": own.Bindings.Headers, "delay": own.Bindings.Delay, "logs": own.Bindings.Logs, "dlq": own.Bindings.DLQ,
				"fields.dlq": own.Bindings.Fields["dlq"], "fields.log": own.Bindings.Fields["log"], "fields.step": own.Bindings.Fields["step"],
			}[section]
			maps.DeleteFunc(from, func(name, _ string) bool { return key == "" || key == name })
			if section == "drivers" {
				maps.DeleteFunc(own.Drivers, func(name string, _ target.Driver) bool { return name == key })
			}
			judged, err := conformance.Run(t.Context(), conformance.Config{Target: own, Concurrency: 8, Tags: "not @time-long", Profiles: []string{"MSG", "GROUP", "WF-READ", "WF-RECOVER", "FLOW"}})
			if err != nil {
				t.Fatal(err)
			}
			for i := range judged.Results {
				if r := &judged.Results[i]; r.Verdict == report.Fail || r.Verdict == report.Warn || r.Verdict == report.HarnessError {
					t.Errorf("%s %s: %s %s", r.Location, r.Name, r.Verdict, r.Detail)
				}
			}
		})
	}
}

// unboundNames are the first sections of bindings, or with BINDINGS=each their keys and the drivers.
func unboundNames(t *testing.T) (names []string) {
	t.Helper()
	if os.Getenv("BINDINGS") != "each" {
		all := []string{"headers", "dlq", "logs", "fields.dlq", "fields.log", "fields.step", "delay"}
		return all[:effort.Amount(t, "SECTIONS", 1, 3)]
	}
	own := ownTarget(nil, true)
	for section, keys := range map[string]map[string]string{"headers": own.Bindings.Headers, "logs": own.Bindings.Logs, "dlq": own.Bindings.DLQ} {
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			names = append(names, section+" "+key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(own.Drivers)) {
		names = append(names, "drivers "+key)
	}
	return names
}
