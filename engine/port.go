package engine

import (
	"net/textproto"
	"time"
)

// Header is a set of named values. It converts to http.Header for free and
// keeps canonical names. Headers that have entered the engine are never
// changed again, so they may be shared.
type Header = textproto.MIMEHeader

// Attempt is one delivery call of a message. It is a value: what it refers to
// does not change while the attempt runs.
type Attempt struct {
	Message    Message     // what is delivered, as it stood when the attempt began
	Number     int         // attempts made before this one, the value of Svc-Retried
	At         time.Time   // when it began, on the account's clock
	SigningKey string      // the key that signs it, current when it began
	Body       []byte      // what is sent, nil where Steps are
	Steps      []StepEntry // what a call to a workflow endpoint sends
}

// Outcome is what came of an attempt. Status 0 means that no response came:
// Err then says why (refused, timed out, name not found).
type Outcome struct {
	Status  int
	Header  Header
	Body    []byte
	Err     string
	Note    string        // why Body is not the whole answer, "" when it is
	Took    time.Duration // how long the destination took
	After   time.Duration // a stub's claim, on the account's clock: the outcome takes effect so much later
	BytesUp int           // request size, headers included
	BytesIn int           // response size, headers included
	Dropped int           // bytes of body and headers that were dropped to make room

	answer Answer `journal:"-" saved:"no"` // what Wire reads in Status and Header; a snapshot leaves it out
}

// ok reports whether the destination accepted the message.
func (o Outcome) ok() bool { return o.Status >= 200 && o.Status < 300 }
