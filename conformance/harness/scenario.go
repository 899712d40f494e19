package harness

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
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
	Setup     []int                      // exchanges that must be repeated before the one that failed
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

// Stranger creates another account and returns its credentials.
func (s *Scenario) Stranger() (target.Auth, error) {
	mine, hidden, user, account := s.Auth, s.Hidden, s.User, s.Clock.Account
	key := s.Key
	s.Key += "o"
	err := s.OwnAccount("another-password")
	other := s.Auth
	s.Auth, s.User, s.Clock.Account, s.Key = mine, user, account, key
	s.Hidden = slices.Concat(hidden, []string{string(other.Bearer), string(other.Basic.Password)})
	if err == nil && (other.Bearer == mine.Bearer || other.Basic == mine.Basic) {
		err = Inconclusive(report.FixtureUnsatisfied, "the driver \"account\" makes accounts with the same credentials")
	}
	return other, err
}

// Join continues in the account of another scenario, to read what it has left.
func (s *Scenario) Join(of *Scenario) {
	if s.Clock.Account == of.Clock.Account {
		return
	}
	s.Auth, s.Hidden, s.User, s.Clock.Account = of.Auth, append(s.Hidden, of.Hidden...), of.User, of.Clock.Account
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
	if f := s.Result.Failure; f != nil && f.Exchange >= 0 && f.Exchange < len(s.sent) {
		x := &s.Result.Exchanges[f.Exchange]
		for _, i := range slices.Backward(s.Setup) {
			x.Curl = s.Result.Exchanges[i].Curl + " && " + x.Curl
			for _, note := range s.Result.Exchanges[i].Notes {
				if !slices.Contains(x.Notes, note) {
					x.Notes = append(x.Notes, note)
				}
			}
		}
	}
	s.mu.Unlock()
	for _, e := range s.Endpoints {
		for _, got := range e.Deliveries() {
			s.Result.Deliveries = append(s.Result.Deliveries, s.delivery(e, got))
		}
		e.End()
	}
	for _, end := range s.Cleanup {
		end()
	}
	slices.SortStableFunc(s.Result.Deliveries, func(a, b report.Delivery) int { return int(a.At - b.At) })
	s.Result.Duration = report.Span(Since(s.Result.Started))
}

// Formed is the failure of an answer that breaks a requirement of the scenario.
func (s *Scenario) Formed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.Result.Requirements {
		if f := s.Breaks[id]; f != nil {
			return f
		}
	}
	return nil
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

// Leak is the failure of a target that shows a secret in a delivery or an answer; nil if it shows
// it nowhere. The evidence is the answer, or the delivery and the request before it.
func (s *Scenario) Leak(secret string) error {
	if len(secret) < minSecret {
		return nil
	}
	f := &report.Failure{Message: "a credential of the publisher was shown", Want: "a credential in nothing that the target sends", Exchange: -1}
	for _, e := range s.Endpoints {
		for _, got := range e.Deliveries() {
			where, pointer := shows(got.Wire, got.Body, check.Decode(got.Body), secret)
			if strings.Contains(got.Path, secret) {
				where = "the path"
			}
			if where != "" {
				d := s.delivery(e, got)
				f.Pointer, f.Delivery, f.Exchange = pointer, &d, s.before(d.At)
				f.Got = fmt.Sprintf("%s of the delivery to %s: %s %s, %s after the start of the scenario", where, e.Name, d.Method, d.Path, d.At)
				return f
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.sent {
		q := &s.sent[i]
		where, pointer := shows(q.answered, q.text, q.answer, secret)
		if op := s.Result.Exchanges[i].Operation; op != "" && where != "" {
			f.Pointer, f.Exchange, f.Got = pointer, i, where+" of the answer of "+op
			return f
		}
	}
	return nil
}

// shows says where a message has a text, and the JSON pointer to it; "" is nowhere.
func shows(h http.Header, body []byte, value any, text string) (where, pointer string) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if slices.ContainsFunc(h[name], func(v string) bool { return strings.Contains(v, text) }) {
			return "the header " + name, ""
		}
	}
	if pointer, ok := Holding(value, text); ok {
		return "the body", pointer
	}
	if bytes.Contains(body, []byte(text)) {
		return "the body", ""
	}
	return "", ""
}

// Holding returns the JSON pointer to the first text or name within a value that contains text.
func Holding(value any, text string) (pointer string, ok bool) {
	switch v := value.(type) {
	case string:
		return "", strings.Contains(v, text)
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if rest, ok := Holding(v[name], text); ok || strings.Contains(name, text) {
				return "/" + escaped.Replace(name) + rest, true
			}
		}
	case []any:
		for i, item := range v {
			if rest, ok := Holding(item, text); ok {
				return "/" + strconv.Itoa(i) + rest, true
			}
		}
	}
	return "", false
}

// escaped replaces the special characters in a part of a JSON pointer.
var escaped = strings.NewReplacer("~", "~0", "/", "~1")

// before returns the last request before a time that may have changed something, -1 for none.
func (s *Scenario) before(at report.Span) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, x := range slices.Backward(s.Result.Exchanges) {
		if x.At <= at && x.Method != http.MethodGet {
			return i
		}
	}
	return -1
}

// delivery is what the receiver saw, without secrets.
func (s *Scenario) delivery(e *receiver.Endpoint, got *receiver.Received) report.Delivery {
	return report.Delivery{
		Endpoint: e.Name, Method: got.Method, Path: s.Masked(got.Path), Header: s.MaskedHeader(got.Wire),
		Body: s.maskedBody(got.Body), Answered: int(got.Status.Load()), At: report.Span(got.At.Sub(s.Result.Started)),
	}
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
				return "/" + escaped.Replace(name) + rest, true
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
