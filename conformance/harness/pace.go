package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec"
)

// Errors between the suite and the target are never a verdict: requests follow the pace
// that the target asks for, and an unreachable target ends the run.

// Exhausted ends a run at a limit of the target file.
type Exhausted struct{ Limit string }

// Error is the limit.
func (e *Exhausted) Error() string { return e.Limit }

// unreachable ends a run whose target no longer answers.
type unreachable struct{ why string }

func (u *unreachable) Error() string { return u.why }

// Over returns why the run has ended before its last scenario, nil while it continues.
func (st *Suite) Over() error {
	return context.Cause(st.Context)
}

// CutOff returns the result of a scenario that the end of the run interrupts.
func CutOff(cause error) *NoVerdict {
	reason := report.Interrupted
	var limit *Exhausted
	var gone *unreachable
	switch {
	case errors.As(cause, &limit):
		reason = report.BudgetExhausted
	case errors.As(cause, &gone):
		reason = report.TargetUnreachable
	}
	return &NoVerdict{Verdict: report.Inconclusive, Reason: reason, Detail: "the run ended early: " + cause.Error()}
}

// pace delays requests: by limits.rps of the target file, and while the target asks to wait.
type pace struct {
	mu    sync.Mutex
	next  time.Time     // when the next request may be sent
	until time.Time     // the target has asked to wait until then
	held  time.Duration // total time that it has asked for
}

// reserve takes the next turn and returns the time until then.
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

// hold delays all requests until d has passed.
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

// waited returns how long requests have been delayed so far. Budgets of scenarios do not
// include this time.
func (p *pace) waited() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// wait waits for the turn of a request. An rps of 0 means no limit.
func (p *pace) wait(ctx context.Context, rps float64) error {
	wait := p.reserve(Now(), rps)
	if wait <= 0 {
		return nil
	}
	if err := (&Clock{}).Wait(ctx, wait); err != nil {
		return fmt.Errorf("limits.rps: %w", err)
	}
	return nil
}

// paced waits for the turn of a request to the target.
func (s *Scenario) paced() error {
	stop := s.Suite.Idle.start()
	err := s.Suite.pace.wait(s.Context, s.Suite.Target.Limits.RPS)
	stop()
	if err != nil {
		return Inconclusive(report.BudgetExhausted, "%v", err)
	}
	return nil
}

// Send sends a request in its turn, and repeats it while the target asks to wait.
func (s *Scenario) Send(r *http.Request, body []byte, op *spec.Operation) (*Response, error) {
	budget := s.Clock.Scaled(s.Suite.Target.Timing.RetryBudget)
	for tries := 0; ; tries++ {
		if err := s.paced(); err != nil {
			return nil, err
		}
		a, err := s.Exchange(r, body, op)
		if err != nil {
			return nil, s.unanswered(r, err)
		}
		wait := a.asksToWait(tries)
		if wait == 0 {
			if gateway(a.Status) && s.Suite.gone(s.Context, r.URL) {
				return nil, CutOff(s.Suite.Over())
			}
			return a, nil
		}
		s.Looked(a.Exchange)
		if budget -= wait; budget < 0 {
			return nil, Inconclusive(report.BudgetExhausted, "%s %s answers %d and asks to wait %s: limits.rps makes the suite slower", r.Method, s.Masked(r.URL.Path), a.Status, wait)
		}
		s.Suite.pace.hold(Now(), wait)
	}
}

// asksToWait returns how long the target asks to wait before a repetition; 0 if it does not ask.
func (a *Response) asksToWait(tries int) time.Duration {
	after := a.Header.Get("Retry-After")
	if a.Status != http.StatusTooManyRequests && (a.Status != http.StatusServiceUnavailable || after == "") {
		return 0
	}
	if seconds, err := strconv.ParseFloat(after, 64); err == nil && seconds > 0 {
		return time.Duration(seconds * float64(time.Second))
	}
	if date, err := http.ParseTime(after); err == nil && date.After(Now()) {
		return date.Sub(Now())
	}
	return min(time.Second<<min(tries, 3), 8*time.Second) / 2
}

// gateway reports whether a status may come from a gateway in front of the target.
func gateway(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// unanswered returns the result of a request without an answer: inconclusive, unless the
// run has ended or the target is unreachable.
func (s *Scenario) unanswered(r *http.Request, err error) error {
	if s.Context.Err() != nil {
		if cause := s.Suite.Over(); cause != nil {
			return CutOff(cause)
		}
	} else if s.Suite.gone(s.Context, r.URL) {
		return CutOff(s.Suite.Over())
	}
	i := &NoVerdict{Verdict: report.Inconclusive, Reason: report.TransportFailed, Detail: fmt.Sprintf("%s %s: %v", r.Method, s.Masked(r.URL.Path), err), cause: err}
	errors.As(err, &i.failure)
	return i
}

// looksGone is the number of probes in a row that must fail before a host counts as
// unreachable; lookLimit is the time limit of each, lookPause the time between them.
const (
	looksGone = 3
	lookLimit = 2 * time.Second
	lookPause = 200 * time.Millisecond
)

// gone reports whether a host is unreachable, and ends the run if so. Any answer proves
// that it is reachable, except that of a gateway.
func (st *Suite) gone(ctx context.Context, u *url.URL) bool {
	root := u.Scheme + "://" + u.Host + "/"
	why := ""
	for n := range looksGone {
		if n > 0 && (&Clock{}).Wait(ctx, lookPause) != nil {
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
	st.Stop(&unreachable{why})
	return true
}

// Unconnected returns why no connection to a URL can be opened; nil also means that
// the server is slow, or that it answers something unexpected.
func (st *Suite) Unconnected(ctx context.Context, address string) error {
	_, err := st.look(ctx, address)
	if wrong, ok := errors.AsType[*net.OpError](err); ok && wrong.Op == "dial" && !wrong.Timeout() {
		return fmt.Errorf("%s does not answer: %w", address, wrong)
	}
	return nil
}

// look requests the root of a host on a new connection.
func (st *Suite) look(ctx context.Context, root string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, root, http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Close = true
	response, err := st.Client.Do(r)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // only the status matters
	return response.StatusCode, response.Body.Close()
}

// plainError returns the cause of a request's error, without the request: callers name it
// themselves.
func plainError(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
