package ui

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/spec/route"
)

// bulk is the action of a button on all entries that match the filters of a list.
type bulk struct {
	list            string   // in the control API
	source          string   // filter in addition to those of the view
	states          []string // states of the entries; empty: all
	how             route.Route
	verb, one, many string
}

// The bulk buttons above the lists.
var (
	cancelMatching  = bulk{"messages", "message", []string{"CREATED", "ACTIVE", "RETRY", "ERROR"}, route.CancelMessages, "Cancel", "message", "messages"}
	endMatching     = bulk{"runs", "", []string{"RUN_STARTED"}, route.CancelWorkflowRuns, "Cancel", "run", "runs"}
	deleteMatching  = bulk{"dlq", "", nil, route.DeleteDLQMessages, "Delete", "entry", "entries"}
	retryMatching   = bulk{"dlq", "message", nil, route.RetryDLQMessages, "Retry", "message", "messages"}
	restartMatching = bulk{"dlq", "workflow", nil, route.RestartWorkflowRuns, "Restart", "run", "runs"}
	resumeMatching  = bulk{"dlq", "workflow", nil, route.ResumeWorkflowRuns, "Resume", "run", "runs"}
)

// id is the member with the id of an entry.
func (b *bulk) id() string { return searchedLists[b.list][1] }

// mostMatching is the maximum number of entries per button, bulkPart per call.
const (
	mostMatching = 100_000
	bulkPart     = 50
)

// matching returns the ids of the entries that match the filters in a form now, at most
// mostMatching.
func (b *bulk) matching(v *visit, f form) (ids []string, err error) {
	if picked := f.Get("pick"); picked != "" {
		return strings.Split(picked, ","), nil
	}
	asked := &visit{client: v.client, query: f.Values}
	query, err := asked.narrowed(b.list)
	if v.cut = asked.cut; err != nil {
		return nil, err
	}
	query.Del("cursor")
	for name, value := range map[string]string{"source": b.source, "state": strings.Join(b.states, ",")} {
		switch given := query.Get(name); {
		case value == "":
		case given == "":
			query.Set(name, value)
		case name == "source" && given != value:
			return nil, nil
		}
	}
	for query.Set("count", "1000"); ; {
		var page struct {
			Messages, Runs, Entries []doc
			Cursor                  string
		}
		if err := v.get(&page, b.list, query); err != nil {
			return nil, err
		}
		for _, entry := range slices.Concat(page.Messages, page.Runs, page.Entries) {
			if len(ids) < mostMatching && (len(b.states) == 0 || slices.Contains(b.states, stateOf(entry))) {
				ids = append(ids, text(entry[b.id()]))
			}
		}
		if page.Cursor == "" || len(ids) == mostMatching {
			return ids, nil
		}
		query.Set("cursor", page.Cursor)
	}
}

// action is the button. It applies to the entries that match after the confirmation: they
// may differ from those in the question.
func (b *bulk) action(undo string) action {
	return action{undo: undo, said: b.verb + ": {n}.", ask: b.question, run: func(v *visit, f form) error {
		ids, err := b.matching(v, f)
		if err != nil {
			return err
		}
		header, err := v.overrides(f)
		if err != nil {
			return err
		}
		n := 0
		for part := range slices.Chunk(ids, bulkPart) {
			var done struct {
				Cancelled, Deleted      int
				Responses, WorkflowRuns []doc
			}
			if err := v.do(&done, request{method: b.how.Method(), path: v.as(b.how), query: url.Values{b.id() + "s": part}, header: header}); err != nil {
				return fmt.Errorf("after %s: %w", pluralText(n, b.one, b.many), err)
			}
			n += done.Cancelled + done.Deleted + len(done.Responses) + len(done.WorkflowRuns)
		}
		f.Set("n", strconv.Itoa(n))
		return nil
	}}
}

// question asks for confirmation with the number of entries.
func (b *bulk) question(v *visit, f form) (question, error) {
	ids, err := b.matching(v, f)
	things := pluralText(len(ids), b.one, b.many)
	if len(ids) == mostMatching || v.cut {
		things = "the first " + things
	}
	q := question{Text: b.verb + " " + things + "?", Yes: b.verb + " " + things}
	if f.filters() {
		q.Text = b.verb + " " + things + " that the filters match?"
	}
	if len(ids) == 0 {
		q.None = "No " + b.many + " match."
	}
	return q, err
}

// filters reports whether a form has filters.
func (f form) filters() bool {
	return slices.ContainsFunc(filterFields, func(name string) bool { return name != "cursor" && name != "sort" && f.Get(name) != "" })
}

// Filters returns the filters of a list as fields for a button.
func (f *frame) Filters() map[string]string {
	fields := map[string]string{}
	for _, name := range filterFields {
		if value := f.Query.Get(name); value != "" && name != "cursor" {
			fields[name] = value
		}
	}
	return fields
}
