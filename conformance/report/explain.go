package report

import (
	"cmp"
	_ "embed" // the template
	"strings"
	"text/template"
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
	if e := x.about(); e != nil {
		operation = e.Operation
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

// about is the exchange that a failure is about, nil for none.
func (x *Result) about() *Exchange {
	if f := x.Failure; f != nil && f.Exchange >= 0 && f.Exchange < len(x.Exchanges) {
		return &x.Exchanges[f.Exchange]
	}
	return nil
}

//go:embed explain.tmpl
var explainTemplate string

var explanation = template.Must(template.New("explain").Funcs(template.FuncMap{
	"upper": strings.ToUpper,
	"indented": func(body string) string {
		return strings.ReplaceAll(strings.TrimRight(body, "\n"), "\n", "\n              ")
	},
}).Parse(explainTemplate))

// quoted is a requirement with its words of the document.
type quoted struct {
	*Covered
	Quote string
}

// plain explains one scenario that did not hold: the text of the requirement, the expected and the
// actual value, and the exchange.
func (r *Report) plain(x *Result) string {
	page := struct {
		*Result
		Weight   string
		Judged   []quoted
		About    *Exchange
		Received []Delivery
		More     int
	}{Result: x, Weight: x.weight(), About: x.about(), Received: x.Deliveries[:min(len(x.Deliveries), maxShownDeliveries)]}
	page.More = len(x.Deliveries) - len(page.Received)
	for _, q := range r.judgedBy(x) {
		quote, _ := quoteOf(q, x)
		page.Judged = append(page.Judged, quoted{q, quote})
	}
	var b strings.Builder
	if err := explanation.Execute(&b, page); err != nil {
		panic(err) // to a text, by a template that tests run
	}
	return b.String()
}
