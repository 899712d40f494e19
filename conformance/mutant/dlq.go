package mutant

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// dlq breaks the dead letter queue of runs. Sorted by id.
var dlq = []Mutant{
	{"M29", "DLQ-005", "a failed run never enters the queue", []string{"DLQ-010", "LOG-009"}, filter(listingDLQ, "messages", func(map[string]any) bool { return false })},
	{"M31", "DLQ-016", "a failed run enters twice, with two ids", []string{"DLQ-002", "DLQ-003", "DLQ-008", "DLQ-009"}, reply(listingDLQ, func(_ *http.Request, v map[string]any) {
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
	{"M33", "DLQ-010", "the status of the first attempt is stored", nil, firstAttempt("responseStatus")},
	{"M35", "DLQ-007", "createdAt is in seconds", []string{"DLQ-009"}, each(listingDLQ, "messages", func(e map[string]any) { e["createdAt"] = number(whole(e, "createdAt") / 1000) })},
	{"M37", "DLQ-004", "dlqId is missing, id stands in its place", []string{"DLQ-003", "DLQ-008", "DLQ-013", "RST-001", "RST-002", "RST-003", "RST-004", "RST-005", "RST-006"}, each(listingDLQ, "messages", func(e map[string]any) {
		e["id"] = e["dlqId"]
		delete(e, "dlqId")
	})},
	{"M39", "DLQ-002", "a page holds 101 entries", nil, reply(listingDLQ, func(r *http.Request, v map[string]any) {
		if items, _ := v["messages"].([]any); len(items) == 100 && r.URL.Query().Get("count") == "" {
			v["messages"] = append(items, items[0])
		}
	})},
	{"M41", "DLQ-003", "pages overlap by one entry", nil, overlapping(listingDLQ, "messages")},
	{"M43", "DLQ-003", "the cursor never ends", []string{"DLQ-008", "DLQ-009"}, endless(listingDLQ)},
	{"M45", "DLQ-003", "an entry that comes while pages are read moves the others", nil, byOffset(listingDLQ, "messages")},
	{"M47", "DLQ-009", "the end date is exclusive", nil, shiftDate(listingDLQ, "toDate", -1)},
	{"M49", "DLQ-008", "of two filters one is enough", nil, oneFilterOf(listingDLQ, "workflowRunId", "label")},
	{"M51", "DLQ-012", "the callback is made, failureCallbackInfo is missing", []string{"DLQ-019"}, each(listingDLQ, "messages", func(e map[string]any) { delete(e, "failureCallbackInfo") })},
	{"M240", "DLQ-001", "the list stands under entries", []string{"DLQ-002", "DLQ-003", "DLQ-005", "DLQ-010", "LOG-009"}, renamed(listingDLQ, "messages", "entries")},
	{"M95", "DLQ-001", "the list stands under items", []string{"DLQ-002", "DLQ-003", "DLQ-005", "DLQ-010", "LOG-009"}, renamed(listingDLQ, "messages", "items")},
	{"M241", "DLQ-006", "header maps hold plain texts", []string{"DLQ-004", "DLQ-014"}, each(listingDLQ, "messages", func(e map[string]any) { flatten(e, "header") })},
	{"M242", "DLQ-009", "the start date is exclusive", nil, shiftDate(listingDLQ, "fromDate", 1)},
	{"M243", "DLQ-010", "the body of the first attempt is stored", nil, firstAttempt("responseBody")},
	{"M244", "DLQ-010", "the headers of the answer are not stored", []string{"DLQ-004", "DLQ-006"}, each(listingDLQ, "messages", func(e map[string]any) { e["responseHeader"] = map[string]any{} })},
	{"M245", "DLQ-011", "failureCallback is always present", nil, each(listingDLQ, "messages", func(e map[string]any) {
		if e["failureCallback"] == nil {
			e["failureCallback"] = e["url"]
		}
	})},
	{"M246", "DLQ-012", "the state of the callback never moves", []string{"DLQ-019"}, each(listingDLQ, "messages", func(e map[string]any) {
		if info, ok := e["failureCallbackInfo"].(map[string]any); ok {
			info["state"] = "CALLBACK_INPROGRESS"
		}
	})},
	{"M247", "DLQ-013", "all entries have one id", []string{"DLQ-003", "DLQ-008", "DLQ-009", "RST-001", "RST-002", "RST-003", "RST-004", "RST-005", "RST-006"}, each(listingDLQ, "messages", func(e map[string]any) { e["dlqId"] = "1-0" })},
	{"M248", "DLQ-014", "maxRetries is the default, not that of the run", nil, each(listingDLQ, "messages", func(e map[string]any) { e["maxRetries"] = number(3) })},
	{"M249", "DLQ-014", "the header of the entry is empty", nil, each(listingDLQ, "messages", func(e map[string]any) { e["header"] = map[string]any{} })},
	{"M250", "DLQ-015", "every run is listed", []string{"DLQ-005", "DLQ-008", "DLQ-016", "LOG-009", "RST-003"}, everyRun},
	{"M251", "DLQ-008", "the filter by run is ignored", nil, request(listingDLQ, func(r *http.Request) { dropQuery(r, func(name string) bool { return name == "workflowRunId" }) })},
	{"M252", "DLQ-008", "the filter by label is ignored", nil, request(listingDLQ, func(r *http.Request) { dropQuery(r, func(name string) bool { return name == "label" }) })},
	{"M253", "DLQ-008", "the filter by status is ignored", nil, request(listingDLQ, func(r *http.Request) { dropQuery(r, func(name string) bool { return name == "responseStatus" }) })},
	{"M254", "DLQ-002", "a larger page is given to who asks", nil, unbounded(listingDLQ, "messages", 100)},
	{"M255", "DLQ-002", "a page holds 50 entries by default", nil, smallPage(listingDLQ, "50")},
	{"M256", "DLQ-004", "responseStatus is a text", []string{"DLQ-008", "DLQ-010", "DLQ-012"}, each(listingDLQ, "messages", func(e map[string]any) {
		e["responseStatus"] = strconv.FormatInt(whole(e, "responseStatus"), 10)
	})},
	{"M257", "DLQ-019", "the headers of the callback's answer are missing", nil, each(listingDLQ, "messages", func(e map[string]any) {
		if info, ok := e["failureCallbackInfo"].(map[string]any); ok {
			delete(info, "responseHeaders")
		}
	})},
}

// renamed gives a field of the answer another name.
func renamed(m matching, from, to string) func(func()) Parts {
	return reply(m, func(_ *http.Request, v map[string]any) {
		v[to] = v[from]
		delete(v, from)
	})
}

// flatten makes texts of the arrays of a header map.
func flatten(e map[string]any, field string) {
	m, _ := e[field].(map[string]any)
	for name, values := range m {
		if list, ok := values.([]any); ok && len(list) > 0 {
			m[name] = list[0]
		}
	}
}

// attempts remembers what workflow endpoints answered first, by run.
type attempts struct {
	mu    sync.Mutex
	first map[string]*http.Response
}

// firstAttempt lists what the first attempt of a run was answered.
func firstAttempt(field string) func(func()) Parts {
	return func(hit func()) Parts {
		seen := &attempts{first: map[string]*http.Response{}}
		watch := delivery(true, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if run := r.Header.Get("Svc-Workflow-Runid"); err == nil && run != "" {
				seen.mu.Lock()
				if seen.first[run] == nil {
					seen.first[run] = response
				}
				seen.mu.Unlock()
			}
			return response, err
		})
		change := each(listingDLQ, "messages", func(e map[string]any) {
			run, _ := e["workflowRunId"].(string)
			seen.mu.Lock()
			defer seen.mu.Unlock()
			if first := seen.first[run]; first != nil {
				if field == "responseStatus" {
					e[field] = number(int64(first.StatusCode))
				} else if e[field] == "attempt 2" {
					e[field] = "attempt 1"
				}
			}
		})
		return both(watch, change)(hit)
	}
}

// overlapping repeats the last item of a page as the first of the next.
func overlapping(m matching, list string) func(func()) Parts {
	return func(hit func()) Parts {
		var mu sync.Mutex
		last := map[string]any{} // cursor -> item
		return reply(m, func(r *http.Request, v map[string]any) {
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

// endless gives the last page a cursor that leads to the first one.
func endless(m matching) func(func()) Parts {
	return func(hit func()) Parts {
		return wrap(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.URL.Query().Get("cursor") == "again" {
				dropQuery(r, func(name string) bool { return name == "cursor" })
			}
			a := call(next, r)
			if v, ok := decoded(a.body).(map[string]any); ok && a.status == http.StatusOK {
				if cursor, _ := v["cursor"].(string); cursor == "" {
					v["cursor"] = "again"
				}
				a.body = encoded(v)
			}
			a.write(w)
		})
	}
}

// shiftDate moves a date of the filter by ms.
func shiftDate(m matching, name string, by int64) func(func()) Parts {
	return request(m, func(r *http.Request) {
		if v := r.URL.Query().Get(name); v != "" {
			setQuery(r, func(q map[string][]string) {
				n, _ := json.Number(v).Int64()
				q[name] = []string{strconv.FormatInt(n+by, 10)}
			})
		}
	})
}

// oneFilterOf drops the second filter where both are given.
func oneFilterOf(m matching, a, b string) func(func()) Parts {
	return request(m, func(r *http.Request) {
		if q := r.URL.Query(); q.Has(a) && q.Has(b) {
			dropQuery(r, func(name string) bool { return name == a })
		}
	})
}

// everyRun makes entries of runs that did not fail: of those that the logs of
// the same account name.
func everyRun(hit func()) Parts {
	return wrap(listingDLQ, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		run := r.URL.Query().Get("workflowRunId")
		a := call(next, r)
		v, _ := decoded(a.body).(map[string]any)
		items, _ := v["messages"].([]any)
		if run != "" && len(items) == 0 && v != nil {
			v["messages"] = []any{map[string]any{"dlqId": "1-1", "workflowRunId": run, "messageId": "msg_1", "url": "http://x.test", "method": "POST"}}
			a.body = encoded(v)
		}
		a.write(w)
	})
}

// unbounded joins pages when more is asked for than a page may hold.
func unbounded(m matching, list string, most int) func(func()) Parts {
	return func(hit func()) Parts {
		return wrap(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			count, _ := strconv.Atoi(r.URL.Query().Get("count"))
			if count <= most {
				next.ServeHTTP(w, r)
				return
			}
			setQuery(r, func(q map[string][]string) { delete(q, "count") })
			a := call(next, r)
			v, _ := decoded(a.body).(map[string]any)
			cursor, _ := v["cursor"].(string)
			if cursor != "" {
				more := r.Clone(r.Context())
				setQuery(more, func(q map[string][]string) {
					q["cursor"] = []string{cursor}
					q["count"] = []string{strconv.Itoa(count - most)}
				})
				rest, _ := decoded(call(next, more).body).(map[string]any)
				items, _ := v[list].([]any)
				others, _ := rest[list].([]any)
				v[list] = append(items, others...)
				a.body = encoded(v)
			}
			a.write(w)
		})
	}
}

// smallPage asks for less than the default.
func smallPage(m matching, count string) func(func()) Parts {
	return request(m, func(r *http.Request) {
		if !strings.Contains(r.URL.RawQuery, "count=") {
			setQuery(r, func(q map[string][]string) { q["count"] = []string{count} })
		}
	})
}
