package engine_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// Each target reads what comes from outside: from publishers, endpoints and
// destinations. Whatever it is, it is refused or lived with.

func FuzzFormula(f *testing.F) {
	for _, seed := range []string{"1000", "pow(2, retried) * 1000", "1/0", "-1", "max(retried, 3)", "((((", "exp(1000)", "retried % 2", "sqrt(0-1)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		formula, err := engine.ParseFormula(text)
		if err != nil {
			return
		}
		for _, n := range []int{0, 1, 50, math.MaxInt32} {
			if d := formula.Delay(n); d < 0 || d > 24*time.Hour {
				t.Errorf("%q waits %s before retry %d", text, d, n)
			}
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"120", "0", "1.5", "-1", "6m5s", "NaN", "1e400", "Fri, 15 Jan 2027 08:05:00 GMT", "Mon, 32 Foo", "99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w := setup(t)
		w.answer = func(engine.Attempt) engine.Outcome {
			return engine.Outcome{Status: 503, Header: engine.Header{"Retry-After": {text}, "X-Ratelimit-Reset": {text}}}
		}
		id := w.publish(engine.Options{})
		w.settle()
		m, err := w.Message(id)
		if err != nil && len(w.dlq()) == 1 {
			return // no time to wait, so that all retries are over
		}
		expect.Nil(t, "error", err)
		expect.True(t, "a next attempt from the present on", !m.NextAt.Time().Before(epoch))
		expect.True(t, "a next attempt within 24 hours", !m.NextAt.Time().After(epoch.Add(24*time.Hour)))
	})
}

func FuzzCron(f *testing.F) {
	for _, seed := range []string{"* * * * *", "@daily", "CRON_TZ=Europe/Berlin 0 2 31 2 *", "CRON_TZ=", "61 * * * *", "*/0 * * * *", "0 0 L * *", "@reboot", "1-5,7/2 * * * MON"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		w := setup(t)
		s, err := w.PutSchedule("s", line, engine.PublishRequest{URL: sink})
		if err != nil || s.Next.IsZero() {
			return
		}
		if !s.Next.After(epoch) {
			t.Errorf("the next time of %q: got %s, want one after %s", line, s.Next, epoch)
		}
	})
}

// A step, an invocation and a wait as endpoints submit them.
func FuzzStep(f *testing.F) {
	for _, seed := range []string{`{"stepId":1,"stepName":"a","stepType":"Run","out":"1","concurrent":1}`, `{"stepId":0,"targetStep":3,"stepType":"Run","concurrent":1000000000000}`,
		`{"stepId":-1}`, `[]`, `null`, `{"stepId":1,"stepName":"s","stepType":"SleepUntil","sleepUntil":1e300}`, `{"stepId":2,"stepName":"s","stepType":"SleepFor","sleepFor":{"a":1}}`,
		`{"body":"b","headers":{"a":["b"]},"workflowRunId":"run","workflowUrl":"u","step":{"stepId":1,"stepName":"i","stepType":"Invoke"}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w := setup(t)
		start, no := true, false
		publish := func(workflow engine.Workflow) {
			_, _ = w.Publish(engine.PublishRequest{URL: sink, Body: body, Options: engine.Options{Workflow: &workflow}}) // it may be refused
		}
		publish(engine.Workflow{Init: &start, RunID: "run", URL: sink})
		w.settle()
		publish(engine.Workflow{Init: &no, RunID: "run"})
		publish(engine.Workflow{Init: &start, RunID: "child", URL: sink, Invoke: true})
		publish(engine.Workflow{Init: &no, RunID: "run", CallType: "toCallback"})
		_ = w.Wait(engine.WaitRequest{RunID: "run", EventID: "e", Step: body}) // it may be refused
		w.settle()
		for _, run := range walk(t, engine.Filter{}, w.RunViews) {
			for _, group := range run.Groups {
				if len(group.Steps) == 0 {
					t.Errorf("an empty group of type %s", group.Type)
				}
			}
		}
		if steps, err := w.Steps("run"); err == nil && !json.Valid(wire.StepList(steps)) {
			t.Errorf("step list is not JSON: %s", steps)
		}
	})
}
