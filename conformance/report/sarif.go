package report

import (
	"cmp"
	"encoding/json"
	"io"
	"strconv"
	"strings"
)

// The parts of SARIF 2.1.0 that a report has.
type (
	sarifText struct {
		Text string `json:"text"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
		Full  sarifText `json:"fullDescription"` // the words of the document
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region struct {
				Line int `json:"startLine"`
			} `json:"region"`
		} `json:"physicalLocation"`
	}
	sarifResult struct {
		Rule         string              `json:"ruleId,omitempty"` // a notification has none
		Level        string              `json:"level"`
		Message      sarifText           `json:"message"`
		Locations    []sarifLocation     `json:"locations"`
		Suppressions []map[string]string `json:"suppressions,omitempty"`
	}
)

// writeSARIF writes for tools that collect findings: a rule for each requirement, a result for
// each scenario that did not hold, at its line of the feature file, and a notification for each
// error of the suite.
func writeSARIF(w io.Writer, r *Report) error {
	rules, results, errs := []sarifRule{}, []sarifResult{}, []sarifResult{}
	for i := range r.Requirements {
		q := &r.Requirements[i]
		rules = append(rules, sarifRule{q.ID, sarifText{q.Text}, sarifText{cmp.Or(q.Where.Quote, q.Text)}})
	}
	for _, v := range bad {
		for _, x := range r.byVerdict(v) {
			found := sarifResult{Level: "error", Message: sarifText{xmlText(x.Name + ": " + x.Detail)}, Locations: []sarifLocation{sarifPlace(x.Location)}}
			if v == HarnessError {
				errs = append(errs, found)
				continue
			}
			if !r.counts(v) {
				found.Level = "warning"
			}
			if by := r.judgedBy(x); len(by) > 0 {
				found.Rule = by[0].ID
			}
			if x.Expected {
				found.Suppressions = []map[string]string{{"kind": "external", "justification": "listed in expected_failures"}}
			}
			results = append(results, found)
		}
	}
	type object = map[string]any
	about := map[string]string{}
	for _, f := range r.facts() {
		about[f.Name] = f.Value
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool":        object{"driver": object{"name": "understudy conform", "version": r.Suite, "rules": rules}},
			"invocations": []object{{"executionSuccessful": len(errs) == 0, "toolExecutionNotifications": errs}},
			"results":     results,
			"properties":  about,
		}},
	})
}

// sarifPlace is the location of a scenario, such as publish.feature:12.
func sarifPlace(location string) (place sarifLocation) {
	file, line, _ := strings.Cut(location, ":")
	place.Physical.Artifact.URI = "features/" + file
	n, _ := strconv.Atoi(line)
	place.Physical.Region.Line = max(n, 1)
	return place
}
