package ui

// helpPages are the sections of the documentation that explain the views; a test checks
// that they exist. Views that are not listed use docs/page. Sorted.
var helpPages = map[string]string{
	"dlq":        "workflows#repair-then-resume-or-restart",
	"fleet":      "operating#several-servers",
	"history":    "state#on-the-page",
	"indexes":    "vectors-and-rate-limits#vector-index",
	"limits":     "vectors-and-rate-limits#rate-limit-plugin",
	"now":        "time-faults-stubs#time",
	"runs":       "workflows#a-failing-step",
	"search":     "commands#search",
	"statistics": "vectors-and-rate-limits#statistics",
	"stubs":      "time-faults-stubs#stubs",
}

// Help is the address of the documentation that explains the view.
func (f *frame) Help() string {
	if f.Fault != "" {
		return controlRoot + "docs/troubleshooting"
	}
	if page := helpPages[f.Name]; page != "" {
		return controlRoot + "docs/" + page
	}
	return controlRoot + "docs/page"
}
