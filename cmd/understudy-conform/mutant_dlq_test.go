package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/route"
)

// dlqMutants break the dead letter queue of runs. Sorted by id.
var dlqMutants = []mutant{
	{ID: "DLQ-001.1", Text: "the list is under entries", Build: renameField(listingDLQ, "messages", "entries")},
	{ID: "DLQ-001.2", Text: "the list is under items", Build: renameField(listingDLQ, "messages", "items")},
	{ID: "DLQ-001.3", Text: "the cursor of the last page is null", Build: changeReply(listingDLQ, func(_ *http.Request, v map[string]any) {
		if v["cursor"] == nil {
			v["cursor"] = nil
		}
	})},
	{ID: "DLQ-001.4", Text: "a list without entries is null", Build: emptyIs(listingDLQ, "messages", nil)},
	{ID: "DLQ-001.5", Text: "the list answers 206", Build: changeStatus(listingDLQ, http.StatusPartialContent)},
	{ID: "DLQ-002.1", Text: "a page holds 101 entries", Build: changeReply(listingDLQ, func(r *http.Request, v map[string]any) {
		if items, _ := v["messages"].([]any); len(items) == 100 && r.URL.Query().Get("count") == "" {
			v["messages"] = append(items, items[0])
		}
	})},
	{ID: "DLQ-002.2", Text: "a larger page is given to who asks", Build: joinPages(listingDLQ, "messages", 100)},
	{ID: "DLQ-002.3", Text: "a page holds 50 entries by default", Build: smallPage(listingDLQ, "50")},
	{ID: "DLQ-003.1", Text: "pages overlap by one entry", Build: overlapPages(listingDLQ, "messages")},
	{ID: "DLQ-003.2", Text: "the cursor never ends", Build: endlessCursor(listingDLQ)},
	{ID: "DLQ-003.3", Text: "an entry that comes while pages are read moves the others", Build: byOffset(listingDLQ, "messages")},
	{ID: "DLQ-003.4", Text: "the second page forgets the filters", Build: forgetQuery(listingDLQ)},
	{ID: "DLQ-003.5", Text: "the last entry of each page is left out", Build: changeReply(listingDLQ, func(_ *http.Request, v map[string]any) {
		if items, _ := v["messages"].([]any); v["cursor"] != nil && len(items) > 0 {
			v["messages"] = items[:len(items)-1]
		}
	})},
	{ID: "DLQ-003.6", Text: "the cursor of the last page is empty", Build: changeReply(listingDLQ, func(_ *http.Request, v map[string]any) {
		if v["cursor"] == nil {
			v["cursor"] = ""
		}
	})},
	{ID: "DLQ-004.1", Text: "dlqId is missing, id takes its place", Build: changeItems(listingDLQ, "messages", func(e map[string]any) {
		e["id"] = e["dlqId"]
		delete(e, "dlqId")
	})},
	{ID: "DLQ-004.2", Text: "responseStatus is a text", Build: changeItems(listingDLQ, "messages", func(e map[string]any) {
		e["responseStatus"] = strconv.FormatInt(integerOf(e, "responseStatus"), 10)
	})},
	{ID: "DLQ-004.3", Text: "callerIP is missing in entries without a failure callback", Build: changeEntries(func(e map[string]any) {
		if e["failureCallback"] == nil {
			delete(e, "callerIP")
		}
	})},
	{ID: "DLQ-004.4", Text: "callerIP is a name", Build: changeEntries(func(e map[string]any) { e["callerIP"] = "localhost" })},
	{ID: "DLQ-004.5", Text: "notBefore is a text", Build: changeEntries(func(e map[string]any) { e["notBefore"] = strconv.FormatInt(integerOf(e, "notBefore"), 10) })},
	{ID: "DLQ-004.6", Text: "workflowUrl is missing", Build: changeEntries(func(e map[string]any) { delete(e, "workflowUrl") })},
	{ID: "DLQ-004.7", Text: "maxRetries is missing when there are none", Build: changeEntries(func(e map[string]any) {
		if integerOf(e, "maxRetries") == 0 {
			delete(e, "maxRetries")
		}
	})},
	{ID: "DLQ-005.1", Text: "a failed run never enters the queue", Build: filterItems(listingDLQ, "messages", func(map[string]any) bool { return false })},
	{ID: "DLQ-005.2", Text: "a run that fails with 4xx never enters the queue", Build: keptEntries(func(e map[string]any) bool { return integerOf(e, "responseStatus")/100 != 4 })},
	{ID: "DLQ-005.3", Text: "a run without a failure callback never enters the queue", Build: keptEntries(func(e map[string]any) bool { return e["failureCallback"] != nil })},
	{ID: "DLQ-005.4", Text: "a run that is allowed retries never enters the queue", Build: keptEntries(func(e map[string]any) bool { return integerOf(e, "maxRetries") == 0 })},
	{ID: "DLQ-006.1", Text: "header maps hold plain texts", Build: changeItems(listingDLQ, "messages", func(e map[string]any) { flattenHeader(e, "header") })},
	{ID: "DLQ-006.2", Text: "responseHeader holds plain texts", Build: changeEntries(func(e map[string]any) { flattenHeader(e, "responseHeader") })},
	{ID: "DLQ-006.3", Text: "header is a list of names and values", Build: changeEntries(func(e map[string]any) {
		list := []any{}
		h, _ := e["header"].(map[string]any)
		for name, v := range h {
			list = append(list, []any{name, v})
		}
		e["header"] = list
	})},
	{ID: "DLQ-007.1", Text: "createdAt is in seconds", Build: changeItems(listingDLQ, "messages", func(e map[string]any) { e["createdAt"] = jsonNumber(integerOf(e, "createdAt") / 1000) })},
	{ID: "DLQ-007.2", Text: "notBefore is in seconds", Build: changeEntries(func(e map[string]any) { e["notBefore"] = jsonNumber(integerOf(e, "notBefore") / 1000) })},
	{ID: "DLQ-007.3", Text: "workflowCreatedAt is in microseconds", Build: changeEntries(func(e map[string]any) { e["workflowCreatedAt"] = jsonNumber(integerOf(e, "workflowCreatedAt") * 1000) })},
	{ID: "DLQ-007.4", Text: "createdAt is the time of the reading", Build: changeEntries(func(e map[string]any) { e["createdAt"] = jsonNumber(integerOf(e, "createdAt") + nowMs()%100_000/50) })},
	{ID: "DLQ-008.1", Text: "of two filters one is enough", Build: oneFilterOf(listingDLQ, "workflowRunId", "label", "workflowUrl", "responseStatus", "callerIp", "failureCallbackState")},
	{ID: "DLQ-008.2", Text: "the filter by run is ignored", Build: changeRequest(listingDLQ, func(r *http.Request) { dropQuery(r, func(name string) bool { return name == "workflowRunId" }) })},
	{ID: "DLQ-008.3", Text: "the filter by label is ignored", Build: changeRequest(listingDLQ, func(r *http.Request) { dropQuery(r, func(name string) bool { return name == "label" }) })},
	{ID: "DLQ-008.4", Text: "the filter by status is ignored", Build: changeRequest(listingDLQ, func(r *http.Request) { dropQuery(r, func(name string) bool { return name == "responseStatus" }) })},
	{ID: "DLQ-008.5", Text: "the filter by address is ignored", Build: ignoreFilter(listingDLQ, "workflowUrl")},
	{ID: "DLQ-008.6", Text: "the filter by publisher is ignored", Build: ignoreFilter(listingDLQ, "callerIp")},
	{ID: "DLQ-008.7", Text: "the filter by the state of the callback is ignored", Build: ignoreFilter(listingDLQ, "failureCallbackState")},
	{ID: "DLQ-008.8", Text: "the filter by run takes what begins with it", Build: filteredByPrefix(listingDLQ, "messages", "workflowRunId", "workflowRunId")},
	{ID: "DLQ-008.9", Text: "the filter by label takes what begins with it", Build: filteredByPrefix(listingDLQ, "messages", "label", "label")},
	{ID: "DLQ-008.10", Text: "the filter by address takes what begins with it", Build: filteredByPrefix(listingDLQ, "messages", "workflowUrl", "workflowUrl")},
	{ID: "DLQ-008.11", Text: "the filter by status takes its class", Build: statusClass},
	{ID: "DLQ-008.12", Text: "a filter that nothing fits is dropped", Build: unfilteredWhenEmpty(listingDLQ, "messages", "workflowRunId", "label", "workflowUrl", "responseStatus", "callerIp", "failureCallbackState")},
	{ID: "DLQ-008.13", Text: "a filter leaves out the oldest of what fits", Build: changeReply(listingDLQ, func(r *http.Request, v map[string]any) {
		if items, _ := v["messages"].([]any); r.URL.Query().Has("workflowUrl") && len(items) > 1 {
			v["messages"] = items[:len(items)-1]
		}
	})},
	{ID: "DLQ-009.1", Text: "the end date is exclusive", Build: shiftDate(listingDLQ, "toDate", -1)},
	{ID: "DLQ-009.2", Text: "the start date is exclusive", Build: shiftDate(listingDLQ, "fromDate", 1)},
	{ID: "DLQ-009.3", Text: "the end date is ignored", Build: ignoreFilter(listingDLQ, "toDate")},
	{ID: "DLQ-009.4", Text: "the start date is ignored", Build: ignoreFilter(listingDLQ, "fromDate")},
	{ID: "DLQ-009.5", Text: "dates are in seconds", Build: changeRequest(listingDLQ, func(r *http.Request) {
		setQuery(r, func(q map[string][]string) {
			for _, name := range []string{"fromDate", "toDate"} {
				if v := q[name]; len(v) > 0 {
					n, _ := json.Number(v[0]).Int64()
					q[name] = []string{strconv.FormatInt(n*1000, 10)}
				}
			}
		})
	})},
	{ID: "DLQ-009.6", Text: "the end date holds for all of its second", Build: changeDate(listingDLQ, "toDate", func(ms int64) int64 { return ms/1000*1000 + 999 })},
	{ID: "DLQ-009.7", Text: "the end date is cut to whole seconds", Build: cutDate(listingDLQ, "toDate")},
	{ID: "DLQ-009.8", Text: "the start date is cut to whole seconds", Build: cutDate(listingDLQ, "fromDate")},
	{ID: "DLQ-010.1", Text: "the status of the first attempt is stored", Build: firstAttempt("responseStatus")},
	{ID: "DLQ-010.2", Text: "the body of the first attempt is stored", Build: firstAttempt("responseBody")},
	{ID: "DLQ-010.3", Text: "the headers of the answer are not stored", Build: changeItems(listingDLQ, "messages", func(e map[string]any) { e["responseHeader"] = map[string]any{} })},
	{ID: "DLQ-010.4", Text: "the highest status of all attempts is stored", Build: highestStatus},
	{ID: "DLQ-010.5", Text: "the body of the answer is not stored", Build: changeEntries(func(e map[string]any) { e["responseBody"] = "" })},
	{ID: "DLQ-011.1", Text: "failureCallback is always present", Build: changeItems(listingDLQ, "messages", func(e map[string]any) {
		if e["failureCallback"] == nil {
			e["failureCallback"] = e["url"]
		}
	})},
	{ID: "DLQ-011.2", Text: "failureCallback is an empty text when none was set", Build: changeEntries(func(e map[string]any) { setDefault(e, "failureCallback", "") })},
	{ID: "DLQ-011.3", Text: "failureCallback is missing though one was set", Build: changeEntries(func(e map[string]any) { delete(e, "failureCallback") })},
	{ID: "DLQ-012.1", Text: "the callback is made, failureCallbackInfo is missing", Build: changeItems(listingDLQ, "messages", func(e map[string]any) { delete(e, "failureCallbackInfo") })},
	{ID: "DLQ-012.2", Text: "the state of the callback never moves", Build: changeItems(listingDLQ, "messages", func(e map[string]any) {
		if info, ok := e["failureCallbackInfo"].(map[string]any); ok {
			info["state"] = "CALLBACK_INPROGRESS"
		}
	})},
	{ID: "DLQ-012.3", Text: "a failure callback that fails is recorded as CALLBACK_SUCCESS", Build: inOutcome(func(info map[string]any) { info["state"] = "CALLBACK_SUCCESS" })},
	{ID: "DLQ-012.4", Text: "the status of the callback is always 200", Build: inOutcome(func(info map[string]any) { info["responseStatus"] = jsonNumber(200) })},
	{ID: "DLQ-012.5", Text: "the body of the callback's answer is not stored", Build: inOutcome(func(info map[string]any) { info["responseBody"] = "" })},
	{ID: "DLQ-013.1", Text: "all entries have one id", Build: changeItems(listingDLQ, "messages", func(e map[string]any) { e["dlqId"] = "1-0" })},
	{ID: "DLQ-013.2", Text: "a restart takes another entry than the one it is given", Build: func(hit func()) mutantParts {
		return wrapMatching(restartingRun, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			list := r.Clone(r.Context())
			list.Method, list.URL.Path, list.URL.RawQuery = http.MethodGet, route.ListWorkflowDLQ.Path(), ""
			setBody(list, nil)
			v, _ := decodeJSON(serverAnswer(next, list).body).(map[string]any)
			items, _ := v["messages"].([]any)
			for _, item := range items { // the order of runs that fail concurrently is undefined
				entry, _ := item.(map[string]any)
				if other, _ := entry["dlqId"].(string); !strings.HasSuffix(r.URL.Path, "/"+other) {
					r.URL.Path = route.RestartWorkflowRun.Path() + other
					break
				}
			}
			next.ServeHTTP(w, r)
		})
	}},
	{ID: "DLQ-013.3", Text: "the id of an entry is another one at each reading", Build: changingID},
	{ID: "DLQ-014.1", Text: "maxRetries is the default, not that of the run", Build: changeItems(listingDLQ, "messages", func(e map[string]any) { e["maxRetries"] = jsonNumber(3) })},
	{ID: "DLQ-014.2", Text: "the header of the entry is empty", Build: changeItems(listingDLQ, "messages", func(e map[string]any) { e["header"] = map[string]any{} })},
	{ID: "DLQ-014.3", Text: "the method of an entry is always POST", Build: changeEntries(func(e map[string]any) { e["method"] = "POST" })},
	{ID: "DLQ-014.4", Text: "url is that of the service", Build: changeEntries(func(e map[string]any) { e["url"] = "https://service.test/" })},
	{ID: "DLQ-014.5", Text: "the header of an entry lacks the configuration", Build: changeEntries(func(e map[string]any) {
		h, _ := e["header"].(map[string]any)
		for name := range h {
			if strings.HasPrefix(name, header.Prefix) || strings.HasPrefix(name, "Svc") {
				delete(h, name)
			}
		}
	})},
	{ID: "DLQ-014.6", Text: "maxRetries is always 0", Build: changeEntries(func(e map[string]any) { e["maxRetries"] = jsonNumber(0) })},
	{ID: "DLQ-014.7", Text: "failureCallback is the address of the workflow", Build: changeEntries(func(e map[string]any) {
		if e["failureCallback"] != nil {
			e["failureCallback"] = e["workflowUrl"]
		}
	})},
	{ID: "DLQ-015.1", Text: "every run is listed", Build: everyRun},
	{ID: "DLQ-015.2", Text: "a run that a retry saved is in the queue", Build: savedRun},
	{ID: "DLQ-016.1", Text: "a failed run enters twice, with two ids", Build: changeReply(listingDLQ, func(_ *http.Request, v map[string]any) {
		items, _ := v["messages"].([]any)
		twice := []any{}
		for _, item := range items {
			object, _ := item.(map[string]any)
			other := map[string]any{}
			maps.Copy(other, object)
			other["dlqId"] = object["dlqId"].(string) + "0"
			twice = append(twice, item, other)
		}
		v["messages"] = twice
	})},
	{ID: "DLQ-016.2", Text: "every attempt has an entry", Build: changeReply(listingDLQ, func(_ *http.Request, v map[string]any) {
		items, _ := v["messages"].([]any)
		out := []any{}
		for _, item := range items {
			e, _ := item.(map[string]any)
			out = append(out, item)
			for n := range integerOf(e, "maxRetries") {
				other := maps.Clone(e)
				other["dlqId"] = fmt.Sprintf("%v%d", e["dlqId"], n)
				out = append(out, other)
			}
		}
		v["messages"] = out
	})},
	{ID: "DLQ-017.1", Text: "the payload is missing", Build: changeEntries(func(e map[string]any) { delete(e, "body") })},
	{ID: "DLQ-017.2", Text: "the label is missing", Build: changeEntries(func(e map[string]any) { delete(e, "label") })},
	{ID: "DLQ-017.3", Text: "the flow-control key is missing", Build: changeEntries(func(e map[string]any) { delete(e, "flowControlKey") })},
	{ID: "DLQ-017.4", Text: "a payload that is not UTF-8 is missing", Build: changeEntries(func(e map[string]any) { delete(e, "bodyBase64") })},
	{ID: "DLQ-018.1", Text: "responseBody is given together with the base64 form", Build: changeEntries(func(e map[string]any) {
		if e["responseBodyBase64"] != nil {
			e["responseBody"] = "?"
		}
	})},
	{ID: "DLQ-018.2", Text: "the base64 form is missing", Build: changeEntries(func(e map[string]any) { delete(e, "responseBodyBase64") })},
	{ID: "DLQ-018.3", Text: "the base64 form has no padding", Build: changeEntries(func(e map[string]any) {
		if text, ok := e["responseBodyBase64"].(string); ok {
			e["responseBodyBase64"] = strings.TrimRight(text, "=")
		}
	})},
	{ID: "DLQ-019.1", Text: "the headers of the callback's answer are missing", Build: changeItems(listingDLQ, "messages", func(e map[string]any) {
		if info, ok := e["failureCallbackInfo"].(map[string]any); ok {
			delete(info, "responseHeaders")
		}
	})},
	{ID: "DLQ-019.2", Text: "the status of the callback is a text", Build: inOutcome(func(info map[string]any) { info["responseStatus"] = fmt.Sprint(info["responseStatus"]) })},
	{ID: "DLQ-019.3", Text: "the headers of the callback's answer are plain texts", Build: inOutcome(func(info map[string]any) { flattenHeader(info, "responseHeaders") })},
}

// renameField renames a field of the answer.
func renameField(m matching, from, to string) func(func()) mutantParts {
	return changeReply(m, func(_ *http.Request, v map[string]any) {
		v[to] = v[from]
		delete(v, from)
	})
}

// flattenHeader replaces the arrays of a header map with their first values.
func flattenHeader(e map[string]any, field string) {
	m, _ := e[field].(map[string]any)
	for name, values := range m {
		if list, ok := values.([]any); ok && len(list) > 0 {
			m[name] = list[0]
		}
	}
}

// attempts stores the first answer of a workflow endpoint, by run.
type attempts struct {
	mu    sync.Mutex
	first map[string]*http.Response
}

// firstAttempt lists the answer to the first attempt of a run, instead of the last.
func firstAttempt(field string) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		seen := &attempts{first: map[string]*http.Response{}}
		watch := changeDelivery(true, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if run := r.Header.Get(header.WorkflowRunID); err == nil && run != "" {
				seen.mu.Lock()
				if seen.first[run] == nil {
					seen.first[run] = response
				}
				seen.mu.Unlock()
			}
			return response, err
		})
		change := changeItems(listingDLQ, "messages", func(e map[string]any) {
			run, _ := e["workflowRunId"].(string)
			seen.mu.Lock()
			defer seen.mu.Unlock()
			if first := seen.first[run]; first != nil {
				if field == "responseStatus" {
					e[field] = jsonNumber(int64(first.StatusCode))
				} else if e[field] == "attempt 2" {
					e[field] = "attempt 1"
				}
			}
		})
		return joinChanges(watch, change)(hit)
	}
}

// overlapPages repeats the last item of a page as the first of the next.
func overlapPages(m matching, list string) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		var mu sync.Mutex
		last := map[string]any{} // cursor -> item
		return changeReply(m, func(r *http.Request, v map[string]any) {
			items, _ := v[list].([]any)
			mu.Lock()
			defer mu.Unlock()
			if item := last[r.URL.Query().Get("cursor")]; item != nil {
				v[list] = append([]any{item}, items...)
			}
			if cursor, _ := v["cursor"].(string); cursor != "" && len(items) > 0 {
				last[cursor] = items[len(items)-1]
			}
		})(hit)
	}
}

// endlessCursor adds a cursor to the last page that leads to the first page.
func endlessCursor(m matching) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return wrapMatching(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.URL.Query().Get("cursor") == "again" {
				dropQuery(r, func(name string) bool { return name == "cursor" })
			}
			a := serverAnswer(next, r)
			if v, ok := decodeJSON(a.body).(map[string]any); ok && a.status == http.StatusOK {
				if cursor, _ := v["cursor"].(string); cursor == "" {
					v["cursor"] = "again"
				}
				a.body = encodeJSON(v)
			}
			a.write(w)
		})
	}
}

// shiftDate moves a date filter by a number of ms.
func shiftDate(m matching, name string, by int64) func(func()) mutantParts {
	return changeDate(m, name, func(ms int64) int64 { return ms + by })
}

// cutDate cuts a date filter to whole seconds.
func cutDate(m matching, name string) func(func()) mutantParts {
	return changeDate(m, name, func(ms int64) int64 { return ms / 1000 * 1000 })
}

func changeDate(m matching, name string, change func(ms int64) int64) func(func()) mutantParts {
	return changeRequest(m, func(r *http.Request) {
		if v := r.URL.Query().Get(name); v != "" {
			setQuery(r, func(q map[string][]string) {
				n, _ := json.Number(v).Int64()
				q[name] = []string{strconv.FormatInt(change(n), 10)}
			})
		}
	})
}

// oneFilterOf ignores the first of these filters that is given with another of them.
func oneFilterOf(m matching, names ...string) func(func()) mutantParts {
	return changeRequest(m, func(r *http.Request) {
		q := r.URL.Query()
		given := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !q.Has(name) })
		if len(given) > 1 {
			dropQuery(r, func(name string) bool { return name == given[0] })
		}
	})
}

// everyRun lists an entry for any requested run that has none.
func everyRun(hit func()) mutantParts {
	return wrapMatching(listingDLQ, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		run := r.URL.Query().Get("workflowRunId")
		a := serverAnswer(next, r)
		v, _ := decodeJSON(a.body).(map[string]any)
		items, _ := v["messages"].([]any)
		if run != "" && len(items) == 0 && v != nil {
			v["messages"] = []any{map[string]any{"dlqId": "1-1", "workflowRunId": run, "messageId": "msg_1", "url": "http://x.test", "method": "POST"}}
			a.body = encodeJSON(v)
		}
		a.write(w)
	})
}

// joinPages joins two pages when the count is larger than a page may be.
func joinPages(m matching, list string, most int) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return wrapMatching(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			count, _ := strconv.Atoi(r.URL.Query().Get("count"))
			if count <= most {
				next.ServeHTTP(w, r)
				return
			}
			setQuery(r, func(q map[string][]string) { delete(q, "count") })
			a := serverAnswer(next, r)
			v, _ := decodeJSON(a.body).(map[string]any)
			cursor, _ := v["cursor"].(string)
			if cursor != "" {
				more := r.Clone(r.Context())
				setQuery(more, func(q map[string][]string) {
					q["cursor"] = []string{cursor}
					q["count"] = []string{strconv.Itoa(count - most)}
				})
				rest, _ := decodeJSON(serverAnswer(next, more).body).(map[string]any)
				items, _ := v[list].([]any)
				others, _ := rest[list].([]any)
				v[list] = append(items, others...)
				a.body = encodeJSON(v)
			}
			a.write(w)
		})
	}
}

// smallPage sets the count of requests that have none.
func smallPage(m matching, count string) func(func()) mutantParts {
	return changeRequest(m, func(r *http.Request) {
		if !strings.Contains(r.URL.RawQuery, "count=") {
			setQuery(r, func(q map[string][]string) { q["count"] = []string{count} })
		}
	})
}
