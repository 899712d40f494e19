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
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// A target file may leave out every binding: what needs it has no verdict, and nothing fails.
func TestConformWithoutABinding(t *testing.T) {
	effort.Unraced(t, "it looks for verdicts, not for races")
	for _, left := range unboundNames(t) {
		t.Run(left, func(t *testing.T) {
			t.Parallel()
			own := unhurriedTarget(environment(mockserver.RunT(t, mockserver.Config{Dialect: neutral()})), true)
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

// CheckTarget says that a binding works only when the target shows a difference.
func TestCheckTargetSeesADifference(t *testing.T) {
	t.Parallel()
	restart := []string{"bindings.headers.restart_flow_key", "bindings.headers.restart_retries"}
	quiet := []string{"bindings.headers.flow_value", "bindings.headers.timeout", "bindings.dlq.count", "bindings.dlq.cursor", "bindings.logs.cursor"} // one message or one entry shows nothing
	for name, c := range map[string]struct {
		misspell func(string) string
		works    bool
	}{
		"the right names work":        {func(name string) string { return name }, true},
		"no misspelt name works":      {func(name string) string { return name + "x" }, false},
		"no name of another one does": {func(name string) string { return name[:len(name)-1] }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := mockserver.Run(mockserver.Config{Log: quietLog(), Dialect: neutral()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = server.Close() })
			own := unhurriedTarget(environment(server), false)
			for _, section := range []map[string]string{own.Bindings.Headers, own.Bindings.DLQ, own.Bindings.Logs} {
				for key, name := range section {
					section[key] = c.misspell(name)
				}
			}
			if !c.works {
				own.Bindings.Delay["format"] = "{n} fortnights"
			}
			list, err := conformance.CheckTarget(t.Context(), conformance.Config{Target: own})
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range list {
				if strings.HasPrefix(one.Entry, "bindings.") && !strings.HasPrefix(one.Entry, "bindings.fields.") && one.Entry != "bindings.stats.path" {
					want := c.works && !slices.Contains(restart, one.Entry) && !slices.Contains(quiet, one.Entry)
					expect.Equal(t, one.Entry+" works: "+one.Detail, one.Works, want)
				}
			}
		})
	}
}
