package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
)

// clock is how a scenario lets time pass: by moving the target's clock, where a
// driver can, or by waiting with a deadline. It is the only place that reads the
// time of the world.
type clock struct {
	control string // base of the control API, "" to wait in real time
	account string // whose clock it moves
	header  http.Header
	http    *http.Client
	timing  target.Timing
	offset  time.Duration          // of the target's clock, as its answers say; 0 below what the target file allows
	arrived func() <-chan struct{} // closed when a delivery comes
	waited  func() time.Duration   // how long the target has made requests wait; nil: never
	idle    *stopwatch             // of the run; nil: nobody measures
}

// stopwatch measures how long at least one of many is waiting.
type stopwatch struct {
	mu      sync.Mutex
	waiting int
	begun   time.Time // while somebody waits
	total   time.Duration
}

// start begins a wait, and gives what ends it.
func (w *stopwatch) start() (stop func()) {
	if w == nil {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting++; w.waiting == 1 {
		w.begun = now()
	}
	return w.stop
}

func (w *stopwatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting--; w.waiting == 0 {
		w.total += since(w.begun)
	}
}

// measured is the time of all waits that have ended; those that overlap count once.
func (w *stopwatch) measured() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total
}

// now is the time of the world.
func now() time.Time { return time.Now() }

// timerOf is a timer of the world.
func timerOf(d time.Duration) *time.Timer { return time.NewTimer(d) }

// since is the time of the world that has passed.
func since(t time.Time) time.Duration { return time.Since(t) }

// within ends a context after d, and later by as long as the target has made
// requests wait in the meantime.
func within(ctx context.Context, d time.Duration, waited func() time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	paid, set := waited(), make(chan struct{})
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		<-set
		if more := waited() - paid; more > 0 {
			paid += more
			timer.Reset(more)
			return
		}
		cancel(cause)
	})
	close(set)
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// virtual reports whether time is moved.
func (c *clock) virtual() bool { return c.control != "" }

// strides are how far time is moved while something is awaited: all of them
// together pass every wait of the default backoff and every retention.
var strides = []time.Duration{0, time.Second, 15 * time.Second, 3 * time.Minute, time.Hour, 12 * time.Hour, 24 * time.Hour, 72 * time.Hour}

// eventually runs check until it returns nil, and gives its last error when the
// budget is spent.
func (c *clock) eventually(ctx context.Context, budget time.Duration, check func() error) error {
	if c.virtual() {
		var err error
		for _, d := range strides {
			if err := c.pass(ctx, d); err != nil {
				return err
			}
			if err = check(); err == nil || final(err) {
				return err
			}
		}
		return err
	}
	held := c.held()
	deadline := now().Add(c.scaled(budget))
	wait := c.timing.Poll.First
	for {
		arrived := c.arrived()
		err := check()
		left := time.Until(deadline) + c.held() - held
		if err == nil || final(err) || left <= 0 {
			return err
		}
		timer, stop := time.NewTimer(min(wait, left)), c.idle.start()
		select {
		case <-ctx.Done():
			stop()
			timer.Stop()
			return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		case <-arrived:
			stop()
			timer.Stop()
		case <-timer.C:
			stop()
			wait = min(time.Duration(float64(wait)*c.timing.Poll.Factor), c.timing.Poll.Max)
		}
	}
}

// held is how long the target has made requests wait so far.
func (c *clock) held() time.Duration {
	if c.waited == nil {
		return 0
	}
	return c.waited()
}

// final reports whether an error stays whatever the target does later: a missing
// operation, or something that is no verdict on the target.
func final(err error) bool {
	var i *inconclusive
	if errors.As(err, &i) {
		return i.reason != report.PrerequisiteFailed && i.reason != report.TriggerNotObserved
	}
	var missing *missingOperation
	return errors.As(err, &missing)
}

// pass lets d go by; with a driver everything that it causes has happened then.
func (c *clock) pass(ctx context.Context, d time.Duration) error {
	if c.virtual() {
		if d == 0 {
			return c.post(ctx, "settle", map[string]any{"timeout": "60s"})
		}
		return c.post(ctx, "clock/advance", map[string]any{"by": d.String(), "timeout": "60s"})
	}
	return c.wait(ctx, d)
}

// wait lets d of the world's time go by: what a driver's clock does not move.
func (c *clock) wait(ctx context.Context, d time.Duration) error {
	defer c.idle.start()()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// scaled is a budget as the target file wants it.
func (c *clock) scaled(budget time.Duration) time.Duration {
	return time.Duration(float64(budget) * c.timing.Scale)
}

// target is the target's time where it can be asked for, else the world's.
func (c *clock) target(ctx context.Context) (time.Time, error) {
	if !c.virtual() {
		return now().Add(c.offset), nil
	}
	var answer struct{ Now int64 }
	err := c.call(ctx, http.MethodGet, "clock", nil, &answer)
	return time.UnixMilli(answer.Now), err
}

func (c *clock) post(ctx context.Context, path string, body any) error {
	return c.call(ctx, http.MethodPost, path, body, nil)
}

// call speaks the control API; what goes wrong is the harness's fault.
func (c *clock) call(ctx context.Context, method, path string, body, into any) error {
	u := c.control + "/" + path
	if c.account != "" {
		u += "?account=" + url.QueryEscape(c.account)
	}
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body) // of maps of texts
	}
	r, err := http.NewRequestWithContext(ctx, method, u, bytes.NewReader(text))
	if err != nil {
		return harness(report.DriverFailed, "clock: %v", err)
	}
	if c.header != nil {
		r.Header = c.header.Clone()
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(r)
	if err != nil {
		return harness(report.DriverFailed, "clock: %v", err)
	}
	defer response.Body.Close()
	answer, err := readAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return harness(report.DriverFailed, "clock: %s %s answered %d: %s", method, path, response.StatusCode, clip(string(answer)))
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			return harness(report.DriverFailed, "clock: %s %s: %v", method, path, err)
		}
	}
	return nil
}
