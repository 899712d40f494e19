package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/internal/command"
)

// progressPrinter reports the progress of a run: on a terminal one line that is rewritten,
// elsewhere a plain line for each tenth and for each scenario that does not pass. What does not apply is counted by the verdict.
func progressPrinter(w io.Writer) func(done, total int, running []string, last *report.Result) {
	terminal := command.IsTerminal(w)
	tenth := 0
	return func(done, total int, running []string, last *report.Result) {
		good := slices.Contains([]report.Verdict{report.Pass, report.Observed, report.NotApplicable}, last.Verdict)
		switch {
		case terminal:
			waiting := ""
			if len(running) > 0 {
				waiting = "; waiting on " + running[0]
			}
			line := fmt.Sprintf("%d done, %d left%s", done, total-done, waiting)
			if done == total {
				line = ""
			}
			_, _ = fmt.Fprintf(w, "\r\x1b[K%.100s", line)
		case !good:
			_, _ = fmt.Fprintf(w, "%d/%d %s: %s (%s)\n", done, total, strings.ToUpper(string(last.Verdict)), last.Name, last.Location)
		case done*10/total > tenth:
			tenth = done * 10 / total
			_, _ = fmt.Fprintf(w, "%d/%d scenarios done\n", done, total)
		}
	}
}
