package mutant

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/spec/header"
)

// Latitudes is the catalogue of legal variations: what the interface document
// leaves open, done in another way. Sorted by id.
func Latitudes() []Mutant { return latitudes }

var latitudes = []Mutant{
	{ID: "L01", Text: "publish answers 200", Build: status(publishing, http.StatusOK)},
	{ID: "L02", Text: "publish answers 201", Build: status(publishing, http.StatusCreated)},
	{ID: "L03", Text: "publish answers 202", Build: status(publishing, http.StatusAccepted)},
	{ID: "L04", Text: "publish answers 204 without a body", Build: respond(publishing, func(_ *http.Request, a *answer) {
		if a.status < 300 {
			a.status, a.body = http.StatusNoContent, nil
			a.header.Del("Content-Type")
		}
	})},
	{ID: "L05", Text: "publish always answers an array", Build: replyAny(publishing, func(_ *http.Request, v any) any {
		if _, ok := v.(map[string]any); ok {
			return []any{v}
		}
		return v
	})},
	{ID: "L06", Text: "publish takes GET and PUT as well", Build: request(publishing, func(r *http.Request) {
		if r.Method == http.MethodPost {
			r.Method = http.MethodPut
		}
	})},
	{ID: "L07", Text: "every object has fields that nobody knows", Build: replyAny(documented, func(_ *http.Request, v any) any { return extended(v) })},
	{ID: "L08", Text: "there are further message-level states", Build: further("QUEUED", "DELIVERED", true)},
	{ID: "L09", Text: "there are further run-level events", Build: further("RUN_RESUMED", "RUN_STARTED", false)},
	{ID: "L10", Text: "the cursor of the logs ends empty", Build: reply(listingLog, func(_ *http.Request, v map[string]any) {
		if v["cursor"] == nil {
			v["cursor"] = ""
		}
	})},
	{ID: "L11", Text: "the cursor of the logs ends absent", Build: reply(listingLog, func(_ *http.Request, v map[string]any) {
		if v["cursor"] == "" {
			delete(v, "cursor")
		}
	})},
	{ID: "L12", Text: "pages are listed oldest first", Build: both(reversed(listingLog, "events"), reversed(listingDLQ, "messages"))},
	{ID: "L13", Text: "pages are listed newest first", Build: both(sorted(listingLog, "events", "time"), sorted(listingDLQ, "messages", "createdAt"))},
	{ID: "L14", Text: "the entry is removed by its restart", Build: request(restarting, func(*http.Request) {})},
	{ID: "L15", Text: "the entry is kept after its restart", Build: keptEntry},
	{ID: "L16", Text: "unknown ids answer 400", Build: failing(restarting, http.StatusBadRequest, "")},
	{ID: "L17", Text: "unknown ids answer 404", Build: failing(restarting, http.StatusNotFound, "")},
	{ID: "L18", Text: "unknown ids answer 410 with a web page", Build: failing(restarting, http.StatusGone, "<html>gone</html>")},
	{ID: "L19", Text: "a refused credential answers 401 without a body", Build: unauthorized(http.StatusUnauthorized)},
	{ID: "L20", Text: "a refused credential answers 403", Build: unauthorized(http.StatusForbidden)},
	{ID: "L21", Text: "a page that is too large is made smaller", Build: both(clamped(listingLog, 1000), clamped(listingDLQ, 100))},
	{ID: "L22", Text: "a page that is too large is refused with 422", Build: both(failing(listingLog, http.StatusUnprocessableEntity, ""), failing(listingDLQ, http.StatusUnprocessableEntity, ""))},
	{ID: "L23", Text: "the backoff is constant", Build: backoff("5000")},
	{ID: "L24", Text: "the backoff is exponential with jitter", Build: func(hit func()) Parts {
		return backoff(strconv.Itoa(1000+rand.IntN(3000)) + " * pow(2, retried)")(hit)
	}},
	{ID: "L25", Text: "deliveries take a while", Build: delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		pause(r.Context(), 100*time.Millisecond)
		return next.RoundTrip(r)
	})},
	{ID: "L26", Text: "the endpoints of a group are called in any order", Build: delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if ofGroup(r) {
			pause(r.Context(), time.Duration(rand.IntN(20))*time.Millisecond)
		}
		return next.RoundTrip(r)
	})},
	{ID: "L27", Text: "deliveries carry further headers", Build: delivery(true, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		r.Header.Set("User-Agent", "Another/2.0")
		r.Header.Set("X-Request-Id", "0123456789")
		r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		return next.RoundTrip(r)
	})},
	{ID: "L28", Text: "a delivery that succeeded is made once more", Build: twice},
	{ID: "L29", Text: "a resume answers 204", Build: respond(resuming, func(_ *http.Request, a *answer) {
		if a.status < 300 {
			a.status, a.body = http.StatusNoContent, nil
		}
	})},
	{ID: "L30", Text: "there are other metric ids, and a series without points", Build: stat(func(_ *http.Request, v map[string]any) {
		for _, name := range []string{"daily_svc_messages", "daily_workflow_messages"} {
			list, _ := v[name].([]any)
			v[name] = append(list, map[string]any{"id": "another", "data_points": []any{}})
		}
	})},
	{ID: "L31", Text: "the clock is 3 seconds ahead", Build: both(threeAhead(listingLog, "events"), both(threeAhead(listingDLQ, "messages"), reply(restarting, func(_ *http.Request, v map[string]any) { ahead(v, 3000) })))},
	{ID: "L32", Text: "times in ms are rounded to seconds", Build: both(each(listingDLQ, "messages", func(e map[string]any) { rounded(e, "notBefore") }), each(listingLog, "events", func(e map[string]any) { rounded(e, "nextDeliveryTime") }))},
	{ID: "L33", Text: "a denial of the plugin is 503", Build: func(hit func()) Parts {
		return Parts{App: func(limited, _ http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				a := call(limited, r)
				if a.status == http.StatusTooManyRequests {
					hit()
					a.status = http.StatusServiceUnavailable
				}
				a.write(w)
			})
		}}
	}},
	{ID: "L34", Text: "a sliding window is weighted", Build: plugin(func(map[string]any) {})}, // ours is
}

// documented are the operations whose answers the document shows.
func documented(r *http.Request) bool {
	return listingDLQ(r) || listingLog(r) || restarting(r) || statistics(r) || informing(r)
}

// status changes the status of success.
func status(m matching, code int) func(func()) Parts {
	return respond(m, func(_ *http.Request, a *answer) {
		if a.status < 300 {
			a.status = code
		}
	})
}

// failing changes what a refusal looks like.
func failing(m matching, code int, page string) func(func()) Parts {
	return respond(m, func(_ *http.Request, a *answer) {
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

func unauthorized(code int) func(func()) Parts {
	return respond(func(r *http.Request) bool { return !hosting(r) }, func(_ *http.Request, a *answer) {
		if a.status == http.StatusUnauthorized {
			a.status, a.body = code, nil
		}
	})
}

// extended adds a field to every object, in data that has a fixed shape.
func extended(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for name, inner := range x {
			switch name {
			case "header", "responseHeader", "responseHeaders", "headers", "namespaces", "requestHeaders":
			default:
				x[name] = extended(inner)
			}
		}
		x["x_further"] = map[string]any{"a": []any{number(1), nil}}
	case []any:
		for i, inner := range x {
			x[i] = extended(inner)
		}
	}
	return v
}

// further repeats events under a state that nobody knows. Their time stays.
func further(name, like string, step bool) func(func()) Parts {
	return reply(listingLog, func(r *http.Request, v map[string]any) {
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
					if field != "stepInfo" || step {
						other[field] = value
					}
				}
				other["state"] = name
				out = append(out, other)
			}
		}
		v["events"] = out
	})
}

// reversed turns each page around; the pages follow one another as before.
func reversed(m matching, list string) func(func()) Parts {
	return reply(m, func(_ *http.Request, v map[string]any) {
		items, _ := v[list].([]any)
		for i, j := 0, len(items)-1; i < j; i, j = i+1, j-1 {
			items[i], items[j] = items[j], items[i]
		}
	})
}

// sorted orders each page by a time, the newest first.
func sorted(m matching, list, field string) func(func()) Parts {
	return reply(m, func(_ *http.Request, v map[string]any) {
		items, _ := v[list].([]any)
		for i := range items {
			for j := i; j > 0; j-- {
				a, _ := items[j-1].(map[string]any)
				b, _ := items[j].(map[string]any)
				if whole(a, field) >= whole(b, field) {
					break
				}
				items[j-1], items[j] = items[j], items[j-1]
			}
		}
	})
}

// keptEntry lists an entry on after its restart.
func keptEntry(hit func()) Parts {
	var mu sync.Mutex
	entries := map[string]any{} // run -> entry
	watch := reply(listingDLQ, func(r *http.Request, v map[string]any) {
		items, _ := v["messages"].([]any)
		mu.Lock()
		defer mu.Unlock()
		for _, item := range items {
			e, _ := item.(map[string]any)
			run, _ := e["workflowRunId"].(string)
			entries[run] = item
		}
		asked := r.URL.Query()
		run := asked.Get("workflowRunId")
		for _, name := range []string{"workflowRunId", "count", "cursor"} {
			asked.Del(name)
		}
		if len(items) == 0 && entries[run] != nil && len(asked) == 0 { // another filter may leave it out
			v["messages"] = []any{entries[run]}
		}
	})
	return watch(hit)
}

// clamped asks for no more than a page may hold.
func clamped(m matching, most int) func(func()) Parts {
	return request(m, func(r *http.Request) {
		if n, _ := strconv.Atoi(r.URL.Query().Get("count")); n > most {
			setQuery(r, func(q map[string][]string) { q["count"] = []string{strconv.Itoa(most)} })
		}
	})
}

// backoff gives every message a wait of its own between retries.
func backoff(formula string) func(func()) Parts {
	return request(publishing, func(r *http.Request) { r.Header.Set(header.RetryDelay, formula) })
}

// ahead moves all times of an item.
func ahead(e map[string]any, ms int64) {
	for name, v := range e {
		if inner, ok := v.(map[string]any); ok && (name == "stepInfo") {
			ahead(inner, ms)
		}
		if strings.HasSuffix(name, "At") || name == "time" || name == "nextDeliveryTime" || name == "notBefore" {
			e[name] = number(whole(e, name) + ms)
		}
	}
}

// threeAhead is a list whose times, and those of whose filters, are 3 seconds
// ahead.
func threeAhead(m matching, list string) func(func()) Parts {
	return both(each(m, list, func(e map[string]any) { ahead(e, 3000) }), request(m, func(r *http.Request) {
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

func rounded(e map[string]any, field string) {
	if e[field] != nil {
		e[field] = number((whole(e, field) + 500) / 1000 * 1000)
	}
}
