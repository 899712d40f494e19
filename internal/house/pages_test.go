package house

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

var pageRule = rule{"tests that a page names exist", pageProblems, []breach{
	{
		"tests that a page names exist",
		"docs/security.md", "Delivery to private addresses is refused.\n`TestEgress` shows it.\n",
		"docs/security.md:2: TestEgress: unknown test",
	},
}}

var (
	namedTest    = regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	declaredTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// pageProblems finds tests that a page names and no file declares.
func pageProblems(tree []source) []string {
	declared := map[string]bool{}
	for _, s := range tree {
		for _, found := range declaredTest.FindAllStringSubmatch(s.text, -1) {
			declared[found[1]] = true
		}
	}
	var problems []string
	for _, s := range tree {
		if path.Ext(s.path) != ".md" {
			continue
		}
		for i, line := range strings.Split(s.text, "\n") {
			for _, found := range namedTest.FindAllStringSubmatch(line, -1) {
				if !declared[found[1]] {
					problems = append(problems, fmt.Sprintf("%s:%d: %s: unknown test", s.path, i+1, found[1]))
				}
			}
		}
	}
	return problems
}
