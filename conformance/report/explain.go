package report

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxShownDeliveries is how many calls to the receiver are printed for a result.
const maxShownDeliveries = 10

// quoteOf returns the words of the document that a failure is about, and whether they are about just
// what failed.
func quoteOf(q *Covered, x *Result) (quote string, exact bool) {
	f := x.Failure
	if f == nil || q.Where.Quote == "" {
		return cmp.Or(q.Where.Quote, q.Source), false
	}
	operation := ""
	if f.Exchange >= 0 && f.Exchange < len(x.Exchanges) {
		operation = x.Exchanges[f.Exchange].Operation
	}
	return q.Where.About(f.Pointer, operation, f.Step, f.Message)
}

// judgedBy returns the requirements of a result, first those whose words are about just what failed.
func (r *Report) judgedBy(x *Result) []*Covered {
	var exact, others []*Covered
	for _, id := range x.Requirements {
		q := r.requirement(id)
		if _, is := quoteOf(q, x); is {
			exact = append(exact, q)
		} else {
			others = append(others, q)
		}
	}
	return append(exact, others...)
}

// weight is the basis of a result and, where that alone would not fail the target, why it does.
func (x *Result) weight() string {
	if x.Verdict == Fail && Weigh(x.Basis, false) != Fail {
		return string(x.Basis) + "; a leak, like any breach of security, fails whatever its basis"
	}
	return string(x.Basis)
}

// explain prints one scenario that did not hold: the text of the requirement, the
// expected and the actual value, and the exchange.
func (r *Report) explain(b *bytes.Buffer, x *Result) {
	fmt.Fprintf(b, "%s  %s  %s\n", strings.ToUpper(string(x.Verdict)), x.Location, x.Name)
	if times := x.times(); times != "" {
		fmt.Fprintf(b, "    %s\n", times)
	}
	for _, q := range r.judgedBy(x) {
		fmt.Fprintf(b, "    %s (%s) %s\n", q.ID, x.weight(), q.Text)
		if quote, _ := quoteOf(q, x); quote != "" {
			fmt.Fprintf(b, "        %s: %q\n", q.From(), quote)
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
	if f := x.Failure; f != nil && f.Delivery != nil {
		f.Delivery.print(b, "shown in: ")
	}
	if f := x.Failure; f != nil && f.Exchange >= 0 && f.Exchange < len(x.Exchanges) {
		x.Exchanges[f.Exchange].print(b)
	} else if f != nil && f.Repeat != "" {
		fmt.Fprintf(b, "    repeat:   %s\n", f.Repeat)
	}
	for n, d := range x.Deliveries {
		if n == maxShownDeliveries {
			fmt.Fprintf(b, "    received: %d more, in the html and json reports\n", len(x.Deliveries)-n)
			break
		}
		d.print(b, "received: ")
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

// print writes what the receiver saw.
func (d *Delivery) print(b *bytes.Buffer, title string) {
	fmt.Fprintf(b, "    %s+%s %s: %s %s, answered %d\n", title, d.At, d.Endpoint, d.Method, d.Path, d.Answered)
	printHeader(b, d.Header)
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
	r.explain(&b, x)
	return b.String()
}
