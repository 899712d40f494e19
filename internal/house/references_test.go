package house

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The pages that references lead to.
const (
	decisionsPage = "docs/reference/decisions.md"
	wirePage      = "docs/reference/wire.md"
)

var referenceRule = rule{"references lead somewhere", referenceProblems, []breach{
	{
		"a decision that a comment names exists",
		"engine/retry.go", "package engine\n\n// maxWait is a day (decided:\n// 12, 99).\n",
		"engine/retry.go: decided: 99: unknown row of docs/reference/decisions.md",
	},
	{
		"a decision has a number",
		"engine/retry.go", "package engine\n\n// decided: a day.\n",
		"engine/retry.go: decided: without a number of docs/reference/decisions.md",
	},
	{
		"a section that a comment names exists",
		"engine/retry.go", "package engine\n\n// maxWait is a day (wire.md,\n// \"Waits\").\n",
		`engine/retry.go: wire.md, "Waits": unknown section`,
	},
	{
		"a document that is named exists",
		"engine/retry.go", "package engine\n\n// See design.md.\n",
		"engine/retry.go: design.md: unknown document",
	},
	{
		"a page is named by its path",
		"engine/retry.go", "package engine\n\n// See docs/wire.md.\n",
		"engine/retry.go: docs/wire.md: unknown document",
	},
	{
		"documents outside of the repository are not named",
		"engine/retry.go", "package engine\n\n// As the wire facts say (open\n// point 31).\n",
		"engine/retry.go: open point 31: in a document that a clone does not contain",
	},
	{
		"nothing reads outside of the module",
		"spec/a_test.go", "package spec\n\nvar file = \"../../neighbour/file\"\n",
		"spec/a_test.go: ../../neighbour: outside of the module",
	},
}}

var (
	continuation = regexp.MustCompile(`\s*\n\s*(?://|#)\s*`) // a line break within a comment
	decided      = regexp.MustCompile(`\bdecided:(?: (\d+(?:, \d+)*))?`)
	decisionRow  = regexp.MustCompile(`(?m)^\| (\d+) \|`)
	wireSections = regexp.MustCompile(`wire\.md, ("[^"]+"(?: and "[^"]+")*)`)
	quoted       = regexp.MustCompile(`"[^"]+"`)
	section      = regexp.MustCompile(`(?m)^##+ (.*)$`)
	documentName = regexp.MustCompile(`(?:\bdocs/[\w/-]+|[\w-]+)\.md\b`) // a page with its path, or any document
	elsewhere    = regexp.MustCompile(`(?i)\bwire facts\b|\bopen points? \d+|\bopen-points\b`)
	upward       = regexp.MustCompile(`(?:\.\./)+[\w.-]+`)
)

// references are the valid targets of references.
type references struct {
	pages, decisions, sections map[string]bool
}

// referenceProblems finds references without a target in a clone: rows of decisions,
// sections of the wire, documents, and files outside of the module.
func referenceProblems(tree []source) []string {
	known := references{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, s := range tree {
		if path.Ext(s.path) == ".md" {
			known.pages[path.Base(s.path)], known.pages[s.path] = true, true
		}
		switch s.path {
		case decisionsPage:
			collect(known.decisions, decisionRow, s.text)
		case wirePage:
			collect(known.sections, section, s.text)
		}
	}
	var problems []string
	for _, s := range tree {
		if path.Dir(s.path) == "internal/house" || strings.Contains(s.path, "testdata/") {
			continue
		}
		for _, text := range known.broken(&s) {
			problems = append(problems, s.path+": "+text)
		}
	}
	return problems
}

// broken returns the references of one file that have no target.
func (known references) broken(s *source) (problems []string) {
	text := continuation.ReplaceAllString(s.text, " ")
	for _, found := range elsewhere.FindAllString(text, -1) {
		problems = append(problems, found+": in a document that a clone does not contain")
	}
	for _, name := range documentName.FindAllString(text, -1) {
		if !known.pages[name] && s.path != wirePage { // wire.md cites files of packages
			problems = append(problems, name+": unknown document")
		}
	}
	for _, found := range upward.FindAllString(s.text, -1) {
		if depth := strings.Count(s.path, "/"); s.syntax != nil && strings.Count(found, "../") > depth || slices.Contains([]string{"shared", "design"}, path.Base(found)) {
			problems = append(problems, found+": outside of the module")
		}
	}
	if path.Ext(s.path) == ".md" {
		return problems
	}
	for _, found := range decided.FindAllStringSubmatch(text, -1) {
		if found[1] == "" {
			problems = append(problems, "decided: without a number of "+decisionsPage)
			continue
		}
		for number := range strings.SplitSeq(found[1], ", ") {
			if !known.decisions[number] {
				problems = append(problems, fmt.Sprintf("decided: %s: unknown row of %s", number, decisionsPage))
			}
		}
	}
	for _, found := range wireSections.FindAllStringSubmatch(text, -1) {
		for _, title := range quoted.FindAllString(found[1], -1) {
			if !known.sections[strings.Trim(title, `"`)] {
				problems = append(problems, "wire.md, "+title+": unknown section")
			}
		}
	}
	return problems
}

// collect adds the first group of each match to a set.
func collect(set map[string]bool, pattern *regexp.Regexp, text string) {
	for _, found := range pattern.FindAllStringSubmatch(text, -1) {
		set[found[1]] = true
	}
}
