package program

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/mockserver/explore"
)

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"why":   explore.Fault.Why,
	"short": explore.ShortName,
	"depth": func(name string) int { return strings.Count(name, " > ") },
	"last":  func(name string) string { return name[strings.LastIndex(name, " > ")+1:] },
}).Parse(page))

// node is a point of the baseline with the outcomes of the cases that have a fault there.
type node struct {
	explore.Point
	Cases []explore.Tried
}

// writeHTML writes a page in one file: the points of the baseline with what was tried at each, and
// for each finding the timelines of the baseline and of the case.
func writeHTML(w io.Writer, r *explore.Result) error {
	var nodes []node
	if r.Baseline != nil {
		for _, p := range r.Baseline.Trace {
			n := node{Point: p}
			for _, c := range r.Cases {
				if slices.ContainsFunc(c.Plan, func(one explore.Choice) bool { return one.Point == p.Name }) {
					n.Cases = append(n.Cases, c)
				}
			}
			nodes = append(nodes, n)
		}
	}
	return pageTemplate.Execute(w, struct {
		*explore.Result
		Nodes []node
	}{r, nodes})
}
