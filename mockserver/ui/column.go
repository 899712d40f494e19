package ui

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// column is one column of a list.
type column struct {
	Name  string // in the style sheet and in the settings of the browser
	Title string
	Sort  string // order in the control API that is chosen first, descending with a minus; "": not sortable
}

// listColumns are the columns of the lists that can be sorted. The columns by which people
// recognize a row come first, the id last.
var listColumns = map[string][]column{
	"messages": append(slices.Clone(commonColumns), column{"belongs", "Belongs to", ""}, column{"created", "Created", "-createdAt"}, column{"size", "Size", "-bytes"}, column{"id", "ID", "messageId"}),
	"runs":     append(slices.Clone(commonColumns), column{"took", "Took", "-duration"}, column{"belongs", "Belongs to", ""}, column{"created", "Started", "-createdAt"}, column{"id", "ID", "workflowRunId"}),
	"dlq": {
		{"state", "Response", "responseStatus"}, {"what", "Label", "label"}, {"where", "Destination", "url"}, {"why", "Reason", "cause"},
		{"attempts", "Attempts", "-attempts"}, {"age", "Age", "-failedAt"},
		{"belongs", "Belongs to", ""}, {"created", "Failed", "-failedAt"}, {"id", "ID", "dlqId"},
	},
}

// commonColumns are the first columns of messages and runs.
var commonColumns = []column{
	{"state", "State", "state"}, {"what", "Step, label", "label"}, {"where", "Destination", "url"}, {"why", "Reason", "cause"},
	{"attempts", "Attempts", "-attempts"}, {"next", "Next", "next"}, {"age", "Age", "-createdAt"},
}

// heading is the heading of a column.
type heading struct {
	column
	Link  string // sorts by the column, or reverses its order
	Order string // ascending, descending; "": the list is not sorted by the column
}

// Headings returns the headings of a list, with links that sort it and keep its filters.
func (f *frame) Headings(list string) []heading {
	asked := f.Query.Get("sort")
	headings := make([]heading, 0, len(listColumns[list]))
	for _, c := range listColumns[list] {
		h, up := heading{column: c}, strings.TrimPrefix(c.Sort, "-")
		switch {
		case up == "":
		case asked == up:
			h.Order, h.Link = "ascending", f.With("cursor", "", "sort", "-"+up)
		case asked == "-"+up:
			h.Order, h.Link = "descending", f.With("cursor", "", "sort", up)
		default:
			h.Link = f.With("cursor", "", "sort", c.Sort)
		}
		headings = append(headings, h)
	}
	return headings
}

// listQuery is the part of the query for the list: its account, filters, order and page.
func (f *frame) listQuery() string {
	var pairs []string
	for _, name := range filterFields {
		pairs = append(pairs, name, f.Query.Get(name))
	}
	return f.search(pairs)
}

// Beside is the address of one entry of a list. It keeps the filters and the order, so that
// the list next to the entry stays the same.
func (f *frame) Beside(list, id string) string {
	if f.Name != list { // the filters are those of another list
		return f.Of(list, id)
	}
	return viewPath(list) + "/" + url.PathEscape(id) + f.listQuery()
}

// Back is the address of the list that an entry was opened from.
func (f *frame) Back() string { return viewPath(f.Name) + f.listQuery() }

// idTail is how many last characters distinguish an id from others created at the same time.
const idTail = 8

// shortID is an id with its kind and its end, by which people tell ids apart.
func shortID(id string) string {
	kind, rest, found := strings.Cut(id, "_")
	if n := len(rest) - idTail; found && n > 4 {
		return kind + "_…" + rest[n:]
	}
	if n := len(id) - idTail; n > 2*idTail {
		return "…" + id[n:]
	}
	return id
}

// plainURL is a URL without its scheme, which rarely differs.
func plainURL(v any) string {
	if _, rest, found := strings.Cut(text(v), "://"); found {
		return rest
	}
	return text(v)
}

// repeated matches the id of the message and the number of attempts in a reason: lists show them in columns.
var repeated = regexp.MustCompile(`^message msg_\w+: |, attempt \d+ of \d+`)

// BriefReason is a reason without the message and the number of attempts, so that it starts with the cause
// in a narrow column.
func BriefReason(v any) string {
	return repeated.ReplaceAllString(text(v), "")
}
