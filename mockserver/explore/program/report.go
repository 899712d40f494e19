package program

import (
	_ "embed" // the template
	"encoding/json"
	"io"
	"strings"
	"text/template"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/internal/junit"
	"github.com/understudy-mock/understudy/mockserver/explore"
)

// Reports are the formats of a report.
var Reports = map[string]func(io.Writer, *explore.Result) error{"json": writeJSON, "junit": writeJUnit, "markdown": writeMarkdown, "html": writeHTML}

func writeJSON(w io.Writer, r *explore.Result) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

//go:embed text.tmpl
var texts string

var textTemplate = template.Must(template.New("text").Funcs(template.FuncMap{"counted": clip.Counted, "trim": strings.TrimSpace, "join": strings.Join}).Parse(texts))

// WriteText writes a result for a terminal. again is the command line of a case, with %s for
// its short form.
func WriteText(w io.Writer, r *explore.Result, again string) error {
	return textTemplate.Execute(w, struct {
		*explore.Result
		Again string
	}{r, again})
}

// writeJUnit writes a test case for each handler and fault.
func writeJUnit(w io.Writer, r *explore.Result) error {
	found := map[string]*explore.Finding{}
	for _, f := range r.Findings {
		found[f.ID] = f
	}
	var cases []junit.Case
	for _, c := range r.Cases {
		one := junit.Case{Class: c.Handler(), Name: c.Plan.ID()}
		if f := found[one.Name]; f != nil {
			one.Failure = &junit.Text{Message: f.Breaches[0].Text, Text: f.Text()}
		}
		cases = append(cases, one)
	}
	return junit.Write(w, "understudy explore", []junit.Suite{{Name: "faults", Counts: junit.Counts{Time: r.Took}, Cases: cases}})
}

// writeMarkdown writes a summary for CI.
func writeMarkdown(w io.Writer, r *explore.Result) error {
	return textTemplate.ExecuteTemplate(w, "markdown", r)
}
