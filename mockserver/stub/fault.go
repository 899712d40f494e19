package stub

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// Fault injects failures into the API of the server or into the deliveries of an
// account. The first rule that matches and is due applies.
type Fault struct {
	On        string            `json:"on"`                  // api, or delivery
	Preset    string            `json:"preset,omitempty"`    // api only: rate-limit-daily or rate-limit-burst
	Operation string            `json:"operation,omitempty"` // operationId, api only; "": any except those of the control API
	URL       string            `json:"url,omitempty"`       // delivery only, as in a stub; "": any
	Header    map[string]string `json:"header,omitempty"`    // of the request; all must be present with these values

	Status    int               `json:"status,omitempty"`  // api: of the response that replaces the normal one
	Headers   map[string]string `json:"headers,omitempty"` // of that response
	Body      string            `json:"body,omitempty"`
	Delay     string            `json:"delay,omitempty"`     // api: real time; delivery: on the account's clock
	Drop      bool              `json:"drop,omitempty"`      // api: the response breaks off; delivery: the connection closes without one
	Executed  bool              `json:"executed,omitempty"`  // api: the call takes effect before its response is replaced
	Duplicate bool              `json:"duplicate,omitempty"` // delivery: it is made twice
	Reorder   bool              `json:"reorder,omitempty"`   // delivery: the next one overtakes it

	Times       int     `json:"times,omitempty"`       // how often; 0: always
	Probability float64 `json:"probability,omitempty"` // 0 to 1, drawn from the seed; 0: always
}

// presetRules are responses that clients handle specially (wire.md, "Rate-limit responses").
var presetRules = map[string]Fault{
	"rate-limit-burst": {Status: http.StatusTooManyRequests, Body: `{"error":"burst rate limit exceeded"}`, Headers: map[string]string{
		"Burst-RateLimit-Limit": "100", "Burst-RateLimit-Remaining": "0", "Burst-RateLimit-Reset": "1",
	}},
	"rate-limit-daily": {Status: http.StatusTooManyRequests, Body: `{"error":"daily rate limit exceeded"}`, Headers: map[string]string{
		"RateLimit-Limit": "1000", "RateLimit-Remaining": "0", "RateLimit-Reset": "3600",
	}},
}

// CompiledFault is a rule that Compile has checked and prepared.
type CompiledFault struct {
	Fault
	match *Compiled
	delay time.Duration
	left  int
}

// Compile checks and prepares a rule. The error for an invalid rule has a place such as
// /delay. known reports whether an operation exists.
func (f *Fault) Compile(known func(operation string) bool) (*CompiledFault, error) {
	refuse := func(key, value, want string) (*CompiledFault, error) { // key is a JSON pointer in the rule
		return nil, &refusal.Error{Place: key, Value: value, Want: want, Kind: refusal.Invalid}
	}
	out := &CompiledFault{Fault: *f, left: f.Times}
	if f.Preset != "" {
		p, ok := presetRules[f.Preset]
		if !ok || f.On != "api" {
			return refuse("/preset", f.Preset, "rate-limit-daily or rate-limit-burst, with on: api")
		}
		out.Status, out.Body, out.Headers = p.Status, p.Body, p.Headers
	}
	switch {
	case f.On != "api" && f.On != "delivery":
		return refuse("/on", f.On, "api or delivery")
	case f.On == "api" && (f.URL != "" || f.Duplicate || f.Reorder):
		return refuse("/on", f.On, "delivery with url, duplicate or reorder")
	case f.On == "delivery" && (f.Operation != "" || f.Status != 0 || f.Body != "" || f.Headers != nil || f.Executed):
		return refuse("/on", f.On, "api with operation, status, headers, body or executed; a stub answers deliveries")
	case f.Executed && out.Status == 0 && !f.Drop:
		return refuse("/executed", "true", "used with status, drop or preset, which replace the response")
	case f.Operation != "" && !known(f.Operation):
		return refuse("/operation", f.Operation, "an operationId; `understudy spec` lists them")
	case out.Status != 0 && (out.Status < 200 || out.Status > 599):
		return refuse("/status", strconv.Itoa(out.Status), "an integer from 200 to 599")
	case f.Probability < 0 || f.Probability > 1:
		return refuse("/probability", strconv.FormatFloat(f.Probability, 'g', -1, 64), "a number from 0 to 1")
	case f.Times < 0:
		return refuse("/times", strconv.Itoa(f.Times), "an integer of 0 or more")
	case out.Status == 0 && f.Delay == "" && !f.Drop && !f.Duplicate && !f.Reorder:
		return refuse("", "", "an object with at least one of status, delay, drop, duplicate, reorder, preset")
	}
	var err error
	if f.Delay != "" {
		if out.delay, err = response.Duration(f.Delay); err != nil || out.delay < 0 {
			return refuse("/delay", f.Delay, "a duration such as 3s")
		}
	}
	answer := Answer{Headers: f.Headers}
	if err := answer.CheckHeaders(""); err != nil {
		return nil, err
	}
	url := f.URL
	if url == "" {
		url = "*"
	}
	out.match, err = (&Stub{URL: url, Header: f.Header}).Compile()
	return out, err
}

// Faults holds the rules of one account. It is safe for concurrent use.
type Faults struct {
	mu     sync.Mutex
	list   []*CompiledFault
	draw   *rand.Rand
	ahead  chan struct{}   // closed when a delivery overtakes the waiting one; nil: none waits
	behind map[string]bool // attempts that let others go first, once each
}

// Set replaces all rules. The same seed repeats the same draws; 0 means a random
// seed.
func (f *Faults) Set(list []*CompiledFault, seed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = list
	if seed == 0 {
		seed = rand.Uint64()
	}
	f.draw = rand.New(rand.NewPCG(seed, 1))
}

// Get lists the rules that still apply, with the number of times left.
func (f *Faults) Get() []Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []Fault{}
	for _, one := range f.list {
		if one.Times == 0 || one.left > 0 {
			rule := one.Fault
			rule.Times = one.left
			out = append(out, rule)
		}
	}
	return out
}

// due returns the rule for an operation or a URL, and counts its use; nil for none.
func (f *Faults) due(on, operation, url string, h http.Header) *CompiledFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.list {
		if one.On != on || one.Operation != "" && one.Operation != operation || one.Times > 0 && one.left == 0 ||
			one.match.Match("", url, h) == nil || one.Probability > 0 && f.draw.Float64() >= one.Probability {
			continue
		}
		if one.Times > 0 {
			one.left--
		}
		return one
	}
	return nil
}

// breakOff begins a response and closes the connection in the middle of it.
func breakOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "4096")
	_, _ = w.Write([]byte(`{"messageId": "msg_`))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler) // net/http closes the connection
}

// Attempt makes a delivery, with the failure of the matching rule if there is one. first is
// the outcome of the first of two requests; nil: it was sent once. serial is the id of the
// attempt when the account makes one at a time, and "" otherwise: only then can it wait for
// the next one.
func (f *Faults) Attempt(ctx context.Context, serial, url string, h http.Header, deliver func() engine.Outcome) (first *engine.Outcome, out engine.Outcome) {
	f.mu.Lock()
	if f.ahead != nil { // this delivery overtakes the waiting one
		close(f.ahead)
		f.ahead = nil
	}
	passed := f.behind[serial]
	delete(f.behind, serial)
	f.mu.Unlock()
	if passed {
		return nil, deliver()
	}
	rule := f.due("delivery", "", url, h)
	if rule == nil {
		return nil, deliver()
	}
	if rule.Drop {
		return nil, engine.Outcome{Err: "connection was closed without an answer (fault)", After: rule.delay, Took: rule.delay}
	}
	if rule.Reorder && serial != "" {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.behind == nil {
			f.behind = map[string]bool{}
		}
		f.behind[serial] = true
		return nil, engine.Outcome{Behind: true}
	}
	if rule.Reorder {
		ahead := make(chan struct{})
		f.mu.Lock()
		f.ahead = ahead
		f.mu.Unlock()
		_ = clock.PauseUntil(ctx, ahead, reorderLimit)
	}
	if rule.Duplicate {
		first = new(deliver())
	}
	out = deliver()
	out.After += rule.delay
	return first, out
}

// reorderLimit is how long, in real time, a delivery waits to be overtaken.
const reorderLimit = 200 * time.Millisecond

// CompileFaults compiles rules. It returns the error of the first invalid one, with
// a place such as /0/delay.
func CompileFaults(rules []Fault, known func(operation string) bool) ([]*CompiledFault, error) {
	list := make([]*CompiledFault, len(rules))
	for i := range rules {
		compiled, err := rules[i].Compile(known)
		if err != nil {
			return nil, refusal.At(fmt.Sprint("/", i), err)
		}
		list[i] = compiled
	}
	return list, nil
}

// Add appends a rule.
func (f *Faults) Add(one *CompiledFault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, one)
}

// Respond returns the response of the rule that matches a call; false for none,
// and for a rule that only delays. It returns after the delay.
func (f *Faults) Respond(ctx context.Context, operation, path string, h http.Header) (out response.Response, scripted bool) {
	rule := f.due("api", operation, path, h)
	if rule == nil {
		return response.Response{}, false
	}
	if rule.delay > 0 {
		_ = clock.Pause(ctx, rule.delay)
	}
	if rule.Drop {
		return response.Response{Stream: breakOff, Executed: rule.Executed}, true
	}
	if rule.Status == 0 {
		return response.Response{}, false // the rule only delays
	}
	header := http.Header{}
	for name, v := range rule.Headers {
		header.Set(name, v)
	}
	body := []byte(rule.Body)
	if rule.Body == "" {
		body, _ = json.Marshal(map[string]string{"error": fmt.Sprintf("fault: a rule answers %s with %d", operation, rule.Status)})
	}
	return response.Response{Status: rule.Status, Header: header, Body: body, Scripted: true, Executed: rule.Executed}, true
}
