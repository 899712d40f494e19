package world

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/workflow"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec/header"
)

// bindings are the names of the test for what the document describes without a name.
func bindings(_, name string) string { return name }

// follow makes the observations of a run on a server that obeys the document but for its flaw. It
// follows the steps of the workflow, not the story that the rules expect.
func follow(flaw string, l *Life) {
	is := func(name string) bool { return name == flaw }
	y := l.Run
	if y == nil {
		y = &Tale{Story: l.tell(), ID: "wfr_" + l.Key, URL: "http://x.test/" + l.Key}
		l.Run = y
		y.Payload, _ = l.body()
		if l.Pick["key"] > 0 {
			y.Key, y.Value, y.other, y.Held = "key-"+l.Key, "value, 1s", "other", l.on("key").n > 2
		}
	}
	if y.Held {
		y.Early = map[bool]int{true: 1}[is("a held run is not held")]
	}
	y.Done, y.Events, y.Entries, y.Invoked, y.Called = map[string]int{}, nil, nil, nil, 0
	retries := y.Story.Retries
	if y.Second && is("a restart ignores its retries") {
		retries = l.on("retries").n
	}
	begins := max(y.Created, 5000) + map[bool]int64{true: 1}[y.Second && is("a restart began at another time")]
	now := begins // in Unix ms
	event := func(state string, more map[string]any) {
		e := map[string]any{"state": state, "workflowUrl": y.URL, "workflowCreatedAt": begins, "time": now}
		maps.Copy(e, more)
		text, _ := json.Marshal(e) // plain values
		y.Events = append(y.Events, check.Decode(text))
	}
	messages, created := 0, int64(0) // of the last message
	message := func(name, kind string, concurrent int) map[string]any {
		if messages++; is("steps share a message") {
			messages = 7
		}
		if is("the first step is Initial too") && messages == 2 {
			kind = "Initial"
		}
		if created = now; y.Story.ends(y.Story.Steps[0]) {
			created = begins // the message of the run fails
		}
		if is("messages are older than their run") {
			created = begins - 2000
		}
		return map[string]any{"nextDeliveryTime": now, "stepInfo": map[string]any{"stepName": name, "stepType": kind, "messageId": "m" + strconv.Itoa(messages), "concurrent": concurrent, "createdAt": created}}
	}
	event("RUN_STARTED", nil)
	if is("two starts") {
		event("RUN_STARTED", nil)
	}
	first := message("init", "Initial", 1)
	if now += y.Story.Delay.Milliseconds(); !is("the first delivery is announced without its delay") {
		first["nextDeliveryTime"] = now
	}
	event("CREATED", first)
	if !is("no DELIVERED of the first message") {
		event("DELIVERED", first)
	}
	payload := base64.StdEncoding.EncodeToString(y.Payload)
	call, _ := json.Marshal([]map[string]string{{"body": payload}})
	begun := y.Story.Delay
	if is("a delay with retries is ignored") && retries > 0 {
		begun = 0
	}
	y.Calls = []Attempt{{&receiver.Received{Header: http.Header{}, Body: call}, begun}}
	var failed, failing any // the first message that does, and the step of the last one
	fails := func(m map[string]any, status int) {
		failing = m["stepInfo"]
		got := &receiver.Received{Header: http.Header{}, Body: call}
		got.Status.Store(int64(status))
		y.Calls = append(y.Calls, Attempt{got, begun})
		if is("an ERROR has another status") {
			status++
		}
		if id := m["stepInfo"].(map[string]any)["messageId"]; is("one message has ERROR") && failed != nil && id != failed {
			return
		} else {
			failed = id
		}
		event("ERROR", map[string]any{"response_status": status, "stepInfo": m["stepInfo"]})
	}
	steps, dead, last := l.steps(func(string) string { return "" }), false, 0
	for i, st := range steps {
		if st.Fails > 0 {
			st.Fails = max(0, st.Fails-y.earlier[st.Name])
		}
		if dead && (st.Group == 0 || steps[last].Group != st.Group) {
			break
		}
		beside := 1
		if st.Group > 0 {
			beside = len(slices.DeleteFunc(slices.Clone(steps), func(o workflow.Step) bool { return o.Group != st.Group }))
		}
		if is("concurrent is 1") {
			beside = 1
		}
		allowed := retries
		if is("a step after a recovered one is not tried again") && st.Fails > 0 && slices.ContainsFunc(steps[:i], func(o workflow.Step) bool { return o.Fails > 0 }) {
			allowed = 0
		}
		if is("a step is not tried a third time") {
			allowed = min(allowed, 1)
		}
		for n := 0; ; n++ {
			kept := y.Second && is("a restart keeps results") || y.earlier[st.Name] > 1 && is("the restart of a restart keeps results")
			if st.Fails != 0 || !kept {
				y.Done[st.Name]++
			}
			if st.Fails >= 0 && n >= st.Fails {
				break
			}
			status := st.Status
			if strings.HasPrefix(st.Name, work) {
				status = l.status(y.Story.Before + n + 1)
			}
			fails(message(st.Name, st.Kind, beside), status)
			if n == allowed {
				dead, last = true, i
				break
			}
		}
		if dead && last == i {
			continue
		}
		if is("the step after a failure has no DELIVERED") && st.Fails > 0 && st.Kind == "Run" {
			event("CREATED", message(st.Name, st.Kind, beside))
			continue
		}
		m := message(st.Name, st.Kind, beside)
		event("CREATED", m)
		if dead {
			fails(m, http.StatusInternalServerError) // its result was refused, because the run has failed
		}
		event("DELIVERED", m)
		switch {
		case st.Kind == "Wait" && !(is("one WAITER_ADDED") && strings.HasPrefix(st.Name, "wait 2")):
			event("WAITER_ADDED", nil)
		case st.Kind == "Invoke":
			if st.Number == 0 || !is("one INVOKED") {
				event("INVOKED", nil)
			}
			started := func(id, by string) {
				if is("the invoker of all is the first run") {
					by = y.ID
				}
				y.Invoked = append(y.Invoked, map[string]any{"state": "RUN_STARTED", "workflowRunId": id, "invoker_run_id": by})
			}
			id := workflow.InvokedID(y.ID, st.Number)
			if started(id, map[bool]string{false: y.ID}[is("no invoker") || is("no invoker of the second") && st.Number > 0]); l.on("invoke").twice && !is("an inner run has no start") {
				started(workflow.InvokedID(id, 0), id)
			}
		case strings.HasPrefix(st.Kind, "Sleep") && !is("sleeps are skipped") && !(is("sleeps beside steps are skipped") && st.Group > 0):
			now += 1000
		}
	}
	event(map[bool]string{true: "RUN_FAILED", false: "RUN_SUCCESS"}[dead], nil)
	if is("a message is created after the end") && l.Pick["parallel"] == 0 && !dead {
		now += 2000
		m := message("late", "Run", 1)
		event("CREATED", m)
		event("DELIVERED", m)
	}
	if is("the message that failed is delivered") && dead {
		event("DELIVERED", map[string]any{"stepInfo": failing})
	}
	if is("a call is repeated after a success") {
		got := &receiver.Received{Header: http.Header{}, Body: []byte("success")}
		got.Status.Store(http.StatusOK)
		y.Calls = append(y.Calls, Attempt{got, begun}, Attempt{got, begun})
	}
	if l.Pick["failure callback"] > 0 {
		if y.Callback = "http://x.test/failed"; dead && !is("no failure callback") {
			if y.Called = 1; is("two failure callbacks") {
				y.Called = 2
			}
		}
	}
	if l.Pick["label"] > 0 {
		y.Label = "label"
	}
	if !dead || is("no entry with a label") && y.Label != "" {
		return
	}
	tried := y.Story.Before + retries + 1
	body := "attempt " + strconv.Itoa(tried)
	if is("the entry has the first answer") {
		body = "attempt 1"
	}
	status, answered := l.status(tried), map[string]any{"x-attempt": []string{strings.TrimPrefix(body, "attempt ")}}
	if is("the entry has the first headers") {
		answered["x-attempt"] = []string{"1"}
	} else if status < 0 {
		answered = nil
	}
	if status < 0 {
		status, body = 0, map[bool]string{true: "attempt 1"}[is("an attempt without an answer shows that of an earlier one")]
	}
	key := y.Key
	if is("a restart keeps its key") {
		key = strings.TrimSuffix(key, "other")
	}
	value := y.Value
	if is("a restart keeps its value") {
		value = "value, 1s"
	}
	due := now
	if is("the entry is due at once") {
		due = begins
	}
	e := map[string]any{
		"header": map[string]any{header.FlowControlValue: []string{value}}, "workflowCreatedAt": begins, "createdAt": created, "notBefore": due, "messageId": "m" + strconv.Itoa(messages),
		"workflowRunId": y.ID, "workflowUrl": y.URL, "url": y.URL, "maxRetries": retries, "responseStatus": status, "responseHeader": answered, "flow_key": key, "responseBody": body,
		"failureCallback": y.Callback, "failureCallbackInfo": map[string]any{"responseStatus": 200}, "label": y.Label, "body": string(y.Payload), "body_base64": payload,
		"response_body_base64": base64.StdEncoding.EncodeToString([]byte("\xff\xfe\x00" + strconv.Itoa(tried))),
	}
	if !utf8.Valid(y.Payload) {
		delete(e, "body")
	}
	text, _ := json.Marshal(e) // plain values
	y.Entries = []any{check.Decode(text)}
}

var plansOfRuns = sync.OnceValue(func() (plans [][]*Thing) {
	for seed := range uint64(5) {
		plans = append(plans, plan(Runs, seed))
	}
	return plans
})

// brokenRuns are the rules of runs that a flaw breaks, and how many runs each rule has judged.
func brokenRuns(flaw string) (ids []string, judged map[string]int) {
	judged = map[string]int{}
	for _, things := range plansOfRuns() {
		w := &World{Kind: Runs, names: bindings, isHeader: strings.EqualFold}
		for _, t := range things {
			l := &Life{Thing: t}
			follow(flaw, l)
			w.Lives = append(w.Lives, l)
			times := min(1, t.Pick["restart"])
			if t.on("restart").twice {
				times = 2
			}
			for n := 0; n < times && len(l.Run.Entries) > 0; n++ {
				id := l.Run.ID + map[bool]string{true: chosen, false: "-2"}[t.on("restart").name == header.WorkflowRunID]
				l.Run.Restart = &harness.Response{Status: http.StatusOK, JSON: check.Decode([]byte(`{"workflowRunId": "` + id + `", "workflowCreatedAt": 6000}`))}
				second := l.second(id)
				follow(flaw, second)
				w.Lives, l = append(w.Lives, second), second
			}
		}
		breaks(w, &ids, judged)
	}
	slices.Sort(ids)
	return ids, judged
}

func TestAServerThatObeysTheModelOfRunsPassesEveryRule(t *testing.T) {
	t.Parallel()
	obeys(t, Runs.Rules, brokenRuns)
}

func TestEachDeviationOfARunBreaksItsRules(t *testing.T) {
	t.Parallel()
	for flaw, want := range map[string][]string{
		"two starts":                                                {"LOG-016 implied"},
		"steps share a message":                                     {"DLQ-007 implied", "LOG-004 implied", "LOG-014 stated"},
		"a delay with retries is ignored":                           {"PUB-010 stated"},
		"the first step is Initial too":                             {"LOG-013 stated", "LOG-014 stated"},
		"concurrent is 1":                                           {"LOG-028 stated"},
		"the step after a failure has no DELIVERED":                 {"LOG-008 stated"},
		"one WAITER_ADDED":                                          {"LOG-019 stated"},
		"one message has ERROR":                                     {"DLQ-007 implied", "LOG-010 stated", "LOG-026 stated"},
		"no DELIVERED of the first message":                         {"LOG-008 stated"},
		"one INVOKED":                                               {"LOG-020 stated"},
		"no invoker of the second":                                  {"LOG-027 stated"},
		"no invoker":                                                {"LOG-027 stated"},
		"the invoker of all is the first run":                       {"LOG-027 stated"},
		"an inner run has no start":                                 {"LOG-007 stated"},
		"sleeps beside steps are skipped":                           {"LOG-029 implied"},
		"the first delivery is announced without its delay":         {"LOG-004 implied"},
		"the entry is due at once":                                  {"DLQ-007 implied"},
		"a restart keeps its value":                                 {"RST-006 stated"},
		"a restart began at another time":                           {"RST-007 implied"},
		"sleeps are skipped":                                        {"LOG-029 implied"},
		"an ERROR has another status":                               {"LOG-026 stated"},
		"no failure callback":                                       {"DLQ-012 stated"},
		"a held run is not held":                                    {"FLC-003 implied"},
		"a message is created after the end":                        {"LOG-004 implied"},
		"the message that failed is delivered":                      {"DLQ-007 implied"},
		"two failure callbacks":                                     {"DLQ-012 implied"},
		"a call is repeated after a success":                        {"RTY-003 implied"},
		"a restart keeps its key":                                   {"DLQ-017 stated"},
		"an attempt without an answer shows that of an earlier one": {"DLQ-010 stated"},
		"no entry with a label":                                     {"DLQ-005 stated"},
		"the entry has the first answer":                            {"DLQ-010 stated"},
	} {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			ids, _ := brokenRuns(flaw)
			expect.Equal(t, "broken rules", ids, want)
		})
	}
	if ids, _ := brokenRuns("a restart ignores its retries"); !slices.Contains(ids, "RST-010 stated") {
		t.Errorf("a restart that ignores its retries breaks %s", fmt.Sprint(ids))
	}
	if ids, _ := brokenRuns("the restart of a restart keeps results"); !slices.Contains(ids, "RST-004 stated") {
		t.Errorf("the restart of a restart that keeps results breaks %s", fmt.Sprint(ids))
	}
	if ids, _ := brokenRuns("a step after a recovered one is not tried again"); !slices.Contains(ids, "RTY-001 stated") {
		t.Errorf("a second step that fails and is not tried again breaks %s", fmt.Sprint(ids))
	}
	ids, _ := brokenRuns("a step is not tried a third time")
	if !slices.Contains(ids, "RTY-001 stated") {
		t.Errorf("a step that is not tried a third time breaks %s", fmt.Sprint(ids))
	}
}
