// Package report contains the results of a run of the suite, and writes them: for
// people (terminal, html, markdown), for CI (junit, cucumber, github), and for programs (json).
//
//	err := report.Write("junit", file, result)
//	os.Exit(result.ExitCode())
//
// A [Result] is one scenario with its evidence: the exchanges with the target and the
// calls of the target to the receiver. A [Report] contains all results, the verdicts
// on requirements and profiles that follow from them, and the exit code.
//
// It makes no verdicts: these come from package conformance.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/spec"
)

// renderers write reports, one file each, with its name in a folder of reports. Sorted by name.
var renderers = map[string]struct {
	file  string
	write func(io.Writer, *Report) error
}{
	"cucumber": {"cucumber.json", writeCucumber},
	"github":   {"annotations.txt", writeGitHub},
	"html":     {"report.html", writeHTML},
	"json":     {"report.json", writeJSON},
	"junit":    {"junit.xml", writeJUnit},
	"markdown": {"README.md", writeMarkdown},
	"terminal": {"", writeTerminal},
}

// Write writes a report in one of the formats.
func Write(format string, w io.Writer, r *Report) error {
	write := renderers[format].write
	if write == nil {
		return fmt.Errorf("report format %q: must be one of %s", format, strings.Join(Formats(), ", "))
	}
	return write(w, r)
}

// Formats returns the names of all formats, sorted.
func Formats() []string { return slices.Sorted(maps.Keys(renderers)) }

// FileName is the name of a report in a folder of reports; "" for one that is printed.
func FileName(format string) string { return renderers[format].file }

// writeJSON writes the report for programs: spec/report.schema.json describes it. Only the requests
// that failures are about, and what the receiver saw of these scenarios, have headers and bodies.
func writeJSON(w io.Writer, r *Report) error {
	short := *r
	short.Results = slices.Clone(r.Results)
	for i := range short.Results {
		short.Results[i].outline()
	}
	return writeObject(w, struct {
		Schema   string `json:"$schema"`
		Verdict  string `json:"verdict"`
		ExitCode int    `json:"exitCode"`
		*Report
	}{"report.schema.json", r.Verdict(), r.ExitCode(), &short})
}

// object is an object of JSON.
type object = map[string]any

// writeObject writes indented JSON.
func writeObject(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// maxKeptDeliveries is how many deliveries of a failure keep their headers and bodies.
const maxKeptDeliveries = 3

// outline leaves out the headers and bodies of the evidence, except of what a failure is about.
func (x *Result) outline() {
	x.Exchanges, x.Deliveries = slices.Clone(x.Exchanges), slices.Clone(x.Deliveries)
	for i := range x.Exchanges {
		if x.Failure != nil && x.Failure.Exchange == i {
			continue
		}
		e := &x.Exchanges[i]
		*e = Exchange{Operation: e.Operation, Method: e.Method, URL: e.URL, Status: e.Status, Error: e.Error, Problems: e.Problems, At: e.At, Took: e.Took}
	}
	for i := range x.Deliveries {
		if x.Failure != nil && i < maxKeptDeliveries {
			continue
		}
		d := &x.Deliveries[i]
		*d = Delivery{Endpoint: d.Endpoint, Method: d.Method, Path: d.Path, Answered: d.Answered, At: d.At}
	}
}

// bad are the verdicts whose results are explained one by one, the most important first.
var bad = []Verdict{Fail, HarnessError, Unreliable, Warn}

// byVerdict returns the results with a verdict, in order.
func (r *Report) byVerdict(v Verdict) []*Result {
	var list []*Result
	for i := range r.Results {
		if r.Results[i].Verdict == v {
			list = append(list, &r.Results[i])
		}
	}
	return list
}

// counts reports whether a bad verdict is a failure: a warning is one in a strict run.
func (r *Report) counts(v Verdict) bool { return v != Warn || r.Strict }

// verdictLine summarises the report in one line.
func (r *Report) verdictLine() string {
	words := []string{}
	for _, v := range []Verdict{Pass, Fail, Unreliable, Warn, HarnessError, Inconclusive, Observed, NotApplicable} {
		if n := len(r.byVerdict(v)); n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, v))
		}
	}
	line := fmt.Sprintf("%s: %s (%s)", strings.TrimSpace(r.Target.Name+" "+r.Target.Version), r.Verdict(), strings.Join(words, ", "))
	if n := len(r.byVerdict(HarnessError)); n > 0 && r.ExitCode() == ExitFailed {
		line += fmt.Sprintf("; harness errors: %d", n)
	}
	return line
}

// OfClient reports whether a client was judged, not a server.
func (r *Report) OfClient() bool {
	return slices.ContainsFunc(r.Requirements, func(c Covered) bool { return slices.Contains(target.ClientProfiles, c.Profile) })
}

// requirement returns the requirement with an id.
func (r *Report) requirement(id string) *Covered {
	for i := range r.Requirements {
		if r.Requirements[i].ID == id {
			return &r.Requirements[i]
		}
	}
	return &Covered{Requirement: spec.Requirement{ID: id}}
}
