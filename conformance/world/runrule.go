package world

import (
	"bytes"
	"encoding/base64"
	"fmt"
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

// states are the states of events in one text.
func states(list []any) string {
	var words []string
	for _, e := range list {
		words = append(words, text(e, "/state"))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
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

// runRules are the rules of runs, in the order of the feature.
var runRules = []*Rule{
	{"REQ-LOG-007", spec.Stated, "the log has RUN_STARTED and the creation of the first message", func(_ *World, l *Life, j *judging) {
		y := l.Run
		j.that(len(y.in("RUN_STARTED")) > 0 && slices.ContainsFunc(y.in("CREATED"), func(e any) bool { return text(e, "/stepInfo/stepType") == "Initial" }), "RUN_STARTED, and CREATED of Initial", states(y.Events))
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
	{"REQ-RTY-003", spec.Implied, "a step that has succeeded is not executed again, and none follows a failed one", func(_ *World, l *Life, j *judging) {
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
	{"REQ-LOG-028", spec.Stated, "every step is recorded with the number of steps beside it", func(_ *World, l *Life, j *judging) {
		beside := 0
		for _, st := range l.Run.Story.Steps {
			beside += st.Group
		}
		l.Run.executed(func(st workflow.Step) {
			want := 1
			if st.Group > 0 {
				want = beside
			}
			for _, e := range l.Run.of(st.Name) {
				if n, has := check.Integer(e, "/stepInfo/concurrent"); has { // whether the step itself counts is open
					j.that(n == int64(want) || n == int64(want)-1, fmt.Sprintf("%q with %d", st.Name, want), strconv.FormatInt(n, 10))
				}
			}
		})
	}},
	{"REQ-LOG-004", spec.Implied, "different steps have different messages", func(_ *World, l *Life, j *judging) {
		owner := map[string]string{}
		l.Run.executed(func(st workflow.Step) {
			for _, e := range l.Run.of(st.Name) {
				if id := text(e, "/stepInfo/messageId"); id != "" {
					j.that(owner[id] == "" || owner[id] == st.Name, fmt.Sprintf("a message of its own for %q", st.Name), "that of "+owner[id])
					owner[id] = st.Name
				}
			}
		})
	}},
	{"REQ-LOG-008", spec.Stated, "every step that succeeds in the end has DELIVERED", func(_ *World, l *Life, j *judging) {
		l.Run.executed(func(st workflow.Step) {
			if st.Kind == "Run" && !l.Run.Story.Fails {
				j.that(slices.ContainsFunc(l.Run.of(st.Name), func(e any) bool { return text(e, "/state") == "DELIVERED" }), fmt.Sprintf("DELIVERED of %q", st.Name), states(l.Run.of(st.Name)))
			}
		})
	}},
	{"REQ-LOG-010", spec.Stated, "a run with a failure has ERROR, and a run without one has none", func(_ *World, l *Life, j *judging) {
		failed, n := l.Run.Story.failures(), len(l.Run.in("ERROR"))
		j.that(failed == (n > 0), map[bool]string{true: "an event ERROR", false: "no event ERROR"}[failed], strconv.Itoa(n))
	}},
	{"REQ-LOG-026", spec.Stated, "every ERROR has the status of an attempt, and the last one that of the last", func(w *World, l *Life, j *judging) {
		field := w.names("fields.log", "response_status")
		if field == "" || !l.Run.Story.failures() {
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
		for _, e := range l.Run.Invoked {
			if text(e, "/state") == "RUN_STARTED" {
				j.that(text(e, "/"+field) == l.Run.ID, l.Run.ID, text(e, "/"+field))
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
		at := slices.IndexFunc(l.Run.Story.Steps, func(st workflow.Step) bool { return st.Kind == "SleepFor" })
		if at < 0 || at+1 >= len(l.Run.Story.Steps) {
			return
		}
		slept, next := l.Run.of(l.Run.Story.Steps[at].Name), l.Run.of(l.Run.Story.Steps[at+1].Name)
		if len(slept) > 0 && len(next) > 0 {
			a, okA := check.Integer(slept[0], "/stepInfo/createdAt")
			b, okB := check.Integer(next[0], "/stepInfo/createdAt")
			j.that(!okA || !okB || b-a >= 1000-tolerance.Milliseconds(), "at least 1 s later", fmt.Sprint(b-a, " ms"))
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
	{"REQ-DLQ-010", spec.Stated, "the entry has the status and the body of the last attempt", func(w *World, l *Life, j *judging) {
		y := l.Run
		if y.Story.Fails && l.status(y.Story.last()) < 0 { // what it has in place of an answer is open
			for _, e := range y.Entries {
				body := text(e, "/responseBody")
				j.that(!strings.HasPrefix(body, "attempt "), "no body, because the last attempt had no answer", body)
			}
		} else if y.Story.Fails {
			y.field(j, "/responseStatus", strconv.Itoa(l.status(y.Story.last())))
			if body := "attempt " + strconv.Itoa(y.Story.last()); l.on("fails").values == nil {
				y.field(j, "/responseBody", body)
			} else {
				w.bound(j, y, "response_body_base64", base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(l.on("fails").values[0], "#", strconv.Itoa(y.Story.last())))))
			}
		}
	}},
	{"REQ-DLQ-014", spec.Stated, "the entry has the id, the address and the retries of the run", func(_ *World, l *Life, j *judging) {
		l.Run.field(j, "/workflowRunId", l.Run.ID)
		l.Run.field(j, "/workflowUrl", l.Run.URL)
		l.Run.field(j, "/url", l.Run.URL)
		l.Run.field(j, "/maxRetries", strconv.Itoa(l.Run.Story.Retries))
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
	{"REQ-DLQ-012", spec.Implied, "the failure callback of a run that succeeded is not called", func(_ *World, l *Life, j *judging) {
		if l.Run.Callback != "" && !l.Run.Story.Fails {
			j.that(l.Run.Called == 0, "no call", strconv.Itoa(l.Run.Called))
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
		if a := l.Run.Restart; a != nil && l.on("restart").name != "" {
			j.that(text(a.JSON, "/workflowRunId") == l.Run.ID+"-chosen", l.Run.ID+"-chosen", text(a.JSON, "/workflowRunId"))
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
	{"REQ-RST-003", spec.Implied, "the run of a restart is held by the key of the original", func(_ *World, l *Life, j *judging) {
		if l.Run.Held {
			j.that(l.Run.Early == 0, "no call before the resume", strconv.Itoa(l.Run.Early))
		}
	}},
	{"REQ-FLC-001", spec.Stated, "the run of a restart that a key holds is executed after the resume", func(_ *World, l *Life, j *judging) {
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
