package world

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/spec/header"
)

// spot is an endpoint with the messages that are sent to it.
type spot struct {
	*receiver.Endpoint
	world *World
	lives []*Life
	index int // among the endpoints of its messages
	mu    sync.Mutex
	tries map[*Life]int
}

// of returns the message of a delivery: the only one, or the one with its mark or its body.
func (p *spot) of(got *receiver.Received) *Life {
	if len(p.lives) == 1 {
		return p.lives[0]
	}
	mark := got.Header.Get(markHeader)
	for _, is := range []func(*Life) bool{
		func(l *Life) bool { return l.Key == mark },
		func(l *Life) bool { return bytes.Equal(l.Order.Body, got.Body) },
	} {
		if i := slices.IndexFunc(p.lives, is); i >= 0 {
			return p.lives[i]
		}
	}
	return nil
}

// respond answers by the script of the message.
func (p *spot) respond(got *receiver.Received) receiver.Reply {
	p.world.stamp(got)
	l := p.of(got)
	if l == nil {
		return receiver.Reply{}
	}
	p.mu.Lock()
	n := p.tries[l]
	p.tries[l]++
	p.mu.Unlock()
	script := l.script(p.index)
	if lag := l.on("answers").n; lag > 0 && n == 0 && (p.index == 0 || script[0] != http.StatusOK) {
		_ = p.world.s.Clock.Wait(p.world.s.Context, time.Duration(lag)*time.Millisecond) // the answer is the same
	}
	status := script[min(n, len(script)-1)]
	return receiver.Reply{Status: status, Reset: status == 0, Body: "answer"}
}

// runMessages publishes all messages at once, resumes what is held, and waits for what is due.
func runMessages(w *World) error {
	w.prepare()
	if err := w.each(w.build); err != nil {
		return err
	}
	order := slices.Clone(w.Lives) // those that share a place one after the other
	slices.SortStableFunc(order, func(a, b *Life) int { return strings.Compare(a.to, b.to) })
	for _, l := range order {
		l.Begun = w.now()
	}
	answered := meanwhile(func() { // when a publish is answered is open, so that nothing waits for it for long
		together(len(order), len(order), func(i int) { order[i].Error = harness.Guard(func() error { return w.publish(order[i]) }) })
	})
	defer func() { <-answered }()
	var dues []time.Duration
	err := harness.InTurn(
		func() error { return w.await(longestAnswer, func() bool { return closed(answered) }) },
		func() error {
			if w.s.Clock.Virtual() {
				return w.pass(0)
			}
			return w.s.Clock.Wait(w.s.Context, beforeResume)
		},
		func() error { return w.each(w.resume) },
		func() error {
			for _, l := range w.Lives {
				dues = append(dues, l.Begun+l.Want.Delay)
			}
			return w.reach(dues, w.complete)
		},
	)
	if err != nil {
		return err
	}
	for _, l := range w.Lives {
		w.Late = max(w.Late, l.late())
	}
	if err := w.quiet(); err != nil {
		return err
	}
	<-answered
	w.collect()
	return w.each(func(l *Life) error { // what is held may go now
		if l.on("key").n < 0 {
			return w.free(l)
		}
		return nil
	})
}

const (
	longestAnswer = 3 * time.Second        // a publish may be answered later
	beforeResume  = 400 * time.Millisecond // what a key holds would have come by then
)

// prepare creates the endpoints.
func (w *World) prepare() {
	common := map[string][]*spot{}
	for _, l := range slices.Clone(w.Lives) {
		w.place(l, common)
		if strings.HasSuffix(l.on("to").says, "in case") { // its neighbour has the other case
			twin := &Life{Thing: &Thing{Kind: w.Kind, Key: l.Key + "twin", Pick: map[string]int{"to": 3}}, guest: true}
			name := l.to
			w.place(twin, common)
			l.to, twin.to = name+"-ALPHA", name+"-alpha"
			w.Lives = append(w.Lives, twin)
		}
	}
	for _, l := range w.Lives {
		l.Want, l.Order = l.Expect(), l.order(w.s.Bound("delay", "format"), w.s.Bound("headers", "retry_delay"), w.s.Bound("headers", "timeout"))
		l.callbacks = map[string]*receiver.Endpoint{}
		if l.Pick["callback"] == 0 {
			continue
		}
		for kind, binding := range map[string]string{"success": "callback", "failure": "failure_callback"} {
			if name := w.s.Bound("headers", binding); name != "" {
				e := w.s.Endpoint(l.Key + " " + kind + " callback")
				e.Aside, l.callbacks[kind] = true, e
				l.Order.Header.Set(name, e.URL)
			}
		}
	}
}

// place gives a message its endpoints.
func (w *World) place(l *Life, common map[string][]*spot) {
	to := l.on("to")
	name := l.Key
	if l.shared() {
		name = w.tag + "common"
		l.at = common[to.says]
	}
	if l.path = to.name; len(l.at) == 0 {
		for i := range to.n {
			p := &spot{Endpoint: w.s.Endpoint(fmt.Sprintf("%s endpoint %d %s", name, i+1, to.says)), world: w, index: i, tries: map[*Life]int{}}
			p.Aside, p.Respond = true, p.respond
			w.places, l.at = append(w.places, p), append(l.at, p)
		}
		if l.shared() {
			common[to.says] = l.at
		}
	}
	for _, p := range l.at {
		p.lives = append(p.lives, l)
	}
	if l.to = l.at[0].URL; l.grouped() {
		l.to = w.s.Name(name)
	}
}

// build creates the group of a message, and pauses its key.
func (w *World) build(l *Life) error {
	if l.grouped() && l.at[0].lives[0] == l {
		var members []map[string]string
		for _, p := range l.at {
			members = append(members, map[string]string{"url": p.URL})
		}
		list, _ := json.Marshal(members) // texts always encode
		if _, err := w.s.Drive("group", map[string]string{"name": l.to, "endpoints": string(list)}); err != nil {
			return err
		}
		if len(l.Order.Group) > 0 {
			named := map[string]any{}
			for name, v := range l.Order.Group {
				named[w.s.Suite.Branded(name)] = v
			}
			body, _ := json.Marshal(map[string]any{"headers": named}) // texts always encode
			if _, err := w.s.Demand(harness.Request{Operation: "updateURLGroup", Vars: map[string]string{"urlGroupName": l.to}, Body: body}); err != nil {
				return w.s.Assume(err, "REQ-GRP-001")
			}
		}
	}
	c := l.on("key")
	if c.says == "" {
		return nil
	}
	l.key = w.s.Name("key" + cmp.Or(c.name, l.Key))
	for name, v := range map[string]string{w.s.Bound("headers", "flow_key"): l.key, w.s.Bound("headers", "flow_value"): w.s.FlowValue(harness.FlowValues[1])} {
		if c.at == inQuery {
			l.Order.Query[header.Query(name)] = v
		} else {
			l.Order.Header.Set(name, v)
		}
	}
	if !l.Want.Held {
		return nil
	}
	_, err := w.s.Drive("pause", map[string]string{"key": l.key})
	return err
}

func (w *World) publish(l *Life) error {
	q := url.Values{}
	for name, v := range l.Order.Query {
		q.Set(name, v)
	}
	auth := ""
	if l.on("token").at == inQuery {
		auth = "query"
	}
	path, raw, found := strings.Cut(l.to+l.path, "?")
	if found {
		raw = "?" + raw
	}
	_, err := w.s.Demand(harness.Request{
		Operation: "publishMessage", Vars: map[string]string{"destination": path}, Raw: raw, Query: q, Header: l.Order.Header, Body: l.Order.Body, Method: w.s.PublishMethod(), Auth: auth,
	})
	return err
}

// resume resumes the key of a message, as often as it says, at once.
func (w *World) resume(l *Life) error {
	l.Resumed = w.now()
	for _, p := range l.at {
		for _, got := range p.Look() {
			if p.of(got) == l {
				l.early++
			}
		}
	}
	n := max(0, l.on("key").n)
	together(n, n, func(int) { _ = w.free(l) }) // a refusal shows as a message that does not come
	return nil
}

func (w *World) free(l *Life) error {
	_, err := w.s.Demand(harness.Request{Operation: "resumeFlowControlKey", Vars: map[string]string{"flowControlKey": l.key}})
	return err
}

// collect assigns all deliveries so far.
func (w *World) collect() {
	for _, l := range w.Lives {
		l.Got, l.Strange, l.Callbacks = make([][]Attempt, len(l.at)), nil, map[string][]*receiver.Received{}
		for kind, e := range l.callbacks {
			l.Callbacks[kind] = e.Look()
		}
	}
	for _, p := range w.places {
		for _, got := range w.stamped(p.Look()) {
			if l := p.of(got.Received); l != nil {
				l.Got[p.index] = append(l.Got[p.index], got)
			} else {
				p.lives[0].Strange = append(p.lives[0].Strange, got)
			}
		}
	}
}

// complete reports whether everything that is due has come.
func (w *World) complete() bool {
	w.collect()
	return !slices.ContainsFunc(w.Lives, func(l *Life) bool {
		for i, n := range l.Want.Attempts {
			if len(l.Got[i]) < n {
				return true
			}
		}
		return l.Want.Success && l.callbacks["success"] != nil && len(l.Callbacks["success"]) == 0 ||
			l.Want.Failure && l.callbacks["failure"] != nil && len(l.Callbacks["failure"]) == 0
	})
}

// due is when the first attempt may come.
func (l *Life) due() time.Duration { return max(l.Begun+l.Want.Delay, l.Resumed) }

// late is how long after that moment the first attempt came.
func (l *Life) late() (d time.Duration) {
	for _, list := range l.Got {
		if len(list) > 0 {
			d = max(d, list[0].At-l.due())
		}
	}
	return d
}

// typical is the median of all lateness.
func (w *World) typical() time.Duration {
	var all []time.Duration
	for _, l := range w.Lives {
		all = append(all, l.late())
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// succeeded reports whether the attempt n has got a success.
func succeeded(list []Attempt, n int) bool {
	return n >= 0 && n < len(list) && list[n].Status.Load() == http.StatusOK
}
