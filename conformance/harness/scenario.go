package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
)

// Scenario is the state of one scenario that does not depend on its area: its names, its
// endpoints, and what it sent and received. Scenarios share none of it.
type Scenario struct {
	Context context.Context
	Suite   *Suite
	Key     string // part of the names of what it creates: letters, digits and hyphens
	Result  report.Result
	Auth    target.Auth
	Hidden  []string // further secrets that reports must mask
	URLs    target.URLs
	Alone   bool   // no other scenario uses the account
	User    string // id of the messaging user

	Clock   Clock
	Limit   context.CancelFunc
	Cleanup []func() // run when the scenario ends

	Endpoints []*receiver.Endpoint
	Named     map[string]*receiver.Endpoint
	Asked     *Response                  // the last request that a When step made
	sent      []sent                     // the requests of Result.Exchanges
	unlooked  map[int]bool               // exchanges that no step has judged yet
	latest    atomic.Int64               // the last exchange that a step made; atomic, since some steps make several at once
	Judging   bool                       // the step that runs is a Then
	Before    int                        // the last exchange before the step that runs
	Breaks    map[string]*report.Failure // the first answer that breaks a requirement, by its id, whatever the scenario is about

	mu      sync.Mutex
	over    bool
	broken  error         // panics of endpoints
	arrived chan struct{} // closed and replaced when a delivery arrives
}

// OwnAccount creates an account for this scenario by the driver "account" and switches to
// its credentials. An answer without a token is a driver failure.
func (s *Scenario) OwnAccount(password string) error {
	made, err := s.Drive("account", map[string]string{"name": s.Key, "password": password})
	if err != nil {
		return err
	}
	fields := [...]struct {
		name string
		into *target.Secret
	}{
		{"token", &s.Auth.Bearer}, {"vectorToken", &s.Auth.VectorBearer}, {"kvToken", &s.Auth.KVBearer},

		{"managementUsername", &s.Auth.Basic.Username}, {"managementPassword", &s.Auth.Basic.Password},
	}
	for _, f := range fields {
		if v, ok := check.Text(made.JSON, "/"+f.name); ok {
			*f.into = target.Secret(v)
		} else if _, needed := check.Text(made.JSON, "/token"); !needed {
			return Fault(report.DriverFailed, "driver account: the answer has no text at /token: %s", s.Masked(Clip(string(made.Body))))
		}
	}
	for _, name := range []string{"currentSigningKey", "nextSigningKey"} {
		if v, ok := check.Text(made.JSON, "/"+name); ok {
			s.Hidden = append(s.Hidden, v)
		}
	}
	if id, ok := check.Text(made.JSON, "/id"); ok {
		s.Clock.Account = id
	}
	if id, ok := check.Text(made.JSON, "/userId"); ok {
		s.User = id
	}
	return nil
}

// Finish collects the evidence, runs Cleanup, and makes the endpoints answer 200 from now on.
func (s *Scenario) Finish() {
	defer s.Limit()
	s.mu.Lock()
	for i := range s.Result.Exchanges { // at the end, when all secrets are known, also those that a driver returned late
		x := &s.Result.Exchanges[i]
		x.URL, x.Body, x.Answer = s.Masked(x.URL), s.maskedBody(s.sent[i].body), s.maskedBody(s.sent[i].text)
		x.Curl, x.Notes = s.curl(&s.sent[i])
	}
	s.over = true
	s.mu.Unlock()
	for _, e := range s.Endpoints {
		for _, got := range e.Deliveries() {
			s.Result.Deliveries = append(s.Result.Deliveries, report.Delivery{
				Endpoint: e.Name, Method: got.Method, Path: s.Masked(got.Path), Header: s.MaskedHeader(got.Wire),
				Body: s.maskedBody(got.Body), Answered: int(got.Status.Load()), At: report.Span(got.At.Sub(s.Result.Started)),
			})
		}
		e.End()
	}
	for _, end := range s.Cleanup {
		end()
	}
	slices.SortStableFunc(s.Result.Deliveries, func(a, b report.Delivery) int { return int(a.At - b.At) })
	s.Result.Duration = report.Span(Since(s.Result.Started))
}

// keep adds an exchange and returns its index, -1 after the end of the scenario. It locks,
// because workflow endpoints of the suite send requests from goroutines of the receiver.
func (s *Scenario) keep(x report.Exchange, asked sent, breaches ...check.Breach) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over { // a late call of a workflow endpoint is not evidence
		return -1
	}
	s.Result.Exchanges, s.sent = append(s.Result.Exchanges, x), append(s.sent, asked)
	i := len(s.Result.Exchanges) - 1
	s.unlooked[i] = true
	for _, b := range breaches {
		if s.Breaks[b.Requirement] == nil {
			s.Breaks[b.Requirement] = &report.Failure{Message: b.Message, Pointer: b.Pointer, Want: b.Want, Got: Clip(b.Got), Exchange: i}
		}
	}
	return i
}

// Last returns the index of the last exchange, -1 before the first.
func (s *Scenario) Last() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.Result.Exchanges) - 1
}

// judged returns the index of the exchange that a failure is about: the last one that the
// current step made, otherwise the request in Asked, otherwise the last exchange.
func (s *Scenario) judged() int {
	latest := int(s.latest.Load())
	if latest <= s.Before && s.Asked != nil {
		return s.Asked.Exchange
	}
	return latest
}

// ExchangeOf returns the index of the exchange whose answer has a value: an object, a list of
// objects, or a list that was read page by page. For other values it is the exchange that the
// step judges.
func (s *Scenario) ExchangeOf(value any) int {
	exchange, _ := s.place(value)
	return exchange
}

// place returns the exchange of a value (see ExchangeOf), and for an object its JSON pointer.
func (s *Scenario) place(value any) (exchange int, pointer string) {
	switch v := value.(type) {
	case *Listing:
		if n := len(v.Responses); n > 0 {
			return v.Responses[n-1].Exchange, ""
		}
	case []any:
		if len(v) > 0 {
			return s.place(v[0])
		}
	case map[string]any:
		s.mu.Lock()
		defer s.mu.Unlock()
		at := reflect.ValueOf(v).Pointer()
		for i, q := range slices.Backward(s.sent) {
			if pointer, ok := pointerTo(q.answer, at); ok {
				return i, pointer
			}
		}
	}
	return s.judged(), ""
}

// Leak says where a secret is in a delivery or an answer of the target; "" is nowhere.
func (s *Scenario) Leak(secret string) string {
	if len(secret) < 4 {
		return ""
	}
	for _, e := range s.Endpoints {
		for _, got := range e.Deliveries() {
			if strings.Contains(got.Path, secret) || bytes.Contains(got.Body, []byte(secret)) || Carrying(got, secret) != "" {
				return "a delivery to " + e.Name
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.sent {
		if text, err := json.Marshal(s.sent[i].answer); err == nil && bytes.Contains(text, []byte(secret)) && s.Result.Exchanges[i].Operation != "" {
			return "the answer of " + s.Result.Exchanges[i].Operation
		}
	}
	return ""
}

// pointerTo returns the JSON pointer to the object at an address, within a decoded value.
func pointerTo(value any, at uintptr) (pointer string, ok bool) {
	switch v := value.(type) {
	case map[string]any:
		if reflect.ValueOf(v).Pointer() == at {
			return "", true
		}
		for name, member := range v {
			if rest, ok := pointerTo(member, at); ok {
				return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name) + rest, true
			}
		}
	case []any:
		for i, item := range v {
			if rest, ok := pointerTo(item, at); ok {
				return "/" + strconv.Itoa(i) + rest, true
			}
		}
	}
	return "", false
}

// Looked marks an exchange as judged by a step.
func (s *Scenario) Looked(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unlooked, i)
}
