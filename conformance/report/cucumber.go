package report

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
)

type cucumberFeature struct {
	URI      string            `json:"uri"`
	ID       string            `json:"id"`
	Keyword  string            `json:"keyword"`
	Name     string            `json:"name"`
	About    string            `json:"description"` // facts about the run, because the format has no other place for them
	Elements []cucumberElement `json:"elements"`
}

type cucumberElement struct {
	ID      string         `json:"id"`
	Keyword string         `json:"keyword"`
	Name    string         `json:"name"`
	Line    int            `json:"line"`
	Type    string         `json:"type"`
	Tags    []cucumberTag  `json:"tags"`
	Steps   []cucumberStep `json:"steps"`
}

type cucumberTag struct {
	Name string `json:"name"`
}

type cucumberStep struct {
	Keyword string         `json:"keyword"`
	Name    string         `json:"name"`
	Line    int            `json:"line"`
	Match   struct{}       `json:"match"`
	Result  cucumberResult `json:"result"`
}

type cucumberResult struct {
	Status  string `json:"status"`
	Message string `json:"error_message,omitempty"`
}

// cucumberStatus maps verdicts to those of Cucumber JSON.
var cucumberStatus = map[Verdict]string{
	Pass: "passed", Observed: "passed", Warn: "passed", Fail: "failed", Unreliable: "failed", HarnessError: "failed", Inconclusive: "skipped", NotApplicable: "skipped", NotSelected: "skipped",
}

// writeCucumber writes Cucumber JSON, one feature for each file. A scenario that was
// decided before its first step has one step with its verdict.
func writeCucumber(w io.Writer, r *Report) error {
	features := []cucumberFeature{}
	var about strings.Builder
	for _, f := range r.facts() {
		about.WriteString(f.Name + ": " + f.Value + "\n")
	}
	index := map[string]int{}
	for i := range r.Results {
		x := &r.Results[i]
		file, number, _ := strings.Cut(x.Location, ":")
		line, _ := strconv.Atoi(number)
		at, ok := index[file]
		if !ok {
			at = len(features)
			index[file] = at
			features = append(features, cucumberFeature{URI: "features/" + file, ID: slug(x.Feature), Keyword: "Feature", Name: x.Feature, About: about.String()})
		}
		e := cucumberElement{ID: slug(x.Feature) + ";" + slug(x.Name), Keyword: "Scenario", Name: x.Name, Line: line, Type: "scenario", Tags: []cucumberTag{}}
		for _, tag := range x.Tags {
			e.Tags = append(e.Tags, cucumberTag{tag})
		}
		for _, st := range x.Steps {
			step := cucumberStep{Keyword: "* ", Name: st.Text, Line: line, Result: cucumberResult{Status: cucumberStatus[st.Verdict]}}
			if step.Result.Status == "failed" {
				step.Result.Message = r.plain(x)
			}
			e.Steps = append(e.Steps, step)
		}
		if len(e.Steps) == 0 {
			e.Steps = []cucumberStep{{Keyword: "* ", Name: string(x.Verdict) + " " + x.Detail, Line: line, Result: cucumberResult{Status: cucumberStatus[x.Verdict]}}}
		}
		features[at].Elements = append(features[at].Elements, e)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(features)
}

// slug is a name in the form of an id.
func slug(name string) string {
	return strings.Trim(strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			return c
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		}
		return '-'
	}, name), "-")
}
