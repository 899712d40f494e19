package report

import (
	"cmp"
	_ "embed" // the template
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
)

// maxExplained is how many failed scenarios a Markdown report shows with their evidence.
const maxExplained = 50

//go:embed markdown.tmpl
var markdownTemplate string

var markdownReport = template.Must(template.New("markdown").Funcs(template.FuncMap{
	"line": inMarkdown, "upper": strings.ToUpper, "trim": strings.TrimSpace, "short": func(text string) string { return oneLine(text, 2*maxLine) },
}).Parse(markdownTemplate))

// writeMarkdown writes for a page that shows Markdown, such as the summary of a CI run or a
// repository of results: the verdict, the failures by their cause, what was not judged and why,
// and what somebody else needs for the same run.
func writeMarkdown(w io.Writer, r *Report) error {
	page := struct {
		*Report
		Line, Badge, Command string
		Failures, Open       []*cause
		Explained            map[*Result]string
		Unsteady             []*Result
		Facts                []fact
	}{
		Report: r, Line: r.verdictLine(), Badge: strings.ReplaceAll(r.Verdict(), " ", "_") + "-" + cmp.Or(badgeColors[r.ExitCode()], "grey"),
		Failures: r.causes(bad...), Open: r.causes(Inconclusive), Explained: map[*Result]string{}, Unsteady: r.unsteady(), Facts: r.facts()[1:],
	}
	for _, c := range page.Failures {
		for _, x := range c.Results[:min(len(c.Results), maxExplained-len(page.Explained))] {
			text, fence := strings.TrimSpace(r.plain(x)), "```"
			for strings.Contains(text, fence) {
				fence += "`"
			}
			page.Explained[x] = fence + "text\n" + text + "\n" + fence
		}
	}
	subject := []string{"understudy", "conform", "--target", "target.yaml"}
	if adapter := r.Bindings["client.adapter"]; adapter != "" {
		subject = []string{"understudy", "conform", "--client", "'" + strings.ReplaceAll(adapter, "'", `'\''`) + "'"}
	}
	page.Command = strings.Join(slices.Concat(subject, union(slices.Clone(r.Flags), r.Selection)), " ")
	var b strings.Builder
	if err := markdownReport.Execute(&b, page); err != nil {
		return err
	}
	_, err := io.WriteString(w, printable(b.String()))
	return err
}

// unsteady returns the results whose runs differ.
func (r *Report) unsteady() []*Result {
	var list []*Result
	for i := range r.Results {
		if r.Results[i].unsteady() {
			list = append(list, &r.Results[i])
		}
	}
	return list
}

// badgeColors are the colours of the verdicts, by exit code; all others are grey.
var badgeColors = map[int]string{ExitConformant: "1a7f37", ExitFailed: "cf222e", ExitPartial: "9a6700"}

// Names lists the scenarios of a cause.
func (c *cause) Names() string {
	list := make([]string, len(c.Results))
	for i, x := range c.Results {
		list[i] = x.Name
	}
	return strings.Join(list, "; ")
}

// inMarkdown escapes a text for a line of a table or a paragraph.
func inMarkdown(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`", "\n", " ", "\r", " ").Replace(text)
}

// writeGitHub writes annotations: commands that a step of GitHub Actions prints, one for each
// cause.
func writeGitHub(w io.Writer, r *Report) error {
	var b strings.Builder
	for _, c := range r.causes(bad...) {
		level := "error"
		if !r.counts(c.Verdict) {
			level = "warning"
		}
		title := fmt.Sprintf("%s %s", strings.ToUpper(string(c.Verdict)), strings.Join(c.requirements(), " "))
		fmt.Fprintf(&b, "::%s title=%s::%s\n", level, annotated(title, ",", "%2C", ":", "%3A"), annotated(fmt.Sprintf("%s (%d): %s", c.Message, len(c.Results), c.Names())))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// annotated escapes a text for an annotation; more are pairs that it also replaces.
func annotated(text string, more ...string) string {
	return strings.NewReplacer(append([]string{"%", "%25", "\r", "%0D", "\n", "%0A"}, more...)...).Replace(printable(text))
}
