package mutant

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Latitudes is the catalogue of legal variations: what the interface document
// leaves open, done in another way. Sorted by id.
func Latitudes() []Mutant { return latitudes }

var latitudes = []Mutant{
	{"L01", "", "publish answers 200", nil, status(publishing, http.StatusOK)},
	{"L02", "", "publish answers 201", nil, status(publishing, http.StatusCreated)},
	{"L03", "", "publish answers 202", nil, status(publishing, http.StatusAccepted)},
	{"L04", "", "publish answers 204 without a body", nil, respond(publishing, func(_ *http.Request, a *answer) {
		if a.status < 300 {
			a.status, a.body = http.StatusNoContent, nil
			a.header.Del("Content-Type")
		}
	})},
	{"L05", "", "publish always answers an array", nil, replyAny(publishing, func(_ *http.Request, v any) any {
		if _, ok := v.(map[string]any); ok {
			return []any{v}
		}
		return v
	})},
	{"L06", "", "publish takes GET and PUT as well", nil, request(publishing, func(r *http.Request) {
		if r.Method == http.MethodPost {
			r.Method = http.MethodPut
		}
	})},
	{"L07", "", "every object has fields that nobody knows", nil, replyAny(documented, func(_ *http.Request, v any) any { return extended(v) })},
	{"L08", "", "there are further message-level states", nil, further("QUEUED", "DELIVERED", true)},
	{"L09", "", "there are further run-level events", nil, further("RUN_RESUMED", "RUN_STARTED", false)},
	{"L10", "", "the cursor of the logs ends empty", nil, reply(listingLog, func(_ *http.Request, v map[string]any) {
		if v["cursor"] == nil {
			v["cursor"] = ""
		}
	})},
	{"L11", "", "the cursor of the logs ends absent", nil, reply(listingLog, func(_ *http.Request, v map[string]any) {
		if v["cursor"] == "" {
			delete(v, "cursor")
		}
	})},
	{"L12", "", "pages are listed oldest first", nil, both(reversed(listingLog, "events"), reversed(listingDLQ, "messages"))},
	{"L13", "", "pages are listed newest first", nil, both(sorted(listingLog, "events", "time"), sorted(listingDLQ, "messages", "createdAt"))},
	{"L14", "", "the entry is removed by its restart", nil, request(restarting, func(*http.Request) {})},
	{"L15", "", "the entry is kept after its restart", nil, keptEntry},
	{"L16", "", "unknown ids answer 400", nil, failing(restarting, http.StatusBadRequest, "")},
	{"L17", "", "unknown ids answer 404", nil, failing(restarting, http.StatusNotFound, "")},
	{"L18", "", "unknown ids answer 410 with a web page", nil, failing(restarting, http.StatusGone, "<html>gone</html>")},
	{"L19", "", "a refused credential answers 401 without a body", nil, unauthorized(http.StatusUnauthorized)},
	{"L20", "", "a refused credential answers 403", nil, unauthorized(http.StatusForbidden)},
	{"L21", "", "a page that is too large is made smaller", nil, both(clamped(listingLog, 1000), clamped(listingDLQ, 100))},
	{"L22", "", "a page that is too large is refused with 422", nil, both(failing(listingLog, http.StatusUnprocessableEntity, ""), failing(listingDLQ, http.StatusUnprocessableEntity, ""))},
	{"L23", "", "the backoff is constant", nil, backoff("5000")},
	{"L24", "", "the backoff is exponential with jitter", nil, func(hit func()) Parts {
		return backoff(strconv.Itoa(1000+rand.IntN(3000)) + " * pow(2, retried)")(hit)
	}},
	{"L25", "", "deliveries take a while", nil, delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		pause(r.Context(), 100*time.Millisecond)
		return next.RoundTrip(r)
	})},
	{"L26", "", "the endpoints of a group are called in any order", nil, delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if ofGroup(r) {
			pause(r.Context(), time.Duration(rand.IntN(20))*time.Millisecond)
		}
		return next.RoundTrip(r)
	})},
	{"L27", "", "deliveries carry further headers", nil, delivery(true, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		r.Header.Set("User-Agent", "Another/2.0")
		r.Header.Set("X-Request-Id", "0123456789")
		r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		return next.RoundTrip(r)
	})},
	{"L28", "", "a delivery that succeeded is made once more", nil, twice},
	{"L29", "", "a resume answers 204", nil, respond(resuming, func(_ *http.Request, a *answer) {
		if a.status < 300 {
			a.status, a.body = http.StatusNoContent, nil
		}
	})},
	{"L30", "", "there are other metric ids, and a series without points", nil, stat(func(_ *http.Request, v map[string]any) {
		for _, name := range []string{"daily_svc_messages", "daily_workflow_messages"} {
			list, _ := v[name].([]any)
			v[name] = append(list, map[string]any{"id": "another", "data_points": []any{}})
		}
	})},
	{"L31", "", "the clock is 3 seconds ahead", nil, both(threeAhead(listingLog, "events"), both(threeAhead(listingDLQ, "messages"), reply(restarting, func(_ *http.Request, v map[string]any) { ahead(v, 3000) })))},
	{"L32", "", "times in ms are rounded to seconds", nil, both(each(listingDLQ, "messages", func(e map[string]any) { rounded(e, "notBefore") }), each(listingLog, "events", func(e map[string]any) { rounded(e, "nextDeliveryTime") }))},
	{"L33", "", "a denial of the plugin is 503", nil, func(hit func()) Parts {
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
	{"L34", "", "a sliding window is weighted", nil, plugin(func(map[string]any) {})}, // ours is
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
		if run := r.URL.Query().Get("workflowRunId"); len(items) == 0 && entries[run] != nil && !r.URL.Query().Has("label") {
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
	return request(publishing, func(r *http.Request) { r.Header.Set("Svc-Retry-Delay", formula) })
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
