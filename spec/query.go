package spec

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/internal/similar"
)

// checkQuery lists errors in the text of a query and in its names. Text that cannot
// be parsed would otherwise be dropped silently, and a bulk operation without the
// filter would select too much.
func (o *Operation) checkQuery(raw string, query url.Values) []Problem {
	return append(o.unreadable(raw), o.CheckFilters(query)...)
}

// closed reports whether an operation refuses the parameters that it does not know: a
// bulk operation would act on more than intended, and a call of the control API on
// another account (acount=b) or on more entries. The service's own lists are open,
// since clients send names of their own.
func (o *Operation) closed() bool {
	return o.Bulk || o.Tag == "control" && len(o.greedy) == 0
}

// CheckFilters lists the unknown parameters of an operation that is closed, and the
// empty filters of a bulk operation.
func (o *Operation) CheckFilters(query url.Values) (problems []Problem) {
	if len(query) == 0 || !o.closed() {
		return nil
	}
	for name, values := range query {
		switch {
		case o.common(name):
		case !slices.Contains(o.rules().queries, name):
			problems = append(problems, Problem{In: "query", Name: name, Rule: "known", Message: "unknown " + o.kindOfQuery(), Accepted: o.acceptedQuery(name)})
		case o.Bulk && name != "cursor" && slices.ContainsFunc(values, blank): // an empty cursor selects the first page
			problems = append(problems, Problem{In: "query", Name: name, Rule: "empty", Message: "empty filter: must have a value"})
		}
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Name, b.Name) })
	return problems
}

// common reports whether every call of the control API accepts a parameter.
func (o *Operation) common(name string) bool { return o.Area == "control_url" && name == "account" }

// kindOfQuery is the word for a parameter of the operation.
func (o *Operation) kindOfQuery() string {
	if o.Bulk || o.List {
		return "filter"
	}
	return "parameter"
}

// acceptedQuery lists the parameters of the operation for the name of an unknown one.
func (o *Operation) acceptedQuery(unknown string) string {
	known := o.rules().queries
	switch len(known) {
	case 0:
		return "left out: this operation has no parameters"
	case 1:
		return known[0] + similar.DidYouMean(unknown, known)
	}
	return "one of " + strings.Join(known, ", ") + similar.DidYouMean(unknown, known)
}

// IgnoredFilters lists the query parameters that a GET operation ignores, so that its
// list is longer than intended. An operation that is closed refuses them.
func (o *Operation) IgnoredFilters(query url.Values) (problems []Problem) {
	if o.closed() || o.Method != http.MethodGet || len(query) == 0 || len(o.greedy) > 0 {
		return nil
	}
	known := o.rules().queries
	if len(known) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) && name != neutral.TokenQuery {
			problems = append(problems, Problem{In: "query", Name: name, Rule: "known", Message: "unknown filter, ignored" + similar.DidYouMean(name, known)})
		}
	}
	return problems
}

// blank reports whether a comma-separated list has no values.
func blank(value string) bool { return strings.Trim(value, ", \t") == "" }

// unreadable lists the parts of a query with an invalid escape or a semicolon. A
// query after a destination in the path belongs to the destination, except for
// configuration parameters.
func (o *Operation) unreadable(raw string) (problems []Problem) {
	if !strings.ContainsAny(raw, "%;") || len(o.rules().queries) == 0 {
		return nil
	}
	ours := len(o.greedy) == 0
	for pair := range strings.SplitSeq(raw, "&") {
		if _, err := url.ParseQuery(pair); err == nil || !ours && !foldPrefix(pair, neutral.QueryPrefix) {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		problems = append(problems, Problem{In: "query", Name: name, Rule: "syntax", Received: quote(value), Message: "cannot be read", Accepted: "percent-encoded, with %25 for % and %3B for ;"})
	}
	return problems
}
