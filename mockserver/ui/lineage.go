package ui

import (
	"cmp"
	"net/url"
)

// chainNode is one entity in a chain of causes and results.
type chainNode struct {
	Relation string // how the previous node led to this one; "" for the first
	Link     doc
	Here     bool // the entity of the view
}

// forwardRelations maps each relation to its inverse, read from the older entity.
var forwardRelations = map[string]string{
	"restarts":                  "restarted as",
	"resumes":                   "resumed as",
	"retries":                   "retried as",
	"publishes again":           "published again as",
	"invoked by":                "invoked",
	"reports on":                "reported by",
	"published by the schedule": "published",
	"belongs to the run":        "sent",
	"keeps":                     "in the DLQ as",
}

// chainOf builds the chain, oldest first: the origins, the entity of the view, and the results.
func chainOf(links []doc) (nodes []chainNode) {
	relation, here := "", false
	for _, link := range links {
		if link["before"] == true {
			nodes = append(nodes, chainNode{Relation: relation, Link: link})
			relation = forwardRelations[text(link["relation"])]
			continue
		}
		if !here {
			nodes, here = append(nodes, chainNode{Relation: relation, Here: true}), true
		}
		nodes = append(nodes, chainNode{Relation: text(link["relation"]), Link: link})
	}
	if !here {
		nodes = append(nodes, chainNode{Relation: relation, Here: true})
	}
	return nodes
}

// linkAddress is the address of the view of a linked entity.
func linkAddress(f *frame, link doc) string {
	id := text(link["id"])
	if link["kind"] == "schedule" {
		return f.Link("schedules") + "#schedule-" + url.PathEscape(id)
	}
	return f.Of(cmp.Or(map[any]string{"run": "runs", "DLQ entry": "dlq"}[link["kind"]], "messages"), id)
}
