package mockserver

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/origin"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

var _ = registerHandlers(map[string]handler{
	"controlClearFaults": (*Server).controlClearFaults,
	"controlFaults":      (*Server).controlFaults,
	"controlSetFaults":   (*Server).controlSetFaults,
})

// Fault is a rule that makes something go wrong: on our own API, or on the
// deliveries of an account. The first rule that fits and is due decides.
type Fault struct {
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

// faultPresets are answers that clients know, ready-made (wire.md, "Rate-limit responses").
var faultPresets = map[string]Fault{
	"rate-limit-burst": {Status: http.StatusTooManyRequests, Body: `{"error":"burst rate limit exceeded"}`, Headers: map[string]string{
		"Burst-RateLimit-Limit": "100", "Burst-RateLimit-Remaining": "0", "Burst-RateLimit-Reset": "1",
	}},
	"rate-limit-daily": {Status: http.StatusTooManyRequests, Body: `{"error":"daily rate limit exceeded"}`, Headers: map[string]string{
		"RateLimit-Limit": "1000", "RateLimit-Remaining": "0", "RateLimit-Reset": "3600",
	}},
}

// fault is a rule in force.
type fault struct {
	Fault
	match *stub.Compiled
	delay time.Duration
	left  int
}

// compile refuses a rule that cannot be, and says why.
func (f *Fault) compile(s *Server) (*fault, error) {
	refuse := func(key, accepted string) (*fault, error) {
		return nil, response.Invalid(fmt.Sprintf("fault: %s: must be %s", key, accepted))
	}
	out := &fault{Fault: *f, left: f.Times}
	if f.Preset != "" {
		p, ok := faultPresets[f.Preset]
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
	case f.Operation != "" && s.doc.Operation(f.Operation) == nil:
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

// faults are the rules of one account.
type faults struct {
	mu    sync.Mutex
	list  []*fault
	draw  *rand.Rand
	ahead chan struct{} // closed when a delivery overtakes the one that waits
}

// set replaces all rules; the same seed draws the same again.
func (f *faults) set(list []*fault, seed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = list
	if seed == 0 {
		seed = rand.Uint64()
	}
	f.draw = rand.New(rand.NewPCG(seed, 1))
}

// get lists the rules that are still due.
func (f *faults) get() []Fault {
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

// due is the rule for an operation or a URL, nil for none.
func (f *faults) due(on, operation, url string, h http.Header) *fault {
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

// faulty lets a rule answer in place of the operation.
func (s *Server) faulty(c *call) (response.Response, bool) {
	if c.op.Area == "control_url" || c.tenant == nil {
		return response.Response{}, false
	}
	rule := c.tenant.faults.due("api", c.op.ID, c.request.URL.Path, c.header)
	if rule == nil {
		return response.Response{}, false
	}
	if rule.delay > 0 {
		pauseFor(c.request.Context(), rule.delay)
	}
	if rule.Drop {
		return response.Response{Stream: breakOff}, true
	}
	if rule.Status == 0 {
		return response.Response{}, false // only late
	}
	h := http.Header{}
	for name, v := range rule.Headers {
		h.Set(name, v)
	}
	body := []byte(rule.Body)
	if rule.Body == "" {
		body, _ = json.Marshal(map[string]string{"error": fmt.Sprintf("fault: a rule answers %s with %d", c.op.ID, rule.Status)})
	}
	return response.Response{Status: rule.Status, Header: h, Body: body, Scripted: true}, true
}

// breakOff begins an answer and ends the connection in the middle of it.
func breakOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "4096")
	_, _ = w.Write([]byte(`{"messageId": "msg_`))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler) // net/http closes the connection
}

// attempt makes a delivery as the rules want it.
func (f *faults) attempt(ctx context.Context, url string, h http.Header, deliver func() engine.Outcome) engine.Outcome {
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
		pauseUntil(ctx, ahead, reorderLimit)
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

// Fault adds a rule to those of the default account.
func (s *Server) Fault(rule Fault) error {
	compiled, err := rule.compile(s)
	if err != nil {
		return err
	}
	f := &s.first().faults
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, compiled)
	return nil
}

func (s *Server) controlFaults(c *call) (response.Response, error) {
	return response.Response{Body: c.tenant.faults.get()}, nil
}

func (s *Server) controlSetFaults(c *call) (response.Response, error) {
	var rules []Fault
	if err := json.Unmarshal(c.body, &rules); err != nil {
		return response.Response{}, response.Invalid("body: " + err.Error())
	}
	for _, w := range s.chosen(c) {
		list, err := s.compileFaults(rules)
		if err != nil {
			return response.Response{}, err
		}
		w.faults.set(list, s.seed(w.ID))
	}
	return response.Response{Body: c.tenant.faults.get()}, nil
}

func (s *Server) compileFaults(rules []Fault) ([]*fault, error) {
	list := make([]*fault, len(rules))
	for i := range rules {
		compiled, err := rules[i].compile(s)
		if err != nil {
			return nil, err
		}
		list[i] = compiled
	}
	return list, nil
}

func (s *Server) controlClearFaults(c *call) (response.Response, error) {
	for _, w := range s.chosen(c) {
		w.faults.set(nil, s.seed(w.ID))
	}
	return emptyObject, nil
}

// outboundPolicies are the policies for deliveries that no stub answers.
var outboundPolicies = []string{"allow", "loopback-only", "stub-only"}

// mayLeave reports why a delivery must not go out, "" when it may.
func (s *Server) mayLeave(target string) string {
	switch s.cfg.Outbound {
	case "stub-only":
		return "no stub stands for it, and nothing else may go out (--outbound stub-only)"
	case "loopback-only":
		if u, err := http.NewRequest(http.MethodPost, target, http.NoBody); err != nil || !origin.LocalHost(u.URL.Host) && (u.URL.Scheme != "http" || !s.advertises(u.URL.Host)) {
			return "it is no address of this machine, and nothing else may go out (--outbound loopback-only)"
		}
	}
	return ""
}

func checkOutbound(policy string) error {
	if policy != "" && !slices.Contains(outboundPolicies, policy) {
		return fmt.Errorf("outbound %q: must be allow, loopback-only or stub-only", policy)
	}
	return nil
}
