package world

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/workflow"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// in returns the events in a state.
func (y *Tale) in(states ...string) (list []any) {
	for _, e := range y.Events {
		if slices.Contains(states, text(e, "/state")) {
			list = append(list, e)
		}
	}
	return list
}

// of returns the message-level events of a step.
func (y *Tale) of(name string) (list []any) {
	for _, e := range y.Events {
		if text(e, "/stepInfo/stepName") == name {
			list = append(list, e)
		}
	}
	return list
}

// messages are events by the id of their message.
func messages(events []any) map[string]any {
	by := map[string]any{}
	for _, e := range events {
		if id := text(e, "/stepInfo/messageId"); id != "" {
			by[id] = e
		}
	}
	return by
}

// states are the states of events in one text.
func states(list []any) string {
	var words []string
	for _, e := range list {
		words = append(words, text(e, "/state"))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// number is an integer in an item, 0 for none.
func number(item any, pointer string) int64 {
	n, _ := check.Integer(item, pointer)
	return n
}

// created is when the first message of a step was created, in Unix ms; 0: it has none.
func created(events []any) (first int64) {
	for _, e := range events {
		if t := number(e, "/stepInfo/createdAt"); first == 0 || t < first {
			first = t
		}
	}
	return first
}

// order checks that one time is not after another; whole seconds are legal.
func (j *judging) order(item any, before string, a int64, after string, b int64) {
	j.that(a < b+time.Second.Milliseconds(), fmt.Sprintf("%s, %d, not after %s", before, a, after), fmt.Sprintf("%d in %s", b, text(item, "/state")))
}

// executed calls do with each step that is executed.
func (y *Tale) executed(do func(workflow.Step)) {
	for _, st := range y.Story.Steps {
		if y.Story.Done[st.Name] > 0 {
			do(st)
		}
	}
}

// count is how many steps of a type are executed.
func (y *Tale) count(kind string) (n int) {
	y.executed(func(st workflow.Step) {
		if st.Kind == kind {
			n++
		}
	})
	return n
}

// field compares a value of the entry with what the run was triggered with.
func (y *Tale) field(j *judging, pointer, want string) {
	for _, e := range y.Entries {
		v, _ := check.At(e, pointer)
		j.that(harness.Plain(v) == want, pointer[1:]+" "+want, harness.Plain(v))
	}
}

// bound is field for a value that the document describes without a name.
func (w *World) bound(j *judging, y *Tale, name, want string) {
	if field := w.names("fields.dlq", name); field != "" {
		y.field(j, "/"+field, want)
	}
}

// headers are the values of a header in a map of an entry.
func (w *World) headers(e any, pointer, neutral string) (values []string) {
	h, _ := check.At(e, pointer)
	m, _ := h.(map[string]any)
	for name, list := range m {
		if all, _ := list.([]any); w.isHeader(name, neutral) {
			for _, v := range all {
				values = append(values, fmt.Sprint(v))
			}
		}
	}
	return values
}

// runRules are the rules of runs, in the order of the feature.
var runRules = []*Rule{
	{"REQ-LOG-007", spec.Stated, "the log has RUN_STARTED and the creation of the first message", func(_ *World, l *Life, j *judging) {
		y := l.Run
		j.that(len(y.in("RUN_STARTED")) > 0 && slices.ContainsFunc(y.in("CREATED"), func(e any) bool { return text(e, "/stepInfo/stepType") == "Initial" }), "RUN_STARTED, and CREATED of Initial", states(y.Events))
		for id := range l.invokers() {
			j.that(slices.ContainsFunc(y.Invoked, func(e any) bool { return text(e, "/state") == "RUN_STARTED" && text(e, "/workflowRunId") == id }), "RUN_STARTED of the invoked run "+id, states(y.Invoked))
		}
	}},
	{"REQ-LOG-008", spec.Stated, "a run whose steps succeed in the end has RUN_SUCCESS", func(_ *World, l *Life, j *judging) {
		if y := l.Run; !y.Story.Fails {
			j.that(len(y.in("RUN_SUCCESS")) > 0 && len(y.in("RUN_FAILED")) == 0, "RUN_SUCCESS", states(y.Events))
		}
	}},
	{"REQ-LOG-009", spec.Stated, "a run whose step fails too often has RUN_FAILED, after all retries", func(_ *World, l *Life, j *judging) {
		if y := l.Run; y.Story.Fails {
			j.that(len(y.in("RUN_FAILED")) > 0 && len(y.in("RUN_SUCCESS")) == 0, "RUN_FAILED", states(y.Events))
			y.executed(func(st workflow.Step) {
				if n := y.Story.Done[st.Name]; y.Story.ends(st) {
					j.that(y.Done[st.Name] >= n, strconv.Itoa(n)+" attempts", strconv.Itoa(y.Done[st.Name]))
				}
			})
		}
	}},
	{"REQ-LOG-016", spec.Implied, "the log has one start and one end", func(_ *World, l *Life, j *judging) {
		j.that(len(l.Run.in("RUN_STARTED")) == 1 && len(l.Run.in("RUN_SUCCESS", "RUN_FAILED", "RUN_CANCELED")) == 1, "one start and one end", states(l.Run.Events))
	}},
	{"REQ-RTY-001", spec.Stated, "every step is executed as often as its failures and the retries demand", func(_ *World, l *Life, j *judging) {
		for name, n := range l.Run.Story.Done {
			j.that(l.Run.Done[name] >= n, fmt.Sprintf("%q %d times", name, n), strconv.Itoa(l.Run.Done[name]))
		}
	}},
	{"REQ-RTY-002", spec.Stated, "a step that fails is not executed more often than the retries plus one", func(_ *World, l *Life, j *judging) {
		l.Run.executed(func(st workflow.Step) {
			if st.Fails != 0 && st.Later >= 0 { // a request on a connection that broke may be repeated
				j.that(l.Run.Done[st.Name] <= l.Run.Story.Retries+1, fmt.Sprintf("%q at most %d times", st.Name, l.Run.Story.Retries+1), strconv.Itoa(l.Run.Done[st.Name]))
			}
		})
	}},
	{"REQ-RTY-003", spec.Implied, "nothing is repeated after a success, and no step follows a failed one", func(_ *World, l *Life, j *judging) {
		succeeded := map[string]bool{}
		for _, got := range l.Run.Calls {
			if body := string(got.Body); l.Pick["parallel"] == 0 { // otherwise several calls may have the same results
				j.that(!succeeded[body], "one call with the same results", "another one after a success")
				succeeded[body] = succeeded[body] || got.Status.Load() == http.StatusOK
			}
		}
		for _, st := range l.Run.Story.Steps {
			if n := l.Run.Story.Done[st.Name]; !l.Run.Story.ends(st) {
				j.that(l.Run.Done[st.Name] <= n, fmt.Sprintf("%q %d times", st.Name, n), strconv.Itoa(l.Run.Done[st.Name]))
			}
		}
	}},
	{"REQ-PUB-010", spec.Stated, "a delayed run does not begin before its delay has passed", func(_ *World, l *Life, j *judging) {
		for _, got := range l.Run.Calls {
			if d := l.Run.Story.Delay; d > 0 {
				j.that(got.At-l.Begun >= d-tolerance, "not before "+d.String(), (got.At - l.Begun).Round(time.Millisecond).String())
			}
		}
	}},
	{"REQ-PUB-011", spec.Implied, "every call has the payload of the run", func(_ *World, l *Life, j *judging) {
		want := bytes.TrimSpace(l.Run.Payload)
		for _, got := range l.Run.Calls {
			if p := workflow.InitialPayload(got.Received); len(p) > 0 && got.Header.Get(header.WorkflowCallback) == "" {
				j.that(bytes.Equal(p, want), brief(want), brief(p))
			}
		}
	}},
	{"REQ-LOG-015", spec.Stated, "every executed step is recorded under its name", func(_ *World, l *Life, j *judging) {
		l.Run.executed(func(st workflow.Step) {
			if !l.Run.Story.ends(st) {
				j.that(len(l.Run.of(st.Name)) > 0, fmt.Sprintf("an event of the step %q", st.Name), "none")
			}
		})
	}},
	{"REQ-LOG-013", spec.Stated, "every step is recorded with its type", func(_ *World, l *Life, j *judging) {
		l.Run.executed(func(st workflow.Step) {
			for _, e := range l.Run.of(st.Name) {
				j.that(text(e, "/stepInfo/stepType") == st.Kind, fmt.Sprintf("%q as %s", st.Name, st.Kind), text(e, "/stepInfo/stepType"))
			}
		})
	}},
	{"REQ-LOG-014", spec.Stated, "one message has the type Initial, and none was created before it", func(_ *World, l *Life, j *judging) {
		initial := messages(slices.DeleteFunc(slices.Clone(l.Run.Events), func(e any) bool { return text(e, "/stepInfo/stepType") != "Initial" }))
		j.that(len(initial) == 1, "one", strconv.Itoa(len(initial)))
		for id, first := range initial {
			for _, e := range l.Run.Events {
				if of := text(e, "/stepInfo/messageId"); of != "" {
					j.that(of != id || text(e, "/stepInfo/stepType") == "Initial", "the type Initial in all its events", text(e, "/stepInfo/stepType"))
					j.that(number(e, "/stepInfo/createdAt") >= number(first, "/stepInfo/createdAt"), "the first message of the run", "created after the message "+of)
				}
			}
		}
	}},
	{"REQ-LOG-028", spec.Stated, "every step is recorded with the number of steps beside it", func(_ *World, l *Life, j *judging) {
		beside := map[int]int{}
		for _, st := range l.Run.Story.Steps {
			beside[st.Group]++
		}
		beside[0] = 1
		itself := map[int64]bool{} // whether a step itself counts is open
		l.Run.executed(func(st workflow.Step) {
			want := beside[st.Group]
			for _, e := range l.Run.of(st.Name) {
				if n, has := check.Integer(e, "/stepInfo/concurrent"); has {
					itself[int64(want)-n] = true
					j.that((n == int64(want) || n == int64(want)-1) && len(itself) == 1, fmt.Sprintf("%q with %d", st.Name, want), strconv.FormatInt(n, 10))
				}
			}
		})
	}},
	{"REQ-LOG-004", spec.Implied, "different steps have different messages, and each message has one creation", func(_ *World, l *Life, j *judging) {
		told := map[string]string{} // a step may have several messages: one that plans it, and one with its result
		for _, e := range l.Run.Events {
			if id := text(e, "/stepInfo/messageId"); id != "" {
				one := fmt.Sprintf("the step %q, created at %d", text(e, "/stepInfo/stepName"), number(e, "/stepInfo/createdAt"))
				told[id] = cmp.Or(told[id], one)
				j.that(told[id] == one, "the message "+id+" of "+told[id], "also of "+one)
			}
		}
	}},
	{"REQ-LOG-004", spec.Implied, "a message is created within its run, before its events and its delivery", func(_ *World, l *Life, j *judging) {
		last, end := int64(0), int64(0)
		for _, e := range l.Run.Events {
			last = max(last, number(e, "/time"))
		}
		for _, e := range l.Run.in("RUN_SUCCESS", "RUN_FAILED") {
			end = max(end, number(e, "/time"))
		}
		for _, e := range l.Run.Events {
			started, at := number(e, "/workflowCreatedAt"), number(e, "/time")
			j.order(e, "/workflowCreatedAt", started, "/time", at)
			if created := number(e, "/stepInfo/createdAt"); created > 0 {
				j.order(e, "/workflowCreatedAt", started, "/stepInfo/createdAt", created)
				j.order(e, "/stepInfo/createdAt", created, "/time", at)
				if end > 0 && l.Pick["parallel"] == 0 { // a step beside a failed one may still succeed
					j.order(e, "/stepInfo/createdAt", created, "the end of the run", end)
				}
				if next := number(e, "/nextDeliveryTime"); next > 0 && text(e, "/state") == "CREATED" {
					j.order(e, "/stepInfo/createdAt", created, "/nextDeliveryTime", next)
					j.order(e, "/nextDeliveryTime", next, "the last event", last)
					if text(e, "/stepInfo/stepType") == "Initial" && !l.Run.Second {
						j.order(e, "the end of the delay", started+l.Run.Story.Delay.Milliseconds(), "/nextDeliveryTime", next)
					}
				}
			}
		}
	}},
	{"REQ-LOG-008", spec.Stated, "every step and every message of a run that succeeds has DELIVERED", func(_ *World, l *Life, j *judging) {
		if l.Run.Story.Fails {
			return
		}
		l.Run.executed(func(st workflow.Step) {
			if st.Kind == "Run" {
				j.that(slices.ContainsFunc(l.Run.of(st.Name), func(e any) bool { return text(e, "/state") == "DELIVERED" }), fmt.Sprintf("DELIVERED of %q", st.Name), states(l.Run.of(st.Name)))
			}
		})
		made, done := messages(l.Run.in("CREATED")), messages(l.Run.in("DELIVERED"))
		for id, e := range made {
			j.that(done[id] != nil, fmt.Sprintf("DELIVERED of the message %s, of the step %q", id, text(e, "/stepInfo/stepName")), "none")
		}
		for id, e := range done {
			if j.that(made[id] != nil, "CREATED of the message "+id, "none"); made[id] != nil {
				j.order(e, "CREATED of "+id, number(made[id], "/time"), "DELIVERED", number(e, "/time"))
			}
		}
	}},
	{"REQ-LOG-010", spec.Stated, "every message that fails has ERROR, and a run without a failure has none", func(_ *World, l *Life, j *judging) {
		failing, errors := l.Run.Story.failing(), l.Run.in("ERROR")
		j.that((failing > 0) == (len(errors) > 0), map[bool]string{true: "an event ERROR", false: "no event ERROR"}[failing > 0], strconv.Itoa(len(errors)))
		failed := map[string]bool{}
		for _, e := range errors {
			failed[text(e, "/stepInfo/messageId")+text(e, "/stepInfo/stepName")] = true
		}
		j.that(len(failed) >= failing || len(errors) == 0, fmt.Sprint("ERROR of ", failing, " messages"), fmt.Sprint(len(failed)))
	}},
	{"REQ-LOG-026", spec.Stated, "every ERROR has the status of an attempt, and the last one that of the last", func(w *World, l *Life, j *judging) {
		field := w.names("fields.log", "response_status")
		if field == "" || l.Run.Story.failing() == 0 {
			return
		}
		// Not of the script alone: a step beside the failing one fails with another status when
		// the target refuses its result, because the run has ended.
		var seen, answers []int64
		for _, got := range l.Run.Calls {
			answers = append(answers, got.Status.Load())
		}
		for _, e := range l.Run.in("ERROR") {
			if n, has := check.Integer(e, "/"+field); has {
				seen = append(seen, n)
				j.that(slices.Contains(answers, n), fmt.Sprint("one of ", answers), strconv.FormatInt(n, 10))
			}
		}
		if last := int64(l.status(l.Run.Story.last())); last > 0 && l.Run.Story.Fails && len(seen) > 0 {
			j.that(slices.Contains(seen, last), fmt.Sprint(last, " of the last attempt"), fmt.Sprint(seen))
		}
	}},
	{"REQ-LOG-019", spec.Stated, "every wait has its own WAITER_ADDED", func(_ *World, l *Life, j *judging) {
		if n := l.Run.count("Wait"); n > 0 {
			j.that(len(l.Run.in("WAITER_ADDED")) >= n, strconv.Itoa(n), strconv.Itoa(len(l.Run.in("WAITER_ADDED"))))
		}
	}},
	{"REQ-LOG-020", spec.Stated, "every invocation has its own INVOKED", func(_ *World, l *Life, j *judging) {
		if n := l.Run.count("Invoke"); n > 0 {
			j.that(len(l.Run.in("INVOKED")) >= n, strconv.Itoa(n), strconv.Itoa(len(l.Run.in("INVOKED"))))
		}
	}},
	{"REQ-LOG-027", spec.Stated, "only the start of the invoked run names the invoker", func(w *World, l *Life, j *judging) {
		field := w.names("fields.log", "invoker_run_id")
		if field == "" {
			return
		}
		for _, e := range l.Run.Events {
			j.that(text(e, "/"+field) == "", "no invoker", text(e, "/"+field))
		}
		by := l.invokers()
		for _, e := range l.Run.Invoked {
			if text(e, "/state") == "RUN_STARTED" {
				j.that(text(e, "/"+field) == by[text(e, "/workflowRunId")], by[text(e, "/workflowRunId")], text(e, "/"+field))
			}
		}
	}},
	{"REQ-LOG-017", spec.Implied, "all events agree on the address and the creation of the run", func(_ *World, l *Life, j *judging) {
		var first any
		for i, e := range l.Run.Events {
			created, _ := check.At(e, "/workflowCreatedAt")
			if i == 0 {
				first = created
			}
			j.that(text(e, "/workflowUrl") == l.Run.URL && fmt.Sprint(created) == fmt.Sprint(first), fmt.Sprint(l.Run.URL, " ", first), fmt.Sprint(text(e, "/workflowUrl"), " ", created))
		}
	}},
	{"REQ-LOG-029", spec.Implied, "what follows a sleep is created after it", func(_ *World, l *Life, j *judging) {
		steps := l.Run.Story.Steps
		for i, st := range steps {
			next := slices.IndexFunc(steps[i:], func(o workflow.Step) bool { return o.Name != st.Name && (o.Group == 0 || o.Group != st.Group) })
			if st.Kind != "SleepFor" || next < 0 {
				continue
			}
			slept, then := created(l.Run.of(st.Name)), created(l.Run.of(steps[i+next].Name))
			if slept > 0 && then > 0 {
				j.that(then-slept >= 1000-tolerance.Milliseconds(), "at least 1 s later", fmt.Sprint(then-slept, " ms"))
			}
		}
	}},
	{"REQ-DLQ-005", spec.Stated, "a run that failed is in the dead letter queue", func(_ *World, l *Life, j *judging) {
		if l.Run.Story.Fails {
			j.that(len(l.Run.Entries) > 0, "an entry", "none")
		}
	}},
	{"REQ-DLQ-015", spec.Implied, "a run that succeeded is not in the dead letter queue", func(_ *World, l *Life, j *judging) {
		if !l.Run.Story.Fails {
			j.that(len(l.Run.Entries) == 0, "no entry", strconv.Itoa(len(l.Run.Entries)))
		}
	}},
	{"REQ-DLQ-016", spec.Implied, "a run that failed has one entry", func(_ *World, l *Life, j *judging) {
		if l.Run.Story.Fails {
			j.that(len(l.Run.Entries) < 2, "one", strconv.Itoa(len(l.Run.Entries)))
		}
	}},
	{"REQ-DLQ-010", spec.Stated, "the entry has the status, the headers and the body of the last attempt", func(w *World, l *Life, j *judging) {
		y := l.Run
		last, status := strconv.Itoa(y.Story.last()), l.status(y.Story.last())
		for _, e := range y.Entries {
			switch attempt := strings.Join(w.headers(e, "/responseHeader", attemptHeader), ", "); {
			case !y.Story.Fails:
			case status < 0: // what it has in place of an answer is open
				j.that(attempt == "", "no headers of an earlier attempt, because the last one had no answer", attemptHeader+": "+attempt)
				j.that(number(e, "/responseStatus") != int64(l.status(1)), "not the status of an earlier attempt", strconv.Itoa(l.status(1)))
				j.that(!strings.HasPrefix(text(e, "/responseBody"), "attempt "), "no body of an earlier attempt", text(e, "/responseBody"))
			default:
				j.that(attempt == last, attemptHeader+": "+last, attempt)
				y.field(j, "/responseStatus", strconv.Itoa(status))
				if values := l.on("fails").values; values == nil {
					y.field(j, "/responseBody", "attempt "+last)
				} else {
					w.bound(j, y, "response_body_base64", base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(values[0], "#", last))))
				}
			}
		}
	}},
	{"REQ-DLQ-014", spec.Stated, "the entry has the id, the address and the retries of the run", func(_ *World, l *Life, j *judging) {
		l.Run.field(j, "/workflowRunId", l.Run.ID)
		l.Run.field(j, "/workflowUrl", l.Run.URL)
		l.Run.field(j, "/url", l.Run.URL)
		l.Run.field(j, "/maxRetries", strconv.Itoa(l.Run.Story.Retries))
	}},
	{"REQ-DLQ-007", spec.Implied, "the message and the times of the entry are those of the log, where it is not delivered", func(_ *World, l *Life, j *judging) {
		for _, e := range l.Run.Entries {
			started, created, due := number(e, "/workflowCreatedAt"), number(e, "/createdAt"), number(e, "/notBefore")
			j.order(e, "/workflowCreatedAt", started, "/createdAt", created)
			j.order(e, "/createdAt", created, "/notBefore", due)
			if first := l.Run.Story.Steps[0]; l.Run.Story.ends(first) && first.Group == 0 && !l.Run.Second { // its message is that of the run
				j.order(e, "the end of the delay", started+l.Run.Story.Delay.Milliseconds(), "/notBefore", due)
			}
			for _, failed := range l.Run.in("RUN_FAILED") {
				j.order(e, "/notBefore", due, "the failure of the run", number(failed, "/time"))
			}
			id, found := text(e, "/messageId"), false
			for _, event := range l.Run.Events {
				j.that(number(event, "/workflowCreatedAt") == started, fmt.Sprint("workflowCreatedAt ", started, " in the log"), fmt.Sprint(number(event, "/workflowCreatedAt")))
				if text(event, "/stepInfo/messageId") == id {
					found = true
					j.that(text(event, "/state") != "DELIVERED", "no DELIVERED of the message that failed", "DELIVERED of "+id)
					j.that(number(event, "/stepInfo/createdAt") == created, fmt.Sprint("createdAt ", created, " in the log"), fmt.Sprint(number(event, "/stepInfo/createdAt")))
				}
			}
			j.that(found, "events of the message "+id, "none")
		}
	}},
	{"REQ-DLQ-017", spec.Stated, "the entry has the payload, the label and the key of the run", func(w *World, l *Life, j *judging) {
		y := l.Run
		switch p := string(y.Payload); {
		case p == "": // whether it is absent is open
		case utf8.ValidString(p):
			w.bound(j, y, "body", p)
		default:
			w.bound(j, y, "body_base64", base64.StdEncoding.EncodeToString(y.Payload))
		}
		if y.Label != "" {
			w.bound(j, y, "label", y.Label)
		}
		if y.Key != "" {
			w.bound(j, y, "flow_key", y.Key)
		}
	}},
	{"REQ-DLQ-011", spec.Stated, "the entry names the failure callback exactly when one was set", func(_ *World, l *Life, j *judging) {
		for _, e := range l.Run.Entries {
			j.that(text(e, "/failureCallback") == l.Run.Callback, l.Run.Callback, text(e, "/failureCallback"))
		}
	}},
	{"REQ-DLQ-012", spec.Stated, "the failure callback of a run that failed is called, and its outcome is stored", func(_ *World, l *Life, j *judging) {
		if l.Run.Callback != "" && l.Run.Story.Fails {
			j.that(l.Run.Called > 0, "a call of the failure callback", "none")
			l.Run.field(j, "/failureCallbackInfo/responseStatus", "200")
		}
	}},
	{"REQ-DLQ-012", spec.Implied, "the failure callback is called once by a run that failed, and not by one that succeeded", func(_ *World, l *Life, j *judging) {
		if most := map[bool]int{true: 1}[l.Run.Story.Fails]; l.Run.Callback != "" {
			j.that(l.Run.Called <= most, fmt.Sprint("at most ", most), strconv.Itoa(l.Run.Called))
		}
	}},
	{"REQ-RST-001", spec.Stated, "a restart answers the id and the creation of the new run", func(_ *World, l *Life, j *judging) {
		if a := l.Run.Restart; a != nil {
			created, ok := check.Integer(a.JSON, "/workflowCreatedAt")
			j.that(a.OK() && text(a.JSON, "/workflowRunId") != "" && ok && created > 0, "a run and its creation", fmt.Sprint(a.Status, " ", harness.Clip(string(a.Body))))
		}
	}},
	{"REQ-RST-002", spec.Stated, "the run of a restart has an id of its own", func(_ *World, l *Life, j *judging) {
		if a := l.Run.Restart; a != nil {
			j.that(text(a.JSON, "/workflowRunId") != l.Run.ID, "not "+l.Run.ID, text(a.JSON, "/workflowRunId"))
		}
	}},
	{"REQ-RST-005", spec.Stated, "a restart with a chosen id makes a run with it", func(_ *World, l *Life, j *judging) {
		if a := l.Run.Restart; a != nil && l.on("restart").name == header.WorkflowRunID {
			j.that(text(a.JSON, "/workflowRunId") == l.Run.ID+chosen, l.Run.ID+chosen, text(a.JSON, "/workflowRunId"))
		}
	}},
	{"REQ-RST-003", spec.Stated, "the run of a restart is called with the original payload", func(_ *World, l *Life, j *judging) {
		if want := bytes.TrimSpace(l.Run.Payload); l.Run.Second {
			j.that(len(l.Run.Calls) > 0, "a call of the new run", "none")
			for _, got := range l.Run.Calls {
				if p := workflow.InitialPayload(got.Received); len(p) > 0 && got.Header.Get(header.WorkflowCallback) == "" {
					j.that(bytes.Equal(p, want), brief(want), brief(p))
				}
			}
		}
	}},
	{"REQ-RST-006", spec.Stated, "the run of a restart has the flow-control value of the restart, or else the original one", func(w *World, l *Life, j *judging) {
		for _, e := range l.Run.Entries {
			if values := w.headers(e, "/header", header.FlowControlValue); l.Run.Second && l.Run.Value != "" && len(values) > 0 {
				dense := strings.ReplaceAll(strings.Join(values, ","), " ", "") // several may be one, and one may have commas
				j.that(strings.Contains(","+dense+",", ","+strings.ReplaceAll(l.Run.Value, " ", "")+","), l.Run.Value, strings.Join(values, " | "))
			}
		}
	}},
	{"REQ-RST-007", spec.Implied, "the run of a restart is in the log with the creation that the restart answered", func(_ *World, l *Life, j *judging) {
		for _, e := range l.Run.Events {
			if created := number(e, "/workflowCreatedAt"); l.Run.Created > 0 {
				j.that(created == l.Run.Created, fmt.Sprint(l.Run.Created), fmt.Sprint(created))
			}
		}
	}},
	{"REQ-FLC-003", spec.Implied, "a run stays held while only other keys are resumed", func(_ *World, l *Life, j *judging) {
		if l.Run.Held {
			j.that(l.Run.Early == 0, "no call before the resume", strconv.Itoa(l.Run.Early))
		}
	}},
	{"REQ-FLC-001", spec.Stated, "a run that a key holds is executed after the resume", func(_ *World, l *Life, j *judging) {
		if l.Run.Held {
			j.that(len(l.Run.Calls) > 0, "a call", "none")
		}
	}},
	{"REQ-RST-004", spec.Stated, "the run of a restart executes its steps from the first one", func(_ *World, l *Life, j *judging) {
		for name, n := range l.Run.Story.Done {
			if l.Run.Second && !strings.HasPrefix(name, work) {
				j.that(l.Run.Done[name] >= n, fmt.Sprintf("%q %d times", name, n), strconv.Itoa(l.Run.Done[name]))
			}
		}
	}},
	{"REQ-RST-010", spec.Stated, "the run of a restart has the retries of the restart, or else the original ones", func(_ *World, l *Life, j *judging) {
		if l.Run.Second {
			l.Run.executed(func(st workflow.Step) {
				if n := l.Run.Story.Done[st.Name]; st.Fails != 0 && st.Later >= 0 {
					j.that(l.Run.Done[st.Name] == n, fmt.Sprintf("%d attempts", n), strconv.Itoa(l.Run.Done[st.Name]))
				}
			})
		}
	}},
}
