package world

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// plugin answers the requests to a route as a plugin that obeys the document but for its flaw.
type plugin struct {
	flaw string
	now  time.Time
	used map[string]int       // by the key of a counter
	last map[string]time.Time // the start of its window
}

func (p *plugin) is(flaw string) bool { return p.flaw == flaw }

// covers reports whether the pattern of a strategy covers a path.
func (p *plugin) covers(pattern, path string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if p.is("a pattern covers paths that end otherwise") {
		want = want[:len(want)-1]
		have = have[:min(len(want), len(have))]
	}
	return len(want) == len(have) && !slices.ContainsFunc(want, func(part string) bool {
		i := slices.Index(want, part)
		return part != have[i] && part != "*" && part[:min(1, len(part))] != ":"
	})
}

// serve sets what a request has come to.
func (p *plugin) serve(t *Thing, a *Asked) {
	if p.now = p.now.Add(time.Millisecond + a.after); a.after > 0 && p.is("a window that has passed still counts") {
		p.now = p.now.Add(-a.after)
	}
	a.sent, a.answered = p.now, p.now
	a.status, a.Reached = http.StatusOK, true
	s := t.strategy()
	limiter, _ := s["limiter"].(map[string]any)
	methods, _ := s["methods"].([]string)
	pattern, _ := s["path"].(string)
	to, _ := url.Parse(a.path)
	if !slices.Contains(methods, "ALL") && !slices.Contains(methods, a.method) && !p.is("methods are ignored") || !p.covers(pattern, to.Path) {
		return
	}
	if p.is("only the first method is limited") && len(methods) > 1 && methods[0] != a.method {
		return
	}
	key := pattern
	if s["identifierSource"] != "ip" {
		client := a.client
		switch {
		case p.is("names are compared without case"):
			client = strings.ToLower(client)
		case p.is("a name ends at a colon"):
			client, _, _ = strings.Cut(client, ":")
		case p.is("names are compared by their first 3 characters"):
			client = client[:3]
		}
		key += client
	} else if p.is("the address is never the same") {
		key += a.mark
	}
	if p.is("each host counts alone") {
		key += string(rune('0' + a.host))
	}
	if p.is("each path of a parameter counts alone") {
		key += to.Path
	}
	if p.is("the query is part of the route") {
		key += to.RawQuery
	}
	tokens, _ := limiter["tokens"].(int)
	refill, _ := limiter["refillRate"].(int)
	window, text := t.window()
	if limiter["algorithm"] != bucket && !p.is("every refill counts") {
		refill = tokens
	}
	if p.is("a refill fills the bucket") {
		refill = tokens
	}
	switch last, known := p.last[key]; {
	case !known:
		p.last[key] = p.now
	case p.now.Sub(last) >= window:
		p.used[key], p.last[key] = max(0, p.used[key]-refill), p.now
	}
	if p.is("debug switches the limit off") && s["debug"] != nil {
		return
	}
	if p.is("one token too many with a window in minutes") && strings.HasSuffix(text, "5m") {
		tokens++
	}
	if p.used[key]++; p.used[key] > tokens {
		p.used[key], a.status, a.Reached = tokens, http.StatusTooManyRequests, p.is("what is denied reaches the application")
	}
}

func brokenRoutes(flaw string) (ids []string, judged map[string]int) {
	judged = map[string]int{}
	for seed := range uint64(5) {
		w := &World{Kind: Routes, names: bindings}
		for _, t := range plan(Routes, seed) {
			l := &Life{Thing: t, Route: t.ask()}
			p := &plugin{flaw, time.UnixMilli(0), map[string]int{}, map[string]time.Time{}}
			for _, a := range l.Route.Asked {
				p.serve(t, a)
			}
			w.Lives = append(w.Lives, l)
		}
		breaks(w, &ids, judged)
	}
	slices.Sort(ids)
	return ids, judged
}

func TestAPluginThatObeysTheModelPassesEveryRule(t *testing.T) {
	t.Parallel()
	obeys(t, Routes.Rules, brokenRoutes)
}

func TestEachDeviationOfThePluginBreaksItsRules(t *testing.T) {
	t.Parallel()
	denies := []string{"RLP-010 stated", "RLP-011 stated", "RLP-012 stated"}
	for flaw, want := range map[string][]string{
		"methods are ignored":                            append([]string{"RLP-003 stated"}, denies...),
		"a pattern covers paths that end otherwise":      append([]string{"RLP-005 stated"}, denies...),
		"only the first method is limited":               denies,
		"names are compared without case":                denies,
		"a name ends at a colon":                         denies,
		"names are compared by their first 3 characters": denies,
		"the address is never the same":                  denies,
		"each host counts alone":                         denies,
		"each path of a parameter counts alone":          denies,
		"the query is part of the route":                 denies,
		"debug switches the limit off":                   denies,
		"one token too many with a window in minutes":    denies,
		"what is denied reaches the application":         append(slices.Clone(denies), "RLP-013 implied"),
		"a window that has passed still counts":          denies,
		"every refill counts":                            denies[:2],
		"a refill fills the bucket":                      denies[2:],
	} {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			ids, _ := brokenRoutes(flaw)
			expect.Equal(t, "broken rules", ids, want)
		})
	}
}
