package ui

import "net/url"

// chainNode is one entity in a chain of causes and results.
type chainNode struct {
	Relation string // how the previous node led to this one; "" for the first
	Link     doc
	Here     bool // the entity of the view
}

// lineageChain is a chain of entities, oldest first.
type lineageChain struct{ Nodes []chainNode }

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
	"keeps":                     "kept as",
}

// chainOf builds the chain: the origins, the entity of the view, and the results.
func chainOf(links []doc) lineageChain {
	var c lineageChain
	relation := ""
	add := func(n chainNode) { c.Nodes = append(c.Nodes, n) }
	i := 0
	for ; i < len(links) && links[i]["before"] == true; i++ {
		add(chainNode{Relation: relation, Link: links[i]})
		said, _ := links[i]["relation"].(string)
		relation = forwardRelations[said]
	}
	add(chainNode{Relation: relation, Here: true})
	for ; i < len(links); i++ {
		said, _ := links[i]["relation"].(string)
		add(chainNode{Relation: said, Link: links[i]})
	}
	return c
}

// linkAddress is the address of the view of a linked entity.
func linkAddress(f *frame, link doc) string {
	id, _ := link["id"].(string)
	switch link["kind"] {
	case "run":
		return f.Of("runs", id)
	case "DLQ entry":
		return f.Of("dlq", id)
	case "schedule":
		return f.Link("schedules") + "#schedule-" + url.PathEscape(id)
	}
	return f.Of("messages", id)
}
