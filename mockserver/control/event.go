package control

import (
	"encoding/json"
	"strconv"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/messaging"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/traffic"
	"github.com/understudy-mock/understudy/spec/mask"
)

// events streams every log event as it happens, or those after the one that a client received last.
func (s *Service) events(c *request.Call) (any, error) {
	position, _ := strconv.ParseUint(c.Request.Header.Get("Last-Event-ID"), 10, 64) // of any other text: 0
	return s.stream(c, "log", 0, func() (list []sent, more <-chan struct{}) {
		events, more := c.Account.Follow(position, traffic.MaxBatch)
		for i := range events {
			position = events[i].Seq
			list = append(list, sent{position, func() any { return s.streamed(c.Tenant, &events[i]) }})
		}
		return list, more
	}), nil
}

// Event is an event of an account in the format of its log, of messages or of runs,
// with masked credentials.
func (s *Service) Event(w *tenant.Tenant, e *engine.Event) any { return s.streamed(w, e) }

// streamed is Event for the handlers of this package.
func (s *Service) streamed(w *tenant.Tenant, e *engine.Event) any {
	body := s.eventOf(w, e)
	text, err := json.Marshal(body)
	if err != nil {
		return body // encoding the answer reports the error
	}
	return json.RawMessage(mask.JSON(text))
}

// eventOf is an event with the names of the dialect in which its message was
// published, as clients see it.
func (s *Service) eventOf(w *tenant.Tenant, e *engine.Event) any {
	if e.Message == nil { // events of a whole run have no headers to rename
		return messaging.WorkflowEvent(e)
	}
	d := s.Tenants.Dialect(w, e.Message.Options.Dialect)
	if e.Run != nil {
		return inDialect(d, messaging.WorkflowEvent(e))
	}
	return inDialect(d, messaging.LogEvent(e))
}
