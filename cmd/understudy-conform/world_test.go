package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec/header"
)

// worldsOnly is the trial of a broken server by generated worlds alone.
var worldsOnly = trial{scope: "worlds"}

// attemptsOf counts the attempts of each message at each address.
type attemptsOf struct {
	mu    sync.Mutex
	count map[string]int
}

func (a *attemptsOf) next(r *http.Request) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == nil {
		a.count = map[string]int{}
	}
	key := r.Header.Get(header.MessageID) + " " + r.URL.String()
	a.count[key]++
	return a.count[key]
}

// atAttempt changes the request of one attempt.
func atAttempt(n int, change func(*http.Request)) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		a := &attemptsOf{}
		return changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if a.next(r) == n {
				r = r.Clone(r.Context())
				change(r)
			}
			return next.RoundTrip(r)
		})(hit)
	}
}

// withBoth changes a publish that has two options.
func withBoth(a, b string, change func(*http.Request)) func(func()) mutantParts {
	return changeRequest(publishingMessage, func(r *http.Request) {
		if r.Header.Get(a) != "" && r.Header.Get(b) != "" && !ofWorkflow(r) {
			change(r)
		}
	})
}

// worldMutant is a broken server and what the report says of it.
type worldMutant struct {
	mutant
	breaks []string // one of them fails
	says   []string // words of the smallest thing; its other options are one at most
}

// worldMutants are servers that are wrong for combinations which no written scenario has.
var worldMutants = []worldMutant{
	{mutant{ID: "a delayed message has one retry less", Build: withBoth(header.Delay, header.Retries, func(r *http.Request) {
		if r.Header.Get(header.Retries) == "2" {
			r.Header.Set(header.Retries, "1")
		}
	})}, []string{"RTY-001"}, []string{"delay of 2 s", "2 retries"}},
	{mutant{ID: "a message with a key and forwarding forwards nothing", Build: withBoth(header.FlowControlKey, header.HeaderForward, func(r *http.Request) { r.Header.Del(header.HeaderForward) })},
		[]string{"PUB-008", "GRP-002"}, []string{"all headers forwarded", "key"}},
	{mutant{ID: "a delayed message has no callback", Build: withBoth(header.Delay, header.Callback, func(r *http.Request) { r.Header.Del(header.Callback); r.Header.Del(header.FailureCallback) })},
		[]string{"PUB-014"}, []string{"delay of 2 s", "callbacks"}},
	{mutant{ID: "the second attempt loses the query", Build: atAttempt(2, func(r *http.Request) { u := *r.URL; u.RawQuery = ""; r.URL = &u })},
		[]string{"PUB-001"}, []string{"path and a query", "destination"}},
	{mutant{ID: "the third attempt has no body", Build: atAttempt(3, func(r *http.Request) { setBody(r, []byte{}) })},
		[]string{"PUB-011"}, []string{"2 retries", "destination"}},
	{mutant{ID: "the third attempt forwards nothing", Build: atAttempt(3, func(r *http.Request) {
		for name := range r.Header {
			if strings.HasPrefix(name, "X-") || name == "Authorization" || name == "1" {
				r.Header.Del(name)
			}
		}
	})}, []string{"PUB-006", "PUB-008", "GRP-002"}, []string{"2 retries", "header", "destination"}},
	{mutant{ID: "a lone percent sign is encoded", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if v := r.Header.Get("X-Order"); strings.Contains(v, "%zz") {
			r = r.Clone(r.Context())
			r.Header.Set("X-Order", url.PathEscape(v))
		}
		return next.RoundTrip(r)
	})}, []string{"PUB-006"}, []string{"lone percent sign"}},
	{mutant{ID: "the JSON null is no body", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if string(readBody(r)) == "null" {
			setBody(r, []byte{})
		}
		return next.RoundTrip(r)
	})}, []string{"PUB-011"}, []string{"the body null"}},
	{mutant{ID: "the bytes CR LF become LF", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if text := readBody(r); !bytes.HasPrefix(text, []byte("--")) {
			setBody(r, bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
		}
		return next.RoundTrip(r)
	})}, []string{"PUB-011"}, []string{"not UTF-8"}},
	{mutant{ID: "a resume lets go what any key holds", Build: resumesAll}, []string{"FLC-003"}, []string{"a paused key that is not resumed"}},
	{mutant{ID: "a destination that takes a message takes it for its neighbours", Build: oneForAll}, []string{"RTY-001"}, []string{"group", "destination"}},
	{mutant{ID: "a failing endpoint of a group spoils the next message there", Build: spoilsNext}, []string{"PUB-001", "PUB-002", "PUB-011"}, []string{"share"}},
	{mutant{ID: "the second wait of a run has no WAITER_ADDED", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) {
		seen := map[string]bool{}
		items, _ := v["events"].([]any)
		v["events"] = slices.DeleteFunc(items, func(item any) bool {
			e, _ := item.(map[string]any)
			run := textOf(e["workflowRunId"])
			again := e["state"] == "WAITER_ADDED" && seen[run]
			seen[run] = seen[run] || e["state"] == "WAITER_ADDED"
			return again
		})
	})}, []string{"LOG-019"}, []string{"2 waits"}},
	{mutant{ID: "a message that has failed has no DELIVERED", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) {
		failed := map[string]bool{}
		nameOf := func(e map[string]any) string {
			info, _ := e["stepInfo"].(map[string]any)
			return textOf(e["workflowRunId"]) + textOf(info["stepName"])
		}
		for _, e := range itemsOf(v, "events") {
			failed[nameOf(e)] = failed[nameOf(e)] || e["state"] == "ERROR"
		}
		items, _ := v["events"].([]any)
		v["events"] = slices.DeleteFunc(items, func(item any) bool {
			e, _ := item.(map[string]any)
			return e["state"] == "DELIVERED" && failed[nameOf(e)]
		})
	})}, []string{"LOG-008"}, []string{"retr", "fail"}},
	{mutant{ID: "the entry of a labelled run with a callback lacks the callback", Build: changeItems(listingDLQ, "messages", func(e map[string]any) {
		if textOf(e["label"]) != "" {
			delete(e, "failureCallback")
		}
	})}, []string{"DLQ-011"}, []string{"a label", "failure callback", "step"}},
	{mutant{ID: "a third attempt is in the entry as a second", Build: changeItems(listingDLQ, "messages", func(e map[string]any) {
		if e["responseBody"] == "attempt 3" {
			e["responseBody"] = "attempt 2"
		}
	})}, []string{"DLQ-010"}, []string{"step", "fails"}},
	{mutant{ID: "three steps side by side are two", Build: changeItems(listingLog, "events", func(e map[string]any) {
		if info, _ := e["stepInfo"].(map[string]any); integerOf(info, "concurrent") == 3 {
			info["concurrent"] = 1
		}
	})}, []string{"LOG-028"}, []string{"side by side"}},
	{mutant{ID: "a step name with a percent sign is decoded", Build: changeItems(listingLog, "events", func(e map[string]any) {
		if info, _ := e["stepInfo"].(map[string]any); strings.Contains(textOf(info["stepName"]), "%41") {
			info["stepName"] = strings.ReplaceAll(textOf(info["stepName"]), "%41", "A")
		}
	})}, []string{"LOG-015"}, []string{"quotes and percent"}},
	{mutant{ID: "a delayed run that fails has no entry", Build: delayedForgotten}, []string{"DLQ-005"}, []string{"a delay of 2 s", "step"}},
	{mutant{ID: "a run with a chosen id has no entry", Build: keptEntries(func(e map[string]any) bool { return !strings.HasSuffix(textOf(e["workflowRunId"]), "-Chosen") })},
		[]string{"DLQ-005"}, []string{"chosen id", "step"}},
	{mutant{ID: "a restart ignores its retries", Build: changeRequest(restartingRun, func(r *http.Request) { r.Header.Del(header.Retries) })},
		[]string{"RST-010"}, []string{"restarted with 1 retry", "step"}},
	{mutant{ID: "a run with a chosen id has no start", Build: filterItems(listingLog, "events", func(e map[string]any) bool {
		return e["state"] != "RUN_STARTED" || !strings.HasSuffix(textOf(e["workflowRunId"]), "-Chosen")
	})}, []string{"LOG-007", "LOG-016"}, []string{"chosen id", "step"}},
	{mutant{ID: "a restart forgets the key that holds it", Build: changeRequest(restartingRun, func(r *http.Request) {
		if r.Header.Get(header.FlowControlKey) == "" {
			r.Header.Set(header.FlowControlKey, "nobody-pauses-this")
		}
	})}, []string{"RST-003", "DLQ-017"}, []string{"key", "restarted"}},
	{mutant{ID: "a restart keeps the key of the original", Build: changeRequest(restartingRun, func(r *http.Request) { r.Header.Del(header.FlowControlKey) })},
		[]string{"DLQ-017"}, []string{"restarted with another key"}},
	{mutant{ID: "an attempt without an answer keeps that of the one before", Build: changeItems(listingDLQ, "messages", func(e map[string]any) {
		if integerOf(e, "responseStatus") < 300 && integerOf(e, "maxRetries") > 0 {
			e["responseBody"] = "attempt 1"
		}
	})}, []string{"DLQ-010"}, []string{"breaks the connection"}},
	{mutant{ID: "a run that has failed after three attempts ends twice", Build: changeReply(listingLog, func(_ *http.Request, v map[string]any) {
		errors := map[string]int{}
		items, _ := v["events"].([]any)
		for _, e := range itemsOf(v, "events") {
			if e["state"] == "ERROR" {
				errors[textOf(e["workflowRunId"])]++
			}
		}
		for _, e := range itemsOf(v, "events") {
			if e["state"] == "RUN_FAILED" && errors[textOf(e["workflowRunId"])] == 3 {
				items = append(items, e)
			}
		}
		v["events"] = items
	})}, []string{"LOG-016"}, []string{"retr", "step"}},
	{mutant{ID: "the filter by a run id shows the runs of others", Build: ofAnyAccount}, []string{"AUT-005"}, []string{"run id", "another account"}},
	{mutant{ID: "a bucket with a route parameter has one token more", Build: withStrategy(func(s, limiter map[string]any) bool {
		path, _ := s["path"].(string)
		return limiter["algorithm"] == "token-bucket" && strings.Contains(path, ":")
	}, func(_, limiter map[string]any) {
		tokens, _ := limiter["tokens"].(float64)
		limiter["tokens"] = tokens + 1
	})}, []string{"RLP-012"}, []string{"token bucket", "route parameter"}},
	{mutant{ID: "debug limits the first method only", Build: withStrategy(func(s, _ map[string]any) bool { return s["debug"] != nil }, func(s, _ map[string]any) {
		methods, _ := s["methods"].([]any)
		s["methods"] = methods[:1]
	})}, []string{"RLP-010", "RLP-011", "RLP-012"}, []string{"PUT", "debug"}},
	{mutant{ID: "a refill of 3 is one of 1", Build: withStrategy(func(_, limiter map[string]any) bool { return limiter["algorithm"] == "token-bucket" }, func(_, limiter map[string]any) { limiter["refillRate"] = 1 })},
		[]string{"RLP-012"}, []string{"token bucket", "passes", "refill of 3"}},
	{mutant{ID: "each host counts alone", Build: hostsAlone}, []string{"RLP-010", "RLP-011", "RLP-012"}, []string{"2 hosts"}},
	{mutant{ID: "the third strategy and those after it do not count", Build: changePlugin(func(c map[string]any) {
		if list, _ := c["strategy"].([]any); len(list) > 2 {
			c["strategy"] = list[:2]
		}
	})}, []string{"RLP-010", "RLP-011", "RLP-012"}, []string{"beside others"}},
	{mutant{ID: "an identifier ends at its first colon", Build: changeStorage(func(r *http.Request) {
		setBody(r, bytes.ReplaceAll(readBody(r), []byte("ann:*:ann"), []byte("ann")))
	})}, []string{"RLP-010", "RLP-011", "RLP-012"}, []string{"colons"}},
}

// delayedForgotten leaves runs that were triggered with a delay out of the dead letter queue.
func delayedForgotten(hit func()) mutantParts {
	var mu sync.Mutex
	delayed := map[string]bool{}
	return joinChanges(changeRequest(publishingMessage, func(r *http.Request) {
		if r.Header.Get(header.Delay) != "" && r.Header.Get(header.WorkflowInit) == "true" {
			mu.Lock()
			defer mu.Unlock()
			delayed[r.Header.Get(header.WorkflowRunID)] = true
		}
	}), keptEntries(func(e map[string]any) bool {
		mu.Lock()
		defer mu.Unlock()
		return !delayed[textOf(e["workflowRunId"])]
	}))(hit)
}

// resumesAll resumes all keys that were paused.
func resumesAll(hit func()) mutantParts {
	var mu sync.Mutex
	var keys []string
	return mutantParts{API: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			parts := strings.Split(r.URL.EscapedPath(), "/")
			if n := len(parts); n > 2 && parts[n-3] == "flowControl" {
				mu.Lock()
				if keys = append(keys, r.URL.EscapedPath()); parts[n-1] == "resume" {
					for _, key := range keys {
						hit()
						also := r.Clone(context.WithoutCancel(r.Context()))
						also.URL.Path, also.URL.RawPath, also.Body = strings.TrimSuffix(key, "pause")+"resume", "", http.NoBody
						_ = serverAnswer(next, also)
					}
					keys = nil
				}
				mu.Unlock()
			}
			next.ServeHTTP(w, r)
		})
	}}
}

// oneForAll answers for all endpoints of a group once one has taken the message.
func oneForAll(hit func()) mutantParts {
	var mu sync.Mutex
	taken, a := map[string]bool{}, &attemptsOf{}
	return changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		text, again := string(readBody(r)), a.next(r) > 1
		mu.Lock()
		done := again && strings.HasPrefix(text, "message") && taken[text]
		mu.Unlock()
		if done && ofGroup(r) {
			hit()
			return fakeDelivery(), nil
		}
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode == http.StatusOK {
			mu.Lock()
			taken[text] = true
			mu.Unlock()
		}
		return response, err
	})(hit)
}

// spoilsNext delivers nothing to an address of a group that has just failed, but to the same message.
func spoilsNext(hit func()) mutantParts {
	var mu sync.Mutex
	failing := map[string]string{} // address -> message
	return changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		at, id := r.URL.String(), string(readBody(r))
		mu.Lock()
		by := failing[at]
		mu.Unlock()
		if by != "" && by != id {
			hit()
			return fakeDelivery(), nil
		}
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode >= 500 {
			mu.Lock()
			failing[at] = id
			mu.Unlock()
		}
		return response, err
	})(hit)
}

// withStrategy changes the strategies of a plugin that are of a kind.
func withStrategy(of func(s, limiter map[string]any) bool, change func(s, limiter map[string]any)) func(func()) mutantParts {
	return changePlugin(func(c map[string]any) {
		list, _ := c["strategy"].([]any)
		for _, v := range list {
			s, _ := v.(map[string]any)
			if limiter, _ := s["limiter"].(map[string]any); of(s, limiter) {
				change(s, limiter)
			}
		}
	})
}

// ofAnyAccount lists a run to everybody who knows its id.
func ofAnyAccount(hit func()) mutantParts {
	var mu sync.Mutex
	owner := map[string]string{}
	return changeRequest(func(r *http.Request) bool { return listingDLQ(r) || listingLog(r) }, func(r *http.Request) {
		run, token := r.URL.Query().Get("workflowRunId"), r.Header.Get("Authorization")
		if run == "" {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if owner[run] == "" {
			owner[run] = token
		} else if owner[run] != token {
			hit()
			r.Header.Set("Authorization", owner[run])
		}
	})(func() {})
}

// hostsAlone gives each host counters of its own.
func hostsAlone(hit func()) mutantParts {
	var n atomic.Int64
	return changePlugin(func(c map[string]any) { c["prefix"] = fmt.Sprint(c["prefix"], n.Add(1)) })(hit)
}

// Each server that is wrong for a combination is found by worlds alone, and the report names the
// smallest thing that shows it.
func TestWorldsFindCombinations(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for survivors, not for races")
	all := slices.Concat(worldMutants, lifeMutants)
	tried, every := 0, max(1, len(all)/effort.Amount(t, "WORLD_MUTANTS", 2, 4))
	for _, m := range all {
		if tried++; tried%every != 0 {
			continue
		}
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			judged, hits, _ := mutated(t, &m.mutant, worldsOnly)
			if hits == 0 {
				t.Error("it is not broken: the traffic did not change")
			}
			found := false
			for i := range judged.Results {
				x := &judged.Results[i]
				if x.Failure == nil || x.Verdict != report.Fail && x.Verdict != report.Warn {
					continue
				}
				of := slices.ContainsFunc(m.breaks, func(id string) bool { return slices.Contains(x.Requirements, "REQ-"+id) })
				t.Logf("%s %v %s: expected %s, got %s", x.Verdict, x.Requirements, x.Failure.Message, x.Failure.Want, x.Failure.Got)
				if strings.Contains(x.Failure.Message, "to a group") && !strings.Contains(x.Failure.Message, "beside") {
					if repeat := x.Exchanges[x.Failure.Exchange].Curl; !strings.Contains(repeat, "/topics/") || !strings.Contains(repeat, "/publish/") {
						t.Errorf("the command does not make the group and publish to it: %s", repeat)
					}
				}
				named := !slices.ContainsFunc(m.says, func(word string) bool { return !strings.Contains(x.Failure.Message, word) })
				found = found || of && named
			}
			if !found {
				t.Errorf("survives, or the smallest thing is not about %q in one of %v:%s", m.says, m.breaks, notPassed(judged))
			}
		})
	}
}

// Legal worlds have no finding. WORLDS is their number, SEED that of the first one.
func TestHealthyWorldsHaveNoFinding(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for verdicts, not for races")
	u := mockserver.RunT(t, mockserver.Config{Clock: "manual", Log: quietLog(), Dialect: neutral()})
	own := unhurriedTarget(environment(u), true)
	judged, err := conformance.Run(t.Context(), conformance.Config{Target: own, Areas: []string{"worlds"}, Worlds: harness.Worlds{Count: effort.Amount(t, "WORLDS", 2, 4), Seed: uint64(effort.Amount(t, "SEED", 1, 1))}, SelfTest: true, Plugin: pluginInProcess})
	if err != nil {
		t.Fatal(err)
	}
	none(t, judged, report.Fail, report.Warn, report.HarnessError, report.Inconclusive, report.Unreliable, report.NotApplicable)
}

// The same worlds in real time, against a target that has little: what is left out is said.
func TestWorldsSayWhatTheyLeaveOut(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it takes real time")
	judged := fronted(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }, func(cfg *conformance.Config, _ *httptest.Server) {
		cfg.Areas, cfg.Worlds = []string{"worlds"}, harness.Worlds{Count: 1, Seed: 1, Size: 20}
		delete(cfg.Target.Bindings.Delay, "format")
	})
	expect.Equal(t, "left out", judged.Observations["world.without"], []string{"delay (delay.format is not bound)"})
}

// Targets that are slow, late or limited are not accused.
func TestWorldsDoNotAccuseUnusualTargets(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it takes real time")
	effort.Long(t, "it takes real time")
	pause := func(r *http.Request, d time.Duration) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
	}
	asIs := func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }
	for name, c := range map[string]struct {
		front func(http.ResponseWriter, *http.Request, http.Handler)
		limit target.Limits
	}{
		"5 messages at most":     {asIs, target.Limits{MaxMessages: 5}},
		"10 requests per second": {asIs, target.Limits{RPS: 10}},
		"answers take 2 s": {func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			pause(r, 2*time.Second)
			next.ServeHTTP(w, r)
		}, target.Limits{}},
		"the log is written every 2 s": {writtenLate(func(e map[string]any, _ time.Duration) bool {
			return integerOf(e, "time")/2000 < time.Now().UnixMilli()/2000
		}), target.Limits{}},
		"a publish is answered late": {func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(w, r)
			if publishingMessage(r) {
				pause(r, 4*time.Second)
			}
		}, target.Limits{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			judged := fronted(t, c.front, func(cfg *conformance.Config, _ *httptest.Server) {
				cfg.Areas, cfg.Worlds, cfg.Target.Limits = []string{"worlds"}, harness.Worlds{Count: 1, Seed: 1, Size: 20}, c.limit
			})
			t.Log(time.Since(began), reasons(judged))
			none(t, judged, report.Fail, report.Warn, report.HarnessError)
			for i := range judged.Results {
				if x := &judged.Results[i]; x.Verdict != report.Pass {
					t.Log(x.Verdict, x.Name, x.Detail)
				}
			}
		})
	}
}

// TestMutantsOfWorlds counts the mutants of written scenarios that worlds alone find, by area. It
// tries some; MUTANTS_OF_WORLDS=400 tries all of the areas that worlds are about.
func TestMutantsOfWorlds(t *testing.T) {
	effort.Unraced(t, "it looks for survivors, not for races")
	all := allMutants()
	all = slices.DeleteFunc(all, func(m mutant) bool {
		return !slices.Contains([]string{"DLQ", "FLC", "GRP", "LOG", "PUB", "RLP", "RTY"}, m.ID[:3])
	})
	tried, every := 0, max(1, len(all)/effort.Amount(t, "MUTANTS_OF_WORLDS", 1, 1))
	all = slices.DeleteFunc(all, func(mutant) bool { tried++; return tried%every != 0 })
	var mu sync.Mutex
	of, dead := map[string]int{}, map[string]int{}
	t.Run("all", func(t *testing.T) {
		for i := range all {
			t.Run(all[i].ID, func(t *testing.T) {
				t.Parallel()
				judged, _, _ := mutated(t, &all[i], worldsOnly)
				broken := failed(judged)
				mu.Lock()
				defer mu.Unlock()
				area := all[i].ID[:3]
				if of[area]++; len(broken) > 0 {
					dead[area]++
				}
				if os.Getenv("MUTANTS") != "" {
					fmt.Printf("%-10s %-70.70s %v\n", all[i].ID, all[i].Text, slices.Sorted(maps.Keys(broken)))
				}
			})
		}
	})
	for _, area := range slices.Sorted(maps.Keys(of)) {
		t.Logf("%s: worlds alone find %d of %d", area, dead[area], of[area])
	}
}

// Legal variations have no finding in worlds either.
func TestLatitudesHaveNoFindingInWorlds(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for verdicts, not for races")
	for _, list := range combinedLatitudes[:effort.Amount(t, "WORLD_LATITUDES", 1, 1)] {
		t.Run(list, func(t *testing.T) {
			t.Parallel()
			m, _ := combine(list)
			judged, _, _ := mutated(t, &m, worldsOnly)
			for i := range judged.Results { // L28 repeats what has succeeded, which is only implied to be wrong
				if x := &judged.Results[i]; x.Verdict == report.Fail || x.Verdict == report.HarnessError || x.Verdict == report.Warn && !slices.Contains(x.Requirements, "REQ-RTY-003") {
					t.Errorf("%s %v: %s", x.Verdict, x.Requirements, x.Detail)
				}
			}
		})
	}
}
