package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxExplained is how many failed scenarios a Markdown report shows with their evidence.
const maxExplained = 50

// writeMarkdown writes for a page that shows Markdown, such as the summary of a CI run or a
// repository of results: the verdict, the failures by their cause, what was not judged and why,
// and how to repeat the run.
func writeMarkdown(w io.Writer, r *Report) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Conformance of %s\n\n**%s**\n\n", inMarkdown(strings.TrimSpace(r.Target.Name+" "+r.Target.Version)), inMarkdown(r.verdictLine()))
	b.WriteString("| profile | result | passed | failed | unreliable | warned | inconclusive | errors |\n|---|---|---|---|---|---|---|---|\n")
	for _, p := range r.Profiles {
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %d | %d |\n", p.Name, p.Verdict, p.Passed, p.Failed, p.Unreliable, p.Warned, p.Inconclusive, p.Errors)
	}
	r.markdownFailures(&b)
	r.markdownUnreliable(&b)
	if open := r.causes(Inconclusive); len(open) > 0 {
		b.WriteString("\n## Not judged\n\n| why | scenarios |\n|---|---|\n")
		for _, c := range open {
			fmt.Fprintf(&b, "| %s | %d: %s |\n", inMarkdown(c.Message), len(c.Results), inMarkdown(oneLine(c.names(), 2*maxLine)))
		}
	}
	r.markdownReproduce(&b)
	_, err := io.WriteString(w, printable(b.String()))
	return err
}

// markdownFailures writes the scenarios that did not hold, by cause.
func (r *Report) markdownFailures(b *bytes.Buffer) {
	shown := 0
	for _, c := range r.causes(bad...) {
		fmt.Fprintf(b, "\n## %s: %s (%d)\n", strings.ToUpper(string(c.Verdict)), inMarkdown(c.Message), len(c.Results))
		for _, x := range c.Results {
			if shown++; shown > maxExplained {
				fmt.Fprintf(b, "\n* %s `%s`\n", inMarkdown(x.Name), x.Location)
				continue
			}
			fence := "```"
			text := r.plain(x)
			for strings.Contains(text, fence) {
				fence += "`"
			}
			fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n%stext\n%s\n%s\n</details>\n", inMarkdown(strings.TrimSpace(x.Location+" "+x.Name+" "+x.times())), fence, strings.TrimSpace(text), fence)
		}
	}
}

// markdownUnreliable writes a table of the scenarios whose runs differ.
func (r *Report) markdownUnreliable(b *bytes.Buffer) {
	title := "\n## Unreliable\n\n| scenario | runs |\n|---|---|\n"
	for _, x := range r.unsteady() {
		fmt.Fprintf(b, "%s| %s `%s` | %s |\n", title, inMarkdown(x.Name), x.Location, x.times())
		title = ""
	}
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

// markdownReproduce says what somebody else needs for the same run.
func (r *Report) markdownReproduce(b *bytes.Buffer) {
	subject := []string{"--target", "target.yaml"}
	if adapter := r.Bindings["client.adapter"]; adapter != "" {
		subject = []string{"--client", "'" + strings.ReplaceAll(adapter, "'", `'\''`) + "'"}
	}
	fmt.Fprintf(b, "\nBadge: `![conformance](https://img.shields.io/badge/conformance-%s-%s)`\n", strings.ReplaceAll(r.Verdict(), " ", "_"), cmp.Or(badgeColors[r.ExitCode()], "grey"))
	words := slices.Concat([]string{"understudy", "conform"}, subject, union(slices.Clone(r.Flags), r.Selection))
	fmt.Fprintf(b, "\n## Reproduce\n\n```sh\n%s\n```\n\n| | |\n|---|---|\n", strings.Join(words, " "))
	for _, f := range r.facts()[1:] {
		if f.Name != "target file" && (f.Name != "bindings" || r.OfClient()) {
			fmt.Fprintf(b, "| %s | %s |\n", f.Name, inMarkdown(f.Value))
		}
	}
	if !r.OfClient() {
		fmt.Fprintf(b, "\nThe target file as it was read; set the secrets that it hides:\n\n```yaml\n%s\n```\n", strings.TrimSpace(cmp.Or(r.TargetFile, "# none")))
	}
}

// names lists the scenarios of a cause.
func (c *cause) names() string {
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
		fmt.Fprintf(&b, "::%s title=%s::%s\n", level, annotated(title, ",", "%2C", ":", "%3A"), annotated(fmt.Sprintf("%s (%d): %s", c.Message, len(c.Results), c.names())))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// annotated escapes a text for an annotation; more are pairs that it also replaces.
func annotated(text string, more ...string) string {
	return strings.NewReplacer(append([]string{"%", "%25", "\r", "%0D", "\n", "%0A"}, more...)...).Replace(printable(text))
}
