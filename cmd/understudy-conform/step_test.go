package main

import (
	"testing"
	"testing/fstest"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/internal/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// A step that panics is an error of the suite, not a verdict on the target.
func TestAPanicIsAnErrorOfTheSuite(t *testing.T) {
	t.Parallel()
	const tooFew = `@area-limit @cap-ratelimit
Feature: A mistake of the suite

  @REQ-RLP-002 @stated
  Scenario: There are fewer requests than the step reads
    Given a route limited to 1 requests per "1h" by the "fixed-window" algorithm
    When one client sends 1 requests
    Then the last 5 requests reach the application
`
	judged, err := conformance.Run(t.Context(), conformance.Config{
		Target: ownTarget(environment(mockserver.RunT(t)), true), Plugin: pluginInProcess, FS: fstest.MapFS{"limit.feature": {Data: []byte(tooFew)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "verdict", judged.Results[0].Verdict, report.HarnessError)
	expect.Contains(t, "detail", judged.Results[0].Detail, "the suite panicked: runtime error: slice bounds out of range [-4:] at limit.go:")
	expect.Equal(t, "exit code", judged.ExitCode(), report.ExitHarness)
}
