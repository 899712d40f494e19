package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"text/template"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/client"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/internal/similar"
	"github.com/understudy-mock/understudy/spec"
)

// proven is a requirement with its scenarios, its mutants and the result.
type proven struct {
	spec.Requirement
	Scenarios []conformance.Listed
	Mutants   []string       // lines of mutantList
	Verdict   report.Verdict // of a run; "": no run
	Reason    string         // why it is not judged; "": it is judged
}

//go:embed coverage.tmpl
var coverageTemplate string

var coverageTexts = template.Must(template.New("").Funcs(template.FuncMap{"folder": folderOf}).Parse(coverageTemplate))

// mutantList has a line for each broken server of the tests: its id, and what differs.
//
//go:embed mutants.txt
var mutantList string

// unjudgedReasons maps the handling of an open point to the reason why it is not judged.
var unjudgedReasons = map[string]string{
	spec.Bind:     "open point: the target file says what it is",
	spec.Tolerate: "open point: any behaviour passes",
	spec.Observe:  "open point: recorded, never judged",
}

// coverageRows returns all requirements of the register, in its order.
func coverageRows() ([]proven, error) {
	register, err := spec.LoadRequirements()
	if err != nil {
		return nil, err
	}
	scenarios, err := conformance.List(conformance.Config{Basis: spec.Bases, Worlds: harness.Worlds{Count: 1}})
	if err != nil {
		return nil, err
	}
	ofClients, err := conformance.List(conformance.Config{Client: &client.Config{}})
	if err != nil {
		return nil, err
	}
	scenarios = append(scenarios, ofClients...)
	rows := make([]proven, len(register.Requirements))
	for i, r := range register.Requirements {
		p := proven{Requirement: r, Reason: r.Excluded}
		for _, s := range scenarios {
			if slices.Contains(s.Requirements, r.ID) {
				p.Scenarios = append(p.Scenarios, s)
			}
		}
		for line := range strings.Lines(mutantList) {
			if strings.HasPrefix("REQ-"+line, r.ID+".") {
				p.Mutants = append(p.Mutants, line)
			}
		}
		if len(p.Scenarios) == 0 && p.Reason == "" {
			p.Reason = cmp.Or(unjudgedReasons[r.Handling], "no scenario")
		}
		rows[i] = p
	}
	return rows, nil
}

// applyVerdicts sets the verdicts of a run in the rows.
func applyVerdicts(rows []proven, r *report.Report) {
	for i := range rows {
		p := &rows[i]
		if len(p.Scenarios) == 0 {
			continue
		}
		p.Verdict, p.Reason = report.NotSelected, "not selected"
		for j := range r.Requirements {
			if r.Requirements[j].ID == p.ID {
				p.Verdict, p.Reason = r.Requirements[j].Verdict, ""
			}
		}
		if p.Verdict != report.Inconclusive && p.Verdict != report.NotApplicable && p.Verdict != report.HarnessError {
			continue
		}
		for j := range r.Results {
			if x := &r.Results[j]; x.Verdict == p.Verdict && slices.Contains(x.Requirements, p.ID) {
				p.Reason = strings.TrimPrefix(fmt.Sprintf("%s: %s", x.Reason, x.Detail), ": ")
				break
			}
		}
	}
}

// area is the part of an id that names the area: PUB of REQ-PUB-001.
func (p *proven) area() string {
	area, _, _ := strings.Cut(strings.TrimPrefix(p.ID, "REQ-"), "-")
	return area
}

// sideOf returns the rows and the bases of servers, or of clients.
func sideOf(rows []proven, ofClient bool) ([]proven, []spec.Basis) {
	bases := []spec.Basis{spec.Stated, spec.Implied, spec.Open, spec.Extension}
	if ofClient {
		bases = []spec.Basis{spec.Stated, spec.Implied, spec.DeFacto, spec.SingleSource, spec.Open}
	}
	return slices.DeleteFunc(slices.Clone(rows), func(p proven) bool { return slices.Contains(target.ClientProfiles, p.Profile) != ofClient }), bases
}

// areaRow is how many requirements of an area are judged, of each basis.
type areaRow struct {
	Area, Profile      string
	Judged             []string // for each basis: 3 of 4
	Scenarios, Mutants int
}

// writeCoverage prints the requirements by area and basis, and then each of them.
func writeCoverage(w io.Writer, rows []proven, bases []spec.Basis) error {
	var areas []areaRow
	for i := range rows {
		if area := rows[i].area(); !slices.ContainsFunc(areas, func(known areaRow) bool { return known.Area == area }) {
			areas = append(areas, areaOf(area, rows, bases))
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	err := coverageTexts.ExecuteTemplate(t, "coverage", map[string]any{"Bases": bases, "Areas": areas, "Rows": rows})
	return cmp.Or(err, t.Flush())
}

// Result says whether a requirement is judged, and how.
func (p *proven) Result() string {
	switch {
	case p.Reason != "" && (p.Verdict == "" || p.Verdict == report.NotSelected):
		return "not judged: " + p.Reason
	case p.Reason != "":
		return string(p.Verdict) + ": " + p.Reason
	}
	return cmp.Or(string(p.Verdict), "judged")
}

// areaOf counts the requirements of an area.
func areaOf(area string, rows []proven, bases []spec.Basis) areaRow {
	judged, all, scenarios, row := map[spec.Basis]int{}, map[spec.Basis]int{}, map[string]bool{}, areaRow{Area: area}
	for i := range rows {
		p := &rows[i]
		if p.area() != area {
			continue
		}
		row.Profile = p.Profile
		all[p.Basis]++
		if p.Reason == "" {
			judged[p.Basis]++
		}
		row.Mutants += len(p.Mutants)
		for _, s := range p.Scenarios {
			scenarios[s.Location] = true
		}
	}
	row.Scenarios = len(scenarios)
	for _, basis := range bases {
		cell := "-"
		if all[basis] > 0 {
			cell = fmt.Sprintf("%d of %d", judged[basis], all[basis])
		}
		row.Judged = append(row.Judged, cell)
	}
	return row
}

// explainRequirement prints a requirement: the sentence of the document, the scenarios that
// judge it, and the mutants that test these scenarios.
func explainRequirement(w io.Writer, id string) error {
	rows, err := coverageRows()
	if err != nil {
		return err
	}
	wanted := strings.ToUpper(id)
	if !strings.HasPrefix(wanted, "REQ-") {
		wanted = "REQ-" + wanted
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
		if rows[i].ID == wanted {
			return coverageTexts.ExecuteTemplate(w, "requirement", &rows[i])
		}
	}
	near, _ := similar.Nearest(wanted, ids)
	return usageError("--explain: unknown requirement %q: must be an id such as REQ-PUB-001; did you mean %s? `conform --coverage` lists all", id, near)
}

// folderOf is the folder of the file of a scenario.
func folderOf(s conformance.Listed) string {
	if strings.Contains(s.Location, ".yaml:") {
		return "conformance/client/cases/"
	}
	return "features/"
}
