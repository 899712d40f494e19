package conformance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/table"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// TestGeneratedSteps compares the page of steps with the table of steps.
func TestGeneratedSteps(t *testing.T) {
	t.Parallel()
	expect.Generated(t, "../docs/reference/steps.md", stepsPage(conformance.Steps()))
}

// stepsPage lists the steps by area, in Markdown.
func stepsPage(steps []conformance.Step) string {
	var b strings.Builder
	b.WriteString("# Steps\n\nAfter this page you can write a scenario with the steps that exist; `understudy conform --list-steps` prints the same list.\n" +
		"A pattern is a regular expression that matches the whole line. [Writing scenarios](../conformance/README.md#writing-scenarios) says how to use them and how to add one.\n")
	area := ""
	for _, s := range steps {
		if s.Area != area {
			area = s.Area
			fmt.Fprintf(&b, "\n## %s\n\n", strings.ToUpper(area[:1])+area[1:])
		}
		fmt.Fprintf(&b, "* %s `%s`\n", s.Keyword, s.Pattern)
	}
	b.WriteString("\n## Tables\n\nA step that ends in a colon has a table. A row has a place, which is a JSON pointer without its first slash, and what must be there. Commas separate several places.\n" +
		"Names in braces are bindings of the target file, such as `{dlq.label}`, or values of the scenario, such as `{run}`. A row with `{NAME?}` is left out if there is none. Any other text is the value that must be there: a number, true or false, or a text, which has quotes if it looks like one of these. `or` is between what may be there: `absent or 404`.\n\n" +
		"The tables of `a message with:`, `a run with:` and `its entry is restarted with:` have the place and the name of an option, such as `header Svc-Retries` or `query parameter Svc-Retries`, and its value. A message may have a `body`, a run a `payload`, a `label` and the `result` of its workflow. That of `a workflow with:` has the name of each step, its type, and how it goes: `Run`, `Run beside the others`, `Run fails with 503`, `Run fails once with 503`, `Run fails with 503, then with 500`, `Run fails with 503 and a body that is not UTF-8`, `SleepFor for 1s`, `Invoke of a workflow that fails with 503`. That of `the plugin is configured with:` has places of the plugin's configuration, and what is there or `absent`. A name in braces is one of `bindings.headers`; with a question mark the target may lack it. A value such as `3 seconds` is written as the target writes delays.\n\n| word | meaning |\n|---|---|\n")
	for _, w := range table.Words {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.TrimSpace(w.Begin), w.Meaning)
	}
	return b.String()
}
