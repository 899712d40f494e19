package report

import (
	_ "embed" // the template
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/spec"
)

//go:embed report.html.tmpl
var reportTemplate string

var htmlReport = template.Must(template.New("report").Funcs(template.FuncMap{"shorten": shorten}).Parse(reportTemplate))

// evidenceSize is how much of a body is shown for a scenario that passed, in bytes.
const evidenceSize = 512

// shorten cuts a body of a scenario that passed and adds its full size.
func shorten(v Verdict, body string) string {
	if v != Pass {
		return body
	}
	return clip.Marked(body, evidenceSize, fmt.Sprintf("... (%d bytes; the JSON report has more)", len(body)))
}

// htmlRow is a requirement with its scenarios.
type htmlRow struct {
	Covered
	Results []htmlResult
}

type htmlResult struct {
	*Result
	Explained string
	Evidence  string // summary of the evidence; "": none
}

// evidence counts the exchanges and received calls.
func evidence(x *Result) string {
	switch {
	case len(x.Deliveries) > 0:
		return fmt.Sprintf("exchanges %d, received calls %d", len(x.Exchanges), len(x.Deliveries))
	case len(x.Exchanges) > 0:
		return fmt.Sprintf("exchanges %d", len(x.Exchanges))
	}
	return ""
}

// writeHTML writes one file that needs no network: the matrix of requirements, with
// filters. It is readable on a phone, on paper, and without script.
func writeHTML(w io.Writer, r *Report) error {
	page := struct {
		*Report
		Line, Class string
		Facts       []fact
		Verdicts    []Verdict
		Rows        []htmlRow
	}{Report: r, Line: r.verdictLine(), Facts: r.facts()[1:], Class: map[bool]string{true: "conformant", false: "nonconformant"}[strings.HasPrefix(r.Verdict(), "conformant")]}
	for _, c := range r.Requirements {
		row := htmlRow{Covered: c}
		for i := range r.Results {
			if x := &r.Results[i]; slices.Contains(x.Requirements, c.ID) {
				row.Results = append(row.Results, htmlResult{x, r.plain(x), evidence(x)})
			}
		}
		if !slices.Contains(page.Verdicts, c.Verdict) {
			page.Verdicts = append(page.Verdicts, c.Verdict)
		}
		page.Rows = append(page.Rows, row)
	}
	if !slices.Contains(page.Verdicts, NotSelected) {
		page.Verdicts = append(page.Verdicts, NotSelected)
	}
	if register, err := spec.LoadRequirements(); err == nil { // also list requirements that were not judged
		for _, q := range register.Requirements {
			if !slices.ContainsFunc(r.Requirements, func(c Covered) bool { return c.ID == q.ID }) {
				page.Rows = append(page.Rows, htmlRow{Covered: Covered{Requirement: q, Verdict: NotSelected}})
			}
		}
	}
	slices.SortStableFunc(page.Rows, func(a, b htmlRow) int { return worse[b.Verdict] - worse[a.Verdict] })
	return htmlReport.Execute(w, page)
}
