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

// Clock lets time pass for a scenario: it moves the target's clock if a driver can, otherwise it
// waits in real time. No other file of this package reads the local time directly.
type Clock struct {
	control string // base of the control API, "" to wait in real time
	Account string // whose clock it moves
	header  http.Header
	http    *http.Client
	timing  target.Timing
	Offset  time.Duration          // of the target's clock, from its answers; 0 if at most 2 s and within timing.clock_skew_max
	arrived func() <-chan struct{} // closed when a delivery arrives
	waited  func() time.Duration   // how long the target has delayed requests; nil: never
	idle    *Stopwatch             // of the run; nil: not measured
}

// Stopwatch measures how long at least one of several concurrent waits lasts.
type Stopwatch struct {
	mu      sync.Mutex
	waiting int
	begun   time.Time // start of the current waits
	total   time.Duration
}

// start starts a wait and returns the function that ends it.
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

// Measured returns the time of all waits that have ended; overlapping waits count once.
func (w *Stopwatch) Measured() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total
}

// Now returns the local time.
func Now() time.Time { return time.Now() }

// After returns a channel that is closed after d of real time, or when the scenario ends.
func (s *Scenario) After(d time.Duration) <-chan struct{} {
	ctx, cancel := context.WithTimeout(s.Context, d)
	s.Cleanup = append(s.Cleanup, cancel)
	return ctx.Done()
}

// Since returns the real time since t.
func Since(t time.Time) time.Duration { return time.Since(t) }

// within returns a context that ends after d, extended by the time that the target has
// delayed requests meanwhile.
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

// Virtual reports whether the clock is moved by a driver.
func (c *Clock) Virtual() bool { return c.control != "" }

// strides are the steps by which Eventually moves time. Together they exceed every wait of
// the default backoff and every retention.
var strides = []time.Duration{0, time.Second, 15 * time.Second, 3 * time.Minute, time.Hour, 12 * time.Hour, 24 * time.Hour, 72 * time.Hour}

// leastChecks is how often Eventually checks at least: a slow answer may take the whole budget,
// and show what was there before.
const leastChecks = 3

// Eventually calls check until it returns nil or a final error. When the budget is spent it
// returns the last error. With a moved clock it advances by strides instead.
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
	return c.until(ctx, func() time.Duration { return budget }, check)
}

// until is Eventually in real time, with a budget that may become smaller meanwhile.
func (c *Clock) until(ctx context.Context, budget func() time.Duration, check func() error) error {
	began, held := Now(), c.held()
	wait := c.timing.Poll.First
	for n := 1; ; n++ {
		arrived := c.arrived()
		err := check()
		left := c.Scaled(budget()) - Since(began) + c.held() - held
		if err == nil || final(err) || left <= 0 && n >= leastChecks {
			return err
		}
		timer, stop := time.NewTimer(min(wait, max(left, c.timing.Poll.First))), c.idle.start()
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

// held returns how long the target has delayed requests so far.
func (c *Clock) held() time.Duration {
	if c.waited == nil {
		return 0
	}
	return c.waited()
}

// final reports whether waiting cannot change an error: a missing operation, or an error
// that is not a verdict on the target.
func final(err error) bool {
	if i, ok := errors.AsType[*NoVerdict](err); ok {
		return i.Reason != report.PrerequisiteFailed && i.Reason != report.TriggerNotObserved
	}
	var missing *missingOperation
	return errors.As(err, &missing)
}

// Pass lets d pass. With a driver, everything that is due has happened when it returns.
func (c *Clock) Pass(ctx context.Context, d time.Duration) error {
	if c.Virtual() {
		if d == 0 {
			return c.post(ctx, "settle", map[string]any{"timeout": "60s"})
		}
		return c.post(ctx, "clock/advance", map[string]any{"by": d.String(), "timeout": "60s"})
	}
	return c.Wait(ctx, d)
}

// Wait waits for d in real time, also when the clock is moved.
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

// Scaled returns a budget multiplied by timing.scale of the target file.
func (c *Clock) Scaled(budget time.Duration) time.Duration {
	return time.Duration(float64(budget) * c.timing.Scale)
}

// Target returns the target's time: from its clock driver, or the local time plus Offset.
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

// call sends a request to the control API. Its errors are driver failures.
func (c *Clock) call(ctx context.Context, method, path string, body, into any) error {
	u := c.control + "/" + path
	if c.Account != "" {
		u += "?account=" + url.QueryEscape(c.Account)
	}
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body) // maps of strings always encode
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
