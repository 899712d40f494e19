package mutant

import (
	"net/http"
	"strings"
)

// restart breaks restarts. Sorted by id.
var restart = []Mutant{
	{ID: "RST-001.1", Text: "the answer omits workflowCreatedAt", Build: reply(restarting, func(_ *http.Request, v map[string]any) { delete(v, "workflowCreatedAt") })},
	{ID: "RST-001.2", Text: "a restart demands a body", Build: refuse(restarting, func(r *http.Request) bool { return len(body(r)) == 0 })},
	{ID: "RST-002.1", Text: "a restart answers the id of the old run", Build: oldRun("workflowRunId")},
	{ID: "RST-002.2", Text: "a restart answers 2xx and does nothing", Build: func(hit func()) Parts {
		return wrap(restarting, hit, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			_, _ = w.Write([]byte("{}"))
		})
	}},
	{ID: "RST-003.1", Text: "a restart sets the retries to the default", Build: withOverride("Svc-Retries", "3")},
	{ID: "RST-003.2", Text: "the new run has an empty payload", Build: restartedCalls(func(r *http.Request) {
		if list, ok := decoded(body(r)).([]any); ok && len(list) > 0 {
			if item, ok := list[0].(map[string]any); ok {
				item["body"] = ""
			}
			setBody(r, encoded(list))
		}
	})},
	{ID: "RST-003.3", Text: "the new run lacks the forwarded headers", Build: restartedCalls(func(r *http.Request) { r.Header.Del("X-Order") })},
	{ID: "RST-004.1", Text: "a restart goes on at the failed step", Build: resumeInstead},
	{ID: "RST-005.1", Text: "the chosen run id is ignored", Build: request(restarting, func(r *http.Request) { r.Header.Del("Svc-Workflow-Runid") })},
	{ID: "RST-006.1", Text: "the flow-control value of the restart is ignored", Build: request(restarting, func(r *http.Request) { r.Header.Del("Svc-Flow-Control-Value") })},
	{ID: "RST-006.2", Text: "without an override the flow-control value is reset", Build: request(restarting, func(r *http.Request) {
		if r.Header.Get("Svc-Flow-Control-Value") == "" {
			r.Header.Set("Svc-Flow-Control-Key", "reset")
			r.Header.Set("Svc-Flow-Control-Value", "parallelism=1")
		}
	})},
	{ID: "RST-007.1", Text: "the new run is not in the logs under its id", Build: reply(restarting, func(_ *http.Request, v map[string]any) {
		id, _ := v["workflowRunId"].(string)
		v["workflowRunId"] = id + "x"
	})},
	{ID: "RST-008.1", Text: "a restart answers the creation of the old run", Build: oldRun("workflowCreatedAt")},
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
