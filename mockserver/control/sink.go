package control

import (
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
)

// Sinks count the attempts of each message at the flaky sink.
type Sinks struct {
	mu   sync.Mutex
	seen map[string]int
}

// maxSeen is the maximum number of counts; beyond it all counts start again.
const maxSeen = 100_000

// count adds one to the count of a message and returns it.
func (s *Sinks) count(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil || len(s.seen) > maxSeen {
		s.seen = map[string]int{}
	}
	s.seen[id]++
	return s.seen[id]
}

// sinkStatus answers with the status in the path.
func (s *Service) sinkStatus(c *request.Call) (any, error) {
	status, _ := strconv.Atoi(c.Vars["code"]) // checked by the document
	return sinkResponse(status, map[string]int{"status": status}), nil
}

// sinkResponse is the answer of a sink; 204 and 304 must not have a body.
func sinkResponse(status int, body any) response.Response {
	if status == http.StatusNoContent || status == http.StatusNotModified {
		body = nil
	}
	return response.Response{Status: status, Body: body}
}

// sinkSlow answers after a duration in real time.
func (s *Service) sinkSlow(c *request.Call) (any, error) {
	d, err := time.ParseDuration(c.Vars["duration"])
	if err != nil || d < 0 || d > time.Hour {
		return nil, response.Refused([]spec.Problem{response.Problem("path", "duration", strconv.Quote(response.Shorten(c.Vars["duration"])), "", "a duration such as 3s, at most 1h")})
	}
	woken := make(chan struct{})
	clock := clock.NewReal()
	clock.Alarm(clock.Now().Add(d), func() { close(woken) })
	defer clock.Alarm(time.Time{}, nil)
	select {
	case <-woken:
	case <-c.Request.Context().Done():
	case <-s.Done:
	}
	return sinkResponse(http.StatusOK, map[string]string{"slow": c.Vars["duration"]}), nil
}

// sinkFlaky fails the given number of attempts of a message, then succeeds.
func (s *Service) sinkFlaky(c *request.Call) (any, error) {
	failures, _ := strconv.Atoi(c.Vars["failures"]) // checked by the document
	attempt := s.Sinks.count(s.deliveredID(c))
	if attempt <= failures {
		return sinkResponse(http.StatusServiceUnavailable, map[string]int{"failing": attempt, "of": failures}), nil
	}
	return sinkResponse(http.StatusOK, map[string]int{"attempt": attempt}), nil
}

// deliveredID is the message id in the headers of a delivery, in any dialect.
func (s *Service) deliveredID(c *request.Call) string {
	for _, d := range s.Tenants.Dialects() {
		if id := c.Sent.Get(d.HeaderPrefix + "Message-Id"); id != "" {
			return id
		}
	}
	return ""
}

// Save returns a copy of the counts by message id.
func (s *Sinks) Save() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.seen)
}

// Load replaces the counts by those of Save.
func (s *Sinks) Load(seen map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = maps.Clone(seen)
}
