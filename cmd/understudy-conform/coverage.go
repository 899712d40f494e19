package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

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
	scenarios []conformance.Listed
	mutants   []string       // lines of mutantList
	verdict   report.Verdict // of a run; "": no run
	reason    string         // why it is not judged; "": it is judged
}

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
		p := proven{Requirement: r, reason: r.Excluded}
		for _, s := range scenarios {
			if slices.Contains(s.Requirements, r.ID) {
				p.scenarios = append(p.scenarios, s)
			}
		}
		for line := range strings.Lines(mutantList) {
			if strings.HasPrefix("REQ-"+line, r.ID+".") {
				p.mutants = append(p.mutants, line)
			}
		}
		if len(p.scenarios) == 0 && p.reason == "" {
			p.reason = cmp.Or(unjudgedReasons[r.Handling], "no scenario")
		}
		rows[i] = p
	}
	return rows, nil
}

// applyVerdicts sets the verdicts of a run in the rows.
func applyVerdicts(rows []proven, r *report.Report) {
	for i := range rows {
		p := &rows[i]
		if len(p.scenarios) == 0 {
			continue
		}
		p.verdict, p.reason = report.NotSelected, "not selected"
		for j := range r.Requirements {
			if r.Requirements[j].ID == p.ID {
				p.verdict, p.reason = r.Requirements[j].Verdict, ""
			}
		}
		if p.verdict != report.Inconclusive && p.verdict != report.NotApplicable && p.verdict != report.HarnessError {
			continue
		}
		for j := range r.Results {
			if x := &r.Results[j]; x.Verdict == p.verdict && slices.Contains(x.Requirements, p.ID) {
				p.reason = strings.TrimPrefix(fmt.Sprintf("%s: %s", x.Reason, x.Detail), ": ")
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

// writeCoverage prints the requirements by area and basis, and then each of them.
func writeCoverage(w io.Writer, rows []proven, bases []spec.Basis) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(t, "area\tprofile")
	for _, basis := range bases {
		_, _ = fmt.Fprint(t, "\t", basis)
	}
	_, _ = fmt.Fprintln(t, "\tscenarios\tmutants")
	var areas []string
	for i := range rows {
		if area := rows[i].area(); !slices.Contains(areas, area) {
			areas = append(areas, area)
		}
	}
	for _, area := range areas {
		writeArea(t, area, rows, bases)
	}
	_, _ = fmt.Fprintln(t, "\nrequirement\tbasis\tscenarios\tmutants\tresult")
	for i := range rows {
		p := &rows[i]
		result := "judged"
		if p.verdict != "" {
			result = string(p.verdict)
		}
		switch {
		case p.reason != "" && (p.verdict == "" || p.verdict == report.NotSelected):
			result = "not judged: " + p.reason
		case p.reason != "":
			result += ": " + p.reason
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\n", p.ID, p.Basis, len(p.scenarios), len(p.mutants), result)
	}
	return t.Flush() // reports the errors of all lines
}

// writeArea prints how many requirements of an area are judged, of each basis.
func writeArea(w io.Writer, area string, rows []proven, bases []spec.Basis) {
	judged, all := map[spec.Basis]int{}, map[spec.Basis]int{}
	scenarios, mutants, profile := map[string]bool{}, 0, ""
	for i := range rows {
		p := &rows[i]
		if p.area() != area {
			continue
		}
		profile = p.Profile
		all[p.Basis]++
		if p.reason == "" {
			judged[p.Basis]++
		}
		mutants += len(p.mutants)
		for _, s := range p.scenarios {
			scenarios[s.Location] = true
		}
	}
	_, _ = fmt.Fprintf(w, "%s\t%s", area, profile)
	for _, basis := range bases {
		cell := "-"
		if all[basis] > 0 {
			cell = fmt.Sprintf("%d of %d", judged[basis], all[basis])
		}
		_, _ = fmt.Fprintf(w, "\t%s", cell)
	}
	_, _ = fmt.Fprintf(w, "\t%d\t%d\n", len(scenarios), mutants)
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
			return writeRequirement(w, &rows[i])
		}
	}
	near, _ := similar.Nearest(wanted, ids)
	return usageError("--explain: unknown requirement %q: must be an id such as REQ-PUB-001; did you mean %s? `conform --coverage` lists all", id, near)
}

// folderOf is the folder of the file of a scenario.
func folderOf(s *conformance.Listed) string {
	if strings.Contains(s.Location, ".yaml:") {
		return "conformance/client/cases/"
	}
	return "features/"
}

func writeRequirement(w io.Writer, p *proven) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, profile %s)\n%s\n", p.ID, p.Basis, p.Profile, p.Text)
	if quote := cmp.Or(p.Where.Quote, p.Source); quote != "" {
		fmt.Fprintf(&b, "\n%s:\n    %s\n", p.From(), quote)
	}
	for _, part := range slices.Sorted(maps.Keys(p.Where.Quotes)) {
		fmt.Fprintf(&b, "    %s: %s\n", part, p.Where.Quotes[part])
	}
	if p.Handling != "" {
		fmt.Fprintf(&b, "\nOpen point, handling: %s\n", p.Handling)
	}
	if p.reason != "" {
		fmt.Fprintf(&b, "\nNot judged: %s\n", p.reason)
	}
	if len(p.scenarios) > 0 {
		fmt.Fprintf(&b, "\nScenarios (%d)\n", len(p.scenarios))
		for _, s := range p.scenarios {
			fmt.Fprintf(&b, "    %s%s  %s\n", folderOf(&s), s.Location, s.Name)
		}
	}
	if len(p.mutants) > 0 {
		fmt.Fprintf(&b, "\nMutants that these scenarios catch (%d)\n", len(p.mutants))
		for _, m := range p.mutants {
			b.WriteString("    " + m)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
