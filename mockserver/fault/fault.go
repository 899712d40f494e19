package fault

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
	"github.com/understudy-mock/understudy/mockserver/pause"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

// Rule is a rule that makes something go wrong: on our own API, or on the
// deliveries of an account. The first rule that fits and is due decides.
type Rule struct {
	On        string            `json:"on"`                  // api, or delivery
	Preset    string            `json:"preset,omitempty"`    // of an api: rate-limit-daily, rate-limit-burst
	Operation string            `json:"operation,omitempty"` // operationId, api only; "": any but those of the control API
	URL       string            `json:"url,omitempty"`       // delivery only, as in a stub; "": any
	Header    map[string]string `json:"header,omitempty"`    // of the request; all must be there with these values

	Status    int               `json:"status,omitempty"`  // api: answered instead
	Headers   map[string]string `json:"headers,omitempty"` // of that answer
	Body      string            `json:"body,omitempty"`
	Delay     string            `json:"delay,omitempty"`     // api: real time; delivery: on the account's clock
	Drop      bool              `json:"drop,omitempty"`      // api: the answer breaks off; delivery: the connection ends without one
	Duplicate bool              `json:"duplicate,omitempty"` // delivery: it is made twice
	Reorder   bool              `json:"reorder,omitempty"`   // delivery: the next one overtakes it

	Times       int     `json:"times,omitempty"`       // how often; 0: always
	Probability float64 `json:"probability,omitempty"` // 0 to 1, drawn from the seed; 0: always
}

// presetRules are answers that clients know, ready-made (wire.md, "Rate-limit responses").
var presetRules = map[string]Rule{
	"rate-limit-burst": {Status: http.StatusTooManyRequests, Body: `{"error":"burst rate limit exceeded"}`, Headers: map[string]string{
		"Burst-RateLimit-Limit": "100", "Burst-RateLimit-Remaining": "0", "Burst-RateLimit-Reset": "1",
	}},
	"rate-limit-daily": {Status: http.StatusTooManyRequests, Body: `{"error":"daily rate limit exceeded"}`, Headers: map[string]string{
		"RateLimit-Limit": "1000", "RateLimit-Remaining": "0", "RateLimit-Reset": "3600",
	}},
}

// Compiled is a rule in force.
type Compiled struct {
	Rule
	match *stub.Compiled
	delay time.Duration
	left  int
}

// Compile refuses a rule that cannot be, and says why. known says which
// operations there are.
func (f *Rule) Compile(known func(operation string) bool) (*Compiled, error) {
	refuse := func(key, accepted string) (*Compiled, error) {
		return nil, response.Invalid(fmt.Sprintf("fault: %s: must be %s", key, accepted))
	}
	out := &Compiled{Rule: *f, left: f.Times}
	if f.Preset != "" {
		p, ok := presetRules[f.Preset]
		if !ok || f.On != "api" {
			return refuse("preset "+strconv.Quote(f.Preset), "rate-limit-daily or rate-limit-burst, on api")
		}
		out.Status, out.Body, out.Headers = p.Status, p.Body, p.Headers
	}
	switch {
	case f.On != "api" && f.On != "delivery":
		return refuse("on "+strconv.Quote(f.On), "api or delivery")
	case f.On == "api" && (f.URL != "" || f.Duplicate || f.Reorder):
		return refuse("url, duplicate and reorder", "nothing: they are for deliveries")
	case f.On == "delivery" && (f.Operation != "" || f.Status != 0 || f.Body != "" || f.Headers != nil):
		return refuse("operation, status, headers and body", "nothing: they are for the api; a stub answers deliveries")
	case f.Operation != "" && !known(f.Operation):
		return refuse("operation "+strconv.Quote(f.Operation), "an operationId; `understudy spec` lists them")
	case out.Status != 0 && (out.Status < 200 || out.Status > 599):
		return refuse("status "+strconv.Itoa(out.Status), "200 to 599")
	case f.Probability < 0 || f.Probability > 1:
		return refuse("probability", "0 to 1")
	case f.Times < 0:
		return refuse("times", "a whole number from 0 up")
	case out.Status == 0 && f.Delay == "" && !f.Drop && !f.Duplicate && !f.Reorder:
		return refuse("the rule", "at least one of status, delay, drop, duplicate and reorder, or a preset")
	}
	var err error
	if f.Delay != "" {
		if out.delay, err = response.Duration(f.Delay); err != nil || out.delay < 0 {
			return refuse("delay "+strconv.Quote(f.Delay), "a duration such as 3s")
		}
	}
	url := f.URL
	if url == "" {
		url = "*"
	}
	out.match, err = (&stub.Stub{URL: url, Header: f.Header}).Compile()
	return out, err
}

// List are the rules of one account.
type List struct {
	mu    sync.Mutex
	list  []*Compiled
	draw  *rand.Rand
	ahead chan struct{} // closed when a delivery overtakes the one that waits
}

// Set replaces all rules; the same seed draws the same again.
func (f *List) Set(list []*Compiled, seed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = list
	if seed == 0 {
		seed = rand.Uint64()
	}
	f.draw = rand.New(rand.NewPCG(seed, 1))
}

// Get lists the rules that are still due.
func (f *List) Get() []Rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []Rule{}
	for _, one := range f.list {
		if one.Times == 0 || one.left > 0 {
			rule := one.Rule
			rule.Times = one.left
			out = append(out, rule)
		}
	}
	return out
}

// due is the rule for an operation or a URL, nil for none.
func (f *List) due(on, operation, url string, h http.Header) *Compiled {
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

// breakOff begins an answer and ends the connection in the middle of it.
func breakOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "4096")
	_, _ = w.Write([]byte(`{"messageId": "msg_`))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler) // net/http closes the connection
}

// Attempt makes a delivery as the rules want it.
func (f *List) Attempt(ctx context.Context, url string, h http.Header, deliver func() engine.Outcome) engine.Outcome {
	f.mu.Lock()
	if f.ahead != nil { // this one overtakes
		close(f.ahead)
		f.ahead = nil
	}
	f.mu.Unlock()
	rule := f.due("delivery", "", url, h)
	if rule == nil {
		return deliver()
	}
	if rule.Drop {
		return engine.Outcome{Err: "connection was closed without an answer (fault)", After: rule.delay, Took: rule.delay}
	}
	if rule.Reorder {
		ahead := make(chan struct{})
		f.mu.Lock()
		f.ahead = ahead
		f.mu.Unlock()
		pause.Until(ctx, ahead, reorderLimit)
	}
	out := deliver()
	if rule.Duplicate {
		out = deliver()
	}
	out.After += rule.delay
	return out
}

// reorderLimit is the real time that a delivery waits to be overtaken.
const reorderLimit = 200 * time.Millisecond

// CompileAll compiles rules, or says which of them cannot be.
func CompileAll(rules []Rule, known func(operation string) bool) ([]*Compiled, error) {
	list := make([]*Compiled, len(rules))
	for i := range rules {
		compiled, err := rules[i].Compile(known)
		if err != nil {
			return nil, err
		}
		list[i] = compiled
	}
	return list, nil
}

// Add puts a rule behind those that are there.
func (f *List) Add(one *Compiled) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, one)
}

// Respond lets a rule answer in place of an operation. A rule that only delays
// has let its time go by when this returns.
func (f *List) Respond(ctx context.Context, operation, path string, h http.Header) (out response.Response, scripted bool) {
	rule := f.due("api", operation, path, h)
	if rule == nil {
		return response.Response{}, false
	}
	if rule.delay > 0 {
		pause.For(ctx, rule.delay)
	}
	if rule.Drop {
		return response.Response{Stream: breakOff}, true
	}
	if rule.Status == 0 {
		return response.Response{}, false // only late
	}
	header := http.Header{}
	for name, v := range rule.Headers {
		header.Set(name, v)
	}
	body := []byte(rule.Body)
	if rule.Body == "" {
		body, _ = json.Marshal(map[string]string{"error": fmt.Sprintf("fault: a rule answers %s with %d", operation, rule.Status)})
	}
	return response.Response{Status: rule.Status, Header: header, Body: body, Scripted: true}, true
}
