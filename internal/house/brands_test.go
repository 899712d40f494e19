package house

import (
	"fmt"
	"regexp"
	"strings"
)

// brandFiles are the files that may name a brand: the data of the dialect, and files for
// the published clients of the brand or about them.
var brandFiles = regexp.MustCompile(`^spec/dialect(_test)?\.go$|^internal/house/brands_test\.go$|^conformance/clients/|^cmd/understudy/(clients?\w*_test\.go|readme_test\.go|testdata/)|^README\.md$|^docs/|^skills/|^examples/|^conformance/testdata/independent/|^packaging/(npm|pypi)/(\w+_test\.go$|README\.md$|understudy-mock/(README\.md|package\.json)$|test/)`)

// brandNames are the names that no other file may contain. brandAllowed are the
// exceptions: a path of the interface document, the name of the dialect in flags, and the
// sentence that says what the project is.
var (
	brandNames   = regexp.MustCompile(`(?i)upstash|qstash`)
	brandAllowed = regexp.MustCompile(`/v2/qstash/stats|QStash and Workflow|svc, upstash, or a YAML file|"upstash"`)
)

var brandRule = rule{"brands are named in the dialect only", brandProblems, []breach{
	{
		"brands are named in the dialect only",
		"engine/flow.go", "package engine\n// As Upstash does.\n",
		"engine/flow.go:2: names a brand: Upstash",
	},
}}

// brandProblems finds names of brands in other files.
func brandProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if brandFiles.MatchString(s.path) {
			continue
		}
		for i, line := range strings.Split(s.text, "\n") {
			if name := brandNames.FindString(brandAllowed.ReplaceAllString(line, "")); name != "" {
				problems = append(problems, fmt.Sprintf("%s:%d: names a brand: %s", s.path, i+1, name))
			}
		}
	}
	return problems
}
