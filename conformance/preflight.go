package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec"
)

// probes are documented operations that only read, one for each area that the
// preflight can check. Sorted by area.
var probes = []struct {
	area, op string
}{
	{"dlq", "listWorkflowDLQ"},
	{"log", "listWorkflowMessageLogs"},
	{"stats", "getUsageStatistics"},
	{"vector", "getVectorInfo"},
}

// preflight checks, before any scenario runs, that the receiver is reachable, the
// target responds, and it accepts the credentials. It returns the areas that the
// target lacks, with the reason: these are not failures unless the target claims them.
func (st *suite) preflight(ctx context.Context) (absent map[string]string, err error) {
	if err := st.reached(ctx); err != nil {
		return nil, fmt.Errorf("receiver %s cannot be reached: %w; check receiver.public_url, and whether a firewall blocks it", st.Receiver.Public, err)
	}
	if err := st.Unconnected(ctx, st.Target.Target.URLs.Base); err != nil {
		return nil, err
	}
	s, err := st.start(ctx, report.Result{})
	if s != nil {
		defer s.Limit()
	}
	if err != nil {
		return nil, err
	}
	absent = map[string]string{}
	refused := map[string]string{} // credential -> the response that refused it; "": it was accepted
	for _, probe := range probes {
		op := st.Document.Operation(probe.op)
		if op == nil {
			continue
		}
		q, a, err := st.probe(ctx, s.Scenario, op)
		if i := (*harness.NoVerdict)(nil); errors.As(err, &i) && i.Reason == report.CredentialMissing {
			continue // the scenarios that need it report this
		} else if err != nil {
			return nil, err
		}
		if a != nil {
			st.measureOffset(a)
		}
		if a == nil {
			continue
		}
		if a.Missing() {
			absent[probe.area] = fmt.Sprintf("%s %s answered %d: the target does not have it", op.Method, op.Path, a.Status)
		}
		if op.Security != nil {
			st.tried(s.Scenario, refused, q, a)
		}
	}
	if err := tryStore(s.Scenario, refused); err != nil {
		return nil, err
	}
	if err := st.canary(s.Scenario, refused); err != nil {
		return nil, err
	}
	var no []string
	for _, key := range slices.Sorted(maps.Keys(refused)) {
		if refused[key] != "" {
			no = append(no, fmt.Sprintf("target.%s: %s", key, refused[key]))
		}
	}
	if len(no) > 0 {
		return nil, fmt.Errorf("the target refuses %s: are the credentials right?", strings.Join(no, "; "))
	}
	if len(st.Target.Profiles) > 0 || len(st.cfg.Profiles) > 0 {
		absent = map[string]string{} // claimed profiles are judged also where an area is missing
	}
	return absent, nil
}

// reachWithin limits the requests to the receiver of the suite, which say nothing of the target.
const reachWithin = 30 * time.Second

// reached checks that the receiver is reachable at the public URL that the target receives.
func (st *suite) reached(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	return st.Receiver.Reach(ctx, st.Client)
}

// tryStore tries the credential of the rate-limit plugin's store: with a wrong one,
// every scenario about limits would fail.
func tryStore(s *harness.Scenario, refused map[string]string) error {
	address, token := s.URLs.KV, string(s.Auth.KVBearer)
	if address == "" || token == "" {
		return nil
	}
	r, err := http.NewRequestWithContext(s.Context, http.MethodPost, address, http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	a, err := s.Send(r, []byte(`["PING"]`), nil)
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", address, plainDetail(err))
	}
	if a.OK() {
		return nil
	}
	r.Header.Set("Authorization", "Bearer "+wrongCredential)
	if wrong, err := s.Send(r, []byte(`["PING"]`), nil); err == nil && (wrong.Status == a.Status && a.Status < 500 || refusal(a.Status)) { // a store that is broken says nothing
		refused["auth.kv_bearer"] = fmt.Sprintf("POST %s answered %d, and %d with a wrong one", address, a.Status, wrong.Status)
	}
	return nil
}

// wrongCredential is a token and a password that no target has.
const wrongCredential = "understudy-wrong-credential"

// refusal reports whether a status says that a credential was refused. Targets may refuse with
// others: see answersAlike.
func refusal(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// plainDetail is the error without the reason code that a report adds.
func plainDetail(err error) error {
	if i, ok := errors.AsType[*harness.NoVerdict](err); ok {
		return errors.New(i.Detail)
	}
	return err
}

// tried records the result for a credential. One operation that accepts it is enough:
// the scenarios test the others.
func (st *suite) tried(s *harness.Scenario, refused map[string]string, q harness.Request, a *harness.Response) {
	op := a.Operation
	key := s.Credential(op.Security[0]).Key
	claimed := slices.Contains(st.Target.Profiles, harness.OperationHomes[op.ID].Profile)
	if key != "auth.bearer" && len(st.Target.Profiles) > 0 && !claimed {
		return // no scenario uses it
	}
	if before, seen := refused[key]; seen && before == "" {
		return
	}
	if a.OK() {
		refused[key] = ""
		return
	}
	others, alike := answersAlike(s, q, a)
	if refusal(a.Status) || alike && (claimed || !a.Missing()) { // what nobody claims may be missing
		refused[key] = fmt.Sprintf("%s %s answered %d%s", op.Method, op.Path, a.Status, others)
	}
}

// answersAlike repeats a request with a wrong credential and without one. It reports whether the
// target answers the right credential as it answers the wrong one.
func answersAlike(s *harness.Scenario, q harness.Request, a *harness.Response) (others string, alike bool) {
	q.Token = wrongCredential
	if a.Operation.Security[0] == "basic" {
		q.Token = string(s.Auth.Basic.Username) + ":" + wrongCredential
	}
	wrong, err := s.Do(q)
	if err != nil {
		return "", false
	}
	q.Auth = "none"
	without, err := s.Do(q)
	if err != nil {
		return "", false
	}
	return fmt.Sprintf(", %d with a wrong one, %d without", wrong.Status, without.Status), wrong.Status == a.Status
}

// measureOffset sets the offset of the target's clock from the Date of a response,
// because the document does not require that clocks agree. Date has a resolution of
// seconds, so smaller offsets are ignored.
func (st *suite) measureOffset(a *harness.Response) {
	date, err := http.ParseTime(a.Header.Get("Date"))
	if err != nil || st.Offset != 0 {
		return
	}
	if off := date.Sub(harness.Now().Truncate(time.Second)); off.Abs() > min(2*time.Second, st.Target.Timing.ClockSkewMax) {
		st.Offset = off
		st.Observe("clock.offset", off.String())
	}
}

// probe calls one operation that only reads. A nil response means that there is nothing to call.
func (st *suite) probe(ctx context.Context, s *harness.Scenario, op *spec.Operation) (harness.Request, *harness.Response, error) {
	q := harness.Request{Operation: op.ID, Vars: map[string]string{"id": s.User}}
	if op.ID == "getUsageStatistics" {
		if s.User == "" { // nobody to ask about
			return q, nil, nil
		}
		q.Path = s.StatsPath()
	}
	if s.Host(op) == "" {
		return q, nil, nil
	}
	s.Context = ctx
	a, err := probeTarget(ctx, s, op, q)
	return q, a, err
}

// probeTarget sends a request that only reads. No response, a web page or a redirect mean that
// the address is wrong.
func probeTarget(ctx context.Context, s *harness.Scenario, op *spec.Operation, q harness.Request) (*harness.Response, error) {
	host := s.Host(op)
	a, err := s.Do(q)
	if err != nil {
		if i := (*harness.NoVerdict)(nil); errors.As(err, &i) && i.Reason == report.CredentialMissing {
			return nil, err
		}
		if why := spec.WrongSchemeOf(context.WithoutCancel(ctx), host, err); why != "" {
			return nil, errors.New(why)
		}
		return nil, fmt.Errorf("%s does not answer: %w", host, plainDetail(err))
	}
	if why := spec.WrongScheme(host, string(a.Body)); a.Status == http.StatusBadRequest && why != "" {
		return nil, errors.New(why)
	}
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	where := fmt.Sprintf("%s %s%s", op.Method, host, op.Path)
	switch {
	case a.Status >= 300 && a.Status < 400:
		return nil, fmt.Errorf("%s redirects to %s: is that the address of the target?", where, a.Header.Get("Location"))
	case a.OK() && (kind == "text/html" || strings.HasPrefix(strings.TrimSpace(string(a.Body)), "<")):
		return nil, fmt.Errorf("%s answers with a web page: this is another service", where)
	case a.OK() && a.JSON == nil:
		return nil, fmt.Errorf("%s answers %d without JSON: this is another service", where, a.Status)
	case a.OK() && !shaped(op, a):
		return nil, fmt.Errorf("%s answers %s: this is another service", where, harness.Clip(string(a.Body)))
	case a.Status >= 500 && a.Status != http.StatusNotImplemented:
		return nil, fmt.Errorf("%s answers %d: the target is not well", where, a.Status)
	}
	return a, nil
}

// shaped reports whether a response has at least one field of the operation's
// response; otherwise it comes from another service.
func shaped(op *spec.Operation, a *harness.Response) bool {
	object, ok := a.JSON.(map[string]any)
	fields := map[string][]string{
		"listWorkflowDLQ":         {"messages", "items", "cursor"},
		"listWorkflowMessageLogs": {"events", "logs", "cursor"},
		"getUsageStatistics":      {"days", "daily_requests"},
		"getVectorInfo":           {"result"},
	}[op.ID]
	for _, f := range fields {
		if _, has := object[f]; has {
			return true
		}
	}
	return !ok || len(object) > 0 // the scenarios judge arrays and other names
}

// canary publishes to the receiver and waits for the message. If none arrives, no
// scenario with a destination can be judged.
func (st *suite) canary(s *harness.Scenario, refused map[string]string) error {
	if st.cfg.SkipCanary {
		return nil
	}
	st.Unbranded = false
	for i, probe := range st.brandProbes() {
		found, err := st.canaryWith(s, refused, fmt.Sprintf("canary %d", i), probe)
		if err != nil || found {
			return err
		}
	}
	st.Unbranded = true
	return nil
}

// canaryWith sends one canary, and reports whether it shows the header prefix.
func (st *suite) canaryWith(s *harness.Scenario, refused map[string]string, name string, probe http.Header) (found bool, err error) {
	e := s.Endpoint(name)
	defer e.End()
	q := harness.Request{Operation: "publishMessage", Vars: map[string]string{"destination": e.URL}, Method: s.PublishMethod(), Header: probe, Body: []byte("canary")}
	a, err := s.Do(q)
	if i := (*harness.NoVerdict)(nil); errors.As(err, &i) && i.Reason == report.CredentialMissing {
		return false, nil // the scenarios report this
	} else if err != nil {
		return false, fmt.Errorf("publish: %w", plainDetail(err))
	}
	if st.tried(s, refused, q, a); !a.OK() {
		return st.findBrand(nil), nil // the scenarios report the error
	}
	if err := s.Settled(e, 1); err != nil {
		return false, fmt.Errorf("the target accepted a message to %s, but nothing arrived there within %s: a firewall blocks it, the target refuses to call local addresses, or receiver.public_url names a host that it cannot reach",
			e.URL, s.Clock.Scaled(st.Target.Timing.DeliveryBudget))
	}
	return st.findBrand(e.Look()), nil
}

// preparing are the drivers that run once before the first request, in this order:
// reset brings the target into a known state, index creates the vector index whose
// address the target file contains.
var preparing = []string{"reset", "index"}

// prepare calls these drivers.
func (st *suite) prepare(ctx context.Context) error {
	s, err := st.start(ctx, report.Result{})
	if err != nil {
		return err
	}
	defer s.Finish()
	for _, name := range preparing {
		if d := st.Target.Drivers[name]; d.Kind == "" || d.Kind == "none" {
			continue
		}
		if _, err := s.Drive(name, nil); err != nil {
			return err
		}
	}
	return nil
}
