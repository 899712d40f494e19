package harness

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

// Clock is how a scenario lets time pass: by moving the target's clock, where a
// driver can, or by waiting with a deadline. It is the only place that reads the
// time of the world.
type Clock struct {
	control string // base of the control API, "" to wait in real time
	Account string // whose clock it moves
	header  http.Header
	http    *http.Client
	timing  target.Timing
	Offset  time.Duration          // of the target's clock, as its answers say; 0 below what the target file allows
	arrived func() <-chan struct{} // closed when a delivery comes
	waited  func() time.Duration   // how long the target has made requests wait; nil: never
	idle    *Stopwatch             // of the run; nil: nobody measures
}

// Stopwatch measures how long at least one of many is waiting.
type Stopwatch struct {
	mu      sync.Mutex
	waiting int
	begun   time.Time // while somebody waits
	total   time.Duration
}

// start begins a wait, and gives what ends it.
func (w *Stopwatch) start() (stop func()) {
	if w == nil {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting++; w.waiting == 1 {
		w.begun = Now()
	}
	return w.stop
}

func (w *Stopwatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting--; w.waiting == 0 {
		w.total += Since(w.begun)
	}
}

// Measured is the time of all waits that have ended; those that overlap count once.
func (w *Stopwatch) Measured() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total
}

// Now is the time of the world.
func Now() time.Time { return time.Now() }

// timerOf is a timer of the world.
func timerOf(d time.Duration) *time.Timer { return time.NewTimer(d) }

// Since is the time of the world that has passed.
func Since(t time.Time) time.Duration { return time.Since(t) }

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

// Virtual reports whether time is moved.
func (c *Clock) Virtual() bool { return c.control != "" }

// strides are how far time is moved while something is awaited: all of them
// together pass every wait of the default backoff and every retention.
var strides = []time.Duration{0, time.Second, 15 * time.Second, 3 * time.Minute, time.Hour, 12 * time.Hour, 24 * time.Hour, 72 * time.Hour}

// Eventually runs check until it returns nil, and gives its last error when the
// budget is spent.
func (c *Clock) Eventually(ctx context.Context, budget time.Duration, check func() error) error {
	if c.Virtual() {
		var err error
		for _, d := range strides {
			if err := c.Pass(ctx, d); err != nil {
				return err
			}
			if err = check(); err == nil || final(err) {
				return err
			}
		}
		return err
	}
	held := c.held()
	deadline := Now().Add(c.Scaled(budget))
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
func (c *Clock) held() time.Duration {
	if c.waited == nil {
		return 0
	}
	return c.waited()
}

// final reports whether an error stays whatever the target does later: a missing
// operation, or something that is no verdict on the target.
func final(err error) bool {
	var i *NoVerdict
	if errors.As(err, &i) {
		return i.Reason != report.PrerequisiteFailed && i.Reason != report.TriggerNotObserved
	}
	var missing *missingOperation
	return errors.As(err, &missing)
}

// Pass lets d go by; with a driver everything that it causes has happened then.
func (c *Clock) Pass(ctx context.Context, d time.Duration) error {
	if c.Virtual() {
		if d == 0 {
			return c.post(ctx, "settle", map[string]any{"timeout": "60s"})
		}
		return c.post(ctx, "clock/advance", map[string]any{"by": d.String(), "timeout": "60s"})
	}
	return c.Wait(ctx, d)
}

// Wait lets d of the world's time go by: what a driver's clock does not move.
func (c *Clock) Wait(ctx context.Context, d time.Duration) error {
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

// Scaled is a budget as the target file wants it.
func (c *Clock) Scaled(budget time.Duration) time.Duration {
	return time.Duration(float64(budget) * c.timing.Scale)
}

// Target is the target's time where it can be asked for, else the world's.
func (c *Clock) Target(ctx context.Context) (time.Time, error) {
	if !c.Virtual() {
		return Now().Add(c.Offset), nil
	}
	var answer struct{ Now int64 }
	err := c.call(ctx, http.MethodGet, "clock", nil, &answer)
	return time.UnixMilli(answer.Now), err
}

func (c *Clock) post(ctx context.Context, path string, body any) error {
	return c.call(ctx, http.MethodPost, path, body, nil)
}

// call speaks the control API; what goes wrong is the harness's fault.
func (c *Clock) call(ctx context.Context, method, path string, body, into any) error {
	u := c.control + "/" + path
	if c.Account != "" {
		u += "?account=" + url.QueryEscape(c.Account)
	}
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body) // of maps of texts
	}
	r, err := http.NewRequestWithContext(ctx, method, u, bytes.NewReader(text))
	if err != nil {
		return Fault(report.DriverFailed, "clock: %v", err)
	}
	if c.header != nil {
		r.Header = c.header.Clone()
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(r)
	if err != nil {
		return Fault(report.DriverFailed, "clock: %v", err)
	}
	defer response.Body.Close()
	answer, err := ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return Fault(report.DriverFailed, "clock: %s %s answered %d: %s", method, path, response.StatusCode, Clip(string(answer)))
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			return Fault(report.DriverFailed, "clock: %s %s: %v", method, path, err)
		}
	}
	return nil
}
