package ratelimit

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/understudy-mock/understudy/engine/ratelimit"
)

// plugin applies the strategies of a configuration to requests.
type plugin struct {
	cfg        Config
	store      store
	strategies []strategy
}

// strategy is a Strategy prepared for matching.
type strategy struct {
	methods map[string]bool
	route   route
	source  source
	label   string // precedes the identifier in keys; "" unless a strategy with another source shares them
	limit   ratelimit.Limit
	window  string
	debug   bool
}

// match is a strategy that applies to a request.
type match struct {
	strategy
	method     string
	identifier string
}

// New returns the middleware. If the configuration is not enabled, it does nothing.
// The error for an invalid configuration is an *Invalid.
func New(cfg Config) (func(http.Handler) http.Handler, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if cfg.Enabled != nil && !*cfg.Enabled {
		return func(next http.Handler) http.Handler { return next }, nil
	}
	p := &plugin{cfg: cfg, store: store{cfg.URL, cfg.Token, cfg.Client, &clock{}}}
	for i, s := range cfg.Strategy {
		limit, err := s.Limiter.limit()
		if err != nil {
			return nil, fmt.Errorf("strategy[%d].limiter: %w", i, err)
		}
		ready := strategy{
			methods: map[string]bool{}, route: newRoute(s.Path), source: newSource(s.IdentifierSource, cfg.TrustedProxies),
			limit: limit, window: s.Limiter.Window, debug: s.Debug.on(),
		}
		for _, m := range s.Methods {
			ready.methods[m] = true
		}
		p.strategies = append(p.strategies, ready)
		for m := range ready.methods {
			cfg.Log.Debug("rate limit registered", "method", m, "path", s.Path)
		}
	}
	p.labelSources()
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if p.admit(w, r) {
				next.ServeHTTP(w, r)
			}
		})
	}, nil
}

// labelSources separates the identifiers of different sources that would use the
// same keys: a client that sends an address in a header must not use up the limit
// of that address.
func (p *plugin) labelSources() {
	for i := range p.strategies {
		for j := range p.strategies {
			a, b := &p.strategies[i], p.strategies[j]
			if a.route.pattern != b.route.pattern || a.source.String() == b.source.String() {
				continue
			}
			for m := range a.methods {
				if b.methods[m] {
					a.label = a.source.String() + "="
				}
			}
		}
	}
}

// admit reports whether a request is admitted. If not, it has written the answer.
func (p *plugin) admit(w http.ResponseWriter, r *http.Request) bool {
	matches, err := p.matching(r)
	if err != nil {
		p.cfg.Stats.Unidentified.Add(1)
		refuse(w, http.StatusBadRequest, err.Error())
		return false
	}
	if len(matches) == 0 {
		return true
	}
	now := p.now(r.Context())
	decisions, err := p.decide(r.Context(), now, matches)
	if err != nil {
		p.cfg.Stats.FailedOpen.Add(1)
		p.cfg.Log.Error("rate limit not checked, request passes", "method", r.Method, "path", r.URL.Path, "store", p.cfg.URL, "error", err)
		return true
	}
	p.explain(matches, decisions)
	n := tightest(decisions)
	d := decisions[n]
	announce(w.Header(), now, d)
	if d.Allowed {
		p.cfg.Stats.Allowed.Add(1)
		return true
	}
	p.cfg.Stats.Limited.Add(1)
	wait := seconds(now, d.RetryAt)
	w.Header().Set("Retry-After", wait)
	refuse(w, http.StatusTooManyRequests, fmt.Sprintf("limit of %d requests per %s reached for %s %s: try again in %s s",
		d.Limit, matches[n].window, matches[n].method, matches[n].route.pattern, wait))
	return false
}

// matching returns all strategies that apply to a request, with the identifiers.
func (p *plugin) matching(r *http.Request) ([]match, error) {
	var segments []string
	var matches []match
	for _, s := range p.strategies {
		method := methodOf(s.methods, r)
		if method == "" {
			continue
		}
		if segments == nil {
			segments = segmentsOf(r.URL)
		}
		if !s.route.match(segments) {
			continue
		}
		identifier, err := s.source.of(r)
		if err != nil {
			return nil, err
		}
		matches = append(matches, match{s, method, identifier})
	}
	return matches, nil
}

// decide asks the store once for all matches. A client that disconnects does not
// cancel it: either all strategies count the request, or none does.
func (p *plugin) decide(ctx context.Context, now time.Time, matches []match) ([]ratelimit.Decision, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.Timeout)
	defer cancel()
	requests := make([]ratelimit.Request, len(matches))
	for i, m := range matches {
		requests[i] = ratelimit.Request{Limit: m.limit, Key: ratelimit.Key(p.cfg.Prefix, m.method, m.route.pattern, m.label+m.identifier)}
		if p.cfg.Analytics {
			requests[i].Count = &ratelimit.Count{Prefix: p.cfg.Prefix, Method: m.method, Route: m.route.pattern, Identifier: m.label + m.identifier}
		}
	}
	return ratelimit.Decide(ctx, p.store, now, requests...)
}

// explain logs the decisions of strategies in debug mode.
func (p *plugin) explain(matches []match, decisions []ratelimit.Decision) {
	for i, m := range matches {
		if m.debug {
			p.cfg.Log.Debug("rate limit", slog.String("method", m.method), slog.String("path", m.route.pattern),
				slog.String("identifier", m.source.logged(m.identifier)), slog.Int64("limit", decisions[i].Limit),
				slog.Int64("remaining", decisions[i].Remaining), slog.Bool("blocked", !decisions[i].Allowed))
		}
	}
}

// tightest is the index of the decision to report to the client: the one that
// refuses longest or, if all allow, the one with the least remaining.
func tightest(decisions []ratelimit.Decision) (n int) {
	for i, d := range decisions {
		best := decisions[n]
		switch {
		case d.Allowed != best.Allowed:
			if best.Allowed {
				n = i
			}
		case d.RetryAt.After(best.RetryAt) || d.Allowed && d.Remaining < best.Remaining:
			n = i
		}
	}
	return n
}

// announce sets the RateLimit headers (decided: 24).
func announce(h http.Header, now time.Time, d ratelimit.Decision) {
	h.Set("RateLimit-Limit", strconv.FormatInt(d.Limit, 10))
	h.Set("RateLimit-Remaining", strconv.FormatInt(d.Remaining, 10))
	h.Set("RateLimit-Reset", seconds(now, d.Reset))
}

// seconds is the time from now until at, rounded up, so that clients do not retry early.
func seconds(now, at time.Time) string {
	return strconv.FormatInt(int64((at.Sub(now)+time.Second-1)/time.Second), 10)
}

func refuse(w http.ResponseWriter, status int, text string) {
	body, _ := json.Marshal(map[string]string{"error": text}) // strings always encode
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails if the client has disconnected
}
