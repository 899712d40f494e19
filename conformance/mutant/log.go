package mutant

import (
	"net/http"
	"strconv"
	"strings"
)

// events changes every event of the logs.
func events(change func(e map[string]any)) func(func()) Parts {
	return each(listingLog, "events", change)
}

// kept keeps the events that fit.
func kept(fits func(e map[string]any) bool) func(func()) Parts {
	return filter(listingLog, "events", fits)
}

func stepType(e map[string]any) string {
	info, _ := e["stepInfo"].(map[string]any)
	t, _ := info["stepType"].(string)
	return t
}

// inStep changes the step information of events that have one.
func inStep(change func(e, info map[string]any)) func(func()) Parts {
	return events(func(e map[string]any) {
		if info, ok := e["stepInfo"].(map[string]any); ok {
			change(e, info)
		}
	})
}

// log breaks the logs of workflows. Sorted by id.
var log = []Mutant{
	{"M63", "LOG-007", "there is no CREATED for the first step", []string{"LOG-006", "LOG-008", "LOG-011"}, kept(func(e map[string]any) bool { return e["state"] != "CREATED" || stepType(e) != "Initial" })},
	{"M65", "LOG-009", "RUN_FAILED stands in the log at the first failure", []string{"DLQ-005"}, reply(listingLog, failedAtOnce)},
	{"M67", "LOG-005", "stepInfo stands on run-level events", nil, events(func(e map[string]any) {
		if e["stepInfo"] == nil {
			e["stepInfo"] = map[string]any{"stepName": "init", "stepType": "Initial", "callType": "step", "messageId": "msg_1", "concurrent": number(1), "createdAt": e["time"]}
		}
	})},
	{"M69", "LOG-006", "nextDeliveryTime is missing", nil, events(func(e map[string]any) { delete(e, "nextDeliveryTime") })},
	{"M71", "LOG-014", "the first step has the type Run", nil, inStep(func(_, info map[string]any) {
		if info["stepType"] == "Initial" {
			info["stepType"] = "Run"
		}
	})},
	{"M73", "LOG-002", "a page holds 1001 events", nil, reply(listingLog, func(r *http.Request, v map[string]any) {
		if items, _ := v["events"].([]any); len(items) == 1000 && r.URL.Query().Get("count") == "" {
			v["events"] = append(items, items[0])
		}
	})},
	{"M75", "LOG-011", "the state filter works for message states only", nil, func(hit func()) Parts {
		return wrap(listingLog, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if strings.HasPrefix(r.URL.Query().Get("state"), "RUN_") {
				dropQuery(r, func(name string) bool { return name == "state" })
			}
			next.ServeHTTP(w, r)
		})
	}},
	{"M99", "LOG-008", "RUN_SUCCESS is never written", []string{"LOG-009", "LOG-013", "LOG-014", "LOG-015", "LOG-019", "LOG-020", "LOG-028"}, kept(func(e map[string]any) bool { return e["state"] != "RUN_SUCCESS" })},
	{"M101", "LOG-012", "the start date is exclusive", nil, shiftDate(listingLog, "fromDate", 1)},
	{"M115", "LOG-017", "events of one run have different creation times", []string{"LOG-011"}, events(func(e map[string]any) {
		if e["state"] == "DELIVERED" {
			e["workflowCreatedAt"] = number(whole(e, "workflowCreatedAt") + 1)
		}
	})},
	{"M270", "LOG-001", "the list stands under logs", []string{"DLQ-010", "LOG-005", "LOG-006", "LOG-007", "LOG-008", "LOG-009", "LOG-010", "LOG-013", "LOG-014", "LOG-015", "LOG-019", "LOG-020", "LOG-021", "LOG-028", "RST-005"}, renamed(listingLog, "events", "logs")},
	{"M271", "LOG-002", "a larger page is given to who asks", nil, unbounded(listingLog, "events", 1000)},
	{"M272", "LOG-003", "the cursor never ends", []string{"LOG-004", "LOG-005", "LOG-006", "LOG-011", "LOG-012", "LOG-021", "LOG-022", "LOG-023"}, endless(listingLog)},
	{"M273", "LOG-003", "pages overlap by one event", nil, overlapping(listingLog, "events")},
	{"M274", "LOG-004", "time is a text", []string{"LOG-012", "LOG-022"}, events(func(e map[string]any) { e["time"] = strconv.FormatInt(whole(e, "time"), 10) })},
	{"M275", "LOG-004", "messageId is missing in stepInfo", []string{"LOG-011"}, inStep(func(_, info map[string]any) { delete(info, "messageId") })},
	{"M276", "LOG-005", "stepInfo is missing on message-level events", []string{"LOG-003", "LOG-008", "LOG-011", "LOG-012"}, events(func(e map[string]any) {
		if e["state"] == "DELIVERED" {
			delete(e, "stepInfo")
		}
	})},
	{"M277", "LOG-007", "RUN_STARTED is never written", []string{"LOG-024", "RST-005"}, kept(func(e map[string]any) bool { return e["state"] != "RUN_STARTED" })},
	{"M278", "LOG-008", "DELIVERED is never written", []string{"LOG-011"}, kept(func(e map[string]any) bool { return e["state"] != "DELIVERED" })},
	{"M279", "LOG-009", "RUN_FAILED is never written", []string{"LOG-010", "DLQ-010"}, kept(func(e map[string]any) bool { return e["state"] != "RUN_FAILED" })},
	{"M280", "LOG-010", "ERROR is never written", nil, kept(func(e map[string]any) bool { return e["state"] != "ERROR" })},
	{"M281", "LOG-011", "the filter by run is ignored", nil, request(listingLog, func(r *http.Request) { dropQuery(r, func(name string) bool { return name == "workflowRunId" }) })},
	{"M282", "LOG-011", "the filter by address is ignored", nil, request(listingLog, func(r *http.Request) { dropQuery(r, func(name string) bool { return name == "workflowUrl" }) })},
	{"M283", "LOG-011", "the filter by message is ignored", nil, request(listingLog, func(r *http.Request) { dropQuery(r, func(name string) bool { return name == "messageId" }) })},
	{"M284", "LOG-012", "the end date is exclusive", nil, shiftDate(listingLog, "toDate", -1)},
	{"M285", "LOG-013", "a sleep until a time has the type SleepFor", nil, inStep(func(_, info map[string]any) {
		if info["stepType"] == "SleepUntil" {
			info["stepType"] = "SleepFor"
		}
	})},
	{"M286", "LOG-013", "step types are written in lower case", []string{"LOG-014", "LOG-005", "LOG-006"}, inStep(func(_, info map[string]any) {
		t, _ := info["stepType"].(string)
		info["stepType"] = strings.ToLower(t)
	})},
	{"M287", "LOG-015", "the name of a step is its number", nil, inStep(func(_, info map[string]any) {
		if info["stepId"] != nil {
			info["stepName"] = "step"
		}
	})},
	{"M288", "LOG-016", "a run that ended has two ends", []string{"LOG-003", "LOG-011", "LOG-012", "LOG-021"}, reply(listingLog, func(_ *http.Request, v map[string]any) {
		items, _ := v["events"].([]any)
		for _, item := range items {
			e, _ := item.(map[string]any)
			if st, _ := e["state"].(string); st == "RUN_SUCCESS" || st == "RUN_CANCELED" {
				v["events"] = append(items, item)
				return
			}
		}
	})},
	{"M289", "LOG-019", "WAITER_ADDED is never written", nil, kept(func(e map[string]any) bool { return e["state"] != "WAITER_ADDED" })},
	{"M290", "LOG-020", "INVOKED is never written", nil, kept(func(e map[string]any) bool { return e["state"] != "INVOKED" })},
	{"M291", "LOG-021", "RUN_CANCELED is never written", nil, kept(func(e map[string]any) bool { return e["state"] != "RUN_CANCELED" })},
	{"M292", "LOG-022", "times are in seconds", []string{"LOG-012"}, events(func(e map[string]any) { e["time"] = number(whole(e, "time") / 1000) })},
	{"M293", "LOG-023", "workflowUrl is the address of the service", []string{"LOG-011"}, events(func(e map[string]any) { e["workflowUrl"] = "https://service.test/" })},
	{"M294", "LOG-024", "a run that failed is RUN_ERRORED", []string{"DLQ-010", "LOG-005", "LOG-009", "LOG-010"}, events(func(e map[string]any) {
		if e["state"] == "RUN_FAILED" {
			e["state"] = "RUN_ERRORED"
		}
	})},
	{"M295", "LOG-025", "the response of the workflow is not recorded", nil, events(func(e map[string]any) { delete(e, "workflowRunResponse") })},
	{"M296", "LOG-026", "error details stand on every event", nil, events(func(e map[string]any) {
		if e["error"] == nil {
			e["error"] = ""
		}
	})},
	{"M297", "LOG-027", "the invoker stands on every RUN_STARTED", nil, events(func(e map[string]any) {
		if e["state"] == "RUN_STARTED" && e["invokerWorkflowRunId"] == nil {
			e["invokerWorkflowRunId"] = ""
		}
	})},
	{"M298", "LOG-028", "concurrent is always 0", nil, inStep(func(_, info map[string]any) { info["concurrent"] = number(0) })},
	{"M299", "LOG-029", "a sleep is recorded in seconds", nil, inStep(func(_, info map[string]any) {
		if info["sleepFor"] != nil {
			info["sleepFor"] = number(whole(info, "sleepFor") / 1000)
		}
	})},
	{"M300", "LOG-030", "every wait has timed out", nil, inStep(func(_, info map[string]any) {
		if info["stepType"] == "Wait" {
			info["waitTimeout"] = true
		}
	})},
	{"M301", "LOG-018", "all steps have the id 1", nil, inStep(func(_, info map[string]any) {
		if info["stepId"] != nil {
			info["stepId"] = number(1)
		}
	})},
	{"M302", "LOG-003", "an event that comes while pages are read moves the others", nil, byOffset(listingLog, "events")},
}

// failedAtOnce adds RUN_FAILED where there is an ERROR and no end.
func failedAtOnce(_ *http.Request, v map[string]any) {
	items, _ := v["events"].([]any)
	ended := map[any]bool{}
	for _, item := range items {
		e, _ := item.(map[string]any)
		if st, _ := e["state"].(string); strings.HasPrefix(st, "RUN_") && st != "RUN_STARTED" {
			ended[e["workflowRunId"]] = true
		}
	}
	for _, item := range items {
		e, _ := item.(map[string]any)
		if e["state"] == "ERROR" && !ended[e["workflowRunId"]] {
			ended[e["workflowRunId"]] = true
			items = append([]any{map[string]any{
				"time": e["time"], "state": "RUN_FAILED", "workflowRunId": e["workflowRunId"], "workflowUrl": e["workflowUrl"], "workflowCreatedAt": e["workflowCreatedAt"],
			}}, items...)
		}
	}
	v["events"] = items
}

// byOffset pages by position, so that what is new shifts what is old.
func byOffset(m matching, list string) func(func()) Parts {
	return func(hit func()) Parts {
		return wrap(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			q := r.URL.Query()
			count, _ := strconv.Atoi(q.Get("count"))
			if count == 0 {
				next.ServeHTTP(w, r)
				return
			}
			offset, _ := strconv.Atoi(q.Get("cursor"))
			setQuery(r, func(q map[string][]string) { delete(q, "count"); delete(q, "cursor") })
			a := call(next, r)
			v, _ := decoded(a.body).(map[string]any)
			items, _ := v[list].([]any)
			if a.status != http.StatusOK {
				a.write(w)
				return
			}
			end := min(offset+count, len(items))
			v[list] = items[min(offset, end):end]
			delete(v, "cursor")
			if end < len(items) {
				v["cursor"] = strconv.Itoa(end)
			}
			a.body = encoded(v)
			a.write(w)
		})
	}
}
