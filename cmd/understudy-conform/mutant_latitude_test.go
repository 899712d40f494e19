package main

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/spec/header"
)

// latitudeRows are the legal variations: points that the interface document leaves open,
// implemented differently. Sorted by id.
var latitudeRows = []mutant{
	{ID: "L01", Text: "publish answers 200", Build: changeStatus(publishingMessage, http.StatusOK)},
	{ID: "L02", Text: "publish answers 201", Build: changeStatus(publishingMessage, http.StatusCreated)},
	{ID: "L03", Text: "publish answers 202", Build: changeStatus(publishingMessage, http.StatusAccepted)},
	{ID: "L04", Text: "publish answers 204 without a body", Build: changeResponse(publishingMessage, func(_ *http.Request, a *answer) {
		if a.status < 300 {
			a.status, a.body = http.StatusNoContent, nil
			a.header.Del("Content-Type")
		}
	})},
	{ID: "L05", Text: "publish always answers an array", Build: replyAny(publishingMessage, func(_ *http.Request, v any) any {
		if _, ok := v.(map[string]any); ok {
			return []any{v}
		}
		return v
	})},
	{ID: "L06", Text: "publish takes GET and PUT as well", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if r.Method == http.MethodPost {
			r.Method = http.MethodPut
		}
	})},
	{ID: "L07", Text: "every object has fields that nobody knows", Build: replyAny(documentedAnswers, func(_ *http.Request, v any) any { return extendObjects(v) })},
	{ID: "L08", Text: "there are further message-level states", Build: repeatEvents("QUEUED", "DELIVERED", true)},
	{ID: "L09", Text: "there are further run-level events", Build: repeatEvents("RUN_RESUMED", "RUN_STARTED", false)},
	{ID: "L10", Text: "the cursor of the logs ends empty", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) {
		if v["cursor"] == nil {
			v["cursor"] = ""
		}
	})},
	{ID: "L11", Text: "the cursor of the logs ends absent", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) {
		if v["cursor"] == "" {
			delete(v, "cursor")
		}
	})},
	{ID: "L12", Text: "pages are listed oldest first", Build: joinChanges(reversePages(listingLog, "events"), reversePages(listingDLQ, "messages"))},
	{ID: "L13", Text: "pages are listed newest first", Build: joinChanges(sortPages(listingLog, "events", "time"), sortPages(listingDLQ, "messages", "createdAt"))},
	{ID: "L14", Text: "the entry is removed by its restart", Build: changeRequest(restartingRun, func(*http.Request) {})},
	{ID: "L15", Text: "the entry is kept after its restart", Build: keptEntry},
	{ID: "L16", Text: "unknown ids answer 400", Build: changeRefusal(restartingRun, http.StatusBadRequest, "")},
	{ID: "L17", Text: "unknown ids answer 404", Build: changeRefusal(restartingRun, http.StatusNotFound, "")},
	{ID: "L18", Text: "unknown ids answer 410 with a web page", Build: changeRefusal(restartingRun, http.StatusGone, "<html>gone</html>")},
	{ID: "L19", Text: "a refused credential answers 401 without a body", Build: changeUnauthorized(http.StatusUnauthorized)},
	{ID: "L20", Text: "a refused credential answers 403", Build: changeUnauthorized(http.StatusForbidden)},
	{ID: "L21", Text: "a page that is too large is made smaller", Build: joinChanges(clampCount(listingLog, 1000), clampCount(listingDLQ, 100))},
	{ID: "L22", Text: "a page that is too large is refused with 422", Build: joinChanges(changeRefusal(listingLog, http.StatusUnprocessableEntity, ""), changeRefusal(listingDLQ, http.StatusUnprocessableEntity, ""))},
	{ID: "L23", Text: "the backoff is constant", Build: ownBackoff("5000")},
	{ID: "L24", Text: "the backoff is exponential with jitter", Build: func(hit func()) mutantParts {
		return ownBackoff(strconv.Itoa(1000+rand.IntN(3000)) + " * pow(2, retried)")(hit)
	}},
	{ID: "L25", Text: "deliveries take a while", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		waitFor(r.Context(), 100*time.Millisecond)
		return next.RoundTrip(r)
	})},
	{ID: "L26", Text: "the endpoints of a group are called in any order", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if ofGroup(r) {
			waitFor(r.Context(), time.Duration(rand.IntN(20))*time.Millisecond)
		}
		return next.RoundTrip(r)
	})},
	{ID: "L27", Text: "deliveries carry further headers", Build: changeDelivery(true, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		r.Header.Set("User-Agent", "Another/2.0")
		r.Header.Set("X-Request-Id", "0123456789")
		r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		return next.RoundTrip(r)
	})},
	{ID: "L28", Text: "a delivery that succeeded is repeated once", Build: deliverTwice},
	{ID: "L29", Text: "a resume answers 204", Build: changeResponse(resumingKey, func(_ *http.Request, a *answer) {
		if a.status < 300 {
			a.status, a.body = http.StatusNoContent, nil
		}
	})},
	{ID: "L30", Text: "there are other metric ids, and a series without points", Build: changeStats(func(_ *http.Request, v map[string]any) {
		for _, name := range []string{"daily_svc_messages", "daily_workflow_messages"} {
			list, _ := v[name].([]any)
			v[name] = append(list, map[string]any{"id": "another", "data_points": []any{}})
		}
	})},
	{ID: "L31", Text: "the clock is 3 seconds ahead", Build: joinChanges(threeAhead(listingLog, "events"), joinChanges(threeAhead(listingDLQ, "messages"), changeReply(restartingRun, func(_ *http.Request, v map[string]any) { moveTimes(v, 3000) })))},
	{ID: "L32", Text: "times in ms are rounded to seconds", Build: joinChanges(changeItems(listingDLQ, "messages", func(e map[string]any) { roundTime(e, "notBefore") }), changeItems(listingLog, "events", func(e map[string]any) { roundTime(e, "nextDeliveryTime") }))},
	{ID: "L33", Text: "a denial of the plugin is 503", Build: func(hit func()) mutantParts {
		return mutantParts{App: func(limited, _ http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				a := serverAnswer(limited, r)
				if a.status == http.StatusTooManyRequests {
					hit()
					a.status = http.StatusServiceUnavailable
				}
				a.write(w)
			})
		}}
	}},
	{ID: "L34", Text: "a sliding window is weighted", Build: changePlugin(func(map[string]any) {})}, // as in the server
	{ID: "L35", Text: "a message that failed has one ERROR, that of its last attempt", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) {
		last := map[string]int64{} // message -> time of its last ERROR
		errorOf := func(e map[string]any) string {
			info, _ := e["stepInfo"].(map[string]any)
			return map[bool]string{true: textOf(info["messageId"])}[e["state"] == "ERROR"]
		}
		for _, e := range itemsOf(v, "events") {
			last[errorOf(e)] = max(last[errorOf(e)], integerOf(e, "time"))
		}
		items, _ := v["events"].([]any)
		v["events"] = slices.DeleteFunc(items, func(item any) bool {
			e, _ := item.(map[string]any)
			return errorOf(e) != "" && integerOf(e, "time") < last[errorOf(e)]
		})
	})},
}

// documentedAnswers matches the operations whose answers the document shows.
func documentedAnswers(r *http.Request) bool {
	return listingDLQ(r) || listingLog(r) || restartingRun(r) || readingStats(r) || readingInfo(r)
}

// changeStatus changes the status of successful answers.
func changeStatus(m matching, code int) func(func()) mutantParts {
	return changeResponse(m, func(_ *http.Request, a *answer) {
		if a.status < 300 {
			a.status = code
		}
	})
}

// changeRefusal changes the status of a refusal and, if page is not empty, the body. It
// does not change status 401.
func changeRefusal(m matching, code int, page string) func(func()) mutantParts {
	return changeResponse(m, func(_ *http.Request, a *answer) {
		if a.status < 400 || a.status == http.StatusUnauthorized {
			return
		}
		a.status = code
		if page != "" {
			a.body = []byte(page)
			a.header.Set("Content-Type", "text/html")
		}
	})
}

func changeUnauthorized(code int) func(func()) mutantParts {
	return changeResponse(func(r *http.Request) bool { return !hostingPath(r) }, func(_ *http.Request, a *answer) {
		if a.status == http.StatusUnauthorized {
			a.status, a.body = code, nil
		}
	})
}

// extendObjects adds a field to every object with a fixed shape.
func extendObjects(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for name, inner := range x {
			switch name {
			case "header", "responseHeader", "responseHeaders", "headers", "namespaces", "requestHeaders":
			default:
				x[name] = extendObjects(inner)
			}
		}
		x["x_further"] = map[string]any{"a": []any{jsonNumber(1), nil}}
	case []any:
		for i, inner := range x {
			x[i] = extendObjects(inner)
		}
	}
	return v
}

// repeatEvents adds a copy of each event of a state under an unknown state, at the same time. So
// that a page stays as small as was asked for, it holds half as many events of the server.
func repeatEvents(name, like string, step bool) func(func()) mutantParts {
	halved := changeRequest(listingLog, func(r *http.Request) {
		if n, _ := strconv.Atoi(r.URL.Query().Get("count")); n > 1 {
			setQuery(r, func(q map[string][]string) { q["count"] = []string{strconv.Itoa(n / 2)} })
		}
	})
	return joinChanges(halved, changeReply(listingLog, func(r *http.Request, v map[string]any) {
		if r.URL.Query().Has("state") {
			return
		}
		items, _ := v["events"].([]any)
		out := []any{}
		for _, item := range items {
			e, _ := item.(map[string]any)
			out = append(out, item)
			if e["state"] == like && len(items) < 500 {
				other := map[string]any{}
				for field, value := range e {
					if (field != "stepInfo" || step) && !strings.HasPrefix(field, "invoker") { // which is on RUN_STARTED only
						other[field] = value
					}
				}
				other["state"] = name
				out = append(out, other)
			}
		}
		v["events"] = out
	}))
}

// reversePages reverses the items of each page; the order of the pages does not change.
func reversePages(m matching, list string) func(func()) mutantParts {
	return changeReply(m, func(_ *http.Request, v map[string]any) {
		items, _ := v[list].([]any)
		for i, j := 0, len(items)-1; i < j; i, j = i+1, j-1 {
			items[i], items[j] = items[j], items[i]
		}
	})
}

// sortPages orders each page by a time, the newest first.
func sortPages(m matching, list, field string) func(func()) mutantParts {
	return changeReply(m, func(_ *http.Request, v map[string]any) {
		items, _ := v[list].([]any)
		for i := range items {
			for j := i; j > 0; j-- {
				a, _ := items[j-1].(map[string]any)
				b, _ := items[j].(map[string]any)
				if integerOf(a, field) >= integerOf(b, field) {
					break
				}
				items[j-1], items[j] = items[j], items[j-1]
			}
		}
	})
}

// keptEntry continues to list an entry after its restart.
func keptEntry(hit func()) mutantParts {
	var mu sync.Mutex
	entries := map[string]any{} // credential and run -> entry
	watch := changeReply(listingDLQ, func(r *http.Request, v map[string]any) {
		items, _ := v["messages"].([]any)
		mu.Lock()
		defer mu.Unlock()
		for _, item := range items {
			e, _ := item.(map[string]any)
			run, _ := e["workflowRunId"].(string)
			entries[r.Header.Get("Authorization")+run] = item
		}
		asked := r.URL.Query()
		run := r.Header.Get("Authorization") + asked.Get("workflowRunId")
		for _, name := range []string{"workflowRunId", "count", "cursor"} {
			asked.Del(name)
		}
		if len(items) == 0 && entries[run] != nil && len(asked) == 0 { // another filter may leave it out
			v["messages"] = []any{entries[run]}
		}
	})
	return watch(hit)
}

// clampCount reduces the count to the largest page.
func clampCount(m matching, most int) func(func()) mutantParts {
	return changeRequest(m, func(r *http.Request) {
		if n, _ := strconv.Atoi(r.URL.Query().Get("count")); n > most {
			setQuery(r, func(q map[string][]string) { q["count"] = []string{strconv.Itoa(most)} })
		}
	})
}

// ownBackoff sets the delay between retries of every message.
func ownBackoff(formula string) func(func()) mutantParts {
	return changeRequest(publishingMessage, func(r *http.Request) { r.Header.Set(header.RetryDelay, formula) })
}

// moveTimes moves all times of an item.
func moveTimes(e map[string]any, ms int64) {
	for name, v := range e {
		if inner, ok := v.(map[string]any); ok && (name == "stepInfo") {
			moveTimes(inner, ms)
		}
		if strings.HasSuffix(name, "At") || name == "time" || name == "nextDeliveryTime" || name == "notBefore" || name == "waitTimeoutDeadline" {
			e[name] = jsonNumber(integerOf(e, name) + ms)
		}
	}
}

// threeAhead moves the times of a list 3 seconds ahead, and the times of its filters back.
func threeAhead(m matching, list string) func(func()) mutantParts {
	return joinChanges(changeItems(m, list, func(e map[string]any) { moveTimes(e, 3000) }), changeRequest(m, func(r *http.Request) {
		setQuery(r, func(q map[string][]string) {
			for _, name := range []string{"fromDate", "toDate", "workflowCreatedAt"} {
				if v := q[name]; len(v) > 0 {
					n, _ := strconv.ParseInt(v[0], 10, 64)
					q[name] = []string{strconv.FormatInt(n-3000, 10)}
				}
			}
		})
	}))
}

func roundTime(e map[string]any, field string) {
	if e[field] != nil {
		e[field] = jsonNumber((integerOf(e, field) + 500) / 1000 * 1000)
	}
}
