package mutant

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

// itemsOf are the objects of a list.
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

// entries changes every entry of the dead letter queue.
func entries(change func(e map[string]any)) func(func()) Parts {
	return each(listingDLQ, "messages", change)
}

func keptEntries(fits func(e map[string]any) bool) func(func()) Parts {
	return filter(listingDLQ, "messages", fits)
}

// inOutcome changes the outcome of failure callbacks.
func inOutcome(change func(info map[string]any)) func(func()) Parts {
	return entries(func(e map[string]any) {
		if info, ok := e["failureCallbackInfo"].(map[string]any); ok {
			change(info)
		}
	})
}

// restarted reports whether an item is of a run that a restart made: the suite
// did not choose its id.
func restarted(e map[string]any) bool {
	return !strings.HasPrefix(text(e["workflowRunId"]), "wfr_cf")
}

// ofRestarted changes the entries of restarted runs.
func ofRestarted(change func(e map[string]any)) func(func()) Parts {
	return entries(func(e map[string]any) {
		if restarted(e) {
			change(e)
		}
	})
}

// emptyIs puts a value in the place of an empty list.
func emptyIs(m matching, list string, value any) func(func()) Parts {
	return reply(m, func(_ *http.Request, v map[string]any) {
		if items, ok := v[list].([]any); ok && len(items) == 0 {
			v[list] = value
		}
	})
}

// forgetful drops everything but the page from a query with a cursor.
func forgetful(m matching) func(func()) Parts {
	return request(m, func(r *http.Request) {
		if r.URL.Query().Has("cursor") {
			dropQuery(r, func(name string) bool { return name != "cursor" && name != "count" })
		}
	})
}

// unfiltered ignores a filter.
func unfiltered(m matching, filter string) func(func()) Parts {
	return request(m, func(r *http.Request) { dropQuery(r, func(name string) bool { return name == filter }) })
}

// withoutValue ignores a filter that asks for a value.
func withoutValue(m matching, filter, value string) func(func()) Parts {
	return request(m, func(r *http.Request) {
		if r.URL.Query().Get(filter) == value {
			dropQuery(r, func(name string) bool { return name == filter })
		}
	})
}

// narrowed takes a filter away and keeps the items that fit its value in another
// way.
func narrowed(m matching, list, filter string, fits func(item map[string]any, value string) bool) func(func()) Parts {
	return func(hit func()) Parts {
		return wrap(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			value := r.URL.Query().Get(filter)
			if value == "" {
				next.ServeHTTP(w, r)
				return
			}
			dropQuery(r, func(name string) bool { return name == filter })
			a := call(next, r)
			if v, ok := decoded(a.body).(map[string]any); ok && a.status < 300 {
				kept := []any{}
				for _, item := range itemsOf(v, list) {
					if fits(item, value) {
						kept = append(kept, item)
					}
				}
				v[list] = kept
				a.body = encoded(v)
			}
			a.write(w)
		})
	}
}

func filteredByPrefix(m matching, list, filter, field string) func(func()) Parts {
	return narrowed(m, list, filter, func(item map[string]any, value string) bool { return strings.HasPrefix(text(item[field]), value) })
}

var statusClass = narrowed(listingDLQ, "messages", "responseStatus", func(item map[string]any, value string) bool {
	return strings.HasPrefix(strconv.FormatInt(whole(item, "responseStatus"), 10), value[:1])
})

// unfilteredWhenEmpty asks again without filters that nothing fits.
func unfilteredWhenEmpty(m matching, list string, filters ...string) func(func()) Parts {
	return func(hit func()) Parts {
		return wrap(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			plain := r.Clone(r.Context())
			a := call(next, r)
			v, _ := decoded(a.body).(map[string]any)
			if items, ok := v[list].([]any); ok && len(items) == 0 {
				for _, name := range filters {
					dropQuery(plain, func(given string) bool { return given == name })
				}
				if plain.URL.RawQuery != r.URL.RawQuery {
					a = call(next, plain)
				}
			}
			a.write(w)
		})
	}
}

// highestStatus lists the highest status of all attempts of a run.
func highestStatus(hit func()) Parts {
	var mu sync.Mutex
	highest := map[string]int{}
	watch := delivery(true, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if run := r.Header.Get(header.WorkflowRunID); err == nil && run != "" {
			mu.Lock()
			highest[run] = max(highest[run], response.StatusCode)
			mu.Unlock()
		}
		return response, err
	})
	return both(watch, entries(func(e map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		if n := highest[text(e["workflowRunId"])]; n > 0 {
			e["responseStatus"] = number(int64(n))
		}
	}))(hit)
}

// changingID gives an entry another id at each reading.
func changingID(hit func()) Parts {
	var mu sync.Mutex
	n := 0
	return both(entries(func(e map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		n++
		e["dlqId"] = fmt.Sprintf("%v~%d", e["dlqId"], n)
	}), request(restarting, func(r *http.Request) {
		r.URL.Path, _, _ = strings.Cut(r.URL.Path, "~")
		r.URL.RawPath = ""
	}))(hit)
}

// savedRun lists a run that failed once and then succeeded.
func savedRun(hit func()) Parts {
	return wrap(listingDLQ, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		run := r.URL.Query().Get("workflowRunId")
		look := r.Clone(r.Context())
		look.URL.Path, look.URL.RawQuery = route.ListWorkflowMessageLogs.Path(), "workflowRunId="+run
		a := call(next, r)
		v, _ := decoded(a.body).(map[string]any)
		log, _ := decoded(call(next, look).body).(map[string]any)
		if items, _ := v["messages"].([]any); run != "" && len(items) == 0 && count(log, "RUN_SUCCESS") > 0 && troubled(log) {
			v["messages"] = []any{map[string]any{"dlqId": "1-1", "workflowRunId": run, "messageId": "msg_1", "url": "http://x.test", "method": "POST"}}
			a.body = encoded(v)
		}
		a.write(w)
	})
}

// troubled reports whether an attempt of a run failed.
func troubled(log map[string]any) bool { return count(log, "ERROR")+count(log, "RETRY") > 0 }

// count is how many events have a state.
func count(log map[string]any, state string) (n int) {
	for _, e := range itemsOf(log, "events") {
		if e["state"] == state {
			n++
		}
	}
	return n
}

// withoutOf leaves out the events of one state where there is one of another.
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

// startedAtEnd leaves out RUN_STARTED of runs that have not ended.
func startedAtEnd(_ *http.Request, log map[string]any) {
	if count(log, "RUN_SUCCESS")+count(log, "RUN_FAILED")+count(log, "RUN_CANCELED") == 0 {
		withoutOf(log, "RUN_STARTED", "RUN_STARTED")
	}
}

// repeatAs repeats the run-level events of one state under another.
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

// failedThoughSaved adds RUN_FAILED to runs that a retry saved.
func failedThoughSaved(_ *http.Request, log map[string]any) {
	if troubled(log) {
		repeatAs(log, "RUN_SUCCESS", "RUN_FAILED")
	}
}

// movedToInvoked takes INVOKED from the run that invokes, and gives it to that
// which was invoked.
func movedToInvoked(log map[string]any) {
	withoutOf(log, "INVOKED", "INVOKED")
	for _, e := range itemsOf(log, "events") {
		if e["invokerWorkflowRunId"] != nil && e["state"] == "RUN_STARTED" {
			repeatAs(log, "RUN_STARTED", "INVOKED")
			return
		}
	}
}

// firstAddress gives every run the address of the first one that was listed.
func firstAddress(hit func()) Parts {
	var mu sync.Mutex
	var first any
	return events(func(e map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = e["workflowUrl"]
		}
		e["workflowUrl"] = first
	})(hit)
}

// firstAnswer repeats the first success for all that follow.
func firstAnswer(m matching) func(func()) Parts {
	return func(hit func()) Parts {
		var mu sync.Mutex
		var first *answer
		return wrap(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			a := call(next, r)
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
