package report

import (
	"io"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/internal/junit"
)

// writeJUnit writes the report for CI systems: a failure for what fails the run, an
// error for harness errors only, and everything else without a verdict as skipped,
// with the reason. A warning passes unless the run is strict.
func writeJUnit(w io.Writer, r *Report) error {
	var suites []junit.Suite
	index := map[string]int{}
	var about []junit.Property
	for _, f := range r.facts() {
		about = append(about, junit.Property(f))
	}
	for i := range r.Results {
		x := &r.Results[i]
		at, ok := index[x.Feature]
		if !ok {
			at = len(suites)
			index[x.Feature] = at
			suites = append(suites, junit.Suite{Name: x.Feature, Stamp: r.Started.UTC().Format(time.RFC3339), Properties: about})
		}
		c := junit.Case{Name: x.Name, Class: x.Feature, File: "features/" + x.Location, Time: x.Duration.Seconds()}
		for _, id := range x.Requirements {
			c.Properties = append(c.Properties, junit.Property{Name: "requirement", Value: id})
		}
		c.Properties = append(c.Properties, junit.Property{Name: "basis", Value: string(x.Basis)}, junit.Property{Name: "verdict", Value: string(x.Verdict)})
		detail := &junit.Text{Message: x.Detail, Type: string(x.Basis), Text: r.plain(x)}
		switch {
		case x.Expected:
			c.Skipped = &junit.Text{Message: "expected failure: " + x.Detail}
		case x.Verdict == Fail, x.Verdict == Unreliable, x.Verdict == Warn && r.Strict:
			c.Failure = detail
		case x.Verdict == HarnessError:
			c.Error = detail
		case x.Verdict == Pass, x.Verdict == Warn, x.Verdict == Observed:
		default:
			c.Skipped = &junit.Text{Message: strings.TrimSpace(string(x.Verdict) + ": " + string(x.Reason) + " " + x.Detail)}
		}
		suites[at].Cases = append(suites[at].Cases, c)
	}
	return junit.Write(w, "understudy conformance of "+r.Target.Name, suites)
}
