package house

import (
	"fmt"
	"regexp"
	"strings"
)

// brandFiles may name a brand: the dialect's data, and what speaks to the
// brand's published clients.
var brandFiles = regexp.MustCompile(`^spec/dialect(_test)?\.go$|^internal/house/brands\.go$|^conformance/clients/|^cmd/understudy/(clients?\w*_test\.go|readme_test\.go|testdata/)|^README\.md$|^docs/|^examples/|^packaging/(npm|pypi)/(\w+_test\.go$|README\.md$|test/)`)

// brandNames are what no other file may say. The path of the usage statistics
// is the interface document's own; a dialect is picked by its name.
var (
	brandNames   = regexp.MustCompile(`(?i)upstash|qstash`)
	brandAllowed = regexp.MustCompile(`/v2/qstash/stats|svc, upstash, or a YAML file|"upstash"`)
)

var brandRule = rule{"brands are named in the dialect only", brandProblems, []breach{
	{
		"brands are named in the dialect only",
		"engine/flow.go", "package engine\n// As Upstash does.\n",
		"engine/flow.go:2: names a brand: Upstash",
	},
}}

// brandProblems finds the names of brands.
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
