package main

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/route"
)

// combinationMutants break one cell of a table: one value on one way of a message, in one
// generation of a run, on one page of a list. Sorted by id.
var combinationMutants = []mutant{
	{ID: "AUT-006.1", Text: "the credential is in a header of the retry", Build: deliveryDefect("token of publisher", "retried")},
	{ID: "AUT-006.2", Text: "the credential is in a header of what a key held", Build: deliveryDefect("token of publisher", "held")},
	{ID: "DLQ-002.4", Text: "a smaller page is not given to who asks", Build: ignoreFilter(listingDLQ, "count")},
	{ID: "DLQ-002.5", Text: "the first page has one entry more than was asked for, and the others have fewer", Build: unevenPages(listingDLQ)},
	{ID: "DLQ-005.5", Text: "an invoked run that fails never enters the queue", Build: keptEntries(func(e map[string]any) bool { return !strings.HasSuffix(textOf(e["workflowRunId"]), "_invoked") })},
	{ID: "DLQ-005.6", Text: "a restarted run that fails never enters the queue", Build: keptEntries(func(e map[string]any) bool { return !restartedRun(e) })},
	{ID: "DLQ-007.5", Text: "notBefore is two seconds before createdAt", Build: changeEntries(func(e map[string]any) { e["notBefore"] = jsonNumber(integerOf(e, "createdAt") - 2000) })},
	{ID: "DLQ-007.6", Text: "workflowCreatedAt of an entry is not that of the log", Build: changeEntries(func(e map[string]any) { e["workflowCreatedAt"] = jsonNumber(integerOf(e, "workflowCreatedAt") + 1) })},
	{ID: "DLQ-008.14", Text: "the pages after the first are not filtered by label", Build: onNextPage(listingDLQ, "label")},
	{ID: "DLQ-008.15", Text: "the pages after the first are not filtered by status", Build: onNextPage(listingDLQ, "responseStatus")},
	{ID: "DLQ-008.16", Text: "the filter by label gives one entry", Build: firstThatFits(listingDLQ, "label")},
	{ID: "DLQ-008.17", Text: "the filter by label does not compare the case", Build: narrowFilter(listingDLQ, "messages", "label", func(e map[string]any, value string) bool { return strings.EqualFold(textOf(e["label"]), value) })},
	{ID: "DLQ-008.18", Text: "the filter by workflow does not compare the query of its URL", Build: changeRequest(listingDLQ, func(r *http.Request) {
		setQuery(r, func(q map[string][]string) {
			for i, url := range q["workflowUrl"] {
				q["workflowUrl"][i], _, _ = strings.Cut(url, "?")
			}
		})
	})},
	{ID: "DLQ-012.6", Text: "an entry without a failure callback has an outcome of one", Build: changeEntries(func(e map[string]any) {
		if e["failureCallback"] == nil {
			e["failureCallbackInfo"] = map[string]any{"state": "CALLBACK_INPROGRESS"}
		}
	})},
	{ID: "DLQ-012.7", Text: "the outcome is missing in the entry of a run that was restarted twice", Build: entryDefect("failureCallbackInfo", "missing", "restarted 2")},
	{ID: "DLQ-012.8", Text: "a failure callback that is answered 404 is a success", Build: inOutcome(func(info map[string]any) {
		if integerOf(info, "responseStatus") == http.StatusNotFound {
			info["state"] = "CALLBACK_SUCCESS"
		}
	})},
	{ID: "DLQ-013.4", Text: "an entry is listed once, and then never again", Build: listedOnce},
	{ID: "DLQ-014.8", Text: "the url is missing in the entry of a run that was restarted twice", Build: entryDefect("url", "missing", "restarted 2")},
	{ID: "FLC-001.6", Text: "a message over 64 KiB that a key held is lost", Build: lostWhenLarge("held")},
	{ID: "LOG-002.4", Text: "a smaller page is not given to who asks", Build: ignoreFilter(listingLog, "count")},
	{ID: "LOG-002.5", Text: "the first page has one event more than was asked for, and the others have fewer", Build: unevenPages(listingLog)},
	{ID: "LOG-004.7", Text: "steps that run side by side have one message id", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) {
		var first any
		for _, e := range itemsOf(v, "events") {
			if info, ok := e["stepInfo"].(map[string]any); ok && integerOf(info, "concurrent") > 1 {
				if first == nil {
					first = info["messageId"]
				}
				info["messageId"] = first
			}
		}
	})},
	{ID: "LOG-008.6", Text: "RUN_SUCCESS is missing when the workflow returns false", Build: filterItems(listingLog, "events", func(e map[string]any) bool { return textOf(e["workflowRunResponse"]) != "false" })},
	{ID: "LOG-010.4", Text: "ERROR is missing for a restarted run", Build: filterItems(listingLog, "events", func(e map[string]any) bool { return e["state"] != "ERROR" || !restartedRun(e) })},
	{ID: "LOG-011.12", Text: "the pages after the first are not filtered by state", Build: onNextPage(listingLog, "state")},
	{ID: "LOG-011.13", Text: "the pages after the first are not filtered by run", Build: onNextPage(listingLog, "workflowRunId")},
	{ID: "LOG-011.14", Text: "a restart removes the end from the log of the failed run", Build: restartErases},
	{ID: "LOG-021.4", Text: "a cancel ends the next run of the workflow too", Build: cancelsNext},
	{ID: "LOG-025.4", Text: "a response that looks like none is not recorded", Build: changeEvents(func(e map[string]any) {
		if slices.Contains([]string{"0", "false", `""`, "null"}, textOf(e["workflowRunResponse"])) {
			delete(e, "workflowRunResponse")
		}
	})},
	{ID: "PUB-001.11", Text: "a delayed message over 64 KiB is lost", Build: lostWhenLarge("delayed")},
	{ID: "PUB-002.7", Text: "a message over 64 KiB to a group is lost", Build: lostWhenLarge("group")},
	{ID: "PUB-006.6", Text: "forwarded headers are lost at the third attempt", Build: deliveryDefect("forwarded header", "retried 2")},
	{ID: "PUB-006.7", Text: "forwarded headers are lost by a delay", Build: deliveryDefect("forwarded header", "delayed")},
	{ID: "PUB-006.8", Text: "forwarded headers are lost while a key holds the message", Build: deliveryDefect("forwarded header", "held")},
	{ID: "PUB-006.9", Text: "an empty forwarded header is dropped", Build: deliveryDefect("empty header lost", "always")},
	{ID: "PUB-006.10", Text: "a retry of a run lacks the forwarded headers", Build: deliveryDefect("forwarded header", "run retried")},
	{ID: "PUB-011.7", Text: "a body over 64 KiB is cut for a group", Build: deliveryDefect("body cut at 64 KiB", "group")},
	{ID: "PUB-011.8", Text: "the third attempt has no body", Build: deliveryDefect("body lost", "retried 2")},
	{ID: "RLP-005.4", Text: "a pattern covers longer paths", Build: changeStrategies(func(c map[string]any) {
		strategyOf(c)["path"] = strings.ReplaceAll(textOf(strategyOf(c)["path"]), "/:id", "/*")
	})},
	{ID: "RLP-005.5", Text: "only the first strategy counts", Build: changePlugin(func(c map[string]any) {
		if list, ok := c["strategy"].([]any); ok && len(list) > 1 {
			c["strategy"] = list[:1]
		}
	})},
	{ID: "RST-003.9", Text: "the label is lost by a second restart", Build: entryDefect("label", "missing", "restarted 2")},
	{ID: "RST-003.10", Text: "the forwarded headers are lost by a second restart", Build: deliveryDefect("forwarded header", "restarted 2")},
	{ID: "RST-003.11", Text: "the label is lost by a restart with a chosen run id", Build: changeEntries(func(e map[string]any) {
		if strings.HasSuffix(textOf(e["workflowRunId"]), "chosen") {
			delete(e, "label")
		}
	})},
	{ID: "RTY-001.8", Text: "a delayed message is never tried again", Build: changeRequest(publishingMessage, func(r *http.Request) { neverAgain(r, header.Delay) })},
	{ID: "RTY-001.9", Text: "a message that a key held is never tried again", Build: changeRequest(publishingMessage, func(r *http.Request) { neverAgain(r, header.FlowControlKey) })},
	{ID: "RTY-001.10", Text: "the second retry of a delayed message is left out", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if r.Header.Get(header.Delay) != "" && r.Header.Get(header.Retries) == "2" {
			r.Header.Set(header.Retries, "1")
		}
	})},
	{ID: "RTY-003.2", Text: "an answer of 2xx other than 200 is a failure", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode/100 == 2 && response.StatusCode != http.StatusOK {
			response.StatusCode = http.StatusServiceUnavailable
		}
		return response, err
	})},
	{ID: "STA-011.4", Text: "the count of the dead letter queue never falls", Build: neverFalls},
	{ID: "VEC-003.4", Text: "the default namespace is not listed beside another one", Build: changeInfo(func(v map[string]any) {
		if n := namespacesOf(v); len(n) > 1 {
			delete(n, "")
		}
	})},
}

// neverAgain takes the retries from a message with another option.
func neverAgain(r *http.Request, option string) {
	if r.Header.Get(option) != "" && r.Header.Get(header.Retries) != "" && !ofWorkflow(r) {
		r.Header.Set(header.Retries, "0")
	}
}

// lostWhenLarge delivers large messages nowhere in a situation.
func lostWhenLarge(situation string) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		p := &published{}
		return joinChanges(p.watch, changeDelivery(true, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Header.Get(header.WorkflowRunID) == "" && len(readBody(r)) > 64<<10 && deliverySituations[situation](p, r, p.of(r)) {
				return fakeDelivery(), nil
			}
			return next.RoundTrip(r)
		}))(hit)
	}
}

// listedOnce leaves entries out of the second list and of those after it.
func listedOnce(hit func()) mutantParts {
	var mu sync.Mutex
	seen := map[string]int{}
	return keptEntries(func(e map[string]any) bool {
		mu.Lock()
		defer mu.Unlock()
		run := textOf(e["workflowRunId"])
		seen[run]++
		return seen[run] == 1
	})(hit)
}

// onNextPage drops a filter from requests with a cursor.
func onNextPage(m matching, filter string) func(func()) mutantParts {
	return changeRequest(m, func(r *http.Request) {
		if r.URL.Query().Has("cursor") {
			dropQuery(r, func(name string) bool { return name == filter })
		}
	})
}

// entryDefect breaks a field of entries in a situation.
func entryDefect(field, defect, situation string) func(func()) mutantParts {
	return fieldDefect(listingDLQ, []string{"messages", "[]", field}, fieldDefects[defect], itemSituations[situation])
}

// cancelsNext adds RUN_CANCELED to the log of the run that was triggered after a cancelled one:
// its id begins with the id of that one.
func cancelsNext(hit func()) mutantParts {
	var mu sync.Mutex
	cancelled := "-"
	return joinChanges(changeResponse(matchOperation(route.EndWorkflowRun), func(r *http.Request, _ *answer) {
		if r.URL.Query().Get("cancel") != "true" {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		cancelled = r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	}), changeReply(listingLog, func(_ *http.Request, v map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range itemsOf(v, "events") {
			if run := textOf(e["workflowRunId"]); run != cancelled && strings.HasPrefix(run, cancelled) && e["state"] == "RUN_STARTED" {
				e["state"] = "RUN_CANCELED"
			}
		}
	}))(hit)
}

// restartErases removes RUN_FAILED from the log of a run whose entry was restarted.
func restartErases(hit func()) mutantParts {
	g := &generations{}
	var mu sync.Mutex
	restarted := map[string]bool{}
	return joinChanges(g.watch, joinChanges(changeResponse(restartingRun, func(r *http.Request, _ *answer) {
		run := g.restartedBy(r)
		mu.Lock()
		defer mu.Unlock()
		restarted[run] = true
	}), filterItems(listingLog, "events", func(e map[string]any) bool {
		mu.Lock()
		defer mu.Unlock()
		return e["state"] != "RUN_FAILED" || !restarted[textOf(e["workflowRunId"])]
	})))(hit)
}

// neverFalls adds the restarted entries to the count of the dead letter queue. The User-Agent
// distinguishes the scenarios.
func neverFalls(hit func()) mutantParts {
	var mu sync.Mutex
	restarts := map[string]int64{} // User-Agent -> entries
	of := func(r *http.Request) string { return r.Header.Get("User-Agent") }
	return joinChanges(changeResponse(restartingRun, func(r *http.Request, a *answer) {
		mu.Lock()
		defer mu.Unlock()
		if a.status < http.StatusMultipleChoices {
			restarts[of(r)]++
		}
	}), changeReply(readingStats, func(r *http.Request, v map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		v["dlq_message_count"] = jsonNumber(integerOf(v, "dlq_message_count") + restarts[of(r)])
	}))(hit)
}

// unevenPages makes the first page larger by one item, and the others smaller.
func unevenPages(m matching) func(func()) mutantParts {
	return changeRequest(m, func(r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("count"))
		switch {
		case n == 0:
			return
		case !r.URL.Query().Has("cursor"):
			n++
		case n > 1:
			n--
		}
		setQuery(r, func(q map[string][]string) { q["count"] = []string{strconv.Itoa(n)} })
	})
}
