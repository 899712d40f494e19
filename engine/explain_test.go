package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
)

// why is an explanation in one text.
func (w *world) why(id string) string {
	w.t.Helper()
	x, err := w.Explain(id)
	w.must(err)
	text := x.Kind + " " + x.State
	for _, r := range x.Reasons {
		text += " | " + r.Text + " [" + r.Rule + "]"
		if !r.Until.IsZero() {
			text += " +" + r.Until.Sub(w.Now()).String()
		}
	}
	return text
}

func TestExplain(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.answer = always(503)
	key := engine.FlowControl{Key: "k", Rate: 1, Period: time.Minute}
	delayed := w.publish(engine.Options{Delay: time.Hour})
	timed := w.publish(engine.Options{Delay: time.Hour, NotBefore: w.Now().Add(2 * time.Hour)})
	retried := w.publish(engine.Options{})
	w.settle()
	_, err := w.UpsertQueue("q", nil, nil)
	w.must(err)
	w.must(w.SetQueuePaused("q", true))
	queued := w.publish(engine.Options{Queue: "q"})
	w.publish(engine.Options{Flow: &key, Retries: new(0)})
	held := w.publish(engine.Options{Flow: &key})
	failed := w.publish(engine.Options{Retries: new(0)})
	w.settle()
	paused := func() string {
		w.must(w.SetFlowPaused("k", true))
		return w.why(held)
	}
	for _, c := range []struct{ got, want string }{
		{w.why(delayed), "message CREATED | first attempt not due yet [Delay] +1h0m0s"},
		{w.why(timed), "message CREATED | first attempt not due yet [Not-Before] +2h0m0s"},
		{w.why(retried), "message RETRY | 503 response, attempt 1 of 4; next attempt not due yet [backoff]"},
		{w.why(queued), `queue "q" is paused`},
		{w.why(held), `flow-control key "k" has reached its rate: 1 per 1 m [] +1m0s`},
		{w.why("k"), "flow-control key 1 waiting, 0 in flight"},
		{w.why(failed), "message FAILED | 503 response, attempt 1 of 1 [] | ended"},
		{paused(), `flow-control key "k" is paused since`},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s\nwant %s", c.got, c.want)
		}
	}
	if !strings.Contains(w.why(retried), "12.182s") && !strings.Contains(w.why(retried), "+12") {
		t.Errorf("no time of the next attempt: %s", w.why(retried))
	}
	if _, err := w.Explain("nothing"); err == nil || !strings.Contains(err.Error(), "no message, run, DLQ entry or flow-control key") {
		t.Errorf("an unknown id: %v", err)
	}
}

// The starts of a key are counted within its period, which has passed here.
func TestWhyNamesOnlyWhatHoldsAMessageNow(t *testing.T) {
	t.Parallel()
	w := setup(t)
	key := &engine.FlowControl{Key: "k", Rate: 2, Period: time.Minute}
	for range 4 {
		w.publish(engine.Options{Flow: key})
	}
	w.advance(4 * time.Hour)
	w.must(w.SetFlowPaused("k", true))
	for name, id := range map[string]string{"message": w.publish(engine.Options{Flow: key}), "delayed message": w.publish(engine.Options{Flow: key, Delay: time.Hour}), "key": "k"} {
		if got := w.why(id); strings.Contains(got, "has reached its rate: 2") || !strings.Contains(got, "is paused since") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The answer of a third party is in no list of its run.
func TestWhyOfARunNamesTheAnswerThatCannotBeDelivered(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.answer = func(at engine.Attempt) engine.Outcome {
		return engine.Outcome{Status: map[bool]int{false: 200, true: 503}[at.Message.Role == engine.RoleCallback]}
	}
	w.send(engine.PublishRequest{URL: "https://app.test/wf", Options: engine.Options{Workflow: &engine.Workflow{Init: new(true), RunID: "run0"}}})
	w.settle()
	w.send(engine.PublishRequest{URL: "https://third.test/", Options: engine.Options{Workflow: &engine.Workflow{Init: new(false), RunID: "run0", CallType: "toCallback"},
		Callback: &engine.Callback{URL: "https://app.test/wf", Options: engine.Options{Forward: engine.Header{"Svc-Workflow-Stepid": {"1"}}}}}})
	w.settle()
	if got := w.why("run0"); !strings.Contains(got, "503 response, attempt 1 of 4; next attempt not due yet") {
		t.Error(got)
	}
}
