package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec"
)

// What is between the suite and the target is never a verdict: requests keep the
// pace that the target asks for, and a target that is gone ends the run.

// exhausted ends a run at a limit of the target file.
type exhausted struct{ limit string }

func (e *exhausted) Error() string { return e.limit }

// unreachable ends a run whose target is gone.
type unreachable struct{ why string }

func (u *unreachable) Error() string { return u.why }

// over is why the run has ended before its last scenario, nil while it goes on.
func (st *shared) over() error {
	return context.Cause(st.ctx)
}

// cutOff is what becomes of a scenario that the end of the run interrupts.
func cutOff(cause error) *inconclusive {
	reason := report.Interrupted
	var limit *exhausted
	var gone *unreachable
	switch {
	case errors.As(cause, &limit):
		reason = report.BudgetExhausted
	case errors.As(cause, &gone):
		reason = report.TargetUnreachable
	}
	return &inconclusive{verdict: report.Inconclusive, reason: reason, detail: "the run ended early: " + cause.Error()}
}

// pace keeps requests apart: by "limits.rps" of the target file, and while the
// target asks to wait.
type pace struct {
	mu    sync.Mutex
	next  time.Time     // when the next request may go
	until time.Time     // the target has asked to wait until then
	held  time.Duration // how long it has asked for so far
}

// reserve takes the next turn, and says how long it is away.
func (p *pace) reserve(at time.Time, rps float64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next.Before(p.until) {
		p.next = p.until
	}
	if p.next.Before(at) {
		p.next = at
	}
	wait := p.next.Sub(at)
	if rps > 0 {
		p.next = p.next.Add(time.Duration(float64(time.Second) / rps))
	}
	return wait
}

// hold keeps all requests back for d.
func (p *pace) hold(at time.Time, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := at.Add(d); until.After(p.until) {
		if p.until.After(at) {
			at = p.until
		}
		p.held += until.Sub(at)
		p.until = until
	}
}

// waited is how long requests have been held back so far, which no budget of a
// scenario pays for.
func (p *pace) waited() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// wait lets a request go when it is its turn; 0 stands for no limit.
func (p *pace) wait(ctx context.Context, rps float64) error {
	wait := p.reserve(now(), rps)
	if wait <= 0 {
		return nil
	}
	timer := timerOf(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("limits.rps: %w", context.Cause(ctx))
	}
}

// paced waits for the turn of a request to the target.
func (s *toolkit) paced() error {
	stop := s.suite.idle.start()
	err := s.suite.pace.wait(s.ctx, s.suite.target.Limits.RPS)
	stop()
	if err != nil {
		return skip(report.BudgetExhausted, "%v", err)
	}
	return nil
}

// send makes an exchange with the target, in its turn. While the target asks to
// wait, the request is repeated.
func (s *toolkit) send(r *http.Request, body []byte, op *spec.Operation) (*answer, error) {
	budget := s.clock.scaled(s.suite.target.Timing.RetryBudget)
	for tries := 0; ; tries++ {
		if err := s.paced(); err != nil {
			return nil, err
		}
		a, err := s.exchange(r, body, op)
		if err != nil {
			return nil, s.unanswered(r, err)
		}
		wait := a.asksToWait(tries)
		if wait == 0 {
			if gateway(a.status) && s.suite.gone(s.ctx, r.URL) {
				return nil, cutOff(s.suite.over())
			}
			return a, nil
		}
		s.looked(a.exchange)
		if budget -= wait; budget < 0 {
			return nil, skip(report.BudgetExhausted, "%s %s answers %d and asks to wait %s: limits.rps makes the suite slower", r.Method, s.masked(r.URL.Path), a.status, wait)
		}
		s.suite.pace.hold(now(), wait)
	}
}

// asksToWait is how long the target wants the request to wait; 0 is an answer.
func (a *answer) asksToWait(tries int) time.Duration {
	after := a.header.Get("Retry-After")
	if a.status != http.StatusTooManyRequests && (a.status != http.StatusServiceUnavailable || after == "") {
		return 0
	}
	if seconds, err := strconv.ParseFloat(after, 64); err == nil && seconds > 0 {
		return time.Duration(seconds * float64(time.Second))
	}
	if date, err := http.ParseTime(after); err == nil && date.After(now()) {
		return date.Sub(now())
	}
	return min(time.Second<<min(tries, 3), 8*time.Second) / 2
}

// gateway reports whether a status may come from something before the target.
func gateway(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// unanswered is what it means that no answer came: nothing about the target,
// unless it is gone.
func (s *toolkit) unanswered(r *http.Request, err error) error {
	if s.ctx.Err() != nil {
		if cause := s.suite.over(); cause != nil {
			return cutOff(cause)
		}
	} else if s.suite.gone(s.ctx, r.URL) {
		return cutOff(s.suite.over())
	}
	i := &inconclusive{verdict: report.Inconclusive, reason: report.TransportFailed, detail: fmt.Sprintf("%s %s: %v", r.Method, s.masked(r.URL.Path), err), cause: err}
	errors.As(err, &i.failure)
	return i
}

// looksGone is how often in a row a host must not answer to be gone, and how long
// each look may take.
const (
	looksGone = 3
	lookLimit = 2 * time.Second
	lookPause = 200 * time.Millisecond
)

// gone finds out whether a host is there at all, and ends the run when it is not.
// Any answer will do, but that of a gateway that cannot reach it.
func (st *shared) gone(ctx context.Context, u *url.URL) bool {
	root := u.Scheme + "://" + u.Host + "/"
	why := ""
	for n := range looksGone {
		if n > 0 && (&clock{}).wait(ctx, lookPause) != nil {
			return false
		}
		status, err := st.look(ctx, root)
		switch {
		case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), err == nil && !gateway(status):
			return false
		case err != nil:
			why = fmt.Sprintf("%s%s does not answer any more: %v", u.Scheme+"://", u.Host, plainError(err))
		default:
			why = fmt.Sprintf("%s%s answers %d for everything", u.Scheme+"://", u.Host, status)
		}
	}
	st.stop(&unreachable{why})
	return true
}

// look asks a host for its root on a new connection.
func (st *shared) look(ctx context.Context, root string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, root, http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Close = true
	response, err := st.http.Do(r)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // what it says is of no interest
	return response.StatusCode, response.Body.Close()
}

// plainError is what went wrong, without the request that is named beside it.
func plainError(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
