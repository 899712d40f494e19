package gate

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/wire"
	"github.com/understudy-mock/understudy/spec/header"
)

// maxHops is the longest chain of messages where each is created by the
// delivery of the one before. A longer one is a loop.
const maxHops = 16

// Delivery admits deliveries of this server to itself: to the sinks and to
// the interface, never to the control API or the page, and at most maxHops in a
// chain.
func (g *Gate) Delivery(c *request.Call) error {
	if c.Op.Area == "control_url" && c.Op.Tag != "sink" {
		const advice = "a delivery must not call the control API; deliver to a sink, such as /_understudy/sink/status/200, or call the control API "
		if g.Made(c.Request) {
			return response.Forbidden(advice + "directly")
		}
		if name := g.deliveryHeader(c.Header); name != "" {
			return response.Forbidden("header " + name + ": " + advice + "without this header")
		}
		return nil
	}
	carried := c.Header.Get(wire.HopsHeader)
	if carried == "" || !g.Made(c.Request) {
		return nil
	}
	hops, family, _ := strings.Cut(carried, " ")
	c.Hops, _ = strconv.Atoi(hops)
	c.Family = family
	if c.Hops > maxHops {
		id := c.Header.Get(header.MessageID)
		g.Log.Warn("loop cut: messages are delivered to this server and create others without end", "message", id, "path", response.Shorten(c.Request.URL.Path), "hops", c.Hops, "limit", maxHops)
		return response.Loop(fmt.Sprintf("loop: message %s is the end of a chain of %d messages, each created by the delivery of the one before to this server; the limit is %d", id, c.Hops, maxHops))
	}
	return nil
}

// deliveryHeader is the name of a header that only deliveries have, in any
// dialect; "" when there is none. It also finds deliveries that another server
// or a proxy passed on.
func (g *Gate) deliveryHeader(h http.Header) string {
	for _, d := range g.Accounts.Dialects() {
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
