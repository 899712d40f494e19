package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/understudy-mock/understudy/mockserver/help"
)

// views are the views of the page, by the kind of a list. Others have the same name.
var views = map[string]string{"faults": "stubs", "log": "history", "snapshots": "history", "waiters": "runs"}

// list reads a part of a list. The API continues some lists at a cursor; of the others, the
// cursor is the number of entries that were read.
func (v *visit) list(a args) (answer, error) {
	id := v.tool.operation(a)
	takes := operations()[id].takes
	n, err := strconv.Atoi(a.text("count"))
	if err != nil {
		n = rows
	}
	own := takes["cursor"] != nil
	from := 0
	if !own && a["cursor"] != nil {
		if from, err = strconv.Atoi(a.text("cursor")); err != nil || from < 0 {
			return answer{}, fmt.Errorf("argument cursor: invalid value %q: must be that of the last answer", a.text("cursor"))
		}
	}
	if takes["maxBody"] != nil {
		most, err := strconv.Atoi(cmp.Or(a.text("maxBody"), strconv.Itoa(listBody)))
		if err == nil { // otherwise the API says what is wrong
			a["maxBody"] = min(most, maxAnswer)
		}
	}
	if state := a.text("state"); state != "" {
		a["state"] = strings.ToUpper(state)
	}
	for {
		a["count"] = n
		if takes["limit"] != nil {
			a["limit"] = min(from+n, 10_000)
		}
		result, err := v.do(id, a, nil, nil)
		if err != nil {
			return answer{}, err
		}
		said := answer{Result: result, Page: v.listPage(a)}
		if own {
			said.Cursor, _ = at(result, "cursor").(string)
		} else {
			said.Result, said.Cursor = part(result, from, n, takes["limit"] != nil)
		}
		size := len(written(said))
		if size <= maxAnswer || n == 1 {
			return said, nil
		}
		n = max(1, min(n/2, n*maxAnswer/size))
	}
}

// listPage is the view with a list.
func (v *visit) listPage(a args) string {
	if kind := a.text("kind"); kind != "" {
		return v.link(cmp.Or(views[kind], kind))
	}
	if id := a.text("messageId"); id != "" {
		return v.link("messages/" + url.PathEscape(id))
	}
	return v.link(v.tool.page)
}

// part is n entries of a list, after the first from entries, and the cursor of the next part. A
// journal is read from its end.
func part(result any, from, n int, journal bool) (some any, cursor string) {
	list, replace := listOf(result)
	if list == nil {
		return result, ""
	}
	first, last := min(from, len(list)), min(from+n, len(list))
	more := last < len(list)
	if journal {
		first, last = len(list)-last, len(list)-first
		older, _ := at(result, "older").(json.Number)
		more = first > 0 || older != "" && older != "0"
	}
	if more {
		cursor = strconv.Itoa(from + last - first)
	}
	return replace(list[first:last]), cursor
}

// get reads everything about the entry with an id.
func (v *visit) get(a args) (answer, error) {
	id := a.text("id")
	kinds := []struct{ operation, name, view string }{
		{"controlMessage", "messageId", "messages/"}, {"controlRun", "workflowRunId", "runs/"}, {"getDLQMessage", "dlqId", "dlq/"}, {"getSchedule", "destinationOrId", "schedules"},
	}
	if strings.HasPrefix(id, "wfr_") {
		slices.Reverse(kinds[:2])
	}
	for _, k := range kinds {
		result, err := v.do(k.operation, args{k.name: id, "maxBody": singleBody}, nil, nil)
		if err == nil {
			if strings.HasSuffix(k.view, "/") {
				k.view += url.PathEscape(id)
			}
			most := 0 // as usual
			if run, _ := at(result, "run").(map[string]any); run != nil && a["events"] != true {
				most = maxRun
				delete(run, "steps") // spans has them as well
				delete(result.(map[string]any), "events")
			}
			nameTools(result, id)
			return answer{Result: result, Page: v.link(k.view), most: most}, nil
		}
		if k == kinds[0] && !strings.Contains(err.Error(), "not found") { // such as a server that does not answer
			return answer{}, err
		}
	}
	return answer{}, fmt.Errorf("argument id: no message, run, DLQ entry or schedule has the id %q: list shows the ids", id)
}

// helps are the tools for what can be done about an explained thing, and the argument of each that is
// its subject.
var helps = map[any][2]string{
	"advance": {"advance", "by"}, "hurry": {"deliver_now", "messageId"}, "notify": {"notify", "eventId"}, "open the answer": {"deliveries", "messageId"},
	"restart": {"restart", "id"}, "resume": {"resume", "id"}, "retry": {"retry", "dlqId"},
}

// why explains something.
func (v *visit) why(a args) (answer, error) {
	said, err := v.operate(a)
	nameTools(said.Result, a["id"])
	return said, err
}

// nameTools names the tools that help in place of operations and commands.
func nameTools(explained, id any) {
	x, _ := explained.(map[string]any)
	reasons, ok := x["reasons"].([]any)
	if !ok {
		return
	}
	failure, _ := x["failure"].(map[string]any)
	can, _ := failure["can"].([]any)
	delete(failure, "can")
	var steps []any
	for _, r := range reasons {
		reason, _ := r.(map[string]any)
		steps = append(steps, reason["next"])
		delete(reason, "next")
	}
	next := []any{}
	for _, step := range append(steps, can...) {
		tool, known := helps[at(step, "do")]
		if !known {
			continue
		}
		arguments := map[string]any{tool[1]: at(step, "subject")}
		if tool[0] == "notify" {
			arguments["workflowRunId"] = id
		}
		next = append(next, map[string]any{"tool": tool[0], "arguments": arguments})
	}
	x["next"] = next
}

// publish publishes a message, or starts a run.
func (v *visit) publish(a args) (answer, error) {
	account, err := v.account()
	if err != nil {
		return answer{}, err
	}
	settings, err := v.do("controlAccount", args{"id": account}, nil, nil)
	if err != nil {
		return answer{}, err
	}
	prefix, _ := at(settings, "headerPrefix").(string)
	body, kind := bodyOf(a["body"])
	header := http.Header{"Content-Type": {kind}}
	for name, value := range map[string]any{"Method": a["method"], "Delay": a["delay"], "Retries": a["retries"]} {
		if value != nil {
			header.Set(prefix+name, fmt.Sprint(value))
		}
	}
	for group, before := range map[string]string{"headers": prefix + "Forward-", "options": prefix} {
		members, _ := a[group].(schema)
		for name, value := range members {
			if text := fmt.Sprint(value); httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(text) {
				header.Set(before+name, text)
				continue
			}
			return answer{}, fmt.Errorf("argument %s.%s: invalid value %q: must be one line, with a name without spaces", group, name, fmt.Sprint(value))
		}
	}
	return v.shown(v.tool.operation(a), a, header, body)
}

// bodyOf is the body of a message, and its content type: a text as it is, anything else as JSON.
func bodyOf(value any) (body []byte, kind string) {
	if text, ok := value.(string); ok && !json.Valid([]byte(text)) {
		return []byte(text), "text/plain"
	} else if ok {
		return []byte(text), "application/json"
	}
	if value == nil {
		return []byte{}, "text/plain"
	}
	return []byte(written(value)), "application/json"
}

// notify sends an event.
func (v *visit) notify(a args) (answer, error) {
	body, kind := bodyOf(a["data"])
	operation := "notifyEvent"
	if a["workflowRunId"] != nil {
		operation = "notifyRun"
	}
	return v.shown(operation, a, http.Header{"Content-Type": {kind}}, body)
}

// repeats restarts or resumes a run, which may be named by its own id.
func repeats(operation string) func(*visit, args) (answer, error) {
	return func(v *visit, a args) (answer, error) {
		id := a.text("id")
		if strings.HasPrefix(id, "wfr_") {
			run, err := v.do("controlRun", args{"workflowRunId": id}, nil, nil)
			if err != nil {
				return answer{}, err
			}
			entry, _ := at(run, "row", "dlqId").(string)
			if entry == "" {
				return answer{}, fmt.Errorf("run %s is not in the DLQ (its state is %v): it has not failed, or was restarted or resumed before", id, at(run, "row", "workflowState"))
			}
			id = entry
		}
		result, err := v.do(operation, args{"dlqId": id}, nil, nil)
		return answer{Result: result, Page: v.page(nil, result)}, err
	}
}

// cancel cancels a message or a run.
func (v *visit) cancel(a args) (answer, error) {
	operation, name := "cancelMessage", "messageId"
	if strings.HasPrefix(a.text("id"), "wfr_") {
		operation, name = "endWorkflowRun", "workflowRunId"
	}
	return v.shown(operation, args{name: a["id"]}, nil, nil)
}

// fault adds a fault after the others.
func (v *visit) fault(a args) (answer, error) {
	all, err := v.do("controlFaults", nil, nil, nil)
	if err != nil {
		return answer{}, err
	}
	list, _ := all.([]any)
	return v.shown("controlSetFaults", nil, http.Header{"Content-Type": {"application/json"}}, []byte(written(append(list, maps.Clone(a)))))
}

// docsSearch searches the documentation.
func (v *visit) docsSearch(a args) (answer, error) {
	list := []any{}
	for _, f := range help.Find(a.text("query")) {
		list = append(list, f)
	}
	n, from := rows, 0
	if a["count"] != nil {
		n, _ = strconv.Atoi(a.text("count"))
	}
	if a["cursor"] != nil {
		from, _ = strconv.Atoi(a.text("cursor"))
	}
	some, next := part(list, max(0, from), n, false)
	return answer{Result: some, Page: v.Base + help.Root + "?q=" + url.QueryEscape(a.text("query")), Cursor: next}, nil
}

// maxText is the largest part of a page, in bytes.
const maxText = 16_000

// docsRead reads a part of a page.
func (v *visit) docsRead(a args) (answer, error) {
	name, id := a.text("page"), a.text("section")
	whole, ok := help.Section(name, id)
	if !ok {
		names := []string{}
		for _, p := range help.Pages() {
			names = append(names, p.Name)
		}
		if slices.Contains(names, name) {
			return answer{}, fmt.Errorf("argument section: page %s has no section %q: docs_search returns the ids of sections", name, id)
		}
		return answer{}, fmt.Errorf("argument page: invalid value %q: must be one of %s", name, strings.Join(names, ", "))
	}
	from, err := strconv.Atoi(a.text("cursor"))
	if a["cursor"] != nil && (err != nil || from < 0 || from > len(whole)) {
		return answer{}, fmt.Errorf("argument cursor: invalid value %q: must be that of the last answer", a.text("cursor"))
	}
	to, next := len(whole), ""
	if to-from > maxText {
		to = from + maxText
		for !utf8.RuneStart(whole[to]) {
			to--
		}
		next = strconv.Itoa(to)
	}
	page := v.Base + help.Root + strings.TrimPrefix(name, "README")
	if id != "" {
		page += "#" + id
	}
	return answer{Result: whole[from:to], Page: page, Cursor: next}, nil
}

// stub adds a stub. A plain status is an answer.
func (v *visit) stub(a args) (answer, error) {
	answers, _ := a["answers"].([]any)
	for i := range answers {
		if status, ok := answers[i].(json.Number); ok {
			answers[i] = schema{"status": status}
		}
	}
	return v.operate(a)
}

// explainError finds the section about an error, also after the names of a program and an
// operation: the one for its text, otherwise one that has its words.
func (v *visit) explainError(a args) (answer, error) {
	said := strings.TrimSpace(a.text("text"))
	var response struct{ Error string }
	if json.Unmarshal([]byte(said), &response) == nil && response.Error != "" {
		said = response.Error
	}
	section := ""
	for _, find := range []func(string) string{help.Explains, troubleshooting} {
		for rest, more := said, true; section == "" && more; _, rest, more = strings.Cut(rest, ": ") {
			section = find(rest)
		}
	}
	if section == "" {
		return answer{Result: schema{"found": false, "next": "docs_search with two or three words of the error; troubleshooting lists the common errors"}, Page: v.Base + help.Root + "troubleshooting"}, nil
	}
	name, id, _ := strings.Cut(strings.TrimPrefix(section, help.Root), "#")
	text, _ := help.Section(name, id)
	return answer{Result: text, Page: v.Base + section}, nil
}

// troubleshooting is the path of a section about common errors that has these words; "" for none.
func troubleshooting(words string) string {
	for _, f := range help.Find(words) {
		if f.Page == "troubleshooting" {
			return help.Root + f.Page + "#" + f.Section
		}
	}
	return ""
}
