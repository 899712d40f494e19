package wire

import "github.com/understudy-mock/understudy/spec/header"

// HopsHeader counts the deliveries of a server to itself that led to a request.
// Deliveries to its own listeners carry it, no others; from anyone else it says
// nothing.
const HopsHeader = "Understudy-Hops"

// DeliveryHeaders are what only deliveries carry, without prefix, and
// AddedHeaders all that a delivery adds (wire.md, "Deliveries").
var (
	DeliveryHeaders = []string{"Signature", "Message-Id", "Retried"}
	AddedHeaders    = []string{header.CallerIP, header.MessageID, header.Retried, header.ScheduleID, header.Signature, header.TopicName}
)
