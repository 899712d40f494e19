package conformance

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/spec"
)

// probeLimit is how long an answer of the preflight may take.
const probeLimit = 10 * time.Second

// probes are harmless documented reads, one for each area that can be looked at
// before anything is judged. Sorted by area.
var probes = []struct {
	area, op string
}{
	{"dlq", "listWorkflowDLQ"},
	{"log", "listWorkflowMessageLogs"},
	{"stats", "getUsageStatistics"},
	{"vector", "getVectorInfo"},
}

// preflight finds out, before anything is judged, whether there is something to
// judge: the receiver can be reached, something answers at the target, and it
// lets us in. What does not exist there is named by area, with the reason; that
// is no fault unless the target claims it.
func (st *suite) preflight(ctx context.Context) (absent map[string]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	err = st.receiver.Reach(ctx, st.http)
	for n := 0; err != nil && st.receiver.Tunneled() && n < 8; n++ { // a tunnel may name its URL before it works
		c := clock{}
		if c.wait(ctx, time.Second) == nil {
			err = st.receiver.Reach(ctx, st.http)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("receiver %s cannot be reached: %w; is receiver.public_url right, and does a firewall stand before it?", st.receiver.Public, err)
	}
	s, err := st.begin(ctx, &picked{})
	if s != nil {
		defer s.limit()
	}
	if err != nil {
		return nil, err
	}
	absent = map[string]string{}
	answered, refused := 0, ""
	for _, probe := range probes {
		op := st.doc.Operation(probe.op)
		if op == nil {
			continue
		}
		a, err := s.probe(ctx, op)
		if err != nil {
			return nil, err
		}
		if a != nil {
			st.measureOffset(a)
		}
		switch {
		case a == nil:
			continue
		case a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed || a.status == http.StatusNotImplemented:
			absent[probe.area] = fmt.Sprintf("%s %s answered %d: the target does not have it", op.Method, op.Path, a.status)
		case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
			refused = fmt.Sprintf("%s %s answered %d: are the credentials right?", op.Method, op.Path, a.status)
		case a.ok():
			answered++
		}
	}
	if answered == 0 && refused != "" {
		return nil, fmt.Errorf("the target lets nobody in: %s", refused)
	}
	if len(st.cfg.Target.Profiles) > 0 || len(st.cfg.Profiles) > 0 {
		absent = map[string]string{} // what is claimed is judged
	}
	return absent, st.canary(s)
}

// measureOffset learns from the Date of an answer how far the target's clock is
// away; that clocks agree, the document does not say. Date counts whole seconds.
func (st *suite) measureOffset(a *answer) {
	date, err := http.ParseTime(a.header.Get("Date"))
	if err != nil || st.offset != 0 {
		return
	}
	if off := date.Sub(now().Truncate(time.Second)); off.Abs() > min(2*time.Second, st.cfg.Target.Timing.ClockSkewMax) {
		st.offset = off
		st.observe("clock.offset", off.String())
	}
}

// probe asks for one harmless operation. No answer, a web page or a redirect say
// that the address is wrong.
func (s *scenario) probe(ctx context.Context, op *spec.Operation) (*answer, error) {
	host := s.host(op)
	if host == "" {
		return nil, nil //nolint:nilnil // the target has no such host
	}
	s.ctx = ctx
	q := ask{op: op.ID, vars: map[string]string{"id": s.user}}
	if op.ID == "getUsageStatistics" {
		if s.user == "" {
			return nil, nil //nolint:nilnil // nobody to ask about
		}
		q.path = s.statsPath()
	}
	a, err := s.do(q)
	if err != nil {
		if why := spec.WrongSchemeOf(ctx, host, err); why != "" {
			return nil, errors.New(why)
		}
		return nil, fmt.Errorf("%s does not answer: %w", host, err)
	}
	if why := spec.WrongScheme(host, string(a.body)); a.status == http.StatusBadRequest && why != "" {
		return nil, errors.New(why)
	}
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	where := fmt.Sprintf("%s %s%s", op.Method, host, op.Path)
	switch {
	case a.status >= 300 && a.status < 400:
		return nil, fmt.Errorf("%s redirects to %s: is that the address of the target?", where, a.header.Get("Location"))
	case a.ok() && (kind == "text/html" || strings.HasPrefix(strings.TrimSpace(string(a.body)), "<")):
		return nil, fmt.Errorf("%s answers with a web page: this is another service", where)
	case a.ok() && a.json == nil:
		return nil, fmt.Errorf("%s answers %d without JSON: this is another service", where, a.status)
	case a.ok() && !shaped(op, a):
		return nil, fmt.Errorf("%s answers %s: this is another service", where, clip(string(a.body)))
	case a.status >= 500 && a.status != http.StatusNotImplemented:
		return nil, fmt.Errorf("%s answers %d: the target is not well", where, a.status)
	}
	return a, nil
}

// shaped reports whether an answer has at least one of the fields that the
// operation's answer is made of; anything else comes from another service.
func shaped(op *spec.Operation, a *answer) bool {
	object, ok := a.json.(map[string]any)
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
	return !ok || len(object) > 0 // an array, or other names: for the scenarios to judge
}

// canary publishes to the receiver and waits: when nothing comes, no scenario
// with a destination could say anything.
func (st *suite) canary(s *scenario) error {
	if st.cfg.SkipCanary {
		return nil
	}
	e := s.endpoint("canary")
	defer e.End()
	op := st.doc.Operation("publishMessage")
	s.ctx = context.WithoutCancel(s.ctx)
	a, err := s.do(ask{op: op.ID, vars: map[string]string{"destination": e.URL}, method: s.publishMethod(), header: st.brandProbe(), body: []byte("canary")})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if !a.ok() {
		st.findBrand(nil)
		return nil // the scenarios will say what is wrong with it
	}
	if err := s.settled(e, 1); err != nil {
		return fmt.Errorf("the target accepted a message to %s, but nothing arrived there within %s: a firewall stands between, the target refuses to call local addresses, or receiver.public_url names a host that it cannot reach",
			e.URL, s.clock.scaled(st.cfg.Target.Timing.DeliveryBudget))
	}
	st.findBrand(e.Look())
	return nil
}
