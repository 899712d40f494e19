package wire

import "github.com/understudy-mock/understudy/spec/header"

// HopsHeader has the number of deliveries of a server to itself that led to a
// request, and the id of the message with which they began. Only deliveries to listeners of the server itself carry it; in requests
// of others it is ignored.
const HopsHeader = "Understudy-Hops"

// DeliveryHeaders are headers, without prefix, that only deliveries have.
// AddedHeaders are all headers that a delivery adds (wire.md, "Deliveries").
var (
	DeliveryHeaders = []string{"Signature", "Message-Id", "Retried"}
	AddedHeaders    = []string{header.CallerIP, header.MessageID, header.Retried, header.ScheduleID, header.Signature, header.TopicName}
)
