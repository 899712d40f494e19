package main

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/route"
)

// itemsOf returns the objects of a list.
func itemsOf(v map[string]any, list string) []map[string]any {
	items, _ := v[list].([]any)
	var out []map[string]any
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			out = append(out, object)
		}
	}
	return out
}

// changeEntries changes every entry of the dead letter queue.
func changeEntries(change func(e map[string]any)) func(func()) mutantParts {
	return changeItems(listingDLQ, "messages", change)
}

func keptEntries(fits func(e map[string]any) bool) func(func()) mutantParts {
	return filterItems(listingDLQ, "messages", fits)
}

// inOutcome changes the outcome of failure callbacks.
func inOutcome(change func(info map[string]any)) func(func()) mutantParts {
	return changeEntries(func(e map[string]any) {
		if info, ok := e["failureCallbackInfo"].(map[string]any); ok {
			change(info)
		}
	})
}

// restartedRun reports whether an item belongs to a run that a restart created: all others
// have an id that the suite chose.
func restartedRun(e map[string]any) bool {
	return !strings.HasPrefix(textOf(e["workflowRunId"]), "wfr_cf")
}

// ofRestarted changes the entries of restarted runs.
func ofRestarted(change func(e map[string]any)) func(func()) mutantParts {
	return changeEntries(func(e map[string]any) {
		if restartedRun(e) {
			change(e)
		}
	})
}

// emptyIs replaces an empty list with a value.
func emptyIs(m matching, list string, value any) func(func()) mutantParts {
	return changeReply(m, func(_ *http.Request, v map[string]any) {
		if items, ok := v[list].([]any); ok && len(items) == 0 {
			v[list] = value
		}
	})
}

// forgetQuery removes the filters from a query with a cursor.
func forgetQuery(m matching) func(func()) mutantParts {
	return changeRequest(m, func(r *http.Request) {
		if r.URL.Query().Has("cursor") {
			dropQuery(r, func(name string) bool { return name != "cursor" && name != "count" })
		}
	})
}

// ignoreFilter ignores a filter.
func ignoreFilter(m matching, filter string) func(func()) mutantParts {
	return changeRequest(m, func(r *http.Request) { dropQuery(r, func(name string) bool { return name == filter }) })
}

// withoutValue ignores a filter with one particular value.
func withoutValue(m matching, filter, value string) func(func()) mutantParts {
	return changeRequest(m, func(r *http.Request) {
		if r.URL.Query().Get(filter) == value {
			dropQuery(r, func(name string) bool { return name == filter })
		}
	})
}

// narrowFilter removes a filter from the request and filters the answer by fits instead.
func narrowFilter(m matching, list, filter string, fits func(item map[string]any, value string) bool) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return wrapMatching(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			value := r.URL.Query().Get(filter)
			if value == "" {
				next.ServeHTTP(w, r)
				return
			}
			dropQuery(r, func(name string) bool { return name == filter })
			a := serverAnswer(next, r)
			if v, ok := decodeJSON(a.body).(map[string]any); ok && a.status < 300 {
				kept := []any{}
				for _, item := range itemsOf(v, list) {
					if fits(item, value) {
						kept = append(kept, item)
					}
				}
				v[list] = kept
				a.body = encodeJSON(v)
			}
			a.write(w)
		})
	}
}

func filteredByPrefix(m matching, list, filter, field string) func(func()) mutantParts {
	return narrowFilter(m, list, filter, func(item map[string]any, value string) bool { return strings.HasPrefix(textOf(item[field]), value) })
}

var statusClass = narrowFilter(listingDLQ, "messages", "responseStatus", func(item map[string]any, value string) bool {
	return strings.HasPrefix(strconv.FormatInt(integerOf(item, "responseStatus"), 10), value[:1])
})

// unfilteredWhenEmpty repeats the request without the filters when the list is empty.
func unfilteredWhenEmpty(m matching, list string, filters ...string) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return wrapMatching(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			plain := r.Clone(r.Context())
			a := serverAnswer(next, r)
			v, _ := decodeJSON(a.body).(map[string]any)
			if items, ok := v[list].([]any); ok && len(items) == 0 {
				for _, name := range filters {
					dropQuery(plain, func(given string) bool { return given == name })
				}
				if plain.URL.RawQuery != r.URL.RawQuery {
					a = serverAnswer(next, plain)
				}
			}
			a.write(w)
		})
	}
}

// highestStatus lists the highest status of all attempts of a run.
func highestStatus(hit func()) mutantParts {
	var mu sync.Mutex
	highest := map[string]int{}
	watch := changeDelivery(true, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if run := r.Header.Get(header.WorkflowRunID); err == nil && run != "" {
			mu.Lock()
			highest[run] = max(highest[run], response.StatusCode)
			mu.Unlock()
		}
		return response, err
	})
	return joinChanges(watch, changeEntries(func(e map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		if n := highest[textOf(e["workflowRunId"])]; n > 0 {
			e["responseStatus"] = jsonNumber(int64(n))
		}
	}))(hit)
}

// changingID returns a different id of an entry at each reading.
func changingID(hit func()) mutantParts {
	var mu sync.Mutex
	n := 0
	return joinChanges(changeEntries(func(e map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		n++
		e["dlqId"] = fmt.Sprintf("%v~%d", e["dlqId"], n)
	}), changeRequest(restartingRun, func(r *http.Request) {
		r.URL.Path, _, _ = strings.Cut(r.URL.Path, "~")
		r.URL.RawPath = ""
	}))(hit)
}

// savedRun lists an entry for a run that succeeded after a failed attempt.
func savedRun(hit func()) mutantParts {
	return wrapMatching(listingDLQ, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		run := r.URL.Query().Get("workflowRunId")
		look := r.Clone(r.Context())
		look.URL.Path, look.URL.RawQuery = route.ListWorkflowMessageLogs.Path(), "workflowRunId="+run
		a := serverAnswer(next, r)
		v, _ := decodeJSON(a.body).(map[string]any)
		log, _ := decodeJSON(serverAnswer(next, look).body).(map[string]any)
		if items, _ := v["messages"].([]any); run != "" && len(items) == 0 && countEvents(log, "RUN_SUCCESS") > 0 && hasFailedAttempt(log) {
			v["messages"] = []any{map[string]any{"dlqId": "1-1", "workflowRunId": run, "messageId": "msg_1", "url": "http://x.test", "method": "POST"}}
			a.body = encodeJSON(v)
		}
		a.write(w)
	})
}

// hasFailedAttempt reports whether an attempt of a run failed.
func hasFailedAttempt(log map[string]any) bool {
	return countEvents(log, "ERROR")+countEvents(log, "RETRY") > 0
}

// countEvents returns the number of events with a state.
func countEvents(log map[string]any, state string) (n int) {
	for _, e := range itemsOf(log, "events") {
		if e["state"] == state {
			n++
		}
	}
	return n
}

// withoutOf removes the events with state drop of runs that have an event with state where.
func withoutOf(log map[string]any, drop, where string) {
	runs := map[any]bool{}
	for _, e := range itemsOf(log, "events") {
		if e["state"] == where {
			runs[e["workflowRunId"]] = true
		}
	}
	kept := []any{}
	for _, e := range itemsOf(log, "events") {
		if e["state"] != drop || !runs[e["workflowRunId"]] {
			kept = append(kept, e)
		}
	}
	log["events"] = kept
}

// startedAtEnd removes RUN_STARTED of runs that have not ended.
func startedAtEnd(_ *http.Request, log map[string]any) {
	if countEvents(log, "RUN_SUCCESS")+countEvents(log, "RUN_FAILED")+countEvents(log, "RUN_CANCELED") == 0 {
		withoutOf(log, "RUN_STARTED", "RUN_STARTED")
	}
}

// repeatAs adds a copy of each event with one state under another state.
func repeatAs(log map[string]any, state, as string) {
	if _, ok := log["events"]; !ok {
		return
	}
	out := []any{}
	for _, e := range itemsOf(log, "events") {
		if e["state"] == state {
			other := maps.Clone(e)
			other["state"] = as
			out = append(out, other)
		}
		out = append(out, e)
	}
	log["events"] = out
}

// failedThoughSaved adds RUN_FAILED to runs that succeeded after a retry.
func failedThoughSaved(_ *http.Request, log map[string]any) {
	if hasFailedAttempt(log) {
		repeatAs(log, "RUN_SUCCESS", "RUN_FAILED")
	}
}

// movedToInvoked moves INVOKED from the invoking run to the invoked one.
func movedToInvoked(log map[string]any) {
	withoutOf(log, "INVOKED", "INVOKED")
	for _, e := range itemsOf(log, "events") {
		if e["invokerWorkflowRunId"] != nil && e["state"] == "RUN_STARTED" {
			repeatAs(log, "RUN_STARTED", "INVOKED")
			return
		}
	}
}

// firstAddress sets the address of every run to that of the first listed event.
func firstAddress(hit func()) mutantParts {
	var mu sync.Mutex
	var first any
	return changeEvents(func(e map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = e["workflowUrl"]
		}
		e["workflowUrl"] = first
	})(hit)
}

// firstAnswer answers every successful request with the first successful answer.
func firstAnswer(m matching) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		var mu sync.Mutex
		var first *answer
		return wrapMatching(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			a := serverAnswer(next, r)
			mu.Lock()
			if first == nil && a.status < 300 {
				first = &a
			}
			if a.status < 300 {
				a = *first
			}
			mu.Unlock()
			a.write(w)
		})
	}
}
