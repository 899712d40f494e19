package conformance

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
)

// toolkit is what one scenario knows whatever it is about: its names, its
// endpoints, and what was sent and received. Nothing of it is shared.
type toolkit struct {
	ctx    context.Context
	suite  *shared
	key    string // names what it creates: letters, digits and hyphens
	result report.Result
	auth   target.Auth
	hidden []string // further secrets
	urls   target.URLs
	alone  bool   // nobody else uses the account
	user   string // id of the messaging user

	patience time.Duration // how long one answer may take; 0: as long as the scenario
	clock    clock
	limit    context.CancelFunc
	cleanup  []func() // run when the scenario ends

	endpoints []*receiver.Endpoint
	named     map[string]*receiver.Endpoint
	asked     *answer      // the last request that a When step made
	unlooked  map[int]bool // exchanges that no step has judged
	latest    atomic.Int64 // the last exchange that a step made; some make several at once
	before    int          // the last exchange before the step that runs

	mu      sync.Mutex
	over    bool
	arrived chan struct{} // closed and replaced when a delivery comes
}

// ownAccount lets the account driver make an account for this scenario alone.
func (s *toolkit) ownAccount(password string) error {
	made, err := s.drive("account", map[string]string{"name": s.key, "password": password})
	if err != nil {
		return err
	}
	fields := [...]struct {
		name string
		into *target.Secret
	}{
		{"token", &s.auth.Bearer}, {"vectorToken", &s.auth.VectorBearer}, {"kvToken", &s.auth.KVBearer},

		{"managementUsername", &s.auth.Basic.Username}, {"managementPassword", &s.auth.Basic.Password},
	}
	for _, f := range fields {
		if v, ok := check.Text(made.json, "/"+f.name); ok {
			*f.into = target.Secret(v)
		} else if _, needed := check.Text(made.json, "/token"); !needed {
			return harness(report.DriverFailed, "driver account: the answer has no text at /token: %s", s.masked(clip(string(made.body))))
		}
	}
	for _, name := range []string{"currentSigningKey", "nextSigningKey"} {
		if v, ok := check.Text(made.json, "/"+name); ok {
			s.hidden = append(s.hidden, v)
		}
	}
	if id, ok := check.Text(made.json, "/id"); ok {
		s.clock.account = id
	}
	if id, ok := check.Text(made.json, "/userId"); ok {
		s.user = id
	}
	return nil
}

// finish gathers the evidence and lets the endpoints answer 200 from now on.
func (s *toolkit) finish() {
	defer s.limit()
	s.mu.Lock()
	for i := range s.result.Exchanges { // a driver may have told secrets that were not known then
		x := &s.result.Exchanges[i]
		x.URL, x.Body, x.Answer, x.Curl = s.masked(x.URL), s.masked(x.Body), s.masked(x.Answer), s.masked(x.Curl)
	}
	s.over = true
	s.mu.Unlock()
	for _, e := range s.endpoints {
		for _, got := range e.Deliveries() {
			s.result.Deliveries = append(s.result.Deliveries, report.Delivery{
				Endpoint: e.Name, Method: got.Method, Path: s.masked(got.Path), Header: s.maskedHeader(got.Wire),
				Body: s.maskedBody(got.Body), Answered: int(got.Status.Load()), At: got.At.Sub(s.result.Started),
			})
		}
		e.End()
	}
	for _, end := range s.cleanup {
		end()
	}
	slices.SortStableFunc(s.result.Deliveries, func(a, b report.Delivery) int { return int(a.At - b.At) })
	s.result.Duration = since(s.result.Started)
}

// keep adds an exchange and gives its index. Workflow endpoints of the suite send
// from the receiver's goroutines.
func (s *toolkit) keep(x report.Exchange) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over { // a late call of a workflow endpoint is no part of the evidence
		return -1
	}
	s.result.Exchanges = append(s.result.Exchanges, x)
	i := len(s.result.Exchanges) - 1
	s.unlooked[i] = true
	return i
}

// last is the index of the last exchange, -1 before the first.
func (s *toolkit) last() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.result.Exchanges) - 1
}

// judged is the exchange that a failure is about: the last that the step itself
// made, else the last request that the scenario is about.
func (s *toolkit) judged() int {
	switch latest := int(s.latest.Load()); {
	case latest > s.before:
		return latest
	case s.asked != nil:
		return s.asked.exchange
	}
	return s.last()
}

// looked says that a step has judged an exchange.
func (s *toolkit) looked(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unlooked, i)
}
