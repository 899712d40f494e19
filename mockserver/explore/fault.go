package explore

import (
	"fmt"
	"strings"
)

// Fault is something that the service may lawfully do at a point.
type Fault string

// The faults.
const (
	LostAnswer  Fault = "lost-answer"
	Repeat      Fault = "repeat"
	LostRequest Fault = "lost-request"
	Late        Fault = "late"
	RepeatLate  Fault = "repeat-late"
	Down        Fault = "down"
	LostReceipt Fault = "lost-receipt"
	RefuseCall  Fault = "refuse-call"
	Overlap     Fault = "overlap"
	OutsideDown Fault = "outside-down"
	OutsideLost Fault = "outside-lost"
	Outage      Fault = "outage"
	Crash       Fault = "crash"

	LostGateway  Fault = "lost-request-503" // variants
	RefuseBusy   Fault = "refuse-call-429"
	RefuseFailed Fault = "refuse-call-500"
	RefuseReset  Fault = "refuse-call-reset"

	missed Fault = "missed" // not in plans: as Down, but the DLQ is not retried: shows what a failure callback changes
)

// The kinds of points.
const (
	delivery = "" // an attempt
	call     = "call"
	outside  = "outside"
)

// faultKind says at which points a fault is possible, and why the service may show it.
type faultKind struct {
	Fault Fault
	At    string // kind of its points
	Off   bool   // only if it is asked for: not the service but the world, or a variant
	Why   string // a sentence for the report
}

// isVariant reports whether a fault is another form of one of the catalogue, which most applications cannot tell from it.
func (f Fault) isVariant() bool {
	return strings.HasPrefix(string(f), string(LostRequest)+"-") || strings.HasPrefix(string(f), string(RefuseCall)+"-")
}

// losesAttempt reports whether a delivery with a fault counts as a failed attempt.
func (f Fault) losesAttempt() bool {
	return f == LostRequest || f == LostGateway || f == LostAnswer || f == Down || f == missed
}

// faultKinds is the catalogue, from the simplest fault. Each is a choice that a service has that keeps
// its written promises: delivery at least once, and no order outside of queues.
var faultKinds = []faultKind{
	{LostAnswer, delivery, false, "The application handled the delivery, but its answer was lost on the way. The service cannot know that, and delivers again with the next attempt number."},
	{Repeat, delivery, false, "The delivery was answered 2xx. A service that stops before it records the answer delivers again, with the same message id and attempt number."},
	{LostRequest, delivery, false, "The attempt did not reach the application: the connection failed, or a gateway answered 503. The service delivers again later, behind newer messages."},
	{Late, delivery, false, "Newer messages were delivered first. Only queues promise an order."},
	{RepeatLate, delivery, false, "The delivery was answered 2xx, and delivered again after everything that it caused. At least once has no time limit."},
	{Overlap, outside, false, "The same delivery arrived again while the first was still in its handler, before this outside call was answered. Without an idempotency key of the outside service this cannot be avoided in every case."},
	{Down, delivery, false, "The application was not reachable for all attempts. The message went to the DLQ, and was retried from there."},
	{LostReceipt, call, false, "The service accepted the call, but its answer was lost on the way. The caller cannot know whether the call took effect."},
	{RefuseCall, call, false, "The service refused the call with 503. Nothing happened."},
	{OutsideDown, outside, false, "The outside service answered 503. Nothing happened."},
	{Outage, outside, false, "The outside service answered 503 to this call, and to each one that the same delivery made when it was tried again. The message went to the DLQ, and its failure callback was delivered."},
	{OutsideLost, outside, true, "The outside service did what was asked, but its answer was lost on the way."},
	{LostGateway, delivery, true, "A gateway before the application answered 503. The service delivers again later, behind newer messages."},
	{RefuseBusy, call, true, "The service refused the call with 429. Nothing happened."},
	{RefuseFailed, call, true, "The service refused the call with 500. Nothing happened."},
	{RefuseReset, call, true, "The connection of the call was closed without an answer. Nothing happened."},
	{Crash, outside, true, "The application was killed after this outside call was made, and before it was answered, and started again. Without an idempotency key of the outside service this cannot be avoided in every case."},
}

// kindOf returns the description of a fault; nil for an unknown one.
func kindOf(f Fault) *faultKind {
	for i := range faultKinds {
		if faultKinds[i].Fault == f {
			return &faultKinds[i]
		}
	}
	return nil
}

// Choice is a fault at a point.
type Choice struct {
	Point string `json:"point"`
	Fault Fault  `json:"fault"`
}

// Plan is a list of choices. The empty plan is the baseline.
type Plan []Choice

// ID is the short form of a plan, such as 3fa2c1=repeat,09bc11=late.
func (p Plan) ID() string {
	parts := make([]string, len(p))
	for i, c := range p {
		point := c.Point
		if len(point) != 6 { // otherwise it is the short form already
			point = hash(point)
		}
		parts[i] = point + "=" + string(c.Fault)
	}
	return strings.Join(parts, ",")
}

// ParsePlan reads the short form of a plan; the points are hashes until resolve replaces them.
func ParsePlan(text string) (Plan, error) {
	var out Plan
	for part := range strings.SplitSeq(text, ",") {
		point, fault, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || len(point) != 6 || kindOf(Fault(fault)) == nil {
			return nil, fmt.Errorf("case %q: invalid part %q: must be the 6 characters of a point, = and a fault, such as 3fa2c1=repeat", text, part)
		}
		out = append(out, Choice{point, Fault(fault)})
	}
	return out, nil
}

// fits reports whether a point is that of a choice, by its name or by the hash of it.
func (c *Choice) fits(point string) bool { return c.Point == point || c.Point == hash(point) }

// Why says in a sentence why the service may do this.
func (f Fault) Why() string {
	if k := kindOf(f); k != nil {
		return k.Why
	}
	return ""
}

// ShortName is the short form of the name of a point, as in the id of a plan.
func ShortName(point string) string { return hash(point) }
