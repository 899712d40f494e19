package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/spec/api"
)

// advanceLimit is the default limit for the real time of an advance.
const advanceLimit = 60 * time.Second

func (s *Service) clockBody(w *tenant.Tenant) api.Clock {
	return api.Clock{Mode: s.Tenants.Mode(w), Now: s.Tenants.Glance(w).UnixMilli()} // health must not wait for the lock of the account
}

func (s *Service) clock(c *request.Call) (any, error) {
	return s.clockBody(c.Tenant), nil
}

// setClock changes the mode, moves a manual clock, corrects a real one, or several of these.
func (s *Service) setClock(c *request.Call) (any, error) {
	var body struct {
		Mode    string
		Now     *int64
		Correct bool
	}
	if err := c.Read(&body); err != nil {
		return nil, err
	}
	if body.Mode == "" && body.Now == nil && !body.Correct {
		return nil, response.Invalid("body: nothing to set: must have mode (real, manual, auto), now (Unix ms) or correct (true)")
	}
	if body.Correct && (body.Now != nil || cmp.Or(body.Mode, "real") != "real") {
		return nil, response.Invalid("body /correct: goes only with mode real and without now")
	}
	if body.Now != nil && !clock.Valid(time.UnixMilli(*body.Now)) { // before the mode is set
		return nil, response.Invalid(fmt.Sprintf("body /now: invalid value %d: must be Unix ms within the years 1970 to 9999", *body.Now))
	}
	ctx, cancel, err := moveLimit(c, "", advanceLimit)
	if err != nil {
		return nil, err
	}
	defer cancel()
	chosen := c.Chosen(s.Tenants)
	for _, w := range chosen {
		if body.Mode != "" {
			if err := s.Tenants.SetMode(w, body.Mode); err != nil {
				return nil, err
			}
		}
		if body.Correct && (len(chosen) == 1 || s.Tenants.Mode(w) == "real") { // of all accounts, those in real time
			if err := w.Account.CorrectClock(); err != nil {
				return nil, err
			}
		}
		if body.Now != nil {
			if p, err := w.Account.Advance(ctx, time.UnixMilli(*body.Now)); err != nil {
				return nil, stoppedError(ctx, w, p, "", err)
			}
		}
	}
	return s.clockBody(c.Tenant), nil
}

// advance moves the clock and waits until the resulting attempts have ended.
func (s *Service) advance(c *request.Call) (any, error) {
	var body struct {
		By, Until, Timeout string
		To                 *int64
	}
	if err := c.Read(&body); err != nil {
		return nil, err
	}
	if countOf(body.By != "")+countOf(body.To != nil)+countOf(body.Until != "") != 1 {
		return nil, response.Invalid(`body: must be one of {"by": "24h"}, {"to": Unix ms} and {"until": "next" or "idle"}`)
	}
	ctx, cancel, err := moveLimit(c, body.Timeout, advanceLimit)
	if err != nil {
		return nil, err
	}
	defer cancel()
	var sum api.Progress
	for _, w := range c.Chosen(s.Tenants) {
		var p engine.Progress
		if body.Until != "" {
			p, err = w.Account.AdvanceUntil(ctx, body.Until == "idle")
		} else if to, bad := advanceTarget(w, body.By, body.To); bad != nil {
			err = bad
		} else {
			p, err = w.Account.Advance(ctx, to)
		}
		if err != nil {
			return nil, stoppedError(ctx, w, p, body.Timeout, err)
		}
		sum.Now, sum.NextDue = p.Now.UnixMilli(), millis(p.NextDue)
		sum.TimersFired += p.TimersFired
		sum.Attempts += p.Attempts
		sum.Failed += p.Failed
		sum.RunsWoken += p.RunsWoken
	}
	return sum, nil
}

// advanceTarget is a time on the clock of the account, which may differ from wall time.
func advanceTarget(w *tenant.Tenant, by string, to *int64) (time.Time, error) {
	if to != nil {
		return time.UnixMilli(*to), nil
	}
	d, err := response.Duration(by)
	if err != nil || d < 0 {
		return time.Time{}, response.Invalid(fmt.Sprintf("body /by: invalid value %q: must be a duration of 0 or more, with units, such as 90s, 24h or 7d, at most 365d", by))
	}
	return w.Account.Now().Add(d), nil
}

// withTimeLimit bounds a wait in real time, independent of the clock of the account.
// usual applies when text is empty.
func withTimeLimit(c *request.Call, text string, usual time.Duration) (context.Context, context.CancelFunc, error) {
	limit := usual
	if text != "" {
		d, err := response.Duration(text)
		if err != nil || d <= 0 {
			return nil, nil, response.Invalid(fmt.Sprintf("body /timeout: invalid value %q: must be a duration of more than 0, such as 5s", text))
		}
		limit = d
	}
	here, leave := c.Tenant.WhileHere(c.Request.Context())
	ctx, cancel := context.WithTimeout(here, limit)
	return ctx, func() { cancel(); leave() }, nil
}

// moveLimit is withTimeLimit for a call that moves the clock. The account stays here until
// the call has ended, unless that takes long. If the account is about to leave, moveLimit
// waits until it does, and returns tenant.ErrLeaves.
func moveLimit(c *request.Call, text string, usual time.Duration) (context.Context, context.CancelFunc, error) {
	ctx, cancel, err := withTimeLimit(c, text, usual)
	if err != nil {
		return nil, nil, err
	}
	if here := c.Tenant; here.EnterMove() {
		return ctx, func() { cancel(); here.ExitMove() }, nil
	}
	<-ctx.Done()
	cancel()
	return nil, nil, movedError(ctx, refusal.Of(context.DeadlineExceeded, "clock", "", "the account is about to move to another server of the fleet"))
}

// movedError returns the error of a wait without an effect: tenant.ErrLeaves if the account moves to
// another server, which repeats the wait, otherwise err.
func movedError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), tenant.ErrLeaves) {
		return tenant.ErrLeaves
	}
	return err
}

// interruptedError is movedError for a call that may have moved the clock: it is not repeated, because
// the clock would move too far.
func interruptedError(ctx context.Context, account string, err error) error {
	if errors.Is(movedError(ctx, err), tenant.ErrLeaves) {
		return refusal.Of(refusal.NotDurable, fmt.Sprintf("account %q", account), "", "it moved to another server of the fleet while its clock was moved; read the clock, and repeat the request for the rest")
	}
	return err
}

// stoppedError is interruptedError for an advance. After the time limit, it says what the clock
// has reached.
func stoppedError(ctx context.Context, w *tenant.Tenant, p engine.Progress, limit string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		now, _ := w.Account.Overview()
		return refusal.Of(context.DeadlineExceeded, "timeout", "", fmt.Sprintf("%s of real time passed: the clock has reached %s; timers: %d, attempts: %d, in flight: %d; advance it again for the rest",
			cmp.Or(limit, "60s"), p.Now.UTC().Format(time.RFC3339), p.TimersFired, p.Attempts, now.InFlight))
	}
	return interruptedError(ctx, w.ID, err)
}

// unsettledError is the error of a wait without an effect. After the time limit, it names the limit.
func unsettledError(ctx context.Context, limit string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		err = refusal.Of(context.DeadlineExceeded, "timeout", "", fmt.Sprintf("%s of real time passed: %s", cmp.Or(limit, "5s"), err))
	}
	return movedError(ctx, err)
}

// settle waits until no attempt is ready or in flight. Messages that wait for a time
// count as settled.
func (s *Service) settle(c *request.Call) (any, error) {
	var body struct{ Timeout string }
	if len(c.Body) > 0 {
		if err := c.Read(&body); err != nil {
			return nil, err
		}
	}
	ctx, cancel, err := withTimeLimit(c, body.Timeout, 5*time.Second)
	if err != nil {
		return nil, err
	}
	defer cancel()
	for _, w := range c.Chosen(s.Tenants) {
		if err := w.Account.Settle(ctx); err != nil {
			return nil, unsettledError(ctx, body.Timeout, err)
		}
	}
	return s.clockBody(c.Tenant), nil
}

// millis is a time as Unix ms; 0 for the zero time, so that JSON omits it.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
