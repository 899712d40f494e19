package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cucumber/godog"

	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
)

// scenario is everything that one scenario knows: its names, its endpoints, and
// what was sent and received. Steps are its methods. Nothing of it is shared.
type scenario struct {
	ctx    context.Context
	suite  *suite
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

	endpoints []*receiver.Endpoint
	named     map[string]*receiver.Endpoint
	asked     *answer      // the last request that a When step made
	unlooked  map[int]bool // exchanges that no step has judged
	latest    atomic.Int64 // the last exchange that a step made; some make several at once
	before    int          // the last exchange before the step that runs

	publish  publishing
	group    grouping
	flow     flowing
	runs     running
	stats    statistics
	vectors  vectorizing
	searched searching
	plugin   limiting
	extra    extending

	mu      sync.Mutex
	over    bool
	arrived chan struct{} // closed and replaced when a delivery comes
}

type scenarioKey struct{}

// of is the scenario that a step belongs to.
func of(ctx context.Context) *scenario {
	s, _ := ctx.Value(scenarioKey{}).(*scenario)
	return s
}

// step is a line of the step table: a pattern, and the method of *scenario that
// it runs, whose arguments are the groups of the pattern.
type step struct {
	keyword string // Given, When or Then: And and But take that of the line before
	pattern string
	do      any
}

// stepTable is every step there is, compiled once.
var stepTable = sync.OnceValue(func() []compiledStep {
	var all []compiledStep
	for _, area := range stepAreas() {
		for _, st := range area.steps {
			all = append(all, compiledStep{st, regexp.MustCompile("^" + st.pattern + "$")})
		}
	}
	return all
})

type compiledStep struct {
	step
	expression *regexp.Regexp
}

// register gives the table to godog. Steps stand at the level of the suite and
// find their scenario in the context, so that they are compiled once.
func register(sc *godog.ScenarioContext) {
	for _, st := range stepTable() {
		f := bound(st.do)
		switch st.keyword {
		case "Given":
			sc.Given(st.expression, f)
		case "When":
			sc.When(st.expression, f)
		default:
			sc.Then(st.expression, f)
		}
	}
}

// bound makes a function that godog calls out of a method of *scenario: the
// context takes the place of the receiver.
func bound(method any) any {
	m := reflect.ValueOf(method)
	t := m.Type()
	in := []reflect.Type{reflect.TypeFor[context.Context]()}
	for i := 1; i < t.NumIn(); i++ {
		in = append(in, t.In(i))
	}
	f := reflect.FuncOf(in, []reflect.Type{reflect.TypeFor[error]()}, false)
	return reflect.MakeFunc(f, func(args []reflect.Value) []reflect.Value {
		ctx, _ := reflect.TypeAssert[context.Context](args[0])
		args[0] = reflect.ValueOf(of(ctx))
		return m.Call(args)
	}).Interface()
}

// inconclusive ends a scenario without a verdict on the target.
type inconclusive struct {
	verdict report.Verdict // Inconclusive, NotApplicable or HarnessError
	reason  report.Reason
	detail  string
	failure *report.Failure // what was seen, if that is the evidence
	cause   error           // nil unless something else went wrong first
}

func (i *inconclusive) Error() string { return string(i.reason) + ": " + i.detail }

// Unwrap gives what went wrong first.
func (i *inconclusive) Unwrap() error { return i.cause }

// Is makes it godog's skip.
func (i *inconclusive) Is(target error) bool { return target == godog.ErrSkip }

// skip says why a scenario cannot judge the target.
func skip(reason report.Reason, format string, args ...any) error {
	return &inconclusive{verdict: report.Inconclusive, reason: reason, detail: fmt.Sprintf(format, args...)}
}

// harness says that the suite or a driver is at fault, not the target.
func harness(reason report.Reason, format string, args ...any) error {
	return &inconclusive{verdict: report.HarnessError, reason: reason, detail: fmt.Sprintf(format, args...)}
}

// begin prepares a scenario: credentials, addresses and a clock; where a clock is
// moved and a driver can make one, an account of its own to move it for.
func (st *suite) begin(ctx context.Context, p *picked) (*scenario, error) {
	ctx, cancel := within(ctx, st.cfg.timeout(), st.pace.waited, errors.New("the scenario took too long"))
	t := &st.cfg.Target
	s := &scenario{
		suite: st, key: fmt.Sprintf("%s%d", st.id, st.number.Add(1)), limit: cancel, auth: t.Target.Auth, urls: t.Target.URLs.Filled(),
		user: string(t.Fixtures.StatsUserID), before: -1, named: map[string]*receiver.Endpoint{}, unlooked: map[int]bool{}, arrived: make(chan struct{}),
	}
	s.latest.Store(-1)
	s.result = p.result
	s.result.Started = now()
	s.ctx = context.WithValue(ctx, scenarioKey{}, s)
	s.clock = clock{http: st.http, timing: t.Timing, arrived: s.arrivals, offset: st.offset, waited: st.pace.waited, idle: &st.idle}
	if driver, ok := t.Drivers["clock"]; ok && driver.Kind == "control" {
		var err error
		if s.clock.control, err = s.expand(driver.URL, nil, nil); err == nil {
			s.clock.header, err = s.expandHeader(driver.Headers, nil)
		}
		if err != nil {
			return s, harness(report.DriverFailed, "driver clock: %v", err)
		}
	}
	if _, ok := t.Drivers["account"]; ok && (s.clock.virtual() || slices.Contains(p.result.Tags, "@exclusive")) {
		s.alone = true
		if err := s.ownAccount("secret-" + s.key); err != nil {
			return s, err
		}
	}
	return s, nil
}

// ownAccount lets the account driver make an account for this scenario alone.
func (s *scenario) ownAccount(password string) error {
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
		if v, ok := text(made.json, "/"+f.name); ok {
			*f.into = target.Secret(v)
		} else if _, needed := text(made.json, "/token"); !needed {
			return harness(report.DriverFailed, "driver account: the answer has no text at /token: %s", s.masked(clip(string(made.body))))
		}
	}
	for _, name := range []string{"currentSigningKey", "nextSigningKey"} {
		if v, ok := text(made.json, "/"+name); ok {
			s.hidden = append(s.hidden, v)
		}
	}
	if id, ok := text(made.json, "/id"); ok {
		s.clock.account = id
	}
	if id, ok := text(made.json, "/userId"); ok {
		s.user = id
	}
	return nil
}

// finish gathers the evidence and lets the endpoints answer 200 from now on.
func (s *scenario) finish() {
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
	if s.plugin.stop != nil {
		s.plugin.stop()
	}
	slices.SortStableFunc(s.result.Deliveries, func(a, b report.Delivery) int { return int(a.At - b.At) })
	s.result.Duration = since(s.result.Started)
}

// unasserted says what no step has looked at: a scenario that passes by not
// looking proves nothing. It counts with a moved clock only, where nothing comes
// late.
func (s *scenario) unasserted() error {
	if !s.suite.cfg.SelfTest || !s.clock.virtual() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.result.Exchanges {
		x := &s.result.Exchanges[i]
		if s.unlooked[i] && (x.Status >= 300 || x.Status == 0) {
			return fmt.Errorf("unasserted exchange: %s %s answered %d, and no step looked at it", x.Method, x.URL, x.Status)
		}
		if len(x.Problems) > 0 {
			return fmt.Errorf("the answer of %s breaks the document: %s", x.Operation, x.Problems[0])
		}
	}
	for _, e := range s.endpoints {
		for _, got := range e.Deliveries() {
			if !got.Looked.Load() && !e.Aside {
				return fmt.Errorf("unasserted delivery to %s: %s %s", e.Name, got.Method, clip(string(got.Body)))
			}
		}
	}
	return nil
}

// keep adds an exchange and gives its index. Workflow endpoints of the suite send
// from the receiver's goroutines.
func (s *scenario) keep(x report.Exchange) int {
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
func (s *scenario) last() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.result.Exchanges) - 1
}

// judged is the exchange that a failure is about: the last that the step itself
// made, else the last request that the scenario is about.
func (s *scenario) judged() int {
	switch latest := int(s.latest.Load()); {
	case latest > s.before:
		return latest
	case s.asked != nil:
		return s.asked.exchange
	}
	return s.last()
}

// looked says that a step has judged an exchange.
func (s *scenario) looked(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unlooked, i)
}

// wake tells who waits that a delivery came.
func (s *scenario) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.arrived)
	s.arrived = make(chan struct{})
}

func (s *scenario) arrivals() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrived
}

// longer gives a nickname to another endpoint, whose URL begins with that of the
// one which had it.
func (s *scenario) longer(name string) {
	e := s.suite.receiver.Longer(s.named[name], name)
	e.Wake = s.wake
	s.named[name] = e
	s.endpoints = append(s.endpoints, e)
}

// endpoint is the destination with that nickname, made when first named.
func (s *scenario) endpoint(name string, script ...receiver.Reply) *receiver.Endpoint {
	if e := s.named[name]; e != nil {
		return e
	}
	e := s.suite.receiver.Endpoint(s.suite.id, s.key, name, script...)
	e.Wake = s.wake
	s.named[name] = e
	s.endpoints = append(s.endpoints, e)
	return e
}

// within waits for a check with the budget for deliveries, and eventually with
// that for what is read later.
func (s *scenario) within(check func() error) error {
	return s.clock.eventually(s.ctx, s.suite.cfg.Target.Timing.DeliveryBudget, check)
}

func (s *scenario) eventually(check func() error) error {
	return s.clock.eventually(s.ctx, s.suite.cfg.Target.Timing.SettleBudget, check)
}

func (s *scenario) afterRetries(check func() error) error {
	return s.clock.eventually(s.ctx, s.suite.cfg.Target.Timing.RetryBudget, check)
}

// afterRun waits for what is read of a run: its retries, and then the reading.
func (s *scenario) afterRun(check func() error) error {
	t := &s.suite.cfg.Target.Timing
	return s.clock.eventually(s.ctx, t.RetryBudget+t.SettleBudget, check)
}

// absent proves that something has not happened: a sentinel is published on a
// route that nothing holds, and what should not have come would have come before
// it (or soon after: the longer of one second and three times its way).
func (s *scenario) absent(check func() error) error {
	e := s.endpoint(fmt.Sprintf("sentinel %d", len(s.endpoints)))
	started := now()
	a, err := s.do(ask{op: "publishMessage", vars: map[string]string{"destination": e.URL}, method: s.publishMethod(), body: []byte("sentinel"), aside: true})
	if err != nil {
		return err
	}
	if err := a.accepted(); err != nil {
		return skip(report.PrerequisiteFailed, "the sentinel was refused with status %d", a.status)
	}
	if err := s.settled(e, 1); err != nil {
		return skip(report.PrerequisiteFailed, "the sentinel did not arrive")
	}
	if !s.clock.virtual() {
		if err := s.clock.pass(s.ctx, max(time.Second, 3*since(started))); err != nil {
			return err
		}
	}
	return check()
}

// settled waits for n deliveries without moving time.
func (s *scenario) settled(e *receiver.Endpoint, n int) error {
	check := func() error {
		if got := e.Look(); len(got) < n {
			return fmt.Errorf("%d of %d deliveries", len(got), n)
		}
		return nil
	}
	if s.clock.virtual() {
		if err := s.clock.pass(s.ctx, 0); err != nil {
			return err
		}
		return check()
	}
	return s.within(check)
}

// accepted is nil for a 2xx, and a failure otherwise.
func (a *answer) accepted() error {
	a.scenario.looked(a.exchange)
	if a.ok() {
		return nil
	}
	f := &report.Failure{Message: "the request was refused", Want: "a 2xx status", Got: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), Exchange: a.exchange}
	if a.missing() {
		return &missingOperation{f}
	}
	return f
}

// missingOperation is the failure of an operation that is not where the document
// has it. Waiting changes nothing about it.
type missingOperation struct{ *report.Failure }

// Unwrap gives the failure.
func (m *missingOperation) Unwrap() error { return m.Failure }

// missing reports whether an answer says that the operation is not there: its
// path names nothing that might come later.
func (a *answer) missing() bool {
	if a.op == nil || a.op.ID != "getUsageStatistics" && strings.Contains(a.op.Path, "{") {
		return false
	}
	return a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed || a.status == http.StatusNotImplemented
}

// refused is nil for anything but a 2xx.
func (a *answer) refused() error {
	a.scenario.looked(a.exchange)
	if !a.ok() {
		return nil
	}
	return &report.Failure{Message: "the request was accepted", Want: "a refusal: any status but 2xx", Got: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), Exchange: a.exchange}
}

// fails is a failure of this answer at a JSON pointer.
func (a *answer) fails(pointer, message, want, got string) error {
	a.scenario.looked(a.exchange)
	return &report.Failure{Message: message, Pointer: pointer, Want: want, Got: clip(got), Exchange: a.exchange}
}

// observe records what a target does at an open point.
func (s *scenario) observe(point, value string) {
	s.suite.observe(point, value)
}
