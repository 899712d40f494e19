package report

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/internal/clip"
)

// cause is what several results have in common: the message of their failure, or the detail of
// a result without a verdict. About a client, it is a requirement.
type cause struct {
	Verdict Verdict
	Message string
	Results []*Result
	gravity int // the gravest first
}

// gravity orders requirements: security, then what loses or changes data, then form.
func (r *Report) gravity(x *Result) int {
	lightest := 2
	for _, q := range r.judgedBy(x) {
		switch {
		case q.Security:
			return 0
		case !q.Form:
			lightest = 1
		}
	}
	return lightest
}

// named matches what differs between results with one cause: ids, numbers and names in quotes.
var named = regexp.MustCompile(`"[^"]*"|\b\w*\d\w*\b`)

// causes groups the results with one of the verdicts by their cause: the worst verdict first, and
// of one verdict the gravest about a client, and then the cause with the most results.
func (r *Report) causes(verdicts ...Verdict) []*cause {
	byKey := map[string]*cause{}
	ofClient := r.OfClient()
	var list []*cause
	for _, v := range verdicts {
		for _, x := range r.byVerdict(v) {
			message := cmp.Or(strings.TrimSpace(string(x.Reason)+" "+x.Detail), string(v))
			if x.Failure != nil {
				message = strings.TrimSpace(string(x.Reason) + " " + x.Failure.Message)
			}
			key := string(v) + named.ReplaceAllString(message, "*")
			gravity := 0
			if ofClient && x.Failure != nil && len(x.Requirements) > 0 {
				key, gravity = string(v)+x.Requirements[0], r.gravity(x)
			}
			if byKey[key] == nil {
				byKey[key] = &cause{Verdict: v, Message: oneLine(message, maxLine), gravity: gravity}
				list = append(list, byKey[key])
			}
			byKey[key].Results = append(byKey[key].Results, x)
		}
	}
	slices.SortStableFunc(list, func(a, b *cause) int {
		return cmp.Or(slices.Index(verdicts, a.Verdict)-slices.Index(verdicts, b.Verdict), a.gravity-b.gravity, len(b.Results)-len(a.Results))
	})
	return list
}

// requirements returns the ids of the requirements of a cause.
func (c *cause) requirements() []string {
	var ids []string
	for _, x := range c.Results {
		ids = union(ids, x.Requirements)
	}
	return ids
}

// maxLine is the length of a line that is shortened, in bytes.
const maxLine = 200

// oneLine makes one line of a text and shortens it.
func oneLine(text string, most int) string {
	return clip.Marked(clip.Line(text), most, "...")
}
