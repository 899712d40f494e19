package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// everyMinute adds a schedule to an account.
func (w *world) everyMinute() {
	w.t.Helper()
	_, err := w.PutSchedule("s", "* * * * *", engine.PublishRequest{URL: "https://app.test/cron"})
	w.must(err)
}

// What nobody waits for any more keeps no clock going: each row leaves a
// schedule and nothing else.
var abandoned = map[string]func(*world){
	"a delayed message that was cancelled": func(w *world) {
		w.must(w.Cancel(w.publish(engine.Options{Delay: 24 * time.Hour})))
	},
	"a message that was attempted before its time": func(w *world) {
		w.must(w.DeliverNow(w.publish(engine.Options{Delay: 24 * time.Hour})))
		w.settle()
	},
	"messages of a deleted queue": func(w *world) {
		w.publish(engine.Options{Queue: "q", Delay: 24 * time.Hour})
		second := w.publish(engine.Options{Queue: "q", Delay: 24 * time.Hour})
		w.must(w.DeleteQueue("q"))
		_ = w.Cancel(second) // it had ended
		_, err := w.CancelMessages(engine.Filter{})
		w.must(err)
	},
	"a schedule that was deleted": func(w *world) {
		_, err := w.PutSchedule("yearly", "0 0 1 1 *", engine.PublishRequest{URL: sink})
		w.must(err)
		w.must(w.DeleteSchedule("yearly"))
	},
	"a schedule that was replaced": func(w *world) {
		_, err := w.PutSchedule("s", "0 0 1 1 *", engine.PublishRequest{URL: sink})
		w.must(err)
		w.everyMinute()
	},
	"a message held by a rate that was cancelled": func(w *world) {
		once := &engine.FlowControl{Key: "k", Rate: 1, Period: 24 * time.Hour}
		w.publish(engine.Options{Flow: once})
		held := w.publish(engine.Options{Flow: once})
		w.settle()
		w.must(w.Cancel(held))
	},
	"a rate-limited key that was paused": func(w *world) {
		once := &engine.FlowControl{Key: "k", Rate: 1, Period: 24 * time.Hour}
		w.publish(engine.Options{Flow: once})
		w.publish(engine.Options{Flow: once})
		w.settle()
		w.must(w.SetFlowPaused("k", true))
	},
	"a run that waited and was cancelled": func(w *world) {
		w.startRun()
		w.settle()
		w.must(w.Wait(engine.WaitRequest{RunID: "run", EventID: "e", Step: []byte(`{"stepId":1,"stepName":"w","stepType":"Wait"}`)}))
		w.must(w.CancelRun("run"))
	},
	"a wait that came back": func(w *world) {
		w.startRun()
		w.settle()
		w.must(w.Wait(engine.WaitRequest{RunID: "run", EventID: "e", Step: []byte(`{"stepId":1,"stepName":"w","stepType":"Wait"}`)}))
		w.Notify("", "e", nil)
		w.settle()
	},
}

// startRun triggers a run that is called run.
func (w *world) startRun() {
	w.t.Helper()
	w.send(engine.PublishRequest{URL: "https://app.test/wf", Options: engine.Options{Workflow: &engine.Workflow{Init: new(true), RunID: "run", URL: "https://app.test/wf"}}})
}

func TestAdvanceUntilIdleStopsWhenOnlySchedulesAreLeft(t *testing.T) {
	t.Parallel()
	for name, leave := range abandoned {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.everyMinute()
			leave(w)
			w.settle()
			p, err := w.AdvanceUntil(context.Background(), true)
			expect.Nil(t, "advancing the clock", err)
			expect.Equal(t, "timers that have fired", p.TimersFired, 0)
			expect.Equal(t, "time of the clock", p.Now, epoch)
		})
	}
}

func TestAnAutoClockStandsWhenOnlySchedulesAreLeft(t *testing.T) {
	t.Parallel()
	begun, answer := make(chan struct{}), make(chan struct{})
	w := setup(t, auto)
	w.answer = func(at engine.Attempt) engine.Outcome {
		if at.Message.URL == "https://app.test/hold" {
			close(begun)
			<-answer
		}
		return engine.Outcome{Status: 200}
	}
	w.send(engine.PublishRequest{URL: "https://app.test/hold"}) // keeps the clock where it is
	<-begun
	w.everyMinute()
	w.must(w.Cancel(w.publish(engine.Options{Delay: 24 * time.Hour})))
	close(answer)
	for range 3 {
		w.must(w.Settle(context.Background()))
		w.settle()
	}
	if now := w.Now(); !now.Equal(epoch) {
		t.Errorf("the clock has gone on to %s", now)
	}
}

// The place that each owner knows is checked by what comes out: after any
// removals, what is left fires in the order of time.
func TestTimersFireInOrderAfterRemovals(t *testing.T) {
	t.Parallel()
	w := setup(t)
	var ids []string
	for i := range 500 {
		ids = append(ids, w.publish(engine.Options{Delay: time.Duration(i*7919%500+1) * time.Second}))
	}
	for i, id := range ids {
		if i%3 > 0 {
			w.must(w.Cancel(id))
		}
	}
	w.advance(time.Hour)
	made := w.made()
	expect.Equal(expect.Now(t), "number of attempts", len(made), 167)
	for i, at := range made[1:] {
		if at.At.Before(made[i].At) {
			t.Fatalf("attempt %d is made at %s, after one at %s", i+1, at.At, made[i].At)
		}
	}
}
