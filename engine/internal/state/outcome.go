package state

import (
	"fmt"
	"net/textproto"
	"time"
)

// FailureText returns the error text of a failed attempt.
func FailureText(o *Outcome) string {
	if o.Err != "" {
		return o.Err
	}
	text := fmt.Sprintf("destination answered status %d", o.Status)
	if o.Note != "" {
		text += "; " + o.Note
	}
	return text
}

// Header is a set of named values with canonical names. It converts to http.Header at no
// cost. Headers never change once they are in the engine, so they may be shared.
type Header = textproto.MIMEHeader

// Outcome is the result of an attempt. Status 0 means that there was no response; Err then
// says why (refused, timed out, name not found).
type Outcome struct {
	Status  int
	Header  Header
	Body    []byte
	Err     string
	Note    string        // why Body is not the complete response, "" if it is
	Point   string        // which attempt of a search for faults this is, and its faults; the destination never sees it
	Took    time.Duration // response time of the destination
	After   time.Duration // delay set by a stub, on the account's clock, before the outcome takes effect
	BytesUp int           // size of the request, with headers
	BytesIn int           // size of the response, with headers
	Dropped int           // bytes of body and headers that were dropped to free memory

	Behind bool `saved:"no"` // no attempt was made: the attempts that are ready go first

	Answer Answer `journal:"-" saved:"no"` // what Wire reads from Status and Header; a snapshot leaves it out
}

// noAnswer begins the error of a destination that did not answer in time.
const noAnswer = "no answer"

// Within returns the outcome of a stub that a message with this timeout waits for.
func (o Outcome) Within(limit time.Duration) Outcome {
	if o.After > limit {
		return Outcome{Err: fmt.Sprintf(noAnswer+" within the timeout of %s", limit), After: limit}
	}
	return o
}

// OK reports whether the destination accepted the message.
func (o Outcome) OK() bool { return o.Status >= 200 && o.Status < 300 }
