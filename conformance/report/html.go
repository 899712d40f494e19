package report

import (
	_ "embed" // the template
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed report.html.tmpl
var reportTemplate string

var htmlReport = template.Must(template.New("report").Parse(reportTemplate))

// htmlRow is a requirement with its scenarios.
type htmlRow struct {
	Covered
	Results []htmlResult
}

type htmlResult struct {
	*Result
	Explained string
}

// writeHTML writes one file that needs no network: the matrix of requirements,
// with filters; it reads on a phone, on paper, and without script.
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
				row.Results = append(row.Results, htmlResult{x, r.plain(x)})
			}
		}
		if !slices.Contains(page.Verdicts, c.Verdict) {
			page.Verdicts = append(page.Verdicts, c.Verdict)
		}
		page.Rows = append(page.Rows, row)
	}
	slices.SortStableFunc(page.Rows, func(a, b htmlRow) int { return worse[b.Verdict] - worse[a.Verdict] })
	return htmlReport.Execute(w, page)
}
