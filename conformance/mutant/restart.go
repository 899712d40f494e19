package mutant

import (
	"net/http"
	"strings"
)

// restart breaks restarts. Sorted by id.
var restart = []Mutant{
	{"M53", "RST-002", "a restart answers the id of the old run", []string{"DLQ-013", "RST-001", "RST-003", "RST-004", "RST-005", "RST-006"}, oldRun("workflowRunId")},
	{"M55", "RST-004", "a restart goes on at the failed step", nil, resumeInstead},
	{"M57", "RST-003", "a restart sets the retries to the default", nil, withOverride("Svc-Retries", "3")},
	{"M59", "RST-006", "the flow-control value of the restart is ignored", nil, request(restarting, func(r *http.Request) { r.Header.Del("Svc-Flow-Control-Value") })},
	{"M61", "RST-008", "a restart answers the creation of the old run", nil, oldRun("workflowCreatedAt")},
	{"M97", "RST-001", "the answer omits workflowCreatedAt", []string{"RST-005"}, reply(restarting, func(_ *http.Request, v map[string]any) { delete(v, "workflowCreatedAt") })},
	{"M260", "RST-001", "a restart demands a body", []string{"RST-002", "RST-003", "RST-004", "RST-005", "RST-006", "DLQ-013"}, refuse(restarting, func(r *http.Request) bool { return len(body(r)) == 0 })},
	{"M261", "RST-003", "the new run has an empty payload", []string{"DLQ-013"}, restartedCalls(func(r *http.Request) {
		if list, ok := decoded(body(r)).([]any); ok && len(list) > 0 {
			if item, ok := list[0].(map[string]any); ok {
				item["body"] = ""
			}
			setBody(r, encoded(list))
		}
	})},
	{"M262", "RST-003", "the new run lacks the forwarded headers", nil, restartedCalls(func(r *http.Request) { r.Header.Del("X-Order") })},
	{"M263", "RST-005", "the chosen run id is ignored", nil, request(restarting, func(r *http.Request) { r.Header.Del("Svc-Workflow-Runid") })},
	{"M264", "RST-006", "without an override the flow-control value is reset", nil, request(restarting, func(r *http.Request) {
		if r.Header.Get("Svc-Flow-Control-Value") == "" {
			r.Header.Set("Svc-Flow-Control-Key", "reset")
			r.Header.Set("Svc-Flow-Control-Value", "parallelism=1")
		}
	})},
	{"M265", "RST-007", "the new run is not in the logs under its id", []string{"DLQ-013", "RST-003", "RST-004", "RST-005", "RST-006"}, reply(restarting, func(_ *http.Request, v map[string]any) {
		id, _ := v["workflowRunId"].(string)
		v["workflowRunId"] = id + "x"
	})},
	{"M266", "RST-002", "a restart answers 2xx and does nothing", []string{"RST-001", "RST-003", "RST-004", "RST-005", "RST-006", "DLQ-013"}, func(hit func()) Parts {
		return wrap(restarting, hit, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			_, _ = w.Write([]byte("{}"))
		})
	}},
	{"M267", "DLQ-013", "a restart takes another entry than the one it is given", nil, func(hit func()) Parts {
		return wrap(restarting, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			list := r.Clone(r.Context())
			list.Method, list.URL.Path, list.URL.RawQuery = http.MethodGet, "/v2/workflows/dlq", ""
			setBody(list, nil)
			v, _ := decoded(call(next, list).body).(map[string]any)
			items, _ := v["messages"].([]any)
			for _, item := range items { // runs that fail at once are in any order
				entry, _ := item.(map[string]any)
				if other, _ := entry["dlqId"].(string); !strings.HasSuffix(r.URL.Path, "/"+other) {
					r.URL.Path = "/v2/dlq/restart/" + other
					break
				}
			}
			next.ServeHTTP(w, r)
		})
	}},
}

// oldRun puts a value of the failed run into the answer of its restart.
func oldRun(field string) func(func()) Parts {
	return func(hit func()) Parts {
		return wrap(restarting, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			look := r.Clone(r.Context())
			look.Method, look.URL.Path = http.MethodGet, "/v2/workflows/dlq/"+r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
			setBody(look, nil)
			entry, _ := decoded(call(next, look).body).(map[string]any)
			a := call(next, r)
			if v, ok := decoded(a.body).(map[string]any); ok && a.status < 300 && entry[field] != nil {
				v[field] = entry[field]
				a.body = encoded(v)
			}
			a.write(w)
		})
	}
}

// resumeInstead keeps the finished steps.
func resumeInstead(hit func()) Parts {
	return request(restarting, func(r *http.Request) {
		r.URL.Path, r.URL.RawPath = strings.Replace(r.URL.Path, "/v2/dlq/restart/", "/v2/workflows/dlq/resume/", 1), ""
	})(hit)
}

// withOverride adds a header to every restart that has none.
func withOverride(name, value string) func(func()) Parts {
	return request(restarting, func(r *http.Request) {
		if r.Header.Get(name) == "" {
			r.Header.Set(name, value)
		}
	})
}

// restartedCalls changes the calls of runs that a restart made: those whose id
// the trigger of the suite did not choose.
func restartedCalls(change func(r *http.Request)) func(func()) Parts {
	return delivery(true, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if run := r.Header.Get("Svc-Workflow-Runid"); run != "" && !strings.HasPrefix(run, "wfr_cf") {
			change(r)
		}
		return next.RoundTrip(r)
	})
}
