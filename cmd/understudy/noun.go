package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/understudy-mock/understudy/mockserver/traffic"
	"github.com/understudy-mock/understudy/spec/route"
)

// noun is something that an account has. Its command lists it, or shows one of it; completion
// offers its ids.
type noun struct {
	list   route.Route
	id     string      // member of an entry; "": it has none
	one    words       // view of one; "": none
	get    route.Route // of one
	follow string      // path of the stream; "": none
	match  string      // of a journal: the parameter of --match
}

// nouns are the nouns, by command. Sorted.
var nouns = map[string]*noun{
	"deliveries": {list: route.ControlDeliveries, follow: "deliveries", match: "messageId"},
	"dlq":        {list: route.ControlDLQ, id: "dlqId", one: "dlqEntry", get: route.GetDLQMessage},
	"events":     {list: route.ControlLog, follow: "events"},
	"faults":     {list: route.ControlFaults},
	"fleet":      {list: route.ControlFleet, one: "fleet"},
	"groups":     {list: route.ListURLGroups, id: "name"},
	"keys":       {list: route.ControlFlowKeys, id: "flowControlKey"},
	"messages":   {list: route.ControlMessages, id: "messageId", one: "message", get: route.ControlMessage},
	"queues":     {list: route.ListQueues, id: "name"},
	"requests":   {list: route.ControlRequests, follow: "requests", match: "operationId"},
	"rewrites":   {list: route.ControlRewrites},
	"runs":       {list: route.ControlRuns, id: "workflowRunId", one: "run", get: route.ControlRun},
	"schedules":  {list: route.ControlSchedules, id: "scheduleId"},
	"search":     {list: route.ControlSearch},
	"stub":       {list: route.ControlStubs},
	"tail":       {list: route.ControlLog, follow: "events"},
	"undo":       {list: route.ControlUndos, id: "id"},
	"waiters":    {list: route.ControlWaiters, id: "eventId"},
}

// tables are the tables of lists, by command, and of parts of other answers. The last column is
// the longest.
var tables = map[string]*listing{
	"attempts": {"deliveries", []column{{"ATTEMPT", attemptOf}, moment("TIME", "at"), {"RESULT", resultOf},
		{"TOOK", func(_ *screen, r row) string { n, _ := r["durationMs"].(float64); return durationOf(n) }}}},
	"deliveries": {"entries", []column{moment("TIME", "at"), text("MESSAGE", "messageId"), {"ATTEMPT", attemptOf}, {"RESULT", resultOf}, {"URL", addressOf}}},
	"dlq":        {"entries", []column{text("DLQ", "dlqId"), moment("FAILED", "failedAt"), text("MESSAGE", "messageId"), text("RUN", "workflowRunId"), text("URL", "url"), {"WHY", whyOf}}},
	"events": {"events", []column{moment("TIME", "time"), state("state"), {"ID", firstOf("messageId", "workflowRunId")}, text("STEP", "stepName"), text("STATUS", "responseStatus"),
		{"URL", firstOf("url", "workflowUrl")}, {"NEXT", func(s *screen, r row) string {
			if next, _ := r["nextDeliveryTime"].(float64); textOf(r["time"]) != textOf(next) {
				return s.when(next)
			}
			return ""
		}}, {"WHY", whyOf}}},
	"faults": {"", []column{text("ON", "on"), text("OPERATION", "operation"), text("URL", "url"), text("STATUS", "status"), {"WHAT", othersOf("on", "operation", "url", "status")}}},
	"groups": {"", []column{text("GROUP", "name"), {"URL", func(_ *screen, r row) string {
		var urls []string
		for _, e := range (&listing{"endpoints", nil}).rows(map[string]any(r)) {
			urls = append(urls, textOf(e["url"]))
		}
		return strings.Join(urls, " ")
	}}}},
	"keys": {"keys", []column{text("KEY", "flowControlKey"), {"STATE", pausedOf}, text("WAITING", "waitListSize"), {"PARALLEL", ofMost("parallelismCount", "parallelismMax")}, {"RATE", ofMost("rateCount", "rateMax")},
		{"PERIOD", func(_ *screen, r row) string {
			if seconds, _ := r["ratePeriod"].(float64); seconds > 0 {
				return durationOf(seconds * 1000)
			}
			return ""
		}}}},
	"members": {"members", []column{text("SERVER", "id"), text("ACCOUNTS", "accounts"), moment("SINCE", "since"), text("LEAVING", "leaving"), text("URL", "url")}},
	"messages": {"messages", []column{text("MESSAGE", "messageId"), state("state"), {"ATTEMPTS", triesOf}, moment("CREATED", "createdAt"), moment("NEXT", "nextDeliveryTime"), text("RUN", "workflowRunId"),
		{"URL", addressOf}, {"WHY", whyOf}}},
	"owners":    {"accounts", []column{text("ACCOUNT", "id"), state("state"), text("SERVER", "owner"), text("URL", "url"), text("REASON", "reason")}},
	"published": {"", []column{text("MESSAGE", "messageId"), text("DEDUPLICATED", "deduplicated"), text("URL", "url"), text("RUN", "workflowRunId")}},
	"queues":    {"", []column{text("QUEUE", "name"), {"STATE", pausedOf}, text("WAITING", "lag"), text("PARALLEL", "parallelism"), moment("CREATED", "createdAt")}},
	"requests":  {"entries", []column{moment("TIME", "at"), {"STATUS", resultOf}, text("METHOD", "method"), text("PATH", "path"), text("PROBLEMS", "problems")}},
	"rewrites":  {"", []column{text("FROM", "from"), text("TO", "to")}},
	"runs": {"runs", []column{text("RUN", "workflowRunId"), state("workflowState"), text("STEP", "stepName"), {"ATTEMPTS", triesOf}, moment("CREATED", "workflowRunCreatedAt"),
		{"TOOK", func(_ *screen, r row) string { return tookOf(r["workflowRunCreatedAt"], r["workflowRunCompletedAt"]) }}, text("DLQ", "dlqId"), text("WORKFLOW", "workflowUrl"), {"WHY", whyOf}}},
	"schedules": {"schedules", []column{text("SCHEDULE", "scheduleId"), {"STATE", pausedOf}, {"NEXT", func(s *screen, r row) string {
		if times, _ := r["nextTimes"].([]any); len(times) > 0 {
			return s.when(times[0])
		}
		return ""
	}}, moment("LAST", "lastScheduleTime"), text("CRON", "cron"), text("WHEN", "words"), text("ZONE", "timeZone"), text("DESTINATION", "destination")}},
	"search": {"hits", []column{text("KIND", "kind"), {"ID", firstOf("id", "messageId", "workflowRunId")}, state("state"), moment("TIME", "time"), text("STEP", "stepName"), text("STATUS", "responseStatus"),
		text("URL", "url"), text("FOUND IN", "place"), {"TEXT", func(_ *screen, r row) string {
			x := r["excerpt"]
			return textOf(within(x, "before")) + textOf(within(x, "found")) + textOf(within(x, "after"))
		}}}},
	"steps":   {"", []column{text("#", "number"), text("STEP", "name"), text("TYPE", "type"), state("state"), text("TOOK", "took"), text("ATTEMPTS", "attempts"), text("MESSAGE", "message"), {"WHY", whyOf}}},
	"stub":    {"", []column{text("METHOD", "method"), text("URL", "url"), {"ANSWERS", stubAnswers}}},
	"undo":    {"points", []column{text("POINT", "id"), moment("TIME", "time"), text("SCOPE", "scope"), text("BYTES", "bytes"), text("LATER", "later"), text("BEFORE", "label")}},
	"waiters": {"waiters", []column{text("EVENT", "eventId"), text("RUN", "workflowRunId"), moment("TIMES OUT", "deadline")}},
}

// ctlList has the flags of lists that have pages.
type ctlList struct {
	Count  int    `default:"${count}" aliases:"limit" env:"-" query:"count" help:"Number of entries, newest first, up to 1000."`
	Cursor string `env:"-" query:"cursor" help:"Continue a list at the cursor that it ended with."`
	ctlNoun
}

// ctlFilters are the filters of these lists.
type ctlFilters struct {
	Destination string `placeholder:"PREFIX" env:"-" query:"url" help:"Only those whose URL starts with this text."`
	Label       string `env:"-" query:"label" help:"Only those with this label."`
	ctlList     `embed:""`
}

// The nouns with flags of their own. Flags with the tag query are parameters of the call.
type (
	ctlMessages struct {
		ctlFilters `embed:""`
		State      []string `env:"-" ids:"CREATED,ACTIVE,RETRY,ERROR,DELIVERED,FAILED,CANCEL_REQUESTED,CANCELED,IN_PROGRESS" query:"state" help:"Only in this state, in the words of the table, such as failed or in-flight; repeatable."`
		RunID      string   `name:"run" placeholder:"ID" env:"-" ids:"runs" query:"workflowRunId" help:"Only those of this workflow run."`
		ID         string   `arg:"" optional:"" ids:"messages" help:"Show this message, with its attempts, its body and the body of its answer."`
	}
	ctlRuns struct {
		ctlFilters `embed:""`
		State      []string `env:"-" ids:"RUN_STARTED,RUN_SUCCESS,RUN_FAILED,RUN_CANCELED,INVOKED,WAITER_ADDED" query:"state" help:"Only in this state, in the words of the table, such as failed or running; repeatable."`
		ID         string   `arg:"" optional:"" ids:"runs" help:"Show this run, with its steps."`
	}
	ctlDLQ struct {
		ctlFilters `embed:""`
		RunID      string `name:"run" placeholder:"ID" env:"-" ids:"runs" query:"workflowRunId" help:"Only those of this workflow run."`
		ID         string `arg:"" optional:"" ids:"dlq" help:"Show this entry."`
	}
	ctlEvents struct {
		ctlFilters `embed:""`
		State      []string `env:"-" ids:"CREATED,ACTIVE,RETRY,ERROR,DELIVERED,FAILED,CANCEL_REQUESTED,CANCELED,RUN_STARTED,RUN_SUCCESS,RUN_FAILED,RUN_CANCELED,INVOKED,WAITER_ADDED" query:"state" help:"Only events with this state, in the words of the table, such as failed or attempt-failed; repeatable."`
		RunID      string   `name:"run" placeholder:"ID" env:"-" ids:"runs" query:"workflowRunId" help:"Only those of this workflow run."`
		Message    string   `placeholder:"ID" env:"-" ids:"messages" query:"messageId" help:"Only those of this message."`
		Follow     bool     `default:"${follow}" env:"-" help:"Print new events as they happen, one per line, until interrupted."`
	}
	ctlSearch struct {
		ctlList `embed:""`
		Query   []string `arg:"" query:"q" help:"Words, and filters such as state:failed path:/orders label:shop since:1h kind:run. An unknown key lists all."`
	}
	ctlJournal struct {
		Limit   int    `aliases:"count" query:"limit" help:"Show only the latest N." placeholder:"N"`
		Match   string `placeholder:"TEXT" query:"match" help:"Only those with this message id (deliveries) or operation id (requests)."`
		Follow  bool   `help:"Print new entries as they arrive, one per line, until interrupted."`
		HAR     string `name:"har" placeholder:"FILE" help:"Write an HTTP archive (HAR), which browser tools can open."`
		ctlNoun `embed:""`
	}
	ctlNoun struct{}
)

// Run lists the noun of the command, or shows one.
func (ctlNoun) Run(e *env, c *CtlCmd, at *kong.Context) error {
	name, n := nounOf(at.Selected())
	query, id, err := queryOf(at.Selected())
	if err != nil {
		return err
	}
	if n.match != "" {
		query[n.match] = query["match"]
		query.Del("match")
		if !query.Has("limit") {
			query.Set("limit", fmt.Sprint(traffic.Limit)) // all
		}
	}
	var follow bool
	var har string
	for _, f := range at.Selected().Flags {
		switch v := f.Target.Interface(); f.Name {
		case "follow":
			follow, _ = v.(bool)
		case "har":
			har, _ = v.(string)
		}
	}
	switch {
	case follow:
		return c.follow(e, n, query)
	case har != "":
		return c.har(e, n, query, har)
	case id != "":
		return c.show(e, n.one, nil, n.get, id)
	}
	answer, err := c.ask(e, n.list, nil, query, nil)
	if n.id == "" && n.one != "" {
		return c.print(e, answer, err, n.one)
	}
	return c.print(e, answer, err, tables[name])
}

// nounOf is the noun of a command, or of the command above it.
func nounOf(node *kong.Node) (string, *noun) {
	for ; node != nil; node = node.Parent {
		if n := nouns[node.Name]; n != nil {
			return node.Name, n
		}
	}
	return "", nil
}

// queryOf reads the flags and arguments of a command with the tag query, and its optional id.
func queryOf(node *kong.Node) (q url.Values, id string, err error) {
	q = url.Values{}
	values := slices.Clone(node.Positional)
	for _, f := range node.Flags {
		values = append(values, f.Value)
	}
	for _, v := range values {
		if v.Name == "id" {
			id = v.Target.String()
		}
		name := v.Tag.Get("query")
		if name == "" || v.Target.IsZero() {
			continue
		}
		text := fmt.Sprint(v.Target.Interface())
		if list, ok := reflect.TypeAssert[[]string](v.Target); ok {
			if name == "state" {
				list, err = statesOf(v.Tag.Get("ids"), list)
			}
			text = strings.Join(list, map[bool]string{true: " ", false: ","}[name == "q"])
		}
		q.Set(name, text)
	}
	return q, id, err
}

// statesOf are the constants among names that are meant by words: those of the table, or the
// constants.
func statesOf(names string, words []string) (states []string, err error) {
	spelled := strings.NewReplacer("-", " ", "_", " ", "cancelled", "canceled")
	for _, word := range words {
		var known []string
		before := len(states)
		for name := range strings.SplitSeq(names, ",") {
			shown, typed := stateWord(name), spelled.Replace(strings.ToLower(word))
			if typed == shown || typed == spelled.Replace(strings.ToLower(name)) {
				states = append(states, name)
			}
			known = append(known, shown)
		}
		if len(states) == before {
			slices.Sort(known)
			return nil, usageError("--state: invalid value %q: must be one of %s", word, strings.Join(slices.Compact(known), ", "))
		}
	}
	return states, nil
}

// pausedOf is whether a key, queue or schedule is paused.
func pausedOf(_ *screen, r row) string {
	for _, name := range []string{"isPaused", "paused"} {
		if r[name] == true {
			return "paused"
		}
	}
	return "active"
}

// ofMost is a number and its limit; "" without a limit.
func ofMost(name, most string) func(*screen, row) string {
	return func(_ *screen, r row) string {
		if limit, _ := r[most].(float64); limit > 0 {
			return textOf(r[name]) + "/" + textOf(r[most])
		}
		return ""
	}
}

// idsOf lists the ids of nouns, for completion.
func (c *CtlCmd) idsOf(e *env, names string) (ids []string) {
	for name := range strings.SplitSeq(names, ",") {
		n := nouns[name]
		if n == nil {
			if word := strings.ReplaceAll(stateWord(name), " ", "-"); !slices.Contains(ids, word) {
				ids = append(ids, word)
			}
			continue
		}
		answer, err := c.ask(e, n.list, nil, nil, nil)
		var list any
		if err != nil || json.Unmarshal(answer, &list) != nil {
			continue
		}
		for _, r := range tables[name].rows(list) {
			if id := textOf(r[n.id]); id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
