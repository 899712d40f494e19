package engine

import (
	"time"
)

// Attempt is one delivery call of a message. It is a value: the data that it
// refers to does not change while the attempt runs.
type Attempt struct {
	Message    Message     // what is delivered, as it was when the attempt began
	Number     int         // attempts made before this one, the value of Svc-Retried
	At         time.Time   // when it began, on the account's clock
	SigningKey string      // the key that signs it, current when it began
	Body       []byte      // the request body; nil when Steps are sent
	Steps      []StepEntry // the step list of a call to a workflow endpoint
	Redact     *Redaction  // of what it sends, where that is shown; nil for nothing
}
