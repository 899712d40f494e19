package spec

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// checkQuery says what is wrong with the text of a query, beyond the values of
// single parameters. What cannot be read would be dropped in silence, and a
// filter that is dropped selects too much; a bulk operation refuses unknown and
// empty filters for the same reason.
func (o *Operation) checkQuery(raw string, query url.Values) []Problem {
	return append(o.unreadable(raw), o.CheckFilters(query)...)
}

// CheckFilters says which filters of a bulk operation are unknown or empty.
func (o *Operation) CheckFilters(query url.Values) (problems []Problem) {
	if !o.Bulk {
		return nil
	}
	known := o.QueryParameters()
	for name, values := range query {
		switch {
		case !slices.Contains(known, name):
			near, _ := Nearest(name, known)
			problems = append(problems, Problem{In: "query", Name: name, Rule: "known", Message: "unknown filter, did you mean " + near + "? The filters are " + strings.Join(known, ", ")})
		case name != "cursor" && slices.ContainsFunc(values, blank): // no cursor is the first page
			problems = append(problems, Problem{In: "query", Name: name, Rule: "empty", Message: "empty filter: must have a value"})
		}
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Name, b.Name) })
	return problems
}

// IgnoredFilters says which names in the query of a reading operation mean
// nothing to it: a list is then longer than was wanted. A bulk operation refuses them.
func (o *Operation) IgnoredFilters(query url.Values) (problems []Problem) {
	if o.Bulk || o.Method != http.MethodGet || len(query) == 0 || len(o.greedy) > 0 {
		return nil
	}
	known := o.QueryParameters()
	if len(known) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) && name != neutral.TokenQuery {
			near, _ := Nearest(name, known)
			problems = append(problems, Problem{In: "query", Name: name, Rule: "known", Message: "unknown filter, ignored; did you mean " + near + "?"})
		}
	}
	return problems
}

// blank reports whether a list of values, separated by commas, has none.
func blank(value string) bool { return strings.Trim(value, ", \t") == "" }

// unreadable lists the parts of a query with a broken escape or a semicolon. A
// query behind a destination in the path is the destination's, but for the
// configuration in it.
func (o *Operation) unreadable(raw string) (problems []Problem) {
	if len(o.QueryParameters()) == 0 {
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

// isList reports whether an operation answers with many things at once.
func (o *Operation) isList() bool {
	known := o.QueryParameters()
	return slices.Contains(known, "cursor") || slices.Contains(known, "limit")
}
