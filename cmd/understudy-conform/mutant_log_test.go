package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// changeEvents changes every event of the logs.
func changeEvents(change func(e map[string]any)) func(func()) mutantParts {
	return changeItems(listingLog, "events", change)
}

// keepEvents keeps only the events that match.
func keepEvents(fits func(e map[string]any) bool) func(func()) mutantParts {
	return filterItems(listingLog, "events", fits)
}

func stepType(e map[string]any) string {
	info, _ := e["stepInfo"].(map[string]any)
	t, _ := info["stepType"].(string)
	return t
}

// inStep changes the step information of events that have one.
func inStep(change func(e, info map[string]any)) func(func()) mutantParts {
	return changeEvents(func(e map[string]any) {
		if info, ok := e["stepInfo"].(map[string]any); ok {
			change(e, info)
		}
	})
}

// logMutants break the logs of workflows. Sorted by id.
var logMutants = []mutant{
	{ID: "LOG-001.1", Text: "the list is under logs", Build: renameField(listingLog, "events", "logs")},
	{ID: "LOG-001.2", Text: "a list without events is null", Build: emptyIs(listingLog, "events", nil)},
	{ID: "LOG-001.3", Text: "the cursor is a number", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) {
		if v["cursor"] != nil {
			v["cursor"] = jsonNumber(1)
		}
	})},
	{ID: "LOG-001.4", Text: "the logs answer 206", Build: changeStatus(listingLog, http.StatusPartialContent)},
	{ID: "LOG-002.1", Text: "a page holds 1001 events", Build: changeReply(listingLog, func(r *http.Request, v map[string]any) {
		if items, _ := v["events"].([]any); len(items) == 1000 && r.URL.Query().Get("count") == "" {
			v["events"] = append(items, items[0])
		}
	})},
	{ID: "LOG-002.2", Text: "a larger page is given to who asks", Build: joinPages(listingLog, "events", 1000)},
	{ID: "LOG-002.3", Text: "a page holds 100 events by default", Build: smallPage(listingLog, "100")},
	{ID: "LOG-003.1", Text: "the cursor never ends", Build: endlessCursor(listingLog)},
	{ID: "LOG-003.2", Text: "pages overlap by one event", Build: overlapPages(listingLog, "events")},
	{ID: "LOG-003.3", Text: "an event that comes while pages are read moves the others", Build: byOffset(listingLog, "events")},
	{ID: "LOG-003.4", Text: "the second page forgets the filters", Build: forgetQuery(listingLog)},
	{ID: "LOG-004.1", Text: "time is a text", Build: changeEvents(func(e map[string]any) { e["time"] = strconv.FormatInt(integerOf(e, "time"), 10) })},
	{ID: "LOG-004.2", Text: "messageId is missing in stepInfo", Build: inStep(func(_, info map[string]any) { delete(info, "messageId") })},
	{ID: "LOG-004.3", Text: "workflowUrl is missing on RUN_FAILED", Build: changeEvents(func(e map[string]any) {
		if e["state"] == "RUN_FAILED" {
			delete(e, "workflowUrl")
		}
	})},
	{ID: "LOG-004.4", Text: "callType is missing on ERROR", Build: inStep(func(e, info map[string]any) {
		if e["state"] == "ERROR" {
			delete(info, "callType")
		}
	})},
	{ID: "LOG-004.5", Text: "createdAt of a step is a text", Build: inStep(func(_, info map[string]any) { info["createdAt"] = fmt.Sprint(info["createdAt"]) })},
	{ID: "LOG-004.6", Text: "workflowCreatedAt is missing on WAITER_ADDED", Build: changeEvents(func(e map[string]any) {
		if e["state"] == "WAITER_ADDED" {
			delete(e, "workflowCreatedAt")
		}
	})},
	{ID: "LOG-005.1", Text: "stepInfo is on run-level events", Build: changeEvents(func(e map[string]any) {
		if e["stepInfo"] == nil {
			e["stepInfo"] = map[string]any{"stepName": "init", "stepType": "Initial", "callType": "step", "messageId": "msg_1", "concurrent": jsonNumber(1), "createdAt": e["time"]}
		}
	})},
	{ID: "LOG-005.2", Text: "stepInfo is missing on message-level events", Build: changeEvents(func(e map[string]any) {
		if e["state"] == "DELIVERED" {
			delete(e, "stepInfo")
		}
	})},
	{ID: "LOG-005.3", Text: "stepInfo is an empty object on run-level events", Build: changeEvents(func(e map[string]any) { setDefault(e, "stepInfo", map[string]any{}) })},
	{ID: "LOG-005.4", Text: "stepInfo is missing on ERROR", Build: changeEvents(func(e map[string]any) {
		if e["state"] == "ERROR" {
			delete(e, "stepInfo")
		}
	})},
	{ID: "LOG-006.1", Text: "nextDeliveryTime is missing", Build: changeEvents(func(e map[string]any) { delete(e, "nextDeliveryTime") })},
	{ID: "LOG-006.2", Text: "nextDeliveryTime is in seconds", Build: changeEvents(func(e map[string]any) {
		if e["nextDeliveryTime"] != nil {
			e["nextDeliveryTime"] = jsonNumber(integerOf(e, "nextDeliveryTime") / 1000)
		}
	})},
	{ID: "LOG-006.3", Text: "nextDeliveryTime is on the first message only", Build: changeEvents(func(e map[string]any) {
		if stepType(e) != "Initial" {
			delete(e, "nextDeliveryTime")
		}
	})},
	{ID: "LOG-006.4", Text: "nextDeliveryTime is missing for a delayed message", Build: changeEvents(func(e map[string]any) {
		if stepType(e) == "SleepFor" {
			delete(e, "nextDeliveryTime")
		}
	})},
	{ID: "LOG-007.1", Text: "there is no CREATED for the first step", Build: keepEvents(func(e map[string]any) bool { return e["state"] != "CREATED" || stepType(e) != "Initial" })},
	{ID: "LOG-007.2", Text: "RUN_STARTED is never written", Build: keepEvents(func(e map[string]any) bool { return e["state"] != "RUN_STARTED" })},
	{ID: "LOG-007.3", Text: "RUN_STARTED is written when the run has ended", Build: changeReply(listingLog, startedAtEnd)},
	{ID: "LOG-007.4", Text: "RUN_STARTED is missing for a run that fails", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) { withoutOf(v, "RUN_STARTED", "RUN_FAILED") })},
	{ID: "LOG-008.1", Text: "RUN_SUCCESS is never written", Build: keepEvents(func(e map[string]any) bool { return e["state"] != "RUN_SUCCESS" })},
	{ID: "LOG-008.2", Text: "DELIVERED is never written", Build: keepEvents(func(e map[string]any) bool { return e["state"] != "DELIVERED" })},
	{ID: "LOG-008.3", Text: "RUN_SUCCESS is written for a run that failed as well", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) { repeatAs(v, "RUN_FAILED", "RUN_SUCCESS") })},
	{ID: "LOG-008.4", Text: "DELIVERED is written for the first message only", Build: keepEvents(func(e map[string]any) bool { return e["state"] != "DELIVERED" || stepType(e) == "Initial" })},
	{ID: "LOG-008.5", Text: "RUN_SUCCESS is written when the run begins", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) { repeatAs(v, "RUN_STARTED", "RUN_SUCCESS") })},
	{ID: "LOG-009.1", Text: "RUN_FAILED is in the log at the first failure", Build: changeReply(listingLog, failedAtOnce)},
	{ID: "LOG-009.2", Text: "RUN_FAILED is never written", Build: keepEvents(func(e map[string]any) bool { return e["state"] != "RUN_FAILED" })},
	{ID: "LOG-009.3", Text: "RUN_FAILED is written for a run that a retry saved", Build: changeReply(listingLog, failedThoughSaved)},
	{ID: "LOG-009.4", Text: "RUN_FAILED is missing when there were retries", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) {
		if countEvents(v, "ERROR") > 1 || countEvents(v, "RETRY") > 0 {
			withoutOf(v, "RUN_FAILED", "RUN_FAILED")
		}
	})},
	{ID: "LOG-010.1", Text: "ERROR is never written", Build: keepEvents(func(e map[string]any) bool { return e["state"] != "ERROR" })},
	{ID: "LOG-010.2", Text: "ERROR is missing for an answer of 4xx", Build: keepEvents(func(e map[string]any) bool { return e["state"] != "ERROR" || integerOf(e, "responseStatus")/100 != 4 })},
	{ID: "LOG-010.3", Text: "ERROR is written as FAILED", Build: changeEvents(func(e map[string]any) {
		if e["state"] == "ERROR" {
			e["state"] = "FAILED"
		}
	})},
	{ID: "LOG-011.1", Text: "the state filter works for message states only", Build: func(hit func()) mutantParts {
		return wrapMatching(listingLog, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if strings.HasPrefix(r.URL.Query().Get("state"), "RUN_") {
				dropQuery(r, func(name string) bool { return name == "state" })
			}
			next.ServeHTTP(w, r)
		})
	}},
	{ID: "LOG-011.2", Text: "the filter by run is ignored", Build: changeRequest(listingLog, func(r *http.Request) { dropQuery(r, func(name string) bool { return name == "workflowRunId" }) })},
	{ID: "LOG-011.3", Text: "the filter by address is ignored", Build: changeRequest(listingLog, func(r *http.Request) { dropQuery(r, func(name string) bool { return name == "workflowUrl" }) })},
	{ID: "LOG-011.4", Text: "the filter by message is ignored", Build: changeRequest(listingLog, func(r *http.Request) { dropQuery(r, func(name string) bool { return name == "messageId" }) })},
	{ID: "LOG-011.5", Text: "the filter by creation is ignored", Build: ignoreFilter(listingLog, "workflowCreatedAt")},
	{ID: "LOG-011.6", Text: "the filter by run takes what begins with it", Build: filteredByPrefix(listingLog, "events", "workflowRunId", "workflowRunId")},
	{ID: "LOG-011.7", Text: "the filter by address takes what begins with it", Build: filteredByPrefix(listingLog, "events", "workflowUrl", "workflowUrl")},
	{ID: "LOG-011.8", Text: "a filter that nothing fits is dropped", Build: unfilteredWhenEmpty(listingLog, "events", "workflowRunId", "workflowUrl", "messageId", "workflowCreatedAt", "state")},
	{ID: "LOG-011.9", Text: "the state filter does not know ERROR", Build: withoutValue(listingLog, "state", "ERROR")},
	{ID: "LOG-011.10", Text: "the state filter does not know RUN_FAILED", Build: withoutValue(listingLog, "state", "RUN_FAILED")},
	{ID: "LOG-011.11", Text: "of two filters the one by run is dropped", Build: oneFilterOf(listingLog, "workflowRunId", "state")},
	{ID: "LOG-012.1", Text: "the start date is exclusive", Build: shiftDate(listingLog, "fromDate", 1)},
	{ID: "LOG-012.2", Text: "the end date is exclusive", Build: shiftDate(listingLog, "toDate", -1)},
	{ID: "LOG-012.3", Text: "the end date is ignored", Build: ignoreFilter(listingLog, "toDate")},
	{ID: "LOG-012.4", Text: "the start date is ignored", Build: ignoreFilter(listingLog, "fromDate")},
	{ID: "LOG-012.5", Text: "the end date holds for all of its second", Build: changeDate(listingLog, "toDate", func(ms int64) int64 { return ms/1000*1000 + 999 })},
	{ID: "LOG-012.6", Text: "the end date is cut to whole seconds", Build: cutDate(listingLog, "toDate")},
	{ID: "LOG-012.7", Text: "the start date is cut to whole seconds", Build: cutDate(listingLog, "fromDate")},
	{ID: "LOG-013.1", Text: "a sleep until a time has the type SleepFor", Build: inStep(func(_, info map[string]any) {
		if info["stepType"] == "SleepUntil" {
			info["stepType"] = "SleepFor"
		}
	})},
	{ID: "LOG-013.2", Text: "step types are written in lower case", Build: inStep(func(_, info map[string]any) {
		t, _ := info["stepType"].(string)
		info["stepType"] = strings.ToLower(t)
	})},
	{ID: "LOG-013.3", Text: "a notification has the type Run", Build: inStep(func(_, info map[string]any) {
		if info["stepType"] == "Notify" {
			info["stepType"] = "Run"
		}
	})},
	{ID: "LOG-013.4", Text: "every step has the type Run but the first", Build: inStep(func(_, info map[string]any) {
		if info["stepType"] != "Initial" {
			info["stepType"] = "Run"
		}
	})},
	{ID: "LOG-014.1", Text: "the first step has the type Run", Build: inStep(func(_, info map[string]any) {
		if info["stepType"] == "Initial" {
			info["stepType"] = "Run"
		}
	})},
	{ID: "LOG-014.2", Text: "the first step of a run that fails has the type Run", Build: inStep(func(e, info map[string]any) {
		if info["stepType"] == "Initial" && e["state"] != "DELIVERED" && e["error"] != nil {
			info["stepType"] = "Run"
		}
	})},
	{ID: "LOG-014.3", Text: "every step has the type Initial", Build: inStep(func(_, info map[string]any) { info["stepType"] = "Initial" })},
	{ID: "LOG-015.1", Text: "the name of a step is its number", Build: inStep(func(_, info map[string]any) {
		if info["stepId"] != nil {
			info["stepName"] = "step"
		}
	})},
	{ID: "LOG-015.2", Text: "the name of a step is written in lower case", Build: inStep(func(_, info map[string]any) { info["stepName"] = strings.ToLower(textOf(info["stepName"])) })},
	{ID: "LOG-015.3", Text: "the name of a step ends at its first space", Build: inStep(func(_, info map[string]any) { info["stepName"], _, _ = strings.Cut(textOf(info["stepName"]), " ") })},
	{ID: "LOG-016.1", Text: "a run that ended has two ends", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) {
		items, _ := v["events"].([]any)
		for _, item := range items {
			e, _ := item.(map[string]any)
			if st, _ := e["state"].(string); st == "RUN_SUCCESS" || st == "RUN_CANCELED" {
				v["events"] = append(items, item)
				return
			}
		}
	})},
	{ID: "LOG-016.2", Text: "a run has two starts", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) { repeatAs(v, "RUN_STARTED", "RUN_STARTED") })},
	{ID: "LOG-017.1", Text: "events of one run have different creation times", Build: changeEvents(func(e map[string]any) {
		if e["state"] == "DELIVERED" {
			e["workflowCreatedAt"] = jsonNumber(integerOf(e, "workflowCreatedAt") + 1)
		}
	})},
	{ID: "LOG-017.2", Text: "the address of a run is another on its end", Build: changeEvents(func(e map[string]any) {
		if e["state"] == "RUN_SUCCESS" {
			e["workflowUrl"] = textOf(e["workflowUrl"]) + "/"
		}
	})},
	{ID: "LOG-018.1", Text: "all steps have the id 1", Build: inStep(func(_, info map[string]any) {
		if info["stepId"] != nil {
			info["stepId"] = jsonNumber(1)
		}
	})},
	{ID: "LOG-018.2", Text: "the ids of the steps fall", Build: inStep(func(_, info map[string]any) {
		if info["stepId"] != nil {
			info["stepId"] = jsonNumber(100 - integerOf(info, "stepId"))
		}
	})},
	{ID: "LOG-018.3", Text: "the ids of the steps are missing", Build: inStep(func(_, info map[string]any) { delete(info, "stepId") })},
	{ID: "LOG-019.1", Text: "WAITER_ADDED is never written", Build: keepEvents(func(e map[string]any) bool { return e["state"] != "WAITER_ADDED" })},
	{ID: "LOG-019.2", Text: "WAITER_ADDED is written once the wait is over", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) {
		if countEvents(v, "RUN_SUCCESS") == 0 {
			withoutOf(v, "WAITER_ADDED", "WAITER_ADDED")
		}
	})},
	{ID: "LOG-019.3", Text: "WAITER_ADDED is written for every run", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) { repeatAs(v, "RUN_STARTED", "WAITER_ADDED") })},
	{ID: "LOG-020.1", Text: "INVOKED is never written", Build: keepEvents(func(e map[string]any) bool { return e["state"] != "INVOKED" })},
	{ID: "LOG-020.2", Text: "INVOKED is written for the run that was invoked", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) { movedToInvoked(v) })},
	{ID: "LOG-020.3", Text: "INVOKED is written for every run", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) { repeatAs(v, "RUN_STARTED", "INVOKED") })},
	{ID: "LOG-021.1", Text: "RUN_CANCELED is never written", Build: keepEvents(func(e map[string]any) bool { return e["state"] != "RUN_CANCELED" })},
	{ID: "LOG-021.2", Text: "a run that is cancelled is RUN_FAILED", Build: changeEvents(func(e map[string]any) {
		if e["state"] == "RUN_CANCELED" {
			e["state"] = "RUN_FAILED"
		}
	})},
	{ID: "LOG-021.3", Text: "a run that is cancelled is RUN_SUCCESS as well", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) { repeatAs(v, "RUN_CANCELED", "RUN_SUCCESS") })},
	{ID: "LOG-022.1", Text: "times are in seconds", Build: changeEvents(func(e map[string]any) { e["time"] = jsonNumber(integerOf(e, "time") / 1000) })},
	{ID: "LOG-022.2", Text: "createdAt of a step is in seconds", Build: inStep(func(_, info map[string]any) { info["createdAt"] = jsonNumber(integerOf(info, "createdAt") / 1000) })},
	{ID: "LOG-022.3", Text: "workflowCreatedAt is in microseconds", Build: changeEvents(func(e map[string]any) { e["workflowCreatedAt"] = jsonNumber(integerOf(e, "workflowCreatedAt") * 1000) })},
	{ID: "LOG-022.4", Text: "the end of a run that failed names another start", Build: changeEvents(func(e map[string]any) {
		if e["state"] == "RUN_FAILED" {
			e["workflowCreatedAt"] = e["time"]
		}
	})},
	{ID: "LOG-023.1", Text: "workflowUrl is the address of the service", Build: changeEvents(func(e map[string]any) { e["workflowUrl"] = "https://service.test/" })},
	{ID: "LOG-023.2", Text: "all runs have the address of the first one", Build: firstAddress},
	{ID: "LOG-023.3", Text: "the last segment of the address is cut off", Build: changeEvents(func(e map[string]any) {
		url := textOf(e["workflowUrl"])
		e["workflowUrl"] = url[:max(0, strings.LastIndex(url, "/"))]
	})},
	{ID: "LOG-024.1", Text: "a run that failed is RUN_ERRORED", Build: changeEvents(func(e map[string]any) {
		if e["state"] == "RUN_FAILED" {
			e["state"] = "RUN_ERRORED"
		}
	})},
	{ID: "LOG-025.1", Text: "the response of the workflow is not recorded", Build: changeEvents(func(e map[string]any) { delete(e, "workflowRunResponse") })},
	{ID: "LOG-025.2", Text: "the response is on every event", Build: changeEvents(func(e map[string]any) { setDefault(e, "workflowRunResponse", "") })},
	{ID: "LOG-025.3", Text: "another response of the workflow is recorded", Build: changeEvents(func(e map[string]any) {
		if e["state"] == "RUN_SUCCESS" {
			e["workflowRunResponse"] = "done"
		}
	})},
	{ID: "LOG-026.1", Text: "error details are on every event", Build: changeEvents(func(e map[string]any) {
		if e["error"] == nil {
			e["error"] = ""
		}
	})},
	{ID: "LOG-026.2", Text: "the body of the answer is missing on ERROR", Build: changeEvents(func(e map[string]any) { delete(e, "responseBody") })},
	{ID: "LOG-026.3", Text: "the status of the answer is missing on ERROR", Build: changeEvents(func(e map[string]any) { delete(e, "responseStatus") })},
	{ID: "LOG-027.1", Text: "the invoker is on every RUN_STARTED", Build: changeEvents(func(e map[string]any) {
		if e["state"] == "RUN_STARTED" && e["invokerWorkflowRunId"] == nil {
			e["invokerWorkflowRunId"] = ""
		}
	})},
	{ID: "LOG-027.2", Text: "the invoker is not recorded", Build: changeEvents(func(e map[string]any) { delete(e, "invokerWorkflowRunId") })},
	{ID: "LOG-027.3", Text: "the invoker of a run is the run itself", Build: changeEvents(func(e map[string]any) {
		if e["invokerWorkflowRunId"] != nil {
			e["invokerWorkflowRunId"] = e["workflowRunId"]
		}
	})},
	{ID: "LOG-027.4", Text: "the start of the invoker is that of the invoked run", Build: changeEvents(func(e map[string]any) {
		if e["invokerWorkflowCreatedAt"] != nil {
			e["invokerWorkflowCreatedAt"] = e["workflowCreatedAt"]
		}
	})},
	{ID: "LOG-028.1", Text: "concurrent is always 0", Build: inStep(func(_, info map[string]any) { info["concurrent"] = jsonNumber(0) })},
	{ID: "LOG-028.2", Text: "concurrent is always 1", Build: inStep(func(_, info map[string]any) { info["concurrent"] = jsonNumber(1) })},
	{ID: "LOG-028.3", Text: "concurrent is always 2", Build: inStep(func(_, info map[string]any) { info["concurrent"] = jsonNumber(2) })},
	{ID: "LOG-029.1", Text: "a sleep is recorded in seconds", Build: inStep(func(_, info map[string]any) {
		if info["sleepFor"] != nil {
			info["sleepFor"] = jsonNumber(integerOf(info, "sleepFor") / 1000)
		}
	})},
	{ID: "LOG-029.2", Text: "the output of a step is missing", Build: inStep(func(_, info map[string]any) { delete(info, "out") })},
	{ID: "LOG-029.3", Text: "every call is recorded with the method GET", Build: inStep(func(_, info map[string]any) {
		if info["callMethod"] != nil {
			info["callMethod"] = http.MethodGet
		}
	})},
	{ID: "LOG-029.4", Text: "a wait for hours ends after as many minutes", Build: inStep(func(_, info map[string]any) {
		if text := textOf(info["waitTimeoutDuration"]); strings.HasSuffix(text, "h") {
			info["waitTimeoutDeadline"] = jsonNumber(integerOf(info, "waitTimeoutDeadline") - 59*60*1000)
		}
	})},
	{ID: "LOG-030.1", Text: "every wait has timed out", Build: inStep(func(_, info map[string]any) {
		if info["stepType"] == "Wait" {
			info["waitTimeout"] = true
		}
	})},
	{ID: "LOG-030.2", Text: "no wait has timed out", Build: inStep(func(_, info map[string]any) {
		if info["stepType"] == "Wait" {
			info["waitTimeout"] = false
		}
	})},
	{ID: "LOG-030.3", Text: "whether a wait has timed out is a text", Build: inStep(func(_, info map[string]any) {
		if info["waitTimeout"] != nil {
			info["waitTimeout"] = fmt.Sprint(info["waitTimeout"])
		}
	})},
}

// failedAtOnce adds RUN_FAILED to runs with an ERROR that have not ended.
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

// byOffset pages by position, so that new items shift the old ones.
func byOffset(m matching, list string) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return wrapMatching(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			q := r.URL.Query()
			count, _ := strconv.Atoi(q.Get("count"))
			if count == 0 {
				next.ServeHTTP(w, r)
				return
			}
			offset, _ := strconv.Atoi(q.Get("cursor"))
			setQuery(r, func(q map[string][]string) { delete(q, "count"); delete(q, "cursor") })
			a := serverAnswer(next, r)
			v, _ := decodeJSON(a.body).(map[string]any)
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
			a.body = encodeJSON(v)
			a.write(w)
		})
	}
}
