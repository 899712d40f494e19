package program

import (
	_ "embed"
	"html/template"
	"io"
	"strings"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/mockserver/explore"
)

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"why":     explore.Fault.Why,
	"short":   explore.ShortName,
	"counted": clip.Counted,
	"depth":   func(name string) int { return strings.Count(name, " > ") },
	"last":    func(name string) string { return strings.TrimPrefix(name[strings.LastIndex(name, " > ")+1:], "> ") },
	"rows":    rowsOf,
}).Parse(page))

// Bounds of the page: points of a timeline, and cases of a point.
const (
	maxRows  = 300
	maxTried = 100
)

// row is a point of a timeline.
type row struct {
	explore.Point
	Only bool // the other timeline does not have it
}

// Tone is how the outcome is shown.
func (r row) Tone() string {
	switch {
	case strings.HasPrefix(r.Outcome, "2"):
		return "good"
	case r.Kind == "":
		return "wrong"
	}
	return ""
}

// rowsOf compares a timeline with another.
func rowsOf(trace, other []explore.Point) (rows []row) {
	known := map[string]bool{}
	for _, p := range other {
		known[p.Name] = true
	}
	for i, p := range trace {
		if i == maxRows {
			return append(rows, row{Point: explore.Point{Kind: "more", Outcome: clip.Counted(len(trace)-i, "more point", "more points")}})
		}
		rows = append(rows, row{p, !known[p.Name]})
	}
	return rows
}

// node is a point of the baseline with the outcomes of the cases that have a fault there.
type node struct {
	explore.Point
	Cases []explore.Tried
	More  int // cases that are not shown
}

// writeHTML writes a page in one file: the points of the baseline with what was tried at each, and
// for each finding the timelines of the baseline and of the case.
func writeHTML(w io.Writer, r *explore.Result) error {
	tried := map[string][]explore.Tried{}
	for _, c := range r.Cases {
		for _, one := range c.Plan {
			tried[one.Point] = append(tried[one.Point], c)
		}
	}
	var nodes []node
	if r.Baseline != nil {
		for _, p := range r.Baseline.Trace {
			all := tried[p.Name]
			shown := min(len(all), maxTried)
			nodes = append(nodes, node{p, all[:shown], len(all) - shown})
		}
	}
	return pageTemplate.Execute(w, struct {
		*explore.Result
		Nodes []node
	}{r, nodes})
}
