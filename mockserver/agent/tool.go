package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/internal/yamlfile"
	"github.com/understudy-mock/understudy/spec/header"
)

// effect is what a tool does to the state of the server.
type effect int

const (
	reads    effect = iota
	changes         // adds something, or moves on
	destroys        // removes or replaces something
)

// tool is a row of the table.
type tool struct {
	name, does string
	effect     effect
	kinds      map[string]string                  // operations, by the value of the argument kind; "": the only one
	page       string                             // the view of the page, unless the answer or the arguments name an entry
	leaves     string                             // parameters of the operations that are no arguments
	takes      map[string]any                     // schemas of other arguments
	needs      []string                           // required ones
	run        func(*visit, args) (answer, error) // nil: calls the operation

	described *mcp.Tool
	checked   *yamlfile.Schema
}

// Schemas of arguments that no operation has.
func text(description string) schema {
	return schema{"type": "string", "minLength": 1, "description": description}
}

func object(description string) schema {
	return schema{"type": "object", "description": description, "additionalProperties": schema{"type": "string"}}
}

var (
	anything  = schema{"description": "a text, or a value that is sent as JSON"}
	cursor    = schema{"type": "string", "description": "cursor of the last answer, to continue the list or the text"}
	count     = schema{"type": "integer", "minimum": 1, "maximum": 100, "x-accepted": "an integer from 1 to 100", "description": "number of entries; 20 by default"}
	forwarded = object("headers of the delivery, by name")
	options   = object(`options of the message by name, without the prefix of the header, such as {"Callback": "https://...", "Retries": "0", "Flow-Control-Key": "k", "Flow-Control-Value": "rate=1", "Label": "a"}`)
	listed    = map[string]any{"count": count, "cursor": cursor}
)

// table is the tools, in the order in which a model reads them.
var table = []*tool{
	{name: "overview", does: "Show the clock, the number of messages and runs by state, the DLQ, stubs and faults. Start here.", kinds: one("controlOverview"), page: " "},
	{
		name: "list", does: "List messages, runs, DLQ entries, log events, API requests, schedules, flow-control keys, runs that wait for events, stubs, faults or snapshots. The newest is first.",
		kinds:  map[string]string{"dlq": "controlDLQ", "faults": "controlFaults", "flow": "controlFlowKeys", "log": "controlLog", "messages": "controlMessages", "requests": "controlRequests", "runs": "controlRuns", "schedules": "controlSchedules", "snapshots": "controlUndos", "stubs": "controlStubs", "waiters": "controlWaiters"},
		leaves: "limit position maxBody", takes: listed, run: (*visit).list,
	},
	{
		name: "get", does: "Show a message with its events, attempts and responses, a run with its steps, a DLQ entry or a schedule.",
		takes: map[string]any{"id": text("id of a message, a run, a DLQ entry or a schedule"), "events": schema{"type": "boolean", "description": "true: also the log of a run and the headers of its steps"}}, needs: []string{"id"}, run: (*visit).get,
	},
	{name: "why", does: "Explain the state of a message, run, DLQ entry or flow-control key: the last failure with its stack trace, what it waits for, which tools help, and what it came from.", kinds: one("controlExplain"), run: (*visit).why},
	{name: "search", does: "Find messages, runs, DLQ entries and events by words in ids, URLs, headers, bodies and errors, and by filters.", kinds: one("controlSearch"), page: "search", takes: listed, leaves: "count cursor", run: (*visit).list},
	{name: "deliveries", does: "List the attempts to deliver messages, or one message, with headers and bodies of requests and responses. The newest is last.", kinds: one("controlDeliveries"), page: "messages", leaves: "limit", takes: listed, run: (*visit).list},
	{name: "body", does: "Read a long body in parts. To continue, set start to the end of the last part.", kinds: one("controlBody")},
	{name: "wait", does: "Wait until deliveries, requests or events match, such as the event DELIVERED of a message. Use advance to let a manual clock move meanwhile.", effect: changes, kinds: one("controlAwait")},
	{name: "settle", does: "Wait until no attempt is ready or in flight.", kinds: one("controlSettle"), page: " "},
	{name: "advance", does: "Move a manual clock by a duration, to a time, or until the next timer, and wait until everything that became due has happened.", effect: changes, kinds: one("controlAdvance"), page: " "},
	{name: "clock", does: "Set the clock to manual, which advance needs, or to real.", effect: changes, kinds: one("controlSetClock"), page: " "},
	{
		name: "publish", does: "Publish a message to a URL or a URL group.", effect: changes, kinds: one("publishMessage"), run: (*visit).publish,
		takes: map[string]any{"body": anything, "method": text("method of the delivery; POST by default"), "delay": text("time before the first attempt, such as 1h"), "retries": schema{"type": "integer", "minimum": 0, "description": "number of attempts after the first one"}, "headers": forwarded, "options": options},
	},
	{name: "trigger", does: "Start a workflow run at the URL of a workflow endpoint.", effect: changes, kinds: one("triggerWorkflow"), run: (*visit).publish, takes: map[string]any{"body": anything, "headers": forwarded, "options": options}},
	{
		name: "notify", does: "Send an event to the workflow runs that wait for it. One named run also gets it if it waits later.", effect: changes, run: (*visit).notify,
		takes: map[string]any{"eventId": text("id of the event"), "data": anything, "workflowRunId": text("id of the run that gets the event; all waiting runs by default")}, needs: []string{"eventId"},
	},
	{name: "deliver_now", does: "Make the next attempt of a waiting message now.", effect: changes, kinds: one("controlHurry")},
	{name: "retry", does: "Publish a message of the DLQ again.", effect: changes, kinds: one("retryDLQMessage")},
	{name: "restart", does: "Restart a failed workflow run from its first step.", effect: changes, takes: failed, needs: []string{"id"}, run: repeats("restartWorkflowRunAlias")},
	{name: "resume", does: "Resume a failed workflow run at the step that failed, with the results of the steps before.", effect: changes, takes: failed, needs: []string{"id"}, run: repeats("resumeWorkflowRunAlias")},
	{name: "cancel", does: "Cancel a message or a workflow run.", effect: destroys, takes: map[string]any{"id": text("id of the message or the run")}, needs: []string{"id"}, run: (*visit).cancel},
	{name: "stub", does: "Answer deliveries to a URL without network access. The answers are used in turn, and the last one repeats. The newest stub that matches applies.", effect: changes, kinds: one("controlAddStub"), page: "stubs", run: (*visit).stub, takes: map[string]any{
		"answers": schema{"type": "array", "minItems": 1, "description": `statuses such as 503, or objects such as {"status": 200, "body": "ok", "delay": "3s"}, also with headers, drop and fail`},
	}},
	{name: "fault", does: "Make API calls or deliveries fail on purpose. Use times and probability to limit how often.", effect: changes, kinds: one("controlSetFaults"), page: "stubs", run: (*visit).fault},
	{name: "clear", does: "Remove all stubs, or all faults.", effect: destroys, kinds: map[string]string{"faults": "controlClearFaults", "stubs": "controlClearStubs"}, page: "stubs"},
	{name: "snapshot", does: "Save the state of the account in the memory of the server. restore goes back to it.", effect: changes, kinds: one("controlKeepUndo"), leaves: "scope id"},
	{name: "restore", does: "Go back to a snapshot. Later changes are lost, and the snapshot is removed.", effect: destroys, kinds: one("controlUndo"), page: " "},
	{name: "reset", does: "Remove everything except the configuration: messages, runs, DLQ, stubs, faults. The clock returns to its start.", effect: destroys, kinds: one("controlReset"), page: " "},
	{name: "docs_search", does: "Search the documentation for sections with all of these words.", takes: map[string]any{"query": text("words that the section must have"), "cursor": cursor, "count": count}, needs: []string{"query"}, run: (*visit).docsSearch},
	{name: "docs_read", does: "Read a page of the documentation, or a section of it.", takes: map[string]any{"page": text("name of the page, such as testing-python"), "section": text("id of the section"), "cursor": cursor}, needs: []string{"page"}, run: (*visit).docsRead},
	{name: "explain_error", does: "Find the section of the documentation that explains an error of the server or of a client.", takes: map[string]any{"text": text("the text of the error")}, needs: []string{"text"}, run: (*visit).explainError},
}

var failed = map[string]any{"id": text("id of the DLQ entry, or of the failed run")}

func one(operation string) map[string]string { return map[string]string{"": operation} }

// tools is the table with the schemas of all arguments. The first session makes it.
var tools = sync.OnceValue(func() []*tool {
	for _, t := range table {
		if t.run == nil {
			t.run = (*visit).operate
		}
		t.describe()
	}
	return table
})

// describe makes the schema of the arguments: those of all operations, and those of the tool.
func (t *tool) describe() {
	takes, needs := maps.Clone(t.takes), t.needs
	if takes == nil {
		takes = map[string]any{}
	}
	for _, id := range slices.Sorted(maps.Values(t.kinds)) {
		o := operations()[id]
		for name, described := range o.takes {
			if t.takes[name] == nil && !slices.Contains(strings.Fields(t.leaves), name) && !strings.HasPrefix(name, strings.ToLower(header.Prefix)) {
				takes[name] = joined(takes[name], described)
			}
		}
		needs = append(slices.Clone(needs), o.needs...)
	}
	if t.kinds[""] == "" && t.kinds != nil {
		takes["kind"] = schema{"type": "string", "enum": slices.Sorted(maps.Keys(t.kinds)), "description": "kind of entries"}
		needs = append(needs, "kind")
	}
	slices.Sort(needs)
	input := schema{"type": "object", "properties": takes, "additionalProperties": false}
	if len(needs) > 0 {
		input["required"] = slices.Compact(needs)
	}
	text, err := json.Marshal(input)
	if err == nil {
		t.checked, err = yamlfile.NewSchema(t.name, text, nil)
	}
	if err != nil {
		panic(err) // a test describes every tool
	}
	no, destructive := false, t.effect == destroys
	t.described = &mcp.Tool{Name: t.name, Description: t.does, InputSchema: json.RawMessage(written(plainSchema(input))), OutputSchema: outputSchema, Annotations: &mcp.ToolAnnotations{
		ReadOnlyHint: t.effect == reads, DestructiveHint: &destructive, OpenWorldHint: &no,
	}}
}

// joined is the schema of an argument of two kinds: its values are those of both.
func joined(one, other any) any {
	values, listed := at(one, "enum").([]any)
	more, _ := at(other, "enum").([]any)
	if !listed {
		return other
	}
	both := maps.Clone(other.(schema))
	both["enum"] = append(slices.DeleteFunc(slices.Clone(values), func(v any) bool { return slices.Contains(more, v) }), more...)
	return both
}

// outputSchema is that of an answer.
var outputSchema = schema{"type": "object", "required": []string{"result"}, "properties": schema{
	"result": schema{"description": "the answer of the control API, or a part of it"}, "page": text("address of the view that shows it"), "warning": text("warning of the server"),
	"cursor": text("argument that continues the list or the text"), "cut": text("what was left out, and how to see it"),
}}

// plainSchema is a schema without the keywords of this project, which strict clients refuse.
func plainSchema(value any) any {
	if object, ok := value.(schema); ok {
		object = maps.Clone(object)
		maps.DeleteFunc(object, func(name string, _ any) bool { return strings.HasPrefix(name, "x-") })
		value = object
	}
	return inside(value, plainSchema)
}

// visit is one call of a tool.
type visit struct {
	*Config

	ctx     context.Context
	tool    *tool
	warning string // of the last call
}

// call checks the arguments and runs the tool. An error is a result that the model reads.
func (v *visit) call(t *tool, text json.RawMessage) *mcp.CallToolResult {
	v.tool = t
	result := &mcp.CallToolResult{}
	given, err := t.arguments(text)
	var said answer
	if err == nil {
		said, err = t.run(v, given)
	}
	said.Warning = v.warning
	shown := said.text()
	if err != nil {
		result.IsError = true
		shown = clip.Line(cut(err.Error(), 2000))
	}
	result.Content = []mcp.Content{&mcp.TextContent{Text: shown}}
	if err == nil {
		result.StructuredContent = json.RawMessage(shown)
	}
	return result
}

// operate calls the operation of the tool.
func (v *visit) operate(a args) (answer, error) {
	id := v.tool.operation(a)
	if operations()[id].takes["maxBody"] != nil && a["maxBody"] == nil {
		a["maxBody"] = singleBody
	}
	return v.shown(id, a, nil, nil)
}

// shown calls an operation as do does, and names the view of the page.
func (v *visit) shown(id string, a args, header http.Header, body []byte) (answer, error) {
	result, err := v.do(id, a, header, body)
	return answer{Result: result, Page: v.page(a, result)}, err
}

// operation is the operation for the argument kind.
func (t *tool) operation(a args) string {
	return cmp.Or(t.kinds[a.text("kind")], t.kinds[""])
}

// arguments decodes and checks arguments. Its error is one line.
func (t *tool) arguments(text json.RawMessage) (args, error) {
	given := args{}
	if len(bytes.TrimSpace(text)) == 0 || string(text) == "null" {
		text = json.RawMessage("{}")
	}
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	file, err := yamlfile.Parse("argument", line.Bytes())
	if err == nil {
		err = file.CheckJSON(t.checked, line.Bytes())
	}
	if err != nil {
		return nil, errors.New(strings.Replace(err.Error(), "argument:1: ", "argument ", 1))
	}
	decoder := json.NewDecoder(&line)
	decoder.UseNumber()
	if err := decoder.Decode(&given); err != nil {
		return nil, fmt.Errorf("arguments: must be an object: %w", err)
	}
	kind := given.text("kind")
	if id := t.kinds[kind]; kind != "" && id != "" {
		known := operations()[id].takes
		for name := range given {
			if known[name] == nil && t.takes[name] == nil && name != "kind" {
				return nil, fmt.Errorf("argument %s: not for kind %s: must be one of %s", name, kind, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			}
		}
	}
	return given, nil
}

// pageKinds are the views of one entry, by the argument or member that has its id.
var pageKinds = []struct{ name, view string }{{"workflowRunId", "runs/"}, {"messageId", "messages/"}, {"dlqId", "dlq/"}}

// page is the view that shows an answer.
func (v *visit) page(a args, result any) string {
	if list, ok := result.([]any); ok && len(list) > 0 {
		result = list[0]
	}
	if pages, _ := at(result, "pages").([]any); len(pages) > 0 {
		view, _ := pages[0].(string)
		return v.link(strings.TrimPrefix(view, "/_understudy/ui/"))
	}
	if v.tool.page != "" {
		return v.link(strings.TrimSpace(v.tool.page))
	}
	for _, from := range []any{schema(a), result} {
		for _, k := range pageKinds {
			if id, _ := at(from, k.name).(string); id != "" {
				return v.link(k.view + url.PathEscape(id))
			}
		}
	}
	return ""
}
