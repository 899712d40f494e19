package mockserver

import (
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = registerHandlers(map[string]handler{"controlOverview": (*Server).controlOverview})

// overviewEvery is how long two overviews of one stream are apart at least, and
// after how long without attempts their rate is told to be nothing.
const overviewEvery = time.Second

// overviewBody is an account at a glance.
type overviewBody struct {
	Account   string                      `json:"account"`
	Clock     clockBody                   `json:"clock"`
	Real      int64                       `json:"real"`              // Unix ms of the wall clock
	NextDue   *int64                      `json:"nextDue,omitempty"` // Unix ms
	Messages  map[engine.MessageState]int `json:"messages"`
	Runs      map[engine.RunState]int     `json:"runs"`
	Attempts  int                         `json:"attempts"`  // ever begun
	PerSecond float64                     `json:"perSecond"` // attempts, of late
	InFlight  int                         `json:"inFlight"`
	Parallel  int                         `json:"parallel"`
	DLQ       int                         `json:"dlq"`
	FlowKeys  int                         `json:"flowKeys"`
	Paused    int                         `json:"paused"`
	Groups    int                         `json:"groups"`
	Queues    int                         `json:"queues"`
	Schedules int                         `json:"schedules"`
	Waiters   int                         `json:"waiters"`
	Stubs     int                         `json:"stubs"`
	Faults    int                         `json:"faults"`
}

// meter measures attempts per second between the times that it is asked.
type meter struct {
	mu       sync.Mutex
	at       time.Time
	attempts int
	rate     float64
}

// read is the rate; a span shorter than half of overviewEvery tells nothing new.
func (m *meter) read(now time.Time, attempts int) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	span := now.Sub(m.at)
	if span < overviewEvery/2 {
		return m.rate
	}
	if !m.at.IsZero() && span < 10*overviewEvery {
		m.rate = float64(max(0, attempts-m.attempts)) / span.Seconds()
	} else {
		m.rate = 0
	}
	m.at, m.attempts = now, attempts
	return m.rate
}

func (s *Server) overview(w *tenant) (overviewBody, <-chan struct{}) {
	o, more := w.account.Overview()
	clock := s.clockBody(w)
	wall := s.wall.Now()
	return overviewBody{
		Account: w.ID, Clock: clockBody{clock.Mode, o.Now.UnixMilli()}, Real: wall.UnixMilli(), NextDue: response.Millis(o.NextDue),
		Messages: o.Messages, Runs: o.Runs, Attempts: o.Attempts, PerSecond: w.meter.read(wall, o.Attempts),
		InFlight: o.InFlight, Parallel: o.Parallel, DLQ: o.DLQ, FlowKeys: o.FlowKeys, Paused: o.Paused,
		Groups: o.Groups, Queues: o.Queues, Schedules: o.Schedules, Waiters: o.Waiters,
		Stubs: len(w.stubs.Get()), Faults: len(w.faults.Get()),
	}, more
}

// controlOverview tells how an account stands, once or whenever that changes: at
// once after a rest, and not more often than overviewEvery, so that looking on
// costs the same whatever the traffic.
func (s *Server) controlOverview(c *call) (response.Response, error) {
	if !c.flag("follow", false) {
		body, _ := s.overview(c.tenant)
		return response.Response{Body: body}, nil
	}
	return s.stream("overview", overviewEvery, func() ([]sent, <-chan struct{}) {
		body, more := s.overview(c.tenant)
		if body.PerSecond > 0 {
			more = givenSign // the rate falls although nothing happens
		}
		return []sent{{0, func() any { return body }}}, more
	}), nil
}

// givenSign is a sign that has been given.
var givenSign = func() <-chan struct{} {
	sign := make(chan struct{})
	close(sign)
	return sign
}()
