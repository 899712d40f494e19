package world

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec/header"
)

const testToken = "token-of-the-test"

func everything(string) bool { return true }

// plans are generated plans of 40 things, by kind and seed: many tests read the same ones.
var plans sync.Map

func plan(k *Kind, seed uint64) []*Thing {
	type key struct {
		*Kind
		seed uint64
	}
	made, _ := plans.LoadOrStore(key{k, seed}, sync.OnceValue(func() []*Thing { return k.Generate(seed, 40, everything) }))
	return made.(func() []*Thing)() //nolint:forcetypeassert // it has one type
}

// server obeys the document but for its flaw, without a network. It reads orders, not choices.
type server struct{ flaw string }

func (v *server) has(flaw string) bool { return v.flaw == flaw }

// option is what an order says: by header, by query or by default.
func (v *server) option(o *Order, name string) string {
	if x := o.Header.Get(name); x != "" {
		return x
	}
	if x := o.Query[header.Query(name)]; x != "" && !v.has("the query is ignored") {
		return x
	}
	switch x := o.Group[name].(type) {
	case string:
		return x
	case []string:
		if !v.has("arrays of defaults are ignored") {
			return x[0]
		}
	}
	return ""
}

// headers are those of a delivery.
func (v *server) headers(l *Life, attempt int) http.Header {
	o, out := l.Order, http.Header{}
	all := v.option(o, header.HeaderForward) == "true"
	for name, values := range o.Header {
		if rest, forwarded := strings.CutPrefix(name, header.ForwardPrefix); forwarded && !(attempt > 0 && v.has("a retry forwards nothing")) {
			out[http.CanonicalHeaderKey(rest)] = values
		} else if !forwarded && out[name] == nil && (all || v.has("all headers are forwarded")) {
			out[name] = values
		}
	}
	if values := l.defaults(); len(values) > 0 && all && !v.has("defaults are lost") {
		out[defaultHeader] = values
	}
	return out
}

// serve delivers a message.
func (v *server) serve(l *Life) {
	retries, err := strconv.Atoi(v.option(l.Order, header.Retries))
	if err != nil {
		retries = 3
	}
	delay, _ := time.ParseDuration(v.option(l.Order, header.Delay))
	if retries > 0 && v.has("a delay with retries is ignored") {
		delay = 0
	}
	at := max(delay, l.Resumed)
	if l.on("key").n > 0 && v.has("a paused key holds nothing") {
		l.early = 1
	}
	l.Got, l.Callbacks, l.callbacks = make([][]Attempt, l.on("to").n), map[string][]*receiver.Received{}, map[string]*receiver.Endpoint{}
	if l.on("callback").says != "" {
		l.callbacks["success"], l.callbacks["failure"] = &receiver.Endpoint{}, &receiver.Endpoint{}
	}
	won := 0
	for i := range l.Got {
		if l.on("key").n < 0 && !v.has("a key that is not resumed lets go") || i == 2 && v.has("the third endpoint is forgotten") {
			continue
		}
		allowed := retries
		switch {
		case delay > 0 && v.has("a delayed message is not tried again"):
			allowed = 0
		case v.has("one retry too many"):
			allowed++
		}
		script := l.script(i)
		for n := 0; n <= allowed; n++ {
			got := &receiver.Received{Method: http.MethodPost, Path: l.path, Header: v.headers(l, n), Body: l.Order.Body}
			got.Header.Set("Content-Type", l.Order.Header.Get("Content-Type"))
			switch {
			case n > 0 && v.has("the body of a retry is cut"):
				got.Body = []byte("cut")
			case v.has("a body is that of another message") && l.Key == "t1":
				got.Body = []byte("message t0\n")
			case n > 0 && v.has("a retry has another method"):
				got.Method = http.MethodPut
			case n > 0 && v.has("a retry has another content type"):
				got.Header.Set("Content-Type", "text/plain")
			}
			if strings.Contains(l.path, "?") && v.has("the query is decoded") {
				got.Path = strings.ReplaceAll(l.path, "%20", " ")
			}
			if v.has("the credential is forwarded") {
				got.Header.Set("X-From", testToken)
			}
			status := script[min(n, len(script)-1)]
			got.Status.Store(int64(status))
			l.Got[i] = append(l.Got[i], Attempt{got, at + time.Duration(n)*250*time.Millisecond})
			if status == 200 {
				if won++; v.has("a success is repeated") {
					l.Got[i] = append(l.Got[i], Attempt{got, at})
				}
				break
			}
		}
	}
	if call := map[int]string{len(l.Got): "success", 0: "failure"}[won]; call != "" && l.on("key").n >= 0 && l.callbacks[call] != nil && !v.has("no callback after retries") {
		l.Callbacks[call] = []*receiver.Received{{}}
		if v.has("a callback is called ten times") {
			l.Callbacks[call] = slices.Repeat(l.Callbacks[call], 10)
		}
	}
}

// broken are the rules that a server breaks in some worlds, and how many things each rule has judged.
func broken(flaw string) (ids []string, judged map[string]int) {
	judged = map[string]int{}
	v := &server{flaw}
	for seed := range uint64(5) {
		w := &World{Kind: Messages, secret: testToken}
		for _, t := range plan(Messages, seed) {
			l := &Life{Thing: t, Want: t.Expect(), Order: t.order("{n}s", "X-Wait", "X-Timeout"), path: t.on("to").name}
			if l.on("key").n > 0 {
				l.Resumed = 400 * time.Millisecond
			}
			v.serve(l)
			w.Lives = append(w.Lives, l)
		}
		breaks(w, &ids, judged)
	}
	slices.Sort(ids)
	return ids, judged
}

// breaks adds the rules that a world breaks, and how many things each has judged.
func breaks(w *World, ids *[]string, judged map[string]int) {
	for _, r := range w.Rules {
		found, n := w.Judge(r)
		judged[r.Says] += n
		if id := r.Requirement[4:] + " " + string(r.Basis); len(found) > 0 && !slices.Contains(*ids, id) {
			*ids = append(*ids, id)
		}
	}
}

// obeys checks that a server without a flaw breaks no rule, and that each rule has judged something.
func obeys(t *testing.T, rules []*Rule, broken func(flaw string) ([]string, map[string]int)) {
	t.Helper()
	ids, judged := broken("")
	expect.Equal(t, "broken rules", ids, nil)
	for _, r := range rules {
		if judged[r.Says] == 0 {
			t.Errorf("nothing was judged by: %s", r.Says)
		}
	}
}

func TestAServerThatObeysTheModelPassesEveryRule(t *testing.T) {
	t.Parallel()
	obeys(t, Messages.Rules, broken)
}

func TestEachDeviationBreaksItsRules(t *testing.T) {
	t.Parallel()
	for flaw, want := range map[string][]string{
		"the query is ignored":                 {"GRP-002 stated", "PUB-009 stated", "PUB-010 stated", "RTY-002 stated"},
		"arrays of defaults are ignored":       {"GRP-002 stated", "PUB-008 stated", "PUB-010 stated", "RTY-002 stated"},
		"a retry forwards nothing":             {"PUB-006 implied", "PUB-006 stated"},
		"all headers are forwarded":            {"PUB-007 stated"},
		"defaults are lost":                    {"GRP-002 stated"},
		"a delay with retries is ignored":      {"PUB-010 stated"},
		"a key that is not resumed lets go":    {"FLC-003 implied"},
		"a paused key holds nothing":           {"FLC-003 implied"},
		"the third endpoint is forgotten":      {"FLC-001 stated", "PUB-002 stated"},
		"a delayed message is not tried again": {"RTY-001 stated"},
		"one retry too many":                   {"RTY-002 stated"},
		"the body of a retry is cut":           {"PUB-011 implied"},
		"a retry has another method":           {"PUB-011 implied"},
		"a body is that of another message":    {"PUB-001 stated", "PUB-011 implied"},
		"a retry has another content type":     {"PUB-011 implied"},
		"a callback is called ten times":       {"RTY-003 implied"},
		"the query is decoded":                 {"PUB-001 stated"},
		"the credential is forwarded":          {"AUT-006 implied"},
		"a success is repeated":                {"RTY-003 implied"},
		"no callback after retries":            {"PUB-014 stated"},
	} {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			ids, _ := broken(flaw)
			expect.Equal(t, "broken rules", ids, want)
		})
	}
}

// The floor of pairs of choices: one world has half of all that are possible.
func TestWorldsCoverPairs(t *testing.T) {
	t.Parallel()
	possible := map[pair]bool{}
	add := func(seen map[pair]bool, seed uint64) {
		for _, th := range plan(Messages, seed) {
			for _, p := range th.pairs(nil) {
				if p[1] >= 0 { // of choices
					seen[p] = true
				}
			}
		}
	}
	for seed := range uint64(60) {
		add(possible, 1000+seed)
	}
	seen := map[pair]bool{}
	for _, floor := range []struct {
		worlds, percent int
	}{{1, 54}, {3, 80}} {
		clear(seen)
		for seed := range floor.worlds {
			add(seen, uint64(seed)+1)
		}
		got := 100 * len(seen) / len(possible)
		t.Logf("%d worlds have %d of %d pairs: %d %%", floor.worlds, len(seen), len(possible), got)
		if got < floor.percent {
			t.Errorf("%d worlds have %d %% of all pairs: must be at least %d", floor.worlds, got, floor.percent)
		}
	}
}

func TestThingsAreSentences(t *testing.T) {
	t.Parallel()
	say := func(pick map[string]int) string { return (&Thing{Kind: Messages, Pick: pick}).Says() }
	expect.Equal(t, "sentence", say(nil), "a message")
	expect.Equal(t, "sentence", say(map[string]int{"delay": 1, "retries": 1, "answers": 2}), "a message with a delay of 2 s and 2 retries whose destination answers 503 twice")
	expect.Equal(t, "sentence", say(map[string]int{"to": 4, "delay": 1, "key": 1, "token": 1}), "a message to a group of 3 with a delay of 2 s, a key that is never paused and the token in the query")
}

func TestAThingIsReproducible(t *testing.T) {
	t.Parallel()
	text := func() string {
		var out []string
		for _, th := range Messages.Generate(7, 20, everything) {
			out = append(out, th.Says())
		}
		return fmt.Sprint(out)
	}
	expect.Equal(t, "plan of a seed", text(), text())
}
