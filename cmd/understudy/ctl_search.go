package main

import (
	"fmt"
	"net/url"
	"strings"
)

// ctlSearch finds messages, runs, DLQ entries and events.
type ctlSearch struct {
	Count  int      `default:"20" aliases:"limit" env:"-" help:"Number of hits of each kind, newest first, up to 1000."`
	Cursor string   `env:"-" help:"Continue a search of one kind at the cursor that it ended with."`
	Query  []string `arg:"" help:"Words, and filters such as state:failed path:/orders label:shop since:1h kind:run. An unknown key lists all."`
}

// searchTable is the table of ctl search.
var searchTable = listing{"hits", []column{
	{"KIND", memberText("kind")}, {"ID", foundID}, {"STATE", memberText("state")}, {"TIME (UTC)", memberTime("time")}, {"STEP", memberText("stepName")},
	{"STATUS", memberText("responseStatus")}, {"URL", memberText("url")}, {"FOUND IN", memberText("place")}, {"TEXT", excerptOf},
}}

// foundID is the id of a hit; for an event, the id of its message or run.
func foundID(r row) string {
	for _, name := range []string{"id", "messageId", "workflowRunId"} {
		if id := memberText(name)(r); id != "" {
			return id
		}
	}
	return ""
}

// excerptOf is the word that was found, with the text around it.
func excerptOf(r row) string {
	x, _ := r["excerpt"].(map[string]any)
	return memberText("before")(x) + memberText("found")(x) + memberText("after")(x)
}

// Run prints the hits of a search.
func (k *ctlSearch) Run(e *env, c *cli) error {
	q := url.Values{"q": {strings.Join(k.Query, " ")}, "count": {fmt.Sprint(k.Count)}}
	if k.Cursor != "" {
		q.Set("cursor", k.Cursor)
	}
	return c.Ctl.table(e, "search", q, &searchTable)
}
