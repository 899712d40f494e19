package world

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/spec"
)

// Routes are routes of a host application that the rate-limit plugin limits. The routes of a world are
// the strategies of one configuration, with which two hosts run.
var Routes = &Kind{Name: "a limited route", options: routeOptions, normal: normalRoute, run: runRoutes, Rules: routeRules}

// routeOptions are all dimensions of a limited route. A path has the name of its pattern, and values:
// what it covers, and at last what it does not. Methods have the name of the one that requests use.
// The number of a window is its length in ms.
var routeOptions = []option{
	{"algorithm", "with", []choice{{name: fixed}, {says: "a sliding window", name: sliding}, {says: "a token bucket", name: bucket}}},
	{"tokens", "with", []choice{{n: 4}, {says: "1 token", n: 1}, {says: "9 tokens", n: 9}}},
	{"window", "with", []choice{
		{name: "1h", n: 3_600_000},
		{says: "a window in minutes", name: "5m", n: 300_000, requires: "REQ-RLP-008"},
		{says: "a window in seconds", name: "5000s", n: 5_000_000, requires: "REQ-RLP-008"},
		{says: "a window in days", name: "2d", n: 172_800_000, requires: "REQ-RLP-008"},
	}},
	{"passes", "with", []choice{{}, {says: "a window of 700 ms that passes", name: "700ms", n: 700}}},
	{"refill", "with", []choice{{n: 1}, {says: "a refill of 3", n: 3}}},
	{"methods", "with", []choice{
		{name: http.MethodGet, values: []string{"ALL"}},
		{says: "all methods and requests by POST", name: http.MethodPost, values: []string{"ALL"}, requires: "REQ-RLP-003"},
		{says: "the method GET", name: http.MethodGet, values: []string{"GET"}, requires: "REQ-RLP-003"},
		{says: "the methods GET and PUT and requests by PUT", name: http.MethodPut, values: []string{"GET", "PUT"}, requires: "REQ-RLP-003"},
	}},
	{"path", "with", []choice{
		{name: "/orders", values: []string{"/orders", "/customers"}},
		{says: "a wildcard", name: "/orders/*", values: []string{"/orders/7", "/customers/7"}, requires: "REQ-RLP-005"},
		{says: "a route parameter", name: "/orders/:id", values: []string{"/orders/7", "/orders/a-b.c", "/customers/7"}, requires: "REQ-RLP-005"},
		{says: "2 route parameters", name: "/:shop/orders/:id", values: []string{"/a/orders/7", "/b/orders/8", "/a/customers/7"}, requires: "REQ-RLP-005"},
		{says: "a dot in its path", name: "/v1.0/orders", values: []string{"/v1.0/orders", "/v1x0/orders"}, requires: "REQ-RLP-005"},
	}},
	{"identifier", "with", []choice{
		{name: "header.X-User"},
		{says: "the address as the identifier", name: "ip", requires: "REQ-RLP-006"},
		{says: "another header as the identifier", name: "header.X-Api-Key", requires: "REQ-RLP-006"},
		{says: "a header in small letters as the identifier", name: "header.x-user", requires: "REQ-RLP-006", basis: spec.Implied},
	}},
	{"debug", "with", []choice{{}, {says: "debug", name: "true"}}},
	{"other", "beside", []choice{
		{},
		{says: "a client with a longer name", name: "anna", requires: "REQ-RLP-007"},
		{says: "a client of the same name in capitals", name: "ANN", requires: "REQ-RLP-007"},
		{says: "a client whose name has colons", name: "ann:*:ann", requires: "REQ-RLP-007"},
	}},
	{"query", "whose", []choice{{}, {says: "requests have different queries", n: 1, basis: spec.Implied}}},
	{"hosts", "whose", []choice{{}, {says: "requests reach 2 hosts", n: 1}}},
}

// The algorithms of the plugin.
const (
	fixed   = "fixed-window"
	sliding = "sliding-window"
	bucket  = "token-bucket"
)

// normalRoute replaces choices that others exclude: a bucket is refilled at any time, and the hosts may
// see different addresses.
func normalRoute(t *Thing) {
	if t.Pick["passes"] > 0 {
		t.Pick["other"], t.Pick["window"] = 0, 0
	}
	if t.on("identifier").name == "ip" {
		t.Pick["hosts"] = 0
	}
}

// Route is what was sent to a limited route.
type Route struct {
	Asked []*Asked // in order
	hosts []string // URLs
}

// Asked is a request to a host application.
type Asked struct {
	method, path, client string
	host                 int
	kind                 askedKind
	after                time.Duration // the pause before it
	admit                *bool         // what the document says; nil: nothing
	mark                 string
	sent, answered       time.Time
	status               int
	Reached              bool // the application
}

type askedKind int

const (
	limited askedKind = iota
	otherMethod
	otherPath
)

// window is the length of the window, and how it is written.
func (t *Thing) window() (length time.Duration, text string) {
	c := t.on("window")
	if t.Pick["passes"] > 0 {
		c = t.on("passes")
	}
	return time.Duration(c.n) * time.Millisecond, c.name
}

// strategy is the route in the configuration of the plugin.
func (t *Thing) strategy() map[string]any {
	_, window := t.window()
	limiter := map[string]any{"algorithm": t.on("algorithm").name, "tokens": t.on("tokens").n, "window": window, "refillRate": t.on("refill").n}
	s := map[string]any{"methods": t.on("methods").values, "path": "/" + t.Key + t.on("path").name, "identifierSource": t.on("identifier").name, "limiter": limiter}
	if debug := t.on("debug").name; debug != "" {
		s["debug"] = debug
	}
	return s
}

// ask makes the requests to a route: one more than its tokens, mixed with those of others. Of a window
// that passes, the tokens are used up before and after it.
func (t *Thing) ask() *Route {
	r := &Route{}
	paths, tokens, passes := t.on("path").values, t.on("tokens").n, t.Pick["passes"] > 0
	add := func(n int, kind askedKind, client, method, path string) {
		for range n {
			r.Asked = append(r.Asked, &Asked{kind: kind, client: client, method: method, path: path})
		}
	}
	method := t.on("methods").name
	add(1, otherPath, "ann", method, paths[len(paths)-1])
	if t.on("methods").values[0] != "ALL" {
		add(tokens+1, otherMethod, "ann", http.MethodPatch, paths[0])
	}
	if name := t.on("other").name; name != "" {
		add(1, limited, name, method, paths[0])
	}
	add(tokens, limited, "ann", method, "")
	if !passes {
		add(1, limited, "ann", method, "")
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(t.Key))
	rand.New(rand.NewPCG(t.seed, sum.Sum64())).Shuffle(len(r.Asked), func(i, j int) { r.Asked[i], r.Asked[j] = r.Asked[j], r.Asked[i] })
	if passes {
		before := len(r.Asked)
		add(tokens, limited, "ann", method, "")
		r.Asked[before].after = t.pause()
	}
	turn := map[string]int{}
	for i, a := range r.Asked {
		if a.mark, a.path = fmt.Sprint(t.Key, "-", i), "/"+t.Key+cmp.Or(a.path, paths[i%max(1, len(paths)-1)]); t.on("query").n > 0 {
			a.path += fmt.Sprint("?page=", i)
		}
		a.host = turn[a.client] % 2 * t.on("hosts").n
		if a.kind == limited {
			turn[a.client]++
		}
	}
	t.expect(r)
	return r
}

// pause is how long a window takes to pass for certain: a plugin may start its windows when it likes,
// and a sliding one may count the window before.
func (t *Thing) pause() time.Duration {
	window, _ := t.window()
	if t.on("algorithm").name == sliding {
		window *= 2
	}
	return window + window/8
}

// expect says which requests reach the application.
func (t *Thing) expect(r *Route) {
	yes, no := true, false
	tokens, left := t.on("tokens").n, map[string]int{}
	for _, a := range r.Asked {
		if a.admit = &yes; a.kind != limited {
			continue
		}
		client := a.client
		if t.on("identifier").name == "ip" {
			client = ""
		}
		if _, known := left[client]; !known {
			left[client] = tokens
		}
		if a.after > 0 && t.on("algorithm").name == bucket {
			left[client] = min(tokens, t.on("refill").n)
		} else if a.after > 0 {
			left[client] = tokens
		}
		if left[client]--; left[client] >= 0 {
			continue
		}
		if a.admit = &no; t.Pick["passes"] > 0 { // another refill may have come
			a.admit = nil
		}
	}
}

// runRoutes starts the hosts and sends all requests, those of one route in their order.
func runRoutes(w *World) error {
	kept, err := w.s.Storage(w.tag + "storage")
	if err != nil {
		return err
	}
	app := w.s.Endpoint(w.tag + "application")
	for _, l := range w.Lives {
		l.Route = l.ask()
	}
	hosts, refused, err := w.hosts(kept.URL, app.URL, w.Lives...)
	if err != nil {
		return err
	}
	for _, l := range w.Lives {
		if l.Route.hosts = hosts; refused != nil && err == nil { // each has its own hosts
			l.Route.hosts, l.Error, err = w.hosts(kept.URL, app.URL, l)
		}
	}
	if err == nil {
		err = w.each(w.askAll)
	}
	reached := map[string]bool{}
	for _, got := range app.Look() {
		reached[got.Header.Get(harness.MarkHeader)] = true
	}
	for _, l := range w.Lives {
		for _, a := range l.Route.Asked {
			a.Reached = reached[a.mark]
		}
	}
	return cmp.Or(err, kept.Err())
}

// hosts starts two hosts for these routes, or one if no route has requests for the other.
func (w *World) hosts(storage, app string, lives ...*Life) (urls []string, refused, err error) {
	n, list := 1, []any{}
	for _, l := range lives {
		n, list = max(n, 1+l.on("hosts").n), append(list, l.strategy())
	}
	config, err := json.Marshal(map[string]any{"token": string(w.s.Auth.KVBearer), "url": storage, "prefix": w.s.Key + w.tag, "strategy": list})
	for len(urls) < n && refused == nil && err == nil {
		var url string
		url, refused, err = w.s.StartPlugin(config, app)
		urls = append(urls, url)
	}
	return urls, refused, err
}

// askAll sends the requests of a route, unless its configuration was refused.
func (w *World) askAll(l *Life) error {
	if l.Error != nil {
		return nil //nolint:nilerr // a rule judges it
	}
	for _, a := range l.Route.Asked {
		if err := w.s.Clock.Wait(w.s.Context, a.after); err != nil {
			return err
		}
		a.sent = harness.Now()
		got, err := w.s.AskHost(a.method, l.Route.hosts[a.host]+a.path, l.on("identifier").name, a.client, a.mark)
		if a.answered = harness.Now(); err != nil {
			return err
		}
		a.status = got.Status
	}
	return nil
}

// routeRules are what the document says of a limited route.
var routeRules = []*Rule{
	{"REQ-RLP-001", spec.Stated, "a configuration with all required keys is accepted", func(_ *World, l *Life, j *judging) {
		j.that(l.Error == nil, "a running host application", fmt.Sprint(l.Error))
	}},
	{"REQ-RLP-003", spec.Stated, "a request with a method that is not listed reaches the application", reaches(otherMethod, true, "")},
	{"REQ-RLP-005", spec.Stated, "a request to another path reaches the application", reaches(otherPath, true, "")},
	{"REQ-RLP-010", spec.Stated, "a fixed window admits its tokens", reaches(limited, true, fixed)},
	{"REQ-RLP-010", spec.Stated, "a fixed window denies what exceeds its tokens", reaches(limited, false, fixed)},
	{"REQ-RLP-011", spec.Stated, "a sliding window admits its tokens", reaches(limited, true, sliding)},
	{"REQ-RLP-011", spec.Stated, "a sliding window denies what exceeds its tokens", reaches(limited, false, sliding)},
	{"REQ-RLP-012", spec.Stated, "a bucket admits its tokens and its refills", reaches(limited, true, bucket)},
	{"REQ-RLP-012", spec.Stated, "a bucket denies what exceeds its tokens and its refills", func(w *World, l *Life, j *judging) {
		if reaches(limited, false, bucket)(w, l, j); l.Pick["passes"] == 0 || l.Error != nil || l.on("algorithm").name != bucket {
			return
		}
		var all []*Asked
		n := 0
		for _, a := range l.Route.Asked {
			if a.kind == limited {
				if all = append(all, a); a.Reached {
					n++
				}
			}
		}
		window, _ := l.window()
		refills := 1 + int(all[len(all)-1].answered.Sub(all[0].sent)/window)
		most := l.on("tokens").n + refills*l.on("refill").n
		j.that(n <= most, fmt.Sprintf("at most %d of %d in %d windows", most, len(all), refills), fmt.Sprint(n, " reached the application"))
	}},
	{"REQ-RLP-013", spec.Implied, "a denied request does not reach the application", func(_ *World, l *Life, j *judging) {
		for _, a := range l.Route.Asked {
			if a.status >= http.StatusBadRequest {
				j.that(!a.Reached, "a denial", fmt.Sprintf("answer %d, and the request reached the application", a.status))
			}
		}
	}},
}

// reaches judges requests of a kind of which the document says that they do or do not reach the
// application. Nothing follows when a window may have ended between the requests.
func reaches(kind askedKind, admit bool, algorithm string) func(*World, *Life, *judging) {
	return func(_ *World, l *Life, j *judging) {
		asked := l.Route.Asked
		if l.Error != nil || algorithm != "" && l.on("algorithm").name != algorithm {
			return
		}
		window, _ := l.window()
		if kind == limited && l.Pick["passes"] == 0 && asked[0].sent.UnixNano()/int64(window) != asked[len(asked)-1].answered.UnixNano()/int64(window) {
			return
		}
		for _, a := range asked {
			if a.kind == kind && a.admit != nil && *a.admit == admit {
				j.that(a.Reached == admit, map[bool]string{true: "the last request reaches the application", false: "the last request is denied"}[admit], l.Route.until(a))
			}
		}
	}
}

// until shows the requests up to one of them, with their answers.
func (r *Route) until(last *Asked) string {
	var list []string
	for _, a := range r.Asked[:1+slices.Index(r.Asked, last)] {
		text := fmt.Sprintf("%s %s by %s: %d", a.method, a.path[1+strings.Index(a.path[1:], "/"):], a.client, a.status)
		if a.after > 0 {
			text = fmt.Sprint(a.after, " later ", text)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}
