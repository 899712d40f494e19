package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// maxDetailed bounds how many failures are printed with their exchanges.
const maxDetailed = 20

// writeTerminal writes for people: failures first, each with what to act on.
func writeTerminal(w io.Writer, r *Report) error {
	var b bytes.Buffer
	shown := 0
	for _, v := range bad {
		for _, x := range r.byVerdict(v) {
			if v == Inconclusive {
				fmt.Fprintf(&b, "%s  %s  %s\n    %s: %s\n", strings.ToUpper(string(v)), x.Location, x.Name, x.Reason, x.Detail)
				continue
			}
			shown++
			r.explain(&b, x, shown <= maxDetailed)
		}
	}
	if len(r.byVerdict(Inconclusive)) > 0 {
		b.WriteByte('\n')
	}
	for _, line := range r.Stale {
		fmt.Fprintf(&b, "STALE  %s\n", line)
	}
	if r.Exhausted != "" {
		fmt.Fprintf(&b, "The run ended early: %s\n", r.Exhausted)
	}
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(t, "profile\tresult\tpassed\tfailed\twarned\tinconclusive")
	for _, p := range r.Profiles {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\n", p.Name, p.Verdict, p.Passed, p.Failed, p.Warned, p.Inconclusive)
	}
	_ = t.Flush() // to a buffer
	fmt.Fprintf(&b, "\n%s in %s\n", r.verdictLine(), r.Duration.Round(time.Millisecond))
	_, err := w.Write(b.Bytes())
	return err
}

// explain prints one scenario that did not hold.
func (r *Report) explain(b *bytes.Buffer, x *Result, whole bool) {
	fmt.Fprintf(b, "%s  %s  %s\n", strings.ToUpper(string(x.Verdict)), x.Location, x.Name)
	for _, id := range x.Requirements {
		fmt.Fprintf(b, "    %s (%s) %s\n", id, x.Basis, r.text(id))
	}
	if f := x.Failure; f != nil {
		fmt.Fprintf(b, "    at step:  %s\n    problem:  %s\n", f.Step, f.Message)
		for _, line := range []struct{ name, text string }{{"pointer", f.Pointer}, {"expected", f.Want}, {"actual", f.Got}} {
			if line.text != "" {
				fmt.Fprintf(b, "    %-9s %s\n", line.name+":", line.text)
			}
		}
	} else {
		fmt.Fprintf(b, "    %s: %s\n", x.Reason, x.Detail)
	}
	if whole && x.Failure != nil && x.Failure.Exchange >= 0 && x.Failure.Exchange < len(x.Exchanges) {
		e := &x.Exchanges[x.Failure.Exchange]
		fmt.Fprintf(b, "    request:  %s %s\n    answer:   %d %s%s\n    repeat:   %s\n", e.Method, e.URL, e.Status, e.Answer, e.Error, e.Curl)
	}
	if whole {
		for _, d := range x.Deliveries {
			fmt.Fprintf(b, "    received: +%s %s: %s %s, answered %d\n", d.At.Round(time.Millisecond), d.Endpoint, d.Method, d.Path, d.Answered)
		}
	}
	b.WriteByte('\n')
}

// plain is the explanation of a result as text.
func (r *Report) plain(x *Result) string {
	var b bytes.Buffer
	r.explain(&b, x, true)
	return b.String()
}
