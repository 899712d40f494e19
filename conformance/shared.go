package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/spec"
)

// settings are what the scenarios of a run need to know of what was asked for.
type settings struct {
	target      target.Target
	concurrency int        // scenarios at once
	plugin      PluginHost // runs the rate-limit plugin; nil: the driver of the target file
	selfTest    bool       // anything that no step looked at fails
	version     string     // of the suite, as requests say it
}

// shared is what the scenarios of one run share.
type shared struct {
	settings

	id        string // cf-...
	doc       *spec.Document
	dialect   *spec.Dialect
	offset    time.Duration     // of the target's clock; set before the first scenario
	unbranded bool              // the target file names no prefix, and the probe found none; set before the first scenario
	absent    map[string]string // areas that the target lacks, and how that was seen; set before the first scenario
	receiver  *receiver.Receiver
	http      *http.Client
	number    atomic.Int64
	requests  atomic.Int64
	messages  atomic.Int64
	pace      pace
	idle      stopwatch // of all scenarios

	measuring sync.Mutex    // held while the wait before a retry is measured
	measured  bool          // it was
	wait      time.Duration // before a retry, in real time

	receiverOnce sync.Once
	receiverURLs *regexp.Regexp

	ctx  context.Context         // of the run: its cause says why it ended early
	stop context.CancelCauseFunc // ends the run

	mu           sync.Mutex
	observations map[string][]string
}

// newShared is what the scenarios of a run share before it has begun.
func newShared(ctx context.Context, with settings, doc *spec.Document) *shared {
	st := &shared{
		settings: with, id: "cf" + strings.ToLower(rand.Text()[:5]), doc: doc, dialect: with.target.Bindings.Dialect(),
		http: newHTTP(ctx, with.concurrency), observations: map[string][]string{},
	}
	st.ctx, st.stop = context.WithCancelCause(ctx)
	return st
}

// PluginHost starts a host application with the rate-limit plugin, configured by
// the JSON of the interface document; what the plugin lets through goes on to
// upstream. An error means that the configuration was refused.
type PluginHost func(ctx context.Context, config []byte, upstream string) (url string, stop func(), err error)

// spend counts a request and holds to the limits of the target file.
func (st *shared) spend(op *spec.Operation) error {
	limits := st.target.Limits
	for _, l := range []struct {
		name  string
		count *atomic.Int64
		most  int
		about bool
	}{
		{"max_requests", &st.requests, limits.MaxRequests, true},
		{"max_messages", &st.messages, limits.MaxMessages, op.Tag == "publish"},
	} {
		if l.about && l.count.Add(1) > int64(l.most) && l.most > 0 {
			cause := &exhausted{fmt.Sprintf("limits.%s: %d", l.name, l.most)}
			st.stop(cause)
			return cutOff(cause)
		}
	}
	return nil
}

// observe records what the target does at an open point.
func (st *shared) observe(point, value string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !slices.Contains(st.observations[point], value) {
		st.observations[point] = append(st.observations[point], value)
		slices.Sort(st.observations[point])
	}
}

// newHTTP is a client that follows no redirect: an answer is judged as it is.
func newHTTP(ctx context.Context, parallel int) *http.Client {
	_ = ctx
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: max(parallel, 8)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// begin prepares a scenario: credentials, addresses and a clock; where a clock is
// moved and a driver can make one, an account of its own to move it for.
func (st *shared) begin(ctx context.Context, known report.Result) (*toolkit, error) {
	ctx, cancel := within(ctx, st.timeout(), st.pace.waited, errors.New("the scenario took too long"))
	t := &st.target
	s := &toolkit{
		suite: st, key: fmt.Sprintf("%s%d", st.id, st.number.Add(1)), limit: cancel, auth: t.Target.Auth, urls: t.Target.URLs.Filled(),
		user: string(t.Fixtures.StatsUserID), before: -1, named: map[string]*receiver.Endpoint{}, unlooked: map[int]bool{}, arrived: make(chan struct{}),
	}
	s.latest.Store(-1)
	s.result = known
	s.result.Started = now()
	s.ctx = ctx
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
	if _, ok := t.Drivers["account"]; ok && (s.clock.virtual() || slices.Contains(known.Tags, "@exclusive")) {
		s.alone = true
		if err := s.ownAccount("secret-" + s.key); err != nil {
			return s, err
		}
	}
	return s, nil
}

// timeout is how long one scenario may take.
func (st *shared) timeout() time.Duration {
	t := st.target.Timing
	budget := time.Duration(float64(2*t.RetryBudget+t.StatsBudget+2*t.SettleBudget) * t.Scale)
	if limits := st.target.Limits; limits.RPS > 0 { // requests wait for their turn, however long
		return max(budget, limits.Wall)
	}
	return budget
}

// observed is what was observed so far.
func (st *shared) observed() map[string][]string {
	st.mu.Lock()
	defer st.mu.Unlock()
	return maps.Clone(st.observations)
}
