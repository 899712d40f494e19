package ui

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/spec/api"
)

// found is the result of a search. Wrong is the error of an invalid query.
type found struct {
	Query   string
	Hits    []searchHit
	Cursors map[string]string
	Wrong   string
}

// searchResults runs the search. An invalid query stays in the box, so that it can be
// corrected.
func searchResults(v *visit) (any, error) {
	line := strings.TrimSpace(v.query.Get("q"))
	f := found{Query: line}
	if line == "" {
		return &f, nil
	}
	query := url.Values{"q": {line}}
	if cursor := v.query.Get("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	err := v.get(&f, "search", query)
	if f.Wrong = refusal(err, http.StatusBadRequest); f.Wrong != "" {
		return &f, nil
	}
	f.fold()
	return &f, err
}

// searchHit is a message, a run with its messages, a DLQ entry or an event.
type searchHit struct {
	api.SearchHit
	Messages int // that were found as well
}

// resultKind is a kind with its hits.
type resultKind struct {
	Kind, Title, Cursor string
	Hits                []searchHit
}

// resultKinds are the kinds in display order.
var resultKinds = []resultKind{{Kind: "run", Title: "Runs"}, {Kind: "dlq", Title: "DLQ entries"}, {Kind: "message", Title: "Messages"}, {Kind: "log", Title: "Log"}}

// fold counts messages at their run, where it was found too.
func (f *found) fold() {
	runs, messages := map[string]bool{}, map[string]int{}
	for i := range f.Hits {
		runs[f.Hits[i].ID] = f.Hits[i].Kind == "run"
	}
	f.Hits = slices.DeleteFunc(f.Hits, func(h searchHit) bool {
		folds := h.Kind == "message" && runs[h.WorkflowRunID]
		if folds {
			messages[h.WorkflowRunID]++
		}
		return folds
	})
	for i := range f.Hits {
		f.Hits[i].Messages = messages[f.Hits[i].ID]
	}
}

// Kinds returns the kinds that have hits, or may have some further on.
func (f *found) Kinds() (list []resultKind) {
	for _, k := range resultKinds {
		for i := range f.Hits {
			if f.Hits[i].Kind == k.Kind {
				k.Hits = append(k.Hits, f.Hits[i])
			}
		}
		if k.Cursor = f.Cursors[k.Kind]; len(k.Hits) > 0 || k.Cursor != "" {
			list = append(list, k)
		}
	}
	return list
}

// View is the view that shows the hit; for an event, the view of its message or run.
func (h *searchHit) View() string {
	switch {
	case h.Kind == "dlq":
		return "dlq"
	case h.Kind == "run" || h.Kind == "log" && h.MessageID == "":
		return "runs"
	}
	return "messages"
}

// Name is the id of the hit in the view.
func (h *searchHit) Name() string { return cmp.Or(h.ID, h.MessageID, h.WorkflowRunID) }
