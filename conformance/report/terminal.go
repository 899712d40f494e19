package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// maxDetailed is how many results of one verdict are printed with their evidence, so
// that results of the other verdicts are not lost.
const maxDetailed = 20

// maxShownDeliveries is how many calls to the receiver are printed for a result.
const maxShownDeliveries = 10

// writeTerminal writes for people: failures first, each with what is needed to fix it.
func writeTerminal(w io.Writer, r *Report) error {
	var b bytes.Buffer
	for _, v := range bad {
		list := r.byVerdict(v)
		for n, x := range list {
			r.explain(&b, x, n < maxDetailed)
		}
		if len(list) > maxDetailed {
			fmt.Fprintf(&b, "%s: evidence is shown for %d of %d; --report html=FILE has all of it\n\n", strings.ToUpper(string(v)), maxDetailed, len(list))
		}
	}
	r.groupInconclusive(&b)
	for _, line := range r.Stale {
		fmt.Fprintf(&b, "STALE  %s\n", line)
	}
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, f := range r.facts()[1:] {
		f.Value = xmlText(f.Value)
		if f.Name == "bindings" && r.TargetFile != "" {
			continue // the target file below contains them
		}
		if !strings.Contains(f.Value, "\n") {
			_, _ = fmt.Fprintf(t, "%s\t%s\n", f.Name, f.Value) // to a buffer
			continue
		}
		_, _ = fmt.Fprintf(t, "%s\t\n    %s\n", f.Name, strings.ReplaceAll(strings.TrimSpace(f.Value), "\n", "\n    "))
	}
	_ = t.Flush()
	t = tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(t, "\nprofile\tresult\tpassed\tfailed\twarned\tinconclusive\terrors")
	for _, p := range r.Profiles {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\n", p.Name, p.Verdict, p.Passed, p.Failed, p.Warned, p.Inconclusive, p.Errors)
	}
	_ = t.Flush()
	fmt.Fprintf(&b, "\n%s in %s\n", r.verdictLine(), r.took())
	_, err := io.WriteString(w, xmlText(b.String())) // a response of the target must not control the terminal
	return err
}

// groupInconclusive prints inconclusive results by reason: those with the same reason
// usually have the same fix.
func (r *Report) groupInconclusive(b *bytes.Buffer) {
	groups := map[Reason]map[string][]*Result{}
	for _, x := range r.byVerdict(Inconclusive) {
		if groups[x.Reason] == nil {
			groups[x.Reason] = map[string][]*Result{}
		}
		groups[x.Reason][x.Detail] = append(groups[x.Reason][x.Detail], x)
	}
	for _, reason := range slices.Sorted(maps.Keys(groups)) {
		n := 0
		for _, list := range groups[reason] {
			n += len(list)
		}
		fmt.Fprintf(b, "INCONCLUSIVE  %s: %d\n", reason, n)
		for _, detail := range slices.Sorted(maps.Keys(groups[reason])) {
			list := groups[reason][detail]
			fmt.Fprintf(b, "    %s\n", detail)
			for _, x := range list {
				fmt.Fprintf(b, "        %s  %s\n", x.Location, x.Name)
			}
		}
		b.WriteByte('\n')
	}
}

// explain prints one scenario that did not hold: the text of the requirement, the
// expected and the actual value, and the exchange. whole adds the evidence.
func (r *Report) explain(b *bytes.Buffer, x *Result, whole bool) {
	fmt.Fprintf(b, "%s  %s  %s\n", strings.ToUpper(string(x.Verdict)), x.Location, x.Name)
	if times := x.times(); times != "" {
		fmt.Fprintf(b, "    %s\n", times)
	}
	for _, id := range x.Requirements {
		q := r.requirement(id)
		fmt.Fprintf(b, "    %s (%s) %s\n", id, x.Basis, q.Text)
		if q.Where.Quote != "" {
			fmt.Fprintf(b, "        interface document, %q: %q\n", q.Where.Heading, q.Where.Quote)
		}
	}
	if x.Reason != "" || x.Failure == nil {
		fmt.Fprintf(b, "    %s: %s\n", cmp.Or(string(x.Reason), string(x.Verdict)), x.Detail)
	}
	if f := x.Failure; f != nil {
		fmt.Fprintf(b, "    at step:  %s\n    problem:  %s\n", f.Step, f.Message)
		for _, line := range []struct{ name, text string }{{"pointer", f.Pointer}, {"expected", f.Want}, {"actual", f.Got}} {
			if line.text != "" {
				fmt.Fprintf(b, "    %-9s %s\n", line.name+":", line.text)
			}
		}
	}
	if !whole {
		b.WriteByte('\n')
		return
	}
	if f := x.Failure; f != nil && f.Exchange >= 0 && f.Exchange < len(x.Exchanges) {
		x.Exchanges[f.Exchange].print(b)
	}
	for n, d := range x.Deliveries {
		if n == maxShownDeliveries {
			fmt.Fprintf(b, "    received: %d more, in the html and json reports\n", len(x.Deliveries)-n)
			break
		}
		fmt.Fprintf(b, "    received: +%s %s: %s %s, answered %d\n", d.At.Round(time.Millisecond), d.Endpoint, d.Method, d.Path, d.Answered)
		printHeader(b, d.Header)
	}
	b.WriteByte('\n')
}

// print writes the exchange as it was sent and received.
func (e *Exchange) print(b *bytes.Buffer) {
	fmt.Fprintf(b, "    request:  %s %s\n", e.Method, e.URL)
	printHeader(b, e.Header)
	printBody(b, e.Body)
	if e.Error != "" {
		fmt.Fprintf(b, "    answer:   none: %s\n", e.Error)
	} else {
		fmt.Fprintf(b, "    answer:   %d\n", e.Status)
	}
	printHeader(b, e.AnswerHdr)
	printBody(b, e.Answer)
	fmt.Fprintf(b, "    repeat:   %s\n", e.Curl)
	for _, note := range e.Notes {
		fmt.Fprintf(b, "              # %s\n", note)
	}
}

func printHeader(b *bytes.Buffer, h map[string][]string) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			fmt.Fprintf(b, "              %s: %s\n", name, v)
		}
	}
}

func printBody(b *bytes.Buffer, body string) {
	if body != "" {
		fmt.Fprintf(b, "              %s\n", strings.ReplaceAll(strings.TrimRight(body, "\n"), "\n", "\n              "))
	}
}

// plain is the explanation of a result as text.
func (r *Report) plain(x *Result) string {
	var b bytes.Buffer
	r.explain(&b, x, true)
	return b.String()
}
