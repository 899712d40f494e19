package mockserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/journal"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/view"
	"github.com/understudy-mock/understudy/spec/mask"
)

var _ = registerHandlers(map[string]handler{
	"controlAddStub":         (*Server).controlAddStub,
	"controlAdvance":         (*Server).controlAdvance,
	"controlClearDeliveries": (*Server).controlClearDeliveries,
	"controlClearRequests":   (*Server).controlClearRequests,
	"controlClearRewrites":   (*Server).controlClearRewrites,
	"controlClearStubs":      (*Server).controlClearStubs,
	"controlClock":           (*Server).controlClock,
	"controlDeliveries":      (*Server).controlDeliveries,
	"controlEvents":          (*Server).controlEvents,
	"controlHealth":          (*Server).controlHealth,
	"controlLivez":           (*Server).controlLivez,
	"controlReadyz":          (*Server).controlReadyz,
	"controlRequests":        (*Server).controlRequests,
	"controlReset":           (*Server).controlReset,
	"controlRewrites":        (*Server).controlRewrites,
	"controlSetClock":        (*Server).controlSetClock,
	"controlSetRewrites":     (*Server).controlSetRewrites,
	"controlSetStubs":        (*Server).controlSetStubs,
	"controlSettle":          (*Server).controlSettle,
	"controlStubs":           (*Server).controlStubs,
})

// Version is what the server says of itself; the build sets it.
var Version = "0.1.0-dev"

// advanceLimit is the real time that an advance may take unless it says otherwise.
const advanceLimit = 60 * time.Second

// chosen are the accounts that a control call acts on.
func (s *Server) chosen(c *call) []*tenant {
	if c.query.Get("account") == "*" {
		return s.all()
	}
	return []*tenant{c.tenant}
}

func (s *Server) controlHealth(c *call) (response.Response, error) {
	return response.Response{Body: map[string]any{
		"status": "ok", "version": Version, "dialect": s.dialectName(), "clock": s.clockBody(c.tenant),
		"journal": map[string]int{"limit": journal.Limit}, "memory": s.memoryBody(),
	}}, nil
}

func (s *Server) controlLivez(*call) (response.Response, error) {
	return response.Response{Body: map[string]string{"status": "ok"}}, nil
}

// NotReady makes the server report that it is not ready, and why, until it is
// called with "".
func (s *Server) NotReady(reason string) { s.trouble.Store(&reason) }

func (s *Server) controlReadyz(*call) (response.Response, error) {
	if reason := s.trouble.Load(); reason != nil && *reason != "" {
		return response.Response{}, response.NotReady(*reason)
	}
	return response.Response{Body: map[string]string{"status": "ok"}}, nil
}

func (s *Server) controlReset(c *call) (response.Response, error) {
	var faults []error
	for _, w := range s.chosen(c) {
		if err := s.resetClock(w); err != nil {
			return response.Response{}, err
		}
		faults = append(faults, w.kv.Reset(c.request.Context()))
		w.requests.Clear()
		w.deliveries.Clear()
		w.stubs.Set(s.cfg.Stubs)
		w.rewrites.set(s.cfg.Rewrites)
		w.faults.Set(nil, s.seed(w.ID))
	}
	if err := errors.Join(faults...); err != nil {
		return response.Response{}, refusal.Of(refusal.Closed, "all is reset but the key-value store", "", err.Error())
	}
	return response.Response{Body: map[string]string{"status": "ok"}}, nil
}

// resetClock forgets the state of an account, and gives it the clock that the
// configuration says: one that was moved or replaced is back where it began.
func (s *Server) resetClock(w *tenant) error {
	s.mu.Lock()
	w.mode = s.cfg.Clock
	s.mu.Unlock()
	return w.account.Reset(s.newClock(s.cfg.Clock), s.cfg.Clock == "auto")
}

type clockBody struct {
	Mode string `json:"mode"`
	Now  int64  `json:"now"` // Unix ms
}

func (s *Server) clockBody(w *tenant) clockBody {
	return clockBody{s.clockMode(w), w.account.Now().UnixMilli()}
}

// clockMode is real, manual or auto.
func (s *Server) clockMode(w *tenant) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.mode
}

func (s *Server) controlClock(c *call) (response.Response, error) {
	return response.Response{Body: s.clockBody(c.tenant)}, nil
}

// controlSetClock changes the mode, moves a manual clock, or both.
func (s *Server) controlSetClock(c *call) (response.Response, error) {
	var body struct {
		Mode string
		Now  *int64
	}
	if err := json.Unmarshal(c.body, &body); err != nil {
		return response.Response{}, response.Invalid("body: " + err.Error())
	}
	if body.Mode == "" && body.Now == nil {
		return response.Response{}, response.Invalid("body: nothing to set: must have mode (real, manual, auto) or now (Unix ms)")
	}
	if body.Now != nil && !clock.Valid(time.UnixMilli(*body.Now)) { // before the mode is set
		return response.Response{}, response.Invalid(fmt.Sprintf("body /now: invalid value %d: must be Unix ms within the years 1970 to 9999", *body.Now))
	}
	ctx, cancel := context.WithTimeout(c.request.Context(), advanceLimit)
	defer cancel()
	for _, w := range s.chosen(c) {
		if body.Mode != "" {
			if err := s.setMode(w, body.Mode); err != nil {
				return response.Response{}, err
			}
		}
		if body.Now != nil {
			if _, err := w.account.Advance(ctx, time.UnixMilli(*body.Now)); err != nil {
				return response.Response{}, err
			}
		}
	}
	return response.Response{Body: s.clockBody(c.tenant)}, nil
}

func (s *Server) setMode(w *tenant, mode string) error {
	s.mu.Lock()
	same := w.mode == mode
	w.mode = mode
	s.mu.Unlock()
	if same {
		return nil
	}
	var next clock.Clock = clock.NewReal()
	if mode != "real" {
		next = clock.NewManual(w.account.Now())
	}
	return w.account.SetClock(next, mode == "auto")
}

// controlAdvance moves the clock and waits until all that this causes has settled.
func (s *Server) controlAdvance(c *call) (response.Response, error) {
	var body struct {
		By, Until, Timeout string
		To                 *int64
	}
	if err := json.Unmarshal(c.body, &body); err != nil {
		return response.Response{}, response.Invalid("body: " + err.Error())
	}
	if countGiven(body.By != "", body.To != nil, body.Until != "") != 1 {
		return response.Response{}, response.Invalid(`body: must be one of {"by": "24h"}, {"to": Unix ms} and {"until": "next" or "idle"}`)
	}
	ctx, cancel, err := withTimeLimit(c.request.Context(), body.Timeout, advanceLimit)
	if err != nil {
		return response.Response{}, err
	}
	defer cancel()
	var sum engine.Progress
	for _, w := range s.chosen(c) {
		var p engine.Progress
		if body.Until != "" {
			p, err = w.account.AdvanceUntil(ctx, body.Until == "idle")
		} else if to, bad := advanceTarget(w, body.By, body.To); bad != nil {
			err = bad
		} else {
			p, err = w.account.Advance(ctx, to)
		}
		if err != nil {
			return response.Response{}, err
		}
		sum = engine.Progress{Now: p.Now, TimersFired: sum.TimersFired + p.TimersFired, Attempts: sum.Attempts + p.Attempts}
	}
	return response.Response{Body: map[string]int64{"now": sum.Now.UnixMilli(), "timersFired": int64(sum.TimersFired), "attempts": int64(sum.Attempts)}}, nil
}

// countGiven counts what is there.
func countGiven(there ...bool) (n int) {
	for _, yes := range there {
		if yes {
			n++
		}
	}
	return n
}

func advanceTarget(w *tenant, by string, to *int64) (time.Time, error) {
	if to != nil {
		return time.UnixMilli(*to), nil
	}
	d, err := response.Duration(by)
	if err != nil || d < 0 {
		return time.Time{}, response.Invalid(fmt.Sprintf("body /by: invalid value %q: must be a duration such as 90s, 24h or 7d", by))
	}
	return w.account.Now().Add(d), nil
}

func withTimeLimit(ctx context.Context, text string, usual time.Duration) (context.Context, context.CancelFunc, error) {
	limit := usual
	if text != "" {
		d, err := response.Duration(text)
		if err != nil || d <= 0 {
			return nil, nil, response.Invalid(fmt.Sprintf("body /timeout: invalid value %q: must be a duration such as 5s", text))
		}
		limit = d
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return ctx, cancel, nil
}

func (s *Server) controlSettle(c *call) (response.Response, error) {
	var body struct{ Timeout string }
	if len(c.body) > 0 {
		if err := json.Unmarshal(c.body, &body); err != nil {
			return response.Response{}, response.Invalid("body: " + err.Error())
		}
	}
	ctx, cancel, err := withTimeLimit(c.request.Context(), body.Timeout, 5*time.Second)
	if err != nil {
		return response.Response{}, err
	}
	defer cancel()
	for _, w := range s.chosen(c) {
		if err := w.account.Settle(ctx); err != nil {
			return response.Response{}, err
		}
	}
	return response.Response{Body: s.clockBody(c.tenant)}, nil
}

type journalBody[T any] struct {
	Limit   int `json:"limit"`   // most entries that are kept
	Dropped int `json:"dropped"` // older ones that the limit has cost
	Entries []T `json:"entries"`
}

func (s *Server) controlRequests(c *call) (response.Response, error) {
	id, path, status, most := c.query.Get("operationId"), c.query.Get("path"), c.number("status"), c.number("maxBody")
	refused, asked := c.flag("refused", false), c.query.Has("refused")
	fits := func(x *Exchange) bool {
		return (!asked || refused == (len(x.Problems) > 0)) && (id == "" || x.OperationID == id) && strings.HasPrefix(x.Path, path) && (status == 0 || x.Response.Status == status)
	}
	if c.flag("follow", false) {
		return followJournal(s, &c.tenant.requests, func(x Exchange) any {
			if !fits(&x) {
				return nil
			}
			x.Clip(most)
			return x
		}), nil
	}
	entries, dropped := c.tenant.requests.List(c.number("limit"), fits)
	for i := range entries {
		entries[i].Clip(most)
	}
	return response.Response{Body: journalBody[Exchange]{journal.Limit, dropped, entries}}, nil
}

func (s *Server) controlDeliveries(c *call) (response.Response, error) {
	id, url, status, most := c.query.Get("messageId"), c.query.Get("url"), c.number("status"), c.number("maxBody")
	fits := func(d *Delivery) bool {
		return (id == "" || d.MessageID == id) && strings.HasPrefix(d.URL, url) && (status == 0 || d.Response.Status == status)
	}
	if c.flag("follow", false) {
		return followJournal(s, &c.tenant.deliveries, func(d Delivery) any {
			if !fits(&d) {
				return nil
			}
			d.Clip(most)
			return d
		}), nil
	}
	entries, dropped := c.tenant.deliveries.List(c.number("limit"), fits)
	for i := range entries {
		entries[i].Clip(most)
	}
	return response.Response{Body: journalBody[Delivery]{journal.Limit, dropped, entries}}, nil
}

func (s *Server) controlClearRequests(c *call) (response.Response, error) {
	for _, w := range s.chosen(c) {
		w.requests.Clear()
	}
	return emptyObject, nil
}

func (s *Server) controlClearDeliveries(c *call) (response.Response, error) {
	for _, w := range s.chosen(c) {
		w.deliveries.Clear()
	}
	return emptyObject, nil
}

func (s *Server) controlStubs(c *call) (response.Response, error) {
	return response.Response{Body: c.tenant.stubs.Get()}, nil
}

func (s *Server) controlSetStubs(c *call) (response.Response, error) {
	var list []stub.Stub
	if err := json.Unmarshal(c.body, &list); err != nil {
		return response.Response{}, response.Invalid("body: " + err.Error())
	}
	for i := range list {
		if err := list[i].Check(); err != nil {
			return response.Response{}, err
		}
	}
	for _, w := range s.chosen(c) {
		w.stubs.Set(list)
	}
	return response.Response{Body: c.tenant.stubs.Get()}, nil
}

// controlAddStub puts one stub before the others, so that callers at the same
// time do not undo each other's.
func (s *Server) controlAddStub(c *call) (response.Response, error) {
	var one stub.Stub
	if err := json.Unmarshal(c.body, &one); err != nil {
		return response.Response{}, response.Invalid("body: " + err.Error())
	}
	for _, w := range s.chosen(c) {
		if err := w.stubs.Add(one); err != nil {
			return response.Response{}, err
		}
	}
	return response.Response{Body: c.tenant.stubs.Get()}, nil
}

func (s *Server) controlClearStubs(c *call) (response.Response, error) {
	for _, w := range s.chosen(c) {
		w.stubs.Set(nil)
	}
	return emptyObject, nil
}

func (s *Server) controlRewrites(c *call) (response.Response, error) {
	return response.Response{Body: c.tenant.rewrites.get()}, nil
}

func (s *Server) controlSetRewrites(c *call) (response.Response, error) {
	var m map[string]string
	if err := json.Unmarshal(c.body, &m); err != nil {
		return response.Response{}, response.Invalid("body: " + err.Error())
	}
	for from, to := range m {
		for _, u := range []string{from, to} {
			if err := request.CheckURL("body", "/"+from, u); err != nil {
				return response.Response{}, err
			}
		}
	}
	for _, w := range s.chosen(c) {
		w.rewrites.set(m)
	}
	return response.Response{Body: c.tenant.rewrites.get()}, nil
}

func (s *Server) controlClearRewrites(c *call) (response.Response, error) {
	for _, w := range s.chosen(c) {
		w.rewrites.set(nil)
	}
	return emptyObject, nil
}

// controlEvents streams every log event as it happens.
func (s *Server) controlEvents(c *call) (response.Response, error) {
	position := uint64(0)
	return s.stream("log", 0, func() (list []sent, more <-chan struct{}) {
		events, more := c.account.Follow(position, journal.MaxBatch)
		for i := range events {
			position = events[i].Seq
			list = append(list, sent{position, func() any { return s.streamed(c.tenant, &events[i]) }})
		}
		return list, more
	}), nil
}

// streamed is an event in the form of the log that it belongs to, without
// credentials.
func (s *Server) streamed(w *tenant, e *engine.Event) any {
	body := s.eventOf(w, e)
	text, err := json.Marshal(body)
	if err != nil {
		return body // and whoever encodes it reports the same
	}
	return json.RawMessage(mask.JSON(text))
}

func (s *Server) eventOf(w *tenant, e *engine.Event) any {
	if e.Message == nil { // of a run, and without headers
		return view.WorkflowEvent(e)
	}
	d := s.dialectOf(w, e.Message.Options.Dialect)
	if e.Run != nil {
		return inDialect(d, view.WorkflowEvent(e))
	}
	return inDialect(d, view.LogEvent(e))
}
