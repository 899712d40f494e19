package check

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
)

// Largest pages ("Limits", interface document).
const (
	maxDeadLetters = 100
	maxEvents      = 1000
)

// EntryFields are the fields of a DLQ entry, but EntryHeaders. Fields that exist only if
// something was set, or if an attempt had a response, are not required.
var EntryFields = []Field{
	{"dlqId", "string", true},
	{"messageId", "string", true},
	{"url", "string", true},
	{"method", "string", true},
	{"maxRetries", "integer", true},
	{"notBefore", "integer", true},
	{"createdAt", "integer", true},
	{"callerIP", "string", true},
	{"workflowRunId", "string", true},
	{"workflowCreatedAt", "integer", true},
	{"workflowUrl", "string", true},
	{"failureCallback", "string", false},
	{"responseStatus", "integer", false},
	{"responseBody", "string", false},
	{"failureCallbackInfo", "object", false},
}

// EntryHeaders are the fields of a DLQ entry that map names to values.
var EntryHeaders = []Field{{"header", "header map", true}, {"responseHeader", "header map", false}}

// EventFields are the fields of a log event.
var EventFields = []Field{
	{"time", "integer", true},
	{"state", "string", true},
	{"workflowRunId", "string", true},
	{"workflowUrl", "string", true},
	{"workflowCreatedAt", "integer", true},
	{"nextDeliveryTime", "integer", false},
}

// StepFields are the fields of the step information of an event.
var StepFields = []Field{
	{"stepName", "string", true},
	{"stepType", "string", true},
	{"callType", "string", true},
	{"messageId", "string", true},
	{"concurrent", "integer", true},
	{"createdAt", "integer", true},
}

// Values that the document lists.
var (
	StepTypes     = []string{"Initial", "Run", "Call", "SleepFor", "SleepUntil", "Wait", "Notify", "Invoke"}
	RunStates     = []string{"RUN_STARTED", "RUN_SUCCESS", "RUN_FAILED", "RUN_CANCELED", "WAITER_ADDED", "INVOKED"}
	MessageStates = []string{"CREATED", "DELIVERED", "ERROR"}
)

// page checks what all lists have in common: an array, its largest size, and a cursor
// that differs from that of the request.
func (l *looking) page(shape, size, paging, array string, most int, names map[string]string) []any {
	if !l.answers200(shape) {
		return nil
	}
	v, ok := l.has(shape, "/"+array, "array")
	if !ok {
		return nil
	}
	items, _ := v.([]any)
	if n, err := strconv.Atoi(l.asked(names, "count")); err == nil && n > 1 { // servers that add states to the log have no room for them on pages of one
		most = min(most, n)
	}
	if len(items) > most {
		l.breaks(size, "/"+array, "the page is too large", fmt.Sprintf("at most %d", most), strconv.Itoa(len(items)))
	}
	if _, there := At(l.Body, "/cursor"); there {
		l.has(shape, "/cursor", "string")
	}
	if cursor, _ := Text(l.Body, "/cursor"); cursor != "" && cursor == l.asked(names, "cursor") {
		l.breaks(paging, "/cursor", "the cursor is the one that was asked for, so the list never ends", "another cursor, or none", cursor)
	}
	return items
}

// asked is the value of a query parameter that the bindings name, "" for none.
func (l *looking) asked(names map[string]string, filter string) string {
	if names[filter] == "" {
		return ""
	}
	return l.Query.Get(names[filter])
}

// filtered checks that an item matches a filter of the request.
func (l *looking) filtered(id string, names map[string]string, filter, item, name string) {
	want := l.asked(names, filter)
	if want == "" || name == "" {
		return
	}
	v, there := At(l.Body, item+"/"+name)
	got := fmt.Sprint(v)
	if n, whole := Integer(v, ""); whole { // in whatever form it is written
		got = strconv.FormatInt(n, 10)
	}
	if there && got != want {
		l.breaks(id, item+"/"+name, unfitting, want, got)
	}
}

// deadLetters checks a page of the dead letter queue.
func deadLetters(l *looking) {
	names := l.bindings.DLQ
	items := l.page("DLQ-001", "DLQ-002", "DLQ-003", "messages", maxDeadLetters, names)
	if cursor, isText := Text(l.Body, "/cursor"); isText && cursor == "" && l.ok() {
		l.breaks("DLQ-003", "/cursor", "the cursor is empty", "none at the end of the list", `""`)
	}
	fields := l.bindings.Fields["dlq"]
	for i := range items {
		item := fmt.Sprintf("/messages/%d", i)
		if _, ok := l.has("DLQ-001", item, "object"); !ok {
			return
		}
		l.fields("DLQ-004", item, EntryFields)
		l.fields("DLQ-006", item, EntryHeaders)
		for _, name := range []string{"notBefore", "createdAt", "workflowCreatedAt"} {
			l.millis("DLQ-007", item+"/"+name)
		}
		if ip, ok := Text(l.Body, item+"/callerIP"); ok && !address(ip) {
			l.breaks("DLQ-004", item+"/callerIP", "the field is not an IP address", "an IP address", ip)
		}
		if callback, ok := Text(l.Body, item+"/failureCallback"); ok && callback == "" {
			l.breaks("DLQ-011", item+"/failureCallback", "the field is empty", "a URL, or no field when none was set", `""`)
		}
		if info, _ := At(l.Body, item+"/failureCallbackInfo"); info != nil {
			l.fields("DLQ-019", item+"/failureCallbackInfo", []Field{{"state", "string", false}, {"responseStatus", "integer", false}, {"responseBody", "string", false}, {"responseHeaders", "header map", false}})
		}
		if name := fields["response_body_base64"]; name != "" {
			plain, _ := At(l.Body, item+"/responseBody")
			encoded, _ := At(l.Body, item+"/"+name)
			if plain != nil && encoded != nil && encoded != "" {
				l.breaks("DLQ-018", item+"/responseBody", "the body is there as text and in base64", "one of the two", "both")
			}
		}
		l.filtered("DLQ-008", names, "run_id", item, "workflowRunId")
		l.filtered("DLQ-008", names, "response_status", item, "responseStatus")
		l.filtered("DLQ-008", names, "label", item, fields["label"])
	}
}

// address reports whether a text is an IP address, with or without a port.
func address(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	_, err := netip.ParseAddrPort(text)
	return err == nil
}

// logs checks a page of the log.
func logs(l *looking) {
	names := l.bindings.Logs
	for i := range l.page("LOG-001", "LOG-002", "LOG-003", "events", maxEvents, names) {
		event := fmt.Sprintf("/events/%d", i)
		if _, ok := l.has("LOG-001", event, "object"); !ok {
			return
		}
		l.fields("LOG-004", event, EventFields)
		for _, name := range []string{"time", "workflowCreatedAt"} {
			l.millis("LOG-022", event+"/"+name)
		}
		state, _ := Text(l.Body, event+"/state")
		l.step(event, state)
		l.onlyOn(event, state)
		l.filtered("LOG-011", names, "run_id", event, "workflowRunId")
		l.filtered("LOG-011", names, "state", event, "state")
		l.filtered("LOG-011", names, "message_id", event, "stepInfo/messageId")
	}
}

// step checks the step information of an event. The document does not say whether
// states that it does not name are of runs or messages, so those may have it.
func (l *looking) step(event, state string) {
	info, there := At(l.Body, event+"/stepInfo")
	switch {
	case slices.Contains(RunStates, state) && info != nil:
		l.breaks("LOG-005", event+"/stepInfo", "step information is on a run-level event", "none on "+state, Shown(info))
		return
	case slices.Contains(MessageStates, state) && !there:
		l.breaks("LOG-005", event+"/stepInfo", "step information is missing on a message-level event", "an object on "+state, "nothing")
		return
	case info == nil:
		return
	}
	l.fields("LOG-004", event+"/stepInfo", StepFields)
	l.millis("LOG-022", event+"/stepInfo/createdAt")
	if kind, ok := Text(l.Body, event+"/stepInfo/stepType"); ok && !slices.Contains(StepTypes, kind) {
		l.breaks("LOG-013", event+"/stepInfo/stepType", "the step type is not in the list", fmt.Sprint(StepTypes), kind)
	}
	if state == "CREATED" {
		l.has("LOG-006", event+"/nextDeliveryTime", "integer")
		l.millis("LOG-006", event+"/nextDeliveryTime")
	}
}

// onlyStates are values that the document describes without naming the field, and
// allows for one state only.
var onlyStates = []struct {
	id, state string
	names     []string // in the bindings of log fields
}{
	{"LOG-025", "RUN_SUCCESS", []string{"response"}},
	{"LOG-026", "ERROR", []string{"error", "response_body", "response_headers", "response_status"}},
	{"LOG-027", "RUN_STARTED", []string{"invoker_created_at", "invoker_run_id", "invoker_url"}},
}

// onlyOn checks that these values are on no event with another state.
func (l *looking) onlyOn(event, state string) {
	if !slices.Contains(RunStates, state) && !slices.Contains(MessageStates, state) {
		return
	}
	for _, only := range onlyStates {
		for _, binding := range only.names {
			name := l.bindings.Fields["log"][binding]
			if name == "" || state == only.state {
				continue
			}
			if v, _ := At(l.Body, event+"/"+name); v != nil && v != "" {
				l.breaks(only.id, event+"/"+name, "the value is on an event of another state", "only on "+only.state, "on "+state)
			}
		}
	}
}
