package main

import (
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/understudy-mock/understudy/spec/header"
)

// lifeMutants are servers that are wrong for the second list, the second attempt, the second account,
// a run under a held key, or what follows an end.
var lifeMutants = []worldMutant{
	{mutant{ID: "a list of several entries shows the answers of neighbours", Build: ofNeighbour(listingDLQ, "messages", "responseStatus", "responseBody")},
		[]string{"DLQ-008"}, []string{"a read of the dead letter queue"}},
	{mutant{ID: "a list of several entries shows the payloads of neighbours", Build: ofNeighbour(listingDLQ, "messages", "body")},
		[]string{"DLQ-008"}, []string{"a read of the dead letter queue"}},
	{mutant{ID: "a log of several runs shows the steps of neighbours", Build: ofNeighbour(listingLog, "events", "stepInfo")},
		[]string{"LOG-011"}, []string{"a read of the message logs"}},
	{mutant{ID: "a log of several runs shows the answers of neighbours", Build: ofNeighbour(listingLog, "events", "responseBody")},
		[]string{"LOG-011"}, []string{"a read of the message logs"}},
	{mutant{ID: "the second attempt has another content type", Build: atAttempt(2, func(r *http.Request) {
		if r.Header.Get("Content-Type") == "application/json" {
			r.Header.Set("Content-Type", "text/plain")
		}
	})}, []string{"PUB-011"}, []string{"body", "destination"}},
	{mutant{ID: "the second attempt has another method", Build: atAttempt(2, func(r *http.Request) { r.Method = http.MethodPut })},
		[]string{"PUB-011"}, []string{"destination"}},
	{mutant{ID: "a message id shows the events of any account", Build: messagesOfAll}, []string{"AUT-005"}, []string{"message id", "another account"}},
	{mutant{ID: "a restart is made twice", Build: func(hit func()) mutantParts {
		var restarted runSet
		return joinChanges(changeReply(restartingRun, func(_ *http.Request, v map[string]any) { restarted.add(textOf(v["workflowRunId"])) }), changeDelivery(true, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if restarted.drop(r.Header.Get(header.WorkflowRunID)) {
				twice(r, next)
			}
			return next.RoundTrip(r)
		}))(hit)
	}}, []string{"RTY-003", "RTY-002", "RST-010"}, []string{"restarted"}},
	{mutant{ID: "a run that starts resumes its key", Build: heldStart(func(next http.Handler, r *http.Request) {
		also := r.Clone(context.WithoutCancel(r.Context()))
		also.Method, also.Body = http.MethodPost, http.NoBody
		also.URL.Path, also.URL.RawPath = "/v2/flowControl/"+r.Header.Get(header.FlowControlKey)+"/resume", ""
		_ = serverAnswer(next, also)
	})}, []string{"FLC-003"}, []string{"a paused key"}},
	{mutant{ID: "a run that a key holds never starts", Build: heldStart(func(_ http.Handler, r *http.Request) { r.Header.Set(header.Delay, "30d") })}, []string{"FLC-001"}, []string{"a paused key"}},
	{mutant{ID: "a run is called again after its success", Build: func(hit func()) mutantParts {
		var ended runSet
		return joinChanges(changeRequest(matchPath("DELETE", "/v2/workflows/runs/.*"), func(r *http.Request) { ended.add(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]) }), changeDelivery(true, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			text := readBody(r)
			response, err := next.RoundTrip(r)
			if ended.drop(r.Header.Get(header.WorkflowRunID)) {
				setBody(r, text)
				twice(r, next)
			}
			return response, err
		}))(hit)
	}}, []string{"RTY-003"}, []string{"a run"}},
	{mutant{ID: "a failure callback is called twice", Build: changeDelivery(true, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if text := string(readBody(r)); strings.Contains(text, `"dlqId"`) {
			twice(r, next)
		}
		return next.RoundTrip(r)
	})}, []string{"DLQ-012"}, []string{"failure callback"}},
	{mutant{ID: "a message is created after the end of its run", Build: afterEnd(func(end, message map[string]any) map[string]any {
		info, _ := message["stepInfo"].(map[string]any)
		info = maps.Clone(info) // that of the first event stays
		info["messageId"], info["createdAt"] = "msg_late", integerOf(end, "time")+5000
		message["state"], message["stepInfo"], message["time"] = "CREATED", info, info["createdAt"]
		return message
	})}, []string{"LOG-004"}, []string{"a run"}},
	{mutant{ID: "the message that has failed for good is delivered", Build: afterEnd(func(end, message map[string]any) map[string]any {
		if end["state"] != "RUN_FAILED" || message["state"] != "ERROR" {
			return nil
		}
		message["state"], message["time"] = "DELIVERED", integerOf(end, "time")+1
		return message
	})}, []string{"DLQ-007", "LOG-008"}, []string{"a run"}},
	{mutant{ID: "the timeout of a delayed message is ignored", Build: withBoth(header.Delay, header.Timeout, func(r *http.Request) { r.Header.Del(header.Timeout) })},
		[]string{"PUB-013"}, []string{"delay of 2 s", "timeout"}},
	{mutant{ID: "a fourth attempt is not made", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if r.Header.Get(header.Retries) == "4" {
			r.Header.Set(header.Retries, "2")
		}
	})}, []string{"RTY-001"}, []string{"4 retries"}},
}

// messagesOfAll shows the events of a message to everybody who knows its id.
func messagesOfAll(hit func()) mutantParts {
	var mu sync.Mutex
	owner := map[string]string{}
	return joinChanges(changeReply(listingLog, func(r *http.Request, v map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range itemsOf(v, "events") {
			if info, _ := e["stepInfo"].(map[string]any); r.Header.Get("Authorization") != "" && info != nil {
				owner[textOf(info["messageId"])] = r.Header.Get("Authorization")
			}
		}
	}), changeRequest(listingLog, func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if token := owner[r.URL.Query().Get("messageId")]; token != "" && token != r.Header.Get("Authorization") {
			hit()
			r.Header.Set("Authorization", token)
		}
	}))(func() {})
}

// ofNeighbour shows in a list of several runs the values of the row before that has them.
func ofNeighbour(listing matching, list string, names ...string) func(func()) mutantParts {
	return changeReply(listing, func(_ *http.Request, v map[string]any) {
		for _, name := range names {
			var before map[string]any // the last row of another run
			for _, row := range itemsOf(v, list) {
				if row[name] == nil {
					continue
				}
				own := maps.Clone(row)
				if before != nil && before["workflowRunId"] != row["workflowRunId"] {
					row[name] = before[name]
				}
				before = own
			}
		}
	})
}

// runSet are runs, each for one use.
type runSet struct {
	mu  sync.Mutex
	ids []string
}

func (s *runSet) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids = append(s.ids, id)
}

func (s *runSet) drop(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.ids, id)
	if i >= 0 {
		s.ids = slices.Delete(s.ids, i, i+1)
	}
	return i >= 0
}

// twice makes a request one more time.
func twice(r *http.Request, next http.RoundTripper) {
	text := readBody(r)
	again := r.Clone(context.WithoutCancel(r.Context()))
	setBody(again, text)
	if response, err := next.RoundTrip(again); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
}

// afterEnd adds to the log of a run that has ended what change makes of each of its message-level events, once.
func afterEnd(change func(end, message map[string]any) map[string]any) func(func()) mutantParts {
	return changeReply(func(r *http.Request) bool { return listingLog(r) && r.URL.Query().Get("workflowRunId") != "" }, func(_ *http.Request, v map[string]any) {
		ends := map[any]map[string]any{}
		for _, e := range itemsOf(v, "events") {
			if state := e["state"]; state == "RUN_SUCCESS" || state == "RUN_FAILED" {
				ends[e["workflowRunId"]] = e
			}
		}
		items, _ := v["events"].([]any)
		for _, e := range itemsOf(v, "events") {
			if end := ends[e["workflowRunId"]]; end != nil && e["stepInfo"] != nil {
				if late := change(end, maps.Clone(e)); late != nil {
					delete(ends, e["workflowRunId"])
					items = append(items, late)
				}
			}
		}
		v["events"] = items
	})
}

// heldStart changes the trigger of a run whose key is paused.
func heldStart(change func(next http.Handler, r *http.Request)) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		var mu sync.Mutex
		paused := map[string]bool{}
		return mutantParts{API: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				parts := strings.Split(r.URL.EscapedPath(), "/")
				mu.Lock()
				if n := len(parts); n > 2 && parts[n-3] == "flowControl" {
					paused[parts[n-2]] = parts[n-1] == "pause"
				}
				held := paused[r.Header.Get(header.FlowControlKey)]
				mu.Unlock()
				if publishingMessage(r) && held && r.Header.Get(header.WorkflowInit) == "true" {
					hit()
					change(next, r)
				}
				next.ServeHTTP(w, r)
			})
		}}
	}
}
