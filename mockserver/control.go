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
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/journal"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/tenant"
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
func (s *Server) chosen(c *call.Call) []*tenant.Tenant {
	if c.Query.Get("account") == "*" {
		return s.tenants.All()
	}
	return []*tenant.Tenant{c.Tenant}
}

func (s *Server) controlHealth(c *call.Call) (response.Response, error) {
	return response.Response{Body: map[string]any{
		"status": "ok", "version": Version, "dialect": s.tenants.DialectName(), "clock": s.clockBody(c.Tenant),
		"journal": map[string]int{"limit": journal.Limit}, "memory": s.memoryBody(),
	}}, nil
}

func (s *Server) controlLivez(*call.Call) (response.Response, error) {
	return response.Response{Body: map[string]string{"status": "ok"}}, nil
}

// NotReady makes the server report that it is not ready, and why, until it is
// called with "".
func (s *Server) NotReady(reason string) { s.trouble.Store(&reason) }

func (s *Server) controlReadyz(*call.Call) (response.Response, error) {
	if reason := s.trouble.Load(); reason != nil && *reason != "" {
		return response.Response{}, response.NotReady(*reason)
	}
	return response.Response{Body: map[string]string{"status": "ok"}}, nil
}

func (s *Server) controlReset(c *call.Call) (response.Response, error) {
	var faults []error
	for _, w := range s.chosen(c) {
		if err := s.tenants.Reset(w); err != nil {
			return response.Response{}, err
		}
		faults = append(faults, w.KV.Reset(c.Request.Context()))
	}
	if err := errors.Join(faults...); err != nil {
		return response.Response{}, refusal.Of(refusal.Closed, "all is reset but the key-value store", "", err.Error())
	}
	return response.Response{Body: map[string]string{"status": "ok"}}, nil
}

type clockBody struct {
	Mode string `json:"mode"`
	Now  int64  `json:"now"` // Unix ms
}

func (s *Server) clockBody(w *tenant.Tenant) clockBody {
	return clockBody{s.tenants.Mode(w), w.Account.Now().UnixMilli()}
}

func (s *Server) controlClock(c *call.Call) (response.Response, error) {
	return response.Response{Body: s.clockBody(c.Tenant)}, nil
}

// controlSetClock changes the mode, moves a manual clock, or both.
func (s *Server) controlSetClock(c *call.Call) (response.Response, error) {
	var body struct {
		Mode string
		Now  *int64
	}
	if err := json.Unmarshal(c.Body, &body); err != nil {
		return response.Response{}, response.Invalid("body: " + err.Error())
	}
	if body.Mode == "" && body.Now == nil {
		return response.Response{}, response.Invalid("body: nothing to set: must have mode (real, manual, auto) or now (Unix ms)")
	}
	if body.Now != nil && !clock.Valid(time.UnixMilli(*body.Now)) { // before the mode is set
		return response.Response{}, response.Invalid(fmt.Sprintf("body /now: invalid value %d: must be Unix ms within the years 1970 to 9999", *body.Now))
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), advanceLimit)
	defer cancel()
	for _, w := range s.chosen(c) {
		if body.Mode != "" {
			if err := s.tenants.SetMode(w, body.Mode); err != nil {
				return response.Response{}, err
			}
		}
		if body.Now != nil {
			if _, err := w.Account.Advance(ctx, time.UnixMilli(*body.Now)); err != nil {
				return response.Response{}, err
			}
		}
	}
	return response.Response{Body: s.clockBody(c.Tenant)}, nil
}

// controlAdvance moves the clock and waits until all that this causes has settled.
func (s *Server) controlAdvance(c *call.Call) (response.Response, error) {
	var body struct {
		By, Until, Timeout string
		To                 *int64
	}
	if err := json.Unmarshal(c.Body, &body); err != nil {
		return response.Response{}, response.Invalid("body: " + err.Error())
	}
	if countGiven(body.By != "", body.To != nil, body.Until != "") != 1 {
		return response.Response{}, response.Invalid(`body: must be one of {"by": "24h"}, {"to": Unix ms} and {"until": "next" or "idle"}`)
	}
	ctx, cancel, err := withTimeLimit(c.Request.Context(), body.Timeout, advanceLimit)
	if err != nil {
		return response.Response{}, err
	}
	defer cancel()
	var sum engine.Progress
	for _, w := range s.chosen(c) {
		var p engine.Progress
		if body.Until != "" {
			p, err = w.Account.AdvanceUntil(ctx, body.Until == "idle")
		} else if to, bad := advanceTarget(w, body.By, body.To); bad != nil {
			err = bad
		} else {
			p, err = w.Account.Advance(ctx, to)
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

func advanceTarget(w *tenant.Tenant, by string, to *int64) (time.Time, error) {
	if to != nil {
		return time.UnixMilli(*to), nil
	}
	d, err := response.Duration(by)
	if err != nil || d < 0 {
		return time.Time{}, response.Invalid(fmt.Sprintf("body /by: invalid value %q: must be a duration such as 90s, 24h or 7d", by))
	}
	return w.Account.Now().Add(d), nil
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

func (s *Server) controlSettle(c *call.Call) (response.Response, error) {
	var body struct{ Timeout string }
	if len(c.Body) > 0 {
		if err := json.Unmarshal(c.Body, &body); err != nil {
			return response.Response{}, response.Invalid("body: " + err.Error())
		}
	}
	ctx, cancel, err := withTimeLimit(c.Request.Context(), body.Timeout, 5*time.Second)
	if err != nil {
		return response.Response{}, err
	}
	defer cancel()
	for _, w := range s.chosen(c) {
		if err := w.Account.Settle(ctx); err != nil {
			return response.Response{}, err
		}
	}
	return response.Response{Body: s.clockBody(c.Tenant)}, nil
}

type journalBody[T any] struct {
	Limit   int `json:"limit"`   // most entries that are kept
	Dropped int `json:"dropped"` // older ones that the limit has cost
	Entries []T `json:"entries"`
}

func (s *Server) controlRequests(c *call.Call) (response.Response, error) {
	id, path, status, most := c.Query.Get("operationId"), c.Query.Get("path"), c.Number("status"), c.Number("maxBody")
	refused, asked := c.Flag("refused", false), c.Query.Has("refused")
	fits := func(x *Exchange) bool {
		return (!asked || refused == (len(x.Problems) > 0)) && (id == "" || x.OperationID == id) && strings.HasPrefix(x.Path, path) && (status == 0 || x.Response.Status == status)
	}
	if c.Flag("follow", false) {
		return followJournal(s, &c.Tenant.Requests, func(x Exchange) any {
			if !fits(&x) {
				return nil
			}
			x.Clip(most)
			return x
		}), nil
	}
	entries, dropped := c.Tenant.Requests.List(c.Number("limit"), fits)
	for i := range entries {
		entries[i].Clip(most)
	}
	return response.Response{Body: journalBody[Exchange]{journal.Limit, dropped, entries}}, nil
}

func (s *Server) controlDeliveries(c *call.Call) (response.Response, error) {
	id, url, status, most := c.Query.Get("messageId"), c.Query.Get("url"), c.Number("status"), c.Number("maxBody")
	fits := func(d *Delivery) bool {
		return (id == "" || d.MessageID == id) && strings.HasPrefix(d.URL, url) && (status == 0 || d.Response.Status == status)
	}
	if c.Flag("follow", false) {
		return followJournal(s, &c.Tenant.Deliveries, func(d Delivery) any {
			if !fits(&d) {
				return nil
			}
			d.Clip(most)
			return d
		}), nil
	}
	entries, dropped := c.Tenant.Deliveries.List(c.Number("limit"), fits)
	for i := range entries {
		entries[i].Clip(most)
	}
	return response.Response{Body: journalBody[Delivery]{journal.Limit, dropped, entries}}, nil
}

func (s *Server) controlClearRequests(c *call.Call) (response.Response, error) {
	for _, w := range s.chosen(c) {
		w.Requests.Clear()
	}
	return response.Empty, nil
}

func (s *Server) controlClearDeliveries(c *call.Call) (response.Response, error) {
	for _, w := range s.chosen(c) {
		w.Deliveries.Clear()
	}
	return response.Empty, nil
}

func (s *Server) controlStubs(c *call.Call) (response.Response, error) {
	return response.Response{Body: c.Tenant.Stubs.Get()}, nil
}

func (s *Server) controlSetStubs(c *call.Call) (response.Response, error) {
	var list []stub.Stub
	if err := json.Unmarshal(c.Body, &list); err != nil {
		return response.Response{}, response.Invalid("body: " + err.Error())
	}
	for i := range list {
		if err := list[i].Check(); err != nil {
			return response.Response{}, err
		}
	}
	for _, w := range s.chosen(c) {
		w.Stubs.Set(list)
	}
	return response.Response{Body: c.Tenant.Stubs.Get()}, nil
}

// controlAddStub puts one stub before the others, so that callers at the same
// time do not undo each other's.
func (s *Server) controlAddStub(c *call.Call) (response.Response, error) {
	var one stub.Stub
	if err := json.Unmarshal(c.Body, &one); err != nil {
		return response.Response{}, response.Invalid("body: " + err.Error())
	}
	for _, w := range s.chosen(c) {
		if err := w.Stubs.Add(one); err != nil {
			return response.Response{}, err
		}
	}
	return response.Response{Body: c.Tenant.Stubs.Get()}, nil
}

func (s *Server) controlClearStubs(c *call.Call) (response.Response, error) {
	for _, w := range s.chosen(c) {
		w.Stubs.Set(nil)
	}
	return response.Empty, nil
}

func (s *Server) controlRewrites(c *call.Call) (response.Response, error) {
	return response.Response{Body: c.Tenant.Rewrites.Get()}, nil
}

func (s *Server) controlSetRewrites(c *call.Call) (response.Response, error) {
	var m map[string]string
	if err := json.Unmarshal(c.Body, &m); err != nil {
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
		w.Rewrites.Set(m)
	}
	return response.Response{Body: c.Tenant.Rewrites.Get()}, nil
}

func (s *Server) controlClearRewrites(c *call.Call) (response.Response, error) {
	for _, w := range s.chosen(c) {
		w.Rewrites.Set(nil)
	}
	return response.Empty, nil
}

// controlEvents streams every log event as it happens.
func (s *Server) controlEvents(c *call.Call) (response.Response, error) {
	position := uint64(0)
	return s.stream("log", 0, func() (list []sent, more <-chan struct{}) {
		events, more := c.Account.Follow(position, journal.MaxBatch)
		for i := range events {
			position = events[i].Seq
			list = append(list, sent{position, func() any { return s.streamed(c.Tenant, &events[i]) }})
		}
		return list, more
	}), nil
}

// streamed is an event in the form of the log that it belongs to, without
// credentials.
func (s *Server) streamed(w *tenant.Tenant, e *engine.Event) any {
	body := s.eventOf(w, e)
	text, err := json.Marshal(body)
	if err != nil {
		return body // and whoever encodes it reports the same
	}
	return json.RawMessage(mask.JSON(text))
}

func (s *Server) eventOf(w *tenant.Tenant, e *engine.Event) any {
	if e.Message == nil { // of a run, and without headers
		return view.WorkflowEvent(e)
	}
	d := s.tenants.Dialect(w, e.Message.Options.Dialect)
	if e.Run != nil {
		return inDialect(d, view.WorkflowEvent(e))
	}
	return inDialect(d, view.LogEvent(e))
}
