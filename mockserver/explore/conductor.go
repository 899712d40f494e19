package explore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

// stuckAfter is how long a step or a delivery may wait for another delivery without a call, in
// real time, before that delivery starts although the first has not ended.
const stuckAfter = 2 * time.Second

// Point is a place where the service had a choice, and what it did.
type Point struct {
	Name    string `json:"name"`
	Base    string `json:"-"`              // the name without the number of the attempt
	Kind    string `json:"kind,omitempty"` // "" for an attempt; call, or outside
	Fault   Fault  `json:"fault,omitempty"`
	Outcome string `json:"outcome"`
	Queue   bool   `json:"-"` // of a queue, which keeps its order
	Retries int    `json:"-"` // of the message
	Key     string `json:"-"`
	Told    bool   `json:"-"` // a failure callback
}

// Conductor makes the deliveries of a service one at a time, in an order that does not depend
// on chance, and applies a plan. It is safe for concurrent use.
type Conductor struct {
	mu   sync.Mutex
	kick chan struct{} // run must look again
	kill func()        // kills the application and starts it again; nil: that is not possible

	called     map[string]bool // outside services, since the start
	background bool            // the application has called without a delivery or a step in progress
	progress
}

// progress is the state of a case. Conductor.mu guards it.
type progress struct {
	account    *engine.Account
	names      *names
	rank       map[string]int // place of a name in the first baseline; nil: this is it
	plan       Plan
	reached    map[string]bool  // points of the plan that were reached
	down       map[string]Fault // messages that cannot be delivered any more, and deliveries and steps with the outside service that they cannot reach
	seen       uint64           // number of the last event that was read
	cause      string           // of what is created now
	step       bool             // a step of the scenario is in progress
	arrived    []*turn          // attempts that wait for a name
	waiting    []*turn          // attempts that wait for their turn; the next is the last
	restarting bool             // the application is
	current    *turn
	since      time.Time // the last start or end of a delivery
	touched    time.Time // the last call of the application
	points     []Point
	effects    map[string]int  // number of each effect
	ofRuns     map[string]int  // number of each effect of each run: EFFECT in RUN
	ofFailures map[string]int  // number of each effect that a failure callback caused
	sequence   []string        // effects in their order
	keyed      map[string]bool // idempotency keys of effects: a second call with one counts no more
	stuck      []string        // what waited for another delivery
}

// turn is an attempt that waits for its start.
type turn struct {
	attempt engine.Attempt
	name    string
	point   string
	last    bool   // starts when no other waits
	at      int    // its place among the points
	note    string // its point and its faults, for the journal
	start   chan struct{}
	deliver func(note string) engine.Outcome
}

// NewConductor returns a conductor. Until a case begins, it delivers at once.
func NewConductor() *Conductor {
	return &Conductor{kick: make(chan struct{}, 1), called: map[string]bool{}}
}

// begin starts a case. The attempts of the case before have ended.
func (c *Conductor) begin(account *engine.Account, plan Plan, keys []string, rank map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress = progress{
		account: account, names: newNames(keys), rank: rank, plan: slices.Clone(plan), reached: map[string]bool{}, down: map[string]Fault{}, effects: map[string]int{}, ofRuns: map[string]int{}, ofFailures: map[string]int{}, keyed: map[string]bool{},
		cause: "background", since: now(),
	}
}

// Attempt makes an attempt when its turn comes. It is mockserver.Config's hook.
func (c *Conductor) Attempt(ctx context.Context, a engine.Attempt, deliver func(note string) engine.Outcome) engine.Outcome {
	c.mu.Lock()
	idle := c.account == nil
	c.mu.Unlock()
	if idle {
		return deliver("")
	}
	t := &turn{attempt: a, start: make(chan struct{}), deliver: deliver}
	if !c.wait(ctx, t) {
		return engine.Outcome{Err: "the case ended"}
	}
	fault := c.applies(t)
	if fault == Late && !c.postpone(ctx, t) {
		return engine.Outcome{Err: "the case ended"}
	}
	c.record(t, fault)
	out := c.with(ctx, fault, t)
	out.Note, out.Point = "", c.ended(t, out) // a callback would have the note, and so be another one
	c.end(t)
	return out
}

// with makes an attempt with a fault.
func (c *Conductor) with(ctx context.Context, fault Fault, t *turn) engine.Outcome {
	switch fault {
	case LostGateway:
		return engine.Outcome{Status: http.StatusServiceUnavailable, Body: []byte("explore: a gateway refused this request")}
	case LostRequest, Down, missed:
		return engine.Outcome{Err: "connection was refused (explore: " + string(fault) + ")"}
	case LostAnswer:
		t.deliver("explore: the service did not receive this answer")
		return engine.Outcome{Err: "connection was closed without an answer (explore: lost-answer)"}
	case Repeat, RepeatLate:
		first := t.deliver("explore: the service did not record this answer")
		if !first.OK() {
			return first // only what was answered is repeated
		}
		if fault == RepeatLate {
			c.ended(t, first)
			if t.point += againSuffix; !c.postpone(ctx, t) {
				return engine.Outcome{Err: "the case ended"}
			}
			c.record(t, "")
		}
		return t.deliver("explore: the same attempt again")
	}
	return t.deliver("")
}

// wait returns true when it is the turn of an attempt, and false when the attempt is cut off.
func (c *Conductor) wait(ctx context.Context, t *turn) bool {
	c.mu.Lock()
	c.arrived = append(c.arrived, t)
	c.mu.Unlock()
	c.wake()
	select {
	case <-t.start:
		return true
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arrived = slices.DeleteFunc(c.arrived, func(one *turn) bool { return one == t })
	c.waiting = slices.DeleteFunc(c.waiting, func(one *turn) bool { return one == t })
	if c.current == t {
		c.current = nil
	}
	return false
}

// postpone gives the turn back, and waits until no other attempt waits.
func (c *Conductor) postpone(ctx context.Context, t *turn) bool {
	t.last, t.start = true, make(chan struct{})
	c.end(t)
	return c.wait(ctx, t)
}

// applies returns the fault of the plan at an attempt, and notes that it was reached.
func (c *Conductor) applies(t *turn) Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lasting(t.name, t.point)
}

// planned returns the fault of the plan at a point.
func (c *Conductor) planned(point string) Fault {
	for i := range c.plan {
		if c.plan[i].fits(point) {
			c.plan[i].Point = point
			c.reached[point] = true
			return c.plan[i].Fault
		}
	}
	return ""
}

// lasting returns the fault of the plan at a point, or the outage of what it belongs to.
func (c *Conductor) lasting(of, point string) Fault {
	if f := c.down[of]; f != "" {
		return f
	}
	f := c.planned(point)
	if f == Down || f == missed || f == Outage {
		c.down[of] = f
	}
	return f
}

// end gives the turn back.
func (c *Conductor) end(t *turn) {
	c.mu.Lock()
	if c.current == t {
		c.current, c.since = nil, now()
	}
	c.mu.Unlock()
	c.wake()
}

// againSuffix ends the name of the second delivery of repeat-late.
const againSuffix = ".1"

// record records the start of an attempt: what it causes comes after it, even if it is done after the answer.
func (c *Conductor) record(t *turn, f Fault) {
	m := &t.attempt.Message
	c.mu.Lock()
	defer c.mu.Unlock()
	t.at = len(c.points)
	if t.note = t.point; f != "" {
		t.note += "; fault: " + string(f)
	}
	c.points = append(c.points, Point{
		Name: t.point, Base: t.name, Fault: f, Queue: m.Options.Queue != "", Retries: int(m.MaxRetries), Key: keyIn(t.name),
		Told: m.Role == engine.RoleFailureCallback,
	})
}

// ended records the outcome of an attempt, and returns its note for the journal.
func (c *Conductor) ended(t *turn, o engine.Outcome) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.points[t.at]
	p.Outcome = outcomeOf(o)
	for name := range o.Header { // a workflow client always asks for the callback, also without a function for it
		p.Told = p.Told && !strings.HasSuffix(name, "-Failure-Callback-Notfound")
	}
	return t.note
}

// outcomeOf is an outcome in a word.
func outcomeOf(o engine.Outcome) string {
	if o.Status == 0 {
		return "no answer"
	}
	return fmt.Sprint(o.Status)
}

// keyIn is the last key in a name.
func keyIn(name string) string {
	if i := strings.LastIndexByte(name, '{'); i >= 0 {
		key, _, _ := strings.Cut(name[i:], "}")
		return key
	}
	return ""
}

// wake makes run look again.
func (c *Conductor) wake() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// run starts attempts until ctx ends. It returns early, and why, if nothing happens for a time, or
// if the application never ends to publish.
func (c *Conductor) run(ctx context.Context, silent time.Duration) string {
	patience := newTicker(stuckAfter / 8)
	defer patience.Stop()
	for {
		_, changed := c.account.Overview()
		c.release()
		select {
		case <-c.kick:
		case <-changed:
		case <-patience.C:
			if why := c.without(silent); why != "" {
				return why
			}
		case <-ctx.Done():
			return ""
		}
	}
}

// maxChain is the largest number of messages each of which is published by the delivery of the one before.
const maxChain = 1000

// without returns why the case cannot end: nothing has happened for a time, or a chain of messages has no end.
func (c *Conductor) without(silent time.Duration) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case strings.Count(c.cause, " > ") > maxChain:
		return fmt.Sprintf("each delivery publishes the next one, %d times: %s", maxChain, handler(c.cause))
	case c.silence() > silent && !c.restarting:
		return fmt.Sprintf("nothing happened for %s (--case-timeout) since %s", silent, c.cause)
	}
	return ""
}

// release starts the next attempt, if nothing is in progress and all attempts are known that
// could be next.
func (c *Conductor) release() {
	_, inFlight := c.account.Glance()
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.arrived) + len(c.waiting)
	if n == 0 || c.restarting {
		return
	}
	if c.current != nil || c.step || inFlight != n {
		if c.silence() < stuckAfter {
			return
		}
		c.stuck = append(c.stuck, c.cause)
	}
	c.learn()
	for _, t := range c.arrived {
		if t.name == "" {
			t.name = c.names.messages[t.attempt.Message.ID]
			t.point = fmt.Sprintf("%s@%d", t.name, t.attempt.Number)
		}
		at, _ := slices.BinarySearchFunc(c.waiting, t, func(a, b *turn) int { return c.compare(b, a) })
		c.waiting = slices.Insert(c.waiting, at, t)
	}
	c.arrived = nil
	next := c.waiting[n-1]
	c.waiting = c.waiting[:n-1]
	c.current, c.cause, c.since = next, next.name, now()
	close(next.start)
}

// silence is how long nothing has happened.
func (c *Conductor) silence() time.Duration { return min(now().Sub(c.since), now().Sub(c.touched)) }

// compare orders turns: late ones last, then as in the first baseline, then by their creation.
func (c *Conductor) compare(a, b *turn) int {
	switch {
	case a.last != b.last && a.last:
		return 1
	case a.last != b.last:
		return -1
	}
	ra, knownA := c.rank[a.name]
	rb, knownB := c.rank[b.name]
	switch {
	case knownA && knownB:
		return ra - rb
	case knownA:
		return -1
	case knownB:
		return 1
	case c.rank != nil:
		return strings.Compare(a.name, b.name)
	}
	return c.names.order[a.name] - c.names.order[b.name]
}

// learn names the messages that were created since the last call.
func (c *Conductor) learn() {
	events, _ := c.account.Follow(c.seen, 0)
	for i := range events {
		e := &events[i]
		c.seen = e.Seq
		if e.Message != nil && c.names.messages[e.Message.ID] == "" {
			c.names.ofMessage(e, c.cause)
		}
	}
}

// beginStep begins a step of the scenario: what it publishes waits for its end.
func (c *Conductor) beginStep(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.learn()
	c.cause, c.step, c.since = name, true, now()
}

// endStep ends a step.
func (c *Conductor) endStep() {
	c.mu.Lock()
	c.learn()
	c.step, c.since = false, now()
	c.mu.Unlock()
	c.wake()
}

// refused are the statuses of the calls that a fault refuses; 0 breaks the connection.
var refused = map[Fault]int{
	RefuseCall: http.StatusServiceUnavailable, RefuseBusy: http.StatusTooManyRequests, RefuseFailed: http.StatusInternalServerError, RefuseReset: 0,
	OutsideDown: http.StatusServiceUnavailable, Outage: http.StatusServiceUnavailable,
}

// Serve handles a call of the application: it names it and applies the plan. next is the server.
func (c *Conductor) Serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	c.mu.Lock()
	c.touched = now()
	idle := c.account == nil
	target, played := strings.CutPrefix(r.URL.EscapedPath(), stub.OutsidePath)
	if service, _, _ := strings.Cut(target, "/"); played {
		c.called[service] = true
	} else {
		target = ""
	}
	c.mu.Unlock()
	if idle || !played && (r.Method == http.MethodGet || strings.HasPrefix(r.URL.Path, "/_understudy/")) {
		next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCall))
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		http.Error(w, "explore: body: "+err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	fault, again := c.call(r, target, body)
	if status, refuses := refused[fault]; status > 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error":"explore: this call is refused"}`)
		return
	} else if refuses {
		panic(http.ErrAbortHandler)
	}
	switch fault {
	case LostReceipt, OutsideLost:
		next.ServeHTTP(&unheard{header: http.Header{}}, r)
		panic(http.ErrAbortHandler)
	case Crash:
		next.ServeHTTP(&unheard{header: http.Header{}}, r)
		c.crash()
		panic(http.ErrAbortHandler)
	case Overlap:
		if again != nil {
			again("explore: the same attempt, while the first is in its handler")
		}
	}
	next.ServeHTTP(w, r)
}

// call names a call of the application to the service or outside, and returns its fault, and
// how to deliver once more what is in its handler.
func (c *Conductor) call(r *http.Request, target string, body []byte) (Fault, func(note string) engine.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.background = c.background || c.current == nil && !c.step
	p, effect, of := Point{Kind: call, Outcome: "called"}, "", ""
	if target == "" {
		p.Base = c.names.ofCall(c.cause, r.Method, r.URL.EscapedPath(), body)
	} else {
		service, path, _ := strings.Cut(target, "/")
		effect = c.names.ofEffect(service, r.Method, path, r.URL.Query(), body)
		p.Kind, p.Base, of = outside, c.names.number(c.cause+" > "+effect), c.cause+" > "+service
	}
	p.Name = p.Base + "@0"
	p.Fault, p.Key = c.lasting(of, p.Name), keyIn(p.Base)
	if _, refused := refused[p.Fault]; effect != "" && !refused {
		c.count(effect, target, r.Header.Get("Idempotency-Key"))
	}
	c.points = append(c.points, p)
	if c.current == nil {
		return p.Fault, nil
	}
	if p.Fault != "" {
		c.current.note += "; fault: " + string(p.Fault) + " at " + p.Name
	}
	return p.Fault, c.current.deliver
}

// count counts an effect, unless a call of the service with the same idempotency key has caused it.
func (c *Conductor) count(effect, target, key string) {
	if service, _, _ := strings.Cut(target, "/"); key != "" {
		key = service + " " + key
		if c.keyed[key] {
			return
		}
		c.keyed[key] = true
	}
	c.effects[effect]++
	c.sequence = append(c.sequence, effect)
	if strings.Contains(c.cause, " > "+string(engine.RoleFailureCallback)+" ") {
		c.ofFailures[effect]++
	}
	if run, _ := cutLast(c.cause); ofRun(c.cause) {
		c.ofRuns[effect+" in "+run]++
	}
}

// maxCall is the largest body of a call, in bytes.
const maxCall = 16 << 20

// unheard is an answer that nobody receives.
type unheard struct{ header http.Header }

func (u *unheard) Header() http.Header         { return u.header }
func (u *unheard) Write(b []byte) (int, error) { return len(b), nil }
func (u *unheard) WriteHeader(int)             {}

// trace returns the points so far and the names of what waited for another delivery.
func (c *Conductor) trace() ([]Point, []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	points := slices.Clone(c.points)
	for start := 0; start < len(points); start++ { // calls that a handler makes at the same time have no order
		end := start
		for end < len(points) && points[end].Kind != delivery {
			end++
		}
		slices.SortStableFunc(points[start:end], func(a, b Point) int { return strings.Compare(a.Name, b.Name) })
		start = end
	}
	return points, slices.Clone(c.stuck)
}

// unreached reports whether a point of the plan was not reached.
func (c *Conductor) unreached() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.plan, func(one Choice) bool { return !c.reached[one.Point] })
}

// idNames are the names of messages and runs by their ids.
func (c *Conductor) idNames() (messages, runs map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.learn()
	return maps.Clone(c.names.messages), maps.Clone(c.names.runs)
}

// allUp ends all faults: what is retried now can be delivered.
func (c *Conductor) allUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan, c.down = nil, map[string]Fault{}
}

// quietFor waits until the application has not called for a while. waited is false if that was
// so already.
func (c *Conductor) quietFor(ctx context.Context, quiet time.Duration) (waited bool) {
	for {
		c.mu.Lock()
		left := quiet - c.silence()
		c.mu.Unlock()
		if left <= 0 || ctx.Err() != nil {
			return waited
		}
		waited = true
		_ = clock.Pause(ctx, left)
	}
}

// OnCrash sets what kills the application and starts it again.
func (c *Conductor) OnCrash(kill func()) { c.kill = kill }

// crash kills the application and starts it again.
func (c *Conductor) crash() {
	if c.kill == nil {
		return
	}
	c.starting(true)
	defer c.starting(false)
	c.kill()
}

// starting holds the deliveries while the application starts.
func (c *Conductor) starting(now bool) {
	c.mu.Lock()
	c.restarting = now
	c.mu.Unlock()
	c.wake()
}

// recovers ends the outages of outside services for a step of the scenario, and reports whether there was one.
func (c *Conductor) recovers(step string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.down)
	maps.DeleteFunc(c.down, func(of string, f Fault) bool {
		return f == Outage && strings.HasPrefix(of, step+" > ") && strings.Count(of, " > ") == 1
	})
	return len(c.down) < before
}

// told reports whether a failure callback was answered 2xx.
func (c *Conductor) told() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.points, func(p Point) bool { return p.Told && !p.failed() })
}

// counted notes the effects, and those that one run had more than once.
func (c *Conductor) counted(o *Observation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.Effects, o.ofFailures, o.sequence = maps.Clone(c.effects), maps.Clone(c.ofFailures), slices.Clone(c.sequence)
	for effect, n := range c.ofRuns {
		if n > 1 {
			o.repeated = append(o.repeated, fmt.Sprintf("%s: %d times", effect, n))
		}
	}
	slices.Sort(o.repeated)
}

// inBackground reports whether the application has ever called without a delivery or a step in progress.
func (c *Conductor) inBackground() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.background
}

// Called are the outside services that the application has called since the start.
func (c *Conductor) Called() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.called)
}
