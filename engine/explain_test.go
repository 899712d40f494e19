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
		{w.why(delayed), "message CREATED | first attempt not due yet [Delay, Not-Before, or its schedule] +1h0m0s"},
		{w.why(retried), "message RETRY | attempt 1 of 4: 503 response; next attempt not due yet [backoff]"},
		{w.why(queued), `queue "q" is paused`},
		{w.why(held), `flow-control key "k" lets 1 start in 1m, and all of these have started [] +1m0s`},
		{w.why("k"), "flow-control key 1 waiting, 0 in flight"},
		{w.why(failed), "message FAILED | attempt 1 of 1: 503 response [] | ended"},
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
