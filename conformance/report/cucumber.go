package report

import (
	"io"
	"strconv"
	"strings"
)

// cucumberStatus maps verdicts to those of Cucumber JSON.
var cucumberStatus = map[Verdict]string{
	Pass: "passed", Observed: "passed", Warn: "passed", Fail: "failed", Unreliable: "failed", HarnessError: "failed", Inconclusive: "skipped", NotApplicable: "skipped", NotSelected: "skipped",
}

// writeCucumber writes Cucumber JSON, one feature for each file. A scenario that was
// decided before its first step has one step with its verdict. The description of a feature has the
// facts about the run, because the format has no other place for them.
func writeCucumber(w io.Writer, r *Report) error {
	var files []string
	features := map[string]object{}
	elements := map[string][]object{}
	var about strings.Builder
	for _, f := range r.facts() {
		about.WriteString(f.Name + ": " + f.Value + "\n")
	}
	for i := range r.Results {
		x := &r.Results[i]
		file, number, _ := strings.Cut(x.Location, ":")
		line, _ := strconv.Atoi(number)
		if features[file] == nil {
			files = append(files, file)
			features[file] = object{"uri": "features/" + file, "id": slug(x.Feature), "keyword": "Feature", "name": x.Feature, "description": about.String()}
		}
		tags := []object{}
		for _, tag := range x.Tags {
			tags = append(tags, object{"name": tag})
		}
		var steps []object
		add := func(name string, v Verdict) {
			result := object{"status": cucumberStatus[v]}
			if result["status"] == "failed" && len(x.Steps) > 0 {
				result["error_message"] = r.plain(x)
			}
			steps = append(steps, object{"keyword": "* ", "name": name, "line": line, "match": object{}, "result": result})
		}
		for _, st := range x.Steps {
			add(st.Text, st.Verdict)
		}
		if len(steps) == 0 {
			add(string(x.Verdict)+" "+x.Detail, x.Verdict)
		}
		elements[file] = append(elements[file], object{"id": slug(x.Feature) + ";" + slug(x.Name), "keyword": "Scenario", "name": x.Name, "line": line, "type": "scenario", "tags": tags, "steps": steps})
	}
	list := []object{}
	for _, file := range files {
		features[file]["elements"] = elements[file]
		list = append(list, features[file])
	}
	return writeObject(w, list)
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
