package explore

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"why":   func(f Fault) string { return kindOf(f).Why },
	"short": hash,
	"depth": func(name string) int { return strings.Count(name, " > ") },
	"last":  func(name string) string { return name[strings.LastIndex(name, " > ")+1:] },
}).Parse(page))

// node is a point of the baseline with the outcomes of the cases that have a fault there.
type node struct {
	Point
	Cases []Tried
}

// writeHTML writes a page in one file: the points of the baseline with what was tried at each, and
// for each finding the timelines of the baseline and of the case.
func writeHTML(w io.Writer, r *Result) error {
	var nodes []node
	if r.Baseline != nil {
		for _, p := range r.Baseline.Trace {
			n := node{Point: p}
			for _, c := range r.Cases {
				if slices.ContainsFunc(c.Plan, func(one Choice) bool { return one.Point == p.Name }) {
					n.Cases = append(n.Cases, c)
				}
			}
			nodes = append(nodes, n)
		}
	}
	return pageTemplate.Execute(w, struct {
		*Result
		Nodes []node
	}{r, nodes})
}
