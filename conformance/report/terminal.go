package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// maxLines is how many lines the report on a terminal has at most: the rest is in the others.
const maxLines = 40

// writeTerminal writes for people, on one screen: the verdict, the failures by their cause, each
// with one scenario and the command that repeats it, and the profiles.
func writeTerminal(w io.Writer, r *Report) error {
	head, tail := r.headLines(), r.tailLines()
	room := maxLines - len(head) - len(tail) - 1
	causes := r.causes(append(bad, Inconclusive)...)
	lines := head
	for n, c := range causes {
		left := len(causes) - n - 1
		block := r.block(c)
		if len(block)+min(left, 1) > room-min(left, room/2) { // leave a line for each of the next causes
			block = block[:1]
		}
		if room <= 1 && left > 0 {
			lines = append(lines, fmt.Sprintf("... and %d more causes", left+1))
			break
		}
		lines, room = append(lines, block...), room-len(block)
	}
	if lines[len(lines)-1] != "" {
		lines = append(lines, "")
	}
	_, err := io.WriteString(w, printable(strings.Join(append(lines, tail...), "\n")+"\n")) // a response of the target must not control the terminal
	return err
}

// headLines are the verdict and what limits it.
func (r *Report) headLines() []string {
	var lines []string
	if r.OfClient() { // what a library offers is judged by profile: the total is the sum of these
		lines = append(r.profileLines(), "")
	}
	lines = append(lines, r.verdictLine()+" in "+r.took())
	if len(r.Selection) > 0 {
		lines = append(lines, oneLine("selection: "+strings.Join(r.Selection, "; "), maxLine))
	}
	if len(r.Flags) > 0 {
		lines = append(lines, oneLine("flags: "+strings.Join(r.Flags, " "), maxLine))
	}
	for n, line := range r.Stale {
		if n == 3 {
			lines = append(lines, fmt.Sprintf("STALE  %d more", len(r.Stale)-n))
			break
		}
		lines = append(lines, "STALE  "+oneLine(line, maxLine))
	}
	return append(lines, "")
}

// maxUnsteady is how many scenarios whose runs differ are listed.
const maxUnsteady = 8

// profileLines are the verdicts of the profiles.
func (r *Report) profileLines() []string {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(t, "profile\tresult\tpassed\tfailed\tunreliable\twarned\tinconclusive\terrors") // to a buffer
	for _, p := range r.Profiles {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\n", p.Name, p.Verdict, p.Passed, p.Failed, p.Unreliable, p.Warned, p.Inconclusive, p.Errors)
	}
	_ = t.Flush()
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

// tailLines are the profiles and where the rest is.
func (r *Report) tailLines() []string {
	var b bytes.Buffer
	if !r.OfClient() {
		b.WriteString(strings.Join(r.profileLines(), "\n") + "\n")
	}
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	list := r.unsteady()
	for n, x := range list[:min(len(list), maxUnsteady)] {
		if n == 0 {
			_, _ = fmt.Fprintf(t, "\nunreliable (%d)\truns\n", len(list))
		}
		_, _ = fmt.Fprintf(t, "%s %s\t%s\n", x.Location, x.Name, x.Times())
	}
	_ = t.Flush()
	lines := strings.Split(strings.Trim(b.String(), "\n"), "\n")
	if b.Len() == 0 {
		lines = nil
	}
	if len(r.causes(append(bad, Inconclusive)...)) > 0 {
		lines = append(lines, "all scenarios with their evidence: --report markdown=FILE, html=FILE or json=FILE")
	}
	return lines
}

// block is a cause in a few lines, and the first is enough to know it.
func (r *Report) block(c *cause) []string {
	ids := c.requirements()
	what := strings.Join(ids[:min(len(ids), 3)], ", ")
	if len(ids) > 3 {
		what += fmt.Sprintf(" and %d more", len(ids)-3)
	}
	lines := []string{fmt.Sprintf("%s  %s: %s (%d)", strings.ToUpper(string(c.Verdict)), what, c.Message, len(c.Results))}
	x := c.Results[0]
	if r.OfClient() && x.Failure != nil && len(ids) > 0 {
		lines[0] = fmt.Sprintf("%s  %s: %s (%d)", strings.ToUpper(string(c.Verdict)), ids[0], oneLine(strings.TrimSuffix(r.requirement(ids[0]).Text, "."), maxLine), len(c.Results))
		lines = append(lines, "    "+c.Message)
	}
	where := x.Location + " " + x.Name
	if times := x.Times(); times != "" {
		where += " (" + times + ")"
	}
	f := x.Failure
	if c.Verdict == Inconclusive || f == nil {
		return append(lines, "    "+oneLine(where, maxLine))
	}
	if len(x.Requirements) > 0 {
		q := r.judgedBy(x)[0]
		quote, _ := quoteOf(q, x)
		lines = append(lines, "    "+x.weight()+": "+oneLine(cmp.Or(quote, q.Text), maxLine))
	}
	lines = append(lines, "    "+oneLine(where, maxLine))
	if f.Want != "" {
		at := ""
		if f.Pointer != "" {
			at = " at " + f.Pointer
		}
		lines = append(lines, "    expected "+oneLine(f.Want, maxLine)+", got "+oneLine(f.Got, maxLine)+at)
	}
	if e := x.about(); e != nil {
		lines = append(lines, "    repeat: "+strings.ReplaceAll(e.Curl, "\n", " "))
		if len(e.Notes) > 0 {
			lines = append(lines, "        # "+strings.Join(e.Notes, "; "))
		}
	} else if f.Repeat != "" {
		lines = append(lines, "    repeat: "+f.Repeat, "        # "+oneLine(f.Step, 2*maxLine))
	}
	return append(lines, "")
}

// printable replaces characters that are invalid or control a terminal.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '\t' || c == '\n' || c >= 0x20 && c != 0xFFFE && c != 0xFFFF {
			return c
		}
		return '\uFFFD'
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
