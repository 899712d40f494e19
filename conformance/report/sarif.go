package report

import (
	"cmp"
	"io"
	"strconv"
	"strings"
)

// writeSARIF writes for tools that collect findings: a rule for each requirement, a result for
// each scenario that did not hold, at its line of the feature file, and a notification for each
// error of the suite.
func writeSARIF(w io.Writer, r *Report) error {
	text := func(text string) object { return object{"text": text} }
	rules, results, errs := []object{}, []object{}, []object{}
	for i := range r.Requirements {
		q := &r.Requirements[i]
		rules = append(rules, object{"id": q.ID, "shortDescription": text(q.Text), "fullDescription": text(cmp.Or(q.Where.Quote, q.Text))})
	}
	for _, v := range bad {
		for _, x := range r.byVerdict(v) {
			file, line, _ := strings.Cut(x.Location, ":")
			number, _ := strconv.Atoi(line)
			place := object{"artifactLocation": object{"uri": "features/" + file}, "region": object{"startLine": max(number, 1)}}
			found := object{"level": "error", "message": text(xmlText(x.Name + ": " + x.Detail)), "locations": []object{{"physicalLocation": place}}}
			if v == HarnessError { // a notification has no rule
				errs = append(errs, found)
				continue
			}
			if !r.counts(v) {
				found["level"] = "warning"
			}
			if by := r.judgedBy(x); len(by) > 0 {
				found["ruleId"] = by[0].ID
			}
			if x.Expected {
				found["suppressions"] = []object{{"kind": "external", "justification": "listed in expected_failures"}}
			}
			results = append(results, found)
		}
	}
	about := map[string]string{}
	for _, f := range r.facts() {
		about[f.Name] = f.Value
	}
	return writeObject(w, object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool":        object{"driver": object{"name": "understudy conform", "version": r.Suite, "rules": rules}},
			"invocations": []object{{"executionSuccessful": len(errs) == 0, "toolExecutionNotifications": errs}},
			"results":     results,
			"properties":  about,
		}},
	})
}
