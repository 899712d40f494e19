package mockserver

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/wire"
	"github.com/understudy-mock/understudy/spec/header"
)

// maxHops is the longest chain of messages of which each is created by the
// delivery of the one before. A longer one is a loop.
const maxHops = 16

// admitDelivery lets deliveries to this server in: to the sinks and to the
// interface, never to the control API or the page, and not without end.
func (s *Server) admitDelivery(c *call.Call) error {
	if c.Op.Area == "control_url" && c.Op.Tag != "sink" {
		const advice = "a delivery must not call the control API; deliver to a sink, such as /_understudy/sink/status/200, or call the control API "
		if s.delivery.Made(c.Request) {
			return response.Forbidden(advice + "directly")
		}
		if name := s.deliveryHeader(c.Header); name != "" {
			return response.Forbidden("header " + name + ": " + advice + "without this header")
		}
		return nil
	}
	carried := c.Header.Get(wire.HopsHeader)
	if carried == "" || !s.delivery.Made(c.Request) {
		return nil
	}
	c.Hops, _ = strconv.Atoi(carried)
	if c.Hops > maxHops {
		id := c.Header.Get(header.MessageID)
		s.cfg.Log.Warn("loop cut: messages are delivered to this server and create others without end", "message", id, "path", response.Shorten(c.Request.URL.Path), "hops", c.Hops, "limit", maxHops)
		return response.Loop(fmt.Sprintf("loop: message %s is the end of a chain of %d messages, each created by the delivery of the one before to this server; the limit is %d", id, c.Hops, maxHops))
	}
	return nil
}

// deliveryHeader is a header by which deliveries in any dialect are known; ""
// when there is none. It also finds those that came through somebody else.
func (s *Server) deliveryHeader(h http.Header) string {
	for _, d := range s.tenants.Dialects() {
		for _, name := range wire.DeliveryHeaders {
			if _, ok := h[d.HeaderPrefix+name]; ok {
				return d.HeaderPrefix + name
			}
		}
	}
	if _, ok := h[wire.HopsHeader]; ok {
		return wire.HopsHeader
	}
	return ""
}
