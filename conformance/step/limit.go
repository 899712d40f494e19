package step

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
)

// hostState is the host application with the rate-limit plugin of a scenario, the application behind
// it, and the storage, whose requests the suite records. Windows of a limit always pass in real time,
// because the plugin uses the clock of its host: a scenario whose requests were too slow for its
// windows repeats itself with longer ones.
type hostState struct {
	config  map[string]any
	storage *harness.Storage
	without string // JSON pointer to what the configuration lacks
	url     string
	refused error
	sent    []string // X-Mark headers of the requests, in order
	asked   []asked  // the requests, in the same order
	since   int      // index in sent of the first of "those requests"
	window  time.Duration
	tokens  int
	path    string
	late    bool    // whether the limit is used up late in a window
	more    int     // how many requests follow
	pause   float64 // before them, in windows
	first   span    // of the requests that use up the limit
	second  span    // of the requests that follow
}

// span is the time from before the first request of several until after the last.
type span struct{ start, end time.Time }

func (b span) took() time.Duration { return b.end.Sub(b.start) }

// asked is a request that was sent to the host application.
type asked struct {
	method, path, client string
}

var limitSteps = []step{
	{"Given", `a route limited to (\d+) requests per "(\w+)" by the "([\w-]+)" algorithm`, (*Scenario).limitedRoute},
	{"Given", `the plugin is configured with:`, (*Scenario).configurePlugin},
	{"Given", `one client has used up its limit( late in a window)?`, (*Scenario).usedUp},
	{"When", `the host application starts`, (*Scenario).startHost},
	{"When", `(one client|another client) sends (\d+) requests?(?: with the method "(\w+)")?(?: to "([^"]+)")?`, (*Scenario).send},
	{"When", `the same client sends (\d+) requests? (half a window|a window|three windows) later`, (*Scenario).sendsLater},
	{"Then", `the configuration is (accepted|refused)`, (*Scenario).configurationIs},
	{"Then", `the (first|last) (\d+) requests reach the application`, (*Scenario).someReach},
	{"Then", `the last request is denied`, (*Scenario).lastDenied},
	{"Then", `(at most|exactly) (\d+) of those requests reach(?:es)? the application`, (*Scenario).thoseReach},
	{"Then", `the application has seen exactly (\d+) requests?`, (*Scenario).applicationSaw},
	{"Then", `the storage has been asked for a key of prefix, method, route and identifier`, (*Scenario).keyForm},
	{"Then", `every request to the storage carried the configured token`, (*Scenario).tokenCarried},
}

// The endpoints behind the plugin: the application, and the storage, whose requests
// the suite records and forwards.
const (
	application = "the application"
	storage     = "the storage"
)

// limitedRoute makes a configuration with one strategy for all routes. The storage is
// an endpoint that forwards everything, so that the requests to it can be checked.
func (s *Scenario) limitedRoute(tokens int, window, algorithm string) error {
	kept, err := s.Storage(storage)
	if err != nil {
		return err
	}
	s.plugin.storage = kept
	s.plugin.tokens, s.plugin.path = tokens, "/"
	s.plugin.window, _ = time.ParseDuration(window)
	s.plugin.config = map[string]any{
		"token": string(s.Auth.KVBearer), "url": kept.URL, "prefix": s.Key,
		"strategy": []any{map[string]any{
			"methods": []any{"ALL"}, "path": "*", "identifierSource": "header." + harness.UserHeader,
			"limiter": map[string]any{"algorithm": algorithm, "tokens": tokens, "window": window},
		}},
	}
	return nil
}

func (s *Scenario) strategy() map[string]any {
	first, _ := check.At(s.plugin.config, "/strategy/0")
	object, _ := first.(map[string]any)
	return object
}

func (s *Scenario) limiter() map[string]any {
	l, _ := s.strategy()["limiter"].(map[string]any)
	return l
}

// configurePlugin changes the configuration by a table of its keys.
func (s *Scenario) configurePlugin(t *godog.Table) {
	for _, row := range rowsOf(t) {
		last := strings.LastIndex("/"+row.Place, "/")
		at, _ := check.At(s.plugin.config, ("/" + row.Place)[:last])
		object, _ := at.(map[string]any)
		key, value := row.Place[last:], check.Decode([]byte(row.Want))
		switch {
		case row.Want == "absent":
			delete(object, key)
			s.plugin.without = "/" + row.Place
			continue
		case key == "methods":
			value = strings.Split(row.Want, ", ")
		case key == "prefix":
			value = row.Want + s.Key
		case value == nil:
			value = row.Want
		}
		object[key] = value
	}
}

// startHost starts the host application once.
func (s *Scenario) startHost() error {
	if s.plugin.url != "" || s.plugin.refused != nil {
		return nil //nolint:nilerr // a refused configuration is for the steps to judge
	}
	if s.limiter() != nil && s.limiter()["algorithm"] == "token-bucket" && s.limiter()["refillRate"] == nil {
		s.limiter()["refillRate"] = 1 // optional in the document, but the plugin needs it
	}
	text, err := json.Marshal(s.plugin.config)
	if err != nil {
		return harness.Fault("", "%v", err)
	}
	s.plugin.url, s.plugin.refused, err = s.StartPlugin(text, s.Endpoint(application).URL)
	return err
}

// askHost sends one request to the host application.
func (s *Scenario) askHost(method, path, client string) error {
	if err := s.startHost(); err != nil {
		return err
	}
	if s.plugin.refused != nil {
		return &report.Failure{Message: "the configuration was refused: " + s.plugin.refused.Error(), Want: "a running host application", Got: "none", Exchange: -1}
	}
	mark := fmt.Sprintf("%s-%d", s.Key, len(s.plugin.sent))
	source, _ := s.strategy()["identifierSource"].(string)
	s.plugin.sent, s.plugin.asked = append(s.plugin.sent, mark), append(s.plugin.asked, asked{method: method, path: path, client: client})
	a, err := s.AskHost(method, s.plugin.url+path, source, client, mark)
	if err != nil {
		return err
	}
	if err := s.plugin.storage.Err(); err != nil {
		return err
	}
	if !a.OK() {
		s.Observe("ratelimit.denied.status", strconv.Itoa(a.Status))
	}
	return nil
}

func (s *Scenario) send(client string, n int, method, path string) error {
	name := map[string]string{"one client": "ann", "another client": "anna"}[client]
	for range n {
		if err := s.askHost(cmp.Or(method, http.MethodGet), cmp.Or(path, s.plugin.path), name); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scenario) sends(n int) error { return s.send("one client", n, "", "") }

// lateInWindow is the part of a window after which it is late. Half a window later, the next
// window has started.
const lateInWindow = 0.6

// pauses are times in windows. A plugin may start its windows when it likes, so that one has
// certainly passed only after a little more.
var pauses = map[string]float64{"half a window": 0.5, "a window": 1.125, "three windows": 3.125}

// part returns a part of the window.
func (s *Scenario) part(of float64) time.Duration {
	return time.Duration(of * float64(s.plugin.window))
}

// admission are the requirements that promise that a limit admits its tokens.
var admission = []string{"REQ-RLP-010", "REQ-RLP-011", "REQ-RLP-012"}

// usedUp sends requests until the limit is used up.
func (s *Scenario) usedUp(late string) error {
	s.plugin.late = late != ""
	return s.useUp()
}

func (s *Scenario) useUp() error {
	if s.plugin.late {
		into := time.Duration(harness.Now().UnixNano()) % s.plugin.window
		wait := s.part(lateInWindow) - into
		if wait < 0 {
			wait += s.plugin.window
		}
		if err := s.Clock.Wait(s.Context, wait); err != nil {
			return err
		}
	}
	s.plugin.since, s.plugin.first.start = len(s.plugin.sent), harness.Now()
	if err := s.sends(s.plugin.tokens); err != nil {
		return s.Assume(err, admission...)
	}
	s.plugin.first.end = harness.Now()
	err := s.Assume(s.reach(s.plugin.sent[s.plugin.since:]), admission...)
	s.plugin.since = len(s.plugin.sent)
	return err
}

func (s *Scenario) sendsLater(n int, pause string) error {
	s.plugin.more, s.plugin.pause = n, pauses[pause]
	return s.sendMore()
}

func (s *Scenario) sendMore() error {
	if err := s.Clock.Wait(s.Context, s.part(s.plugin.pause)); err != nil {
		return err
	}
	s.plugin.since, s.plugin.second.start = len(s.plugin.sent), harness.Now()
	err := s.sends(s.plugin.more)
	s.plugin.second.end = harness.Now()
	return err
}

// longerWindows is how often a scenario is repeated with longer windows.
const longerWindows = 6

// proven repeats the scenario with longer windows until its requests were so fast that their
// answers prove something: how long a request takes depends on the target and on the machine. A
// window becomes at least spare times as long as the slower of the two bursts.
func (s *Scenario) proven(fast func() bool, spare int) error {
	for n := 1; !fast(); n++ {
		slowest := max(s.plugin.first.took(), s.plugin.second.took())
		if n > longerWindows {
			return harness.Inconclusive(report.BudgetExhausted, "the requests took up to %s, too long for a window of %s: nothing follows from them", slowest, s.plugin.window)
		}
		s.plugin.window = max(2*s.plugin.window, time.Duration(spare)*slowest).Round(100 * time.Millisecond)
		s.limiter()["window"] = fmt.Sprintf("%dms", s.plugin.window.Milliseconds())
		s.plugin.config["prefix"] = fmt.Sprintf("%sw%d", s.Key, n) // other counters
		s.plugin.url = ""                                          // another host
		if err := harness.InTurn(s.useUp, s.sendMore); err != nil {
			return err
		}
	}
	return nil
}

// nextWindow reports whether the limit was used up late in one window, and the other requests
// were decided early in the next: all within the length of a window, and so early that a
// plugin that rounds the weight of the window before still counts one of its requests.
func (s *Scenario) nextWindow() bool {
	window := s.plugin.window
	next := s.plugin.first.start.UnixNano()/int64(window) + 1
	start := time.Unix(0, next*int64(window))
	return s.plugin.first.end.Before(start) && s.plugin.second.start.After(start) && s.plugin.second.end.Before(start.Add(s.part(lateInWindow)))
}

func (s *Scenario) configurationIs(what string) error {
	switch {
	case what == "accepted" && s.plugin.refused != nil:
		return &report.Failure{Message: "the configuration was refused", Want: "a running host application", Got: s.plugin.refused.Error(), Exchange: -1}
	case what == "refused" && s.plugin.refused == nil:
		return &report.Failure{Message: "the configuration was accepted", Pointer: s.plugin.without, Want: "a refusal", Got: "a running host application", Exchange: -1}
	}
	return nil
}

// reached returns the marks of the requests that the application received.
func (s *Scenario) reached() []string {
	var marks []string
	for _, got := range s.Endpoint(application).Look() {
		marks = append(marks, got.Header.Get(harness.MarkHeader))
	}
	return marks
}

func (s *Scenario) reach(marks []string) error {
	seen := s.reached()
	for _, mark := range marks {
		if !slices.Contains(seen, mark) {
			return s.Failure("a request was denied", strings.Join(marks, ", "), strings.Join(seen, ", "))
		}
	}
	return nil
}

func (s *Scenario) someReach(which string, n int) error {
	if which == "first" {
		return s.reach(s.plugin.sent[:n])
	}
	return s.reach(s.plugin.sent[len(s.plugin.sent)-n:])
}

func (s *Scenario) lastDenied() error {
	denied := func() bool { return !slices.Contains(s.reached(), s.plugin.sent[len(s.plugin.sent)-1]) }
	if denied() {
		return nil
	}
	if again, err := s.sendAgain(); err != nil || again && denied() {
		return err
	}
	return s.Failure("the last request reached the application", "a denial", "request "+s.plugin.sent[len(s.plugin.sent)-1])
}

// sendAgain repeats the requests of the scenario from other clients. The plugin's
// windows start at fixed times: one may have ended between two of the requests, so
// that each window admitted a part. The windows of these scenarios are so long that
// this cannot happen twice in a row. A token bucket has no windows: sendAgain sends
// nothing and returns false.
func (s *Scenario) sendAgain() (bool, error) {
	if s.limiter()["algorithm"] == "token-bucket" {
		return false, nil
	}
	for _, a := range s.plugin.asked {
		if err := s.askHost(a.method, a.path, "again-"+a.client); err != nil {
			return false, err
		}
	}
	return true, nil
}

// those returns how many requests of the last burst reached the application.
func (s *Scenario) those() (n int) {
	seen := s.reached()
	for _, mark := range s.plugin.sent[s.plugin.since:] {
		if slices.Contains(seen, mark) {
			n++
		}
	}
	return n
}

// thoseReach needs requests of which a correct plugin admits no more: a rolling window still counts those that
// used up the limit, and a bucket is refilled at most once while they are decided, or exactly once since it was
// empty.
func (s *Scenario) thoseReach(how string, n int) error {
	fast, spare := s.nextWindow, 5
	switch {
	case how == "exactly":
		fast, spare = func() bool { return s.plugin.second.end.Sub(s.plugin.first.start) < 2*s.plugin.window }, 3
	case s.limiter()["algorithm"] == "token-bucket":
		fast, spare = func() bool { return s.plugin.second.took() < s.plugin.window }, 2
	}
	if err := s.proven(fast, spare); err != nil {
		return err
	}
	if got := s.those(); got > n || got < n && how == "exactly" {
		return s.Failure("requests of the last burst that reached the application", fmt.Sprintf("%s %d", how, n), strconv.Itoa(got))
	}
	return nil
}

func (s *Scenario) applicationSaw(n int) error {
	got := len(s.reached())
	if got == n {
		return nil
	}
	again, err := s.sendAgain()
	if err != nil {
		return err
	}
	if more := len(s.reached()) - got; again && more == n {
		return nil
	}
	return s.Failure("requests that the application has seen", strconv.Itoa(n), strconv.Itoa(got))
}

func (s *Scenario) keyForm() error {
	s.reached()
	prefix, _ := s.plugin.config["prefix"].(string)
	path, _ := s.strategy()["path"].(string)
	want := strings.Join([]string{prefix, http.MethodGet, path, "ann"}, ":")
	var bodies []string
	for _, got := range s.plugin.storage.Look() {
		if strings.Contains(string(got.Body)+got.Path, want) {
			return nil
		}
		bodies = append(bodies, string(got.Body))
	}
	return s.Failure("no request to the storage names the key", want, strings.Join(bodies, " | "))
}

func (s *Scenario) tokenCarried() error {
	s.reached()
	all := s.plugin.storage.Look()
	if len(all) == 0 {
		return s.Failure("requests to the storage", "at least one", "none")
	}
	for _, got := range all {
		if !strings.HasSuffix(got.Header.Get("Authorization"), " "+string(s.Auth.KVBearer)) && !strings.Contains(got.Path, "_token="+string(s.Auth.KVBearer)) {
			return s.Failure("a request to the storage", "with the configured token", harness.Shown(s.MaskedHeader(got.Header)))
		}
	}
	return nil
}
