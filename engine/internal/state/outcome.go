package state

import (
	"fmt"
	"net/textproto"
	"time"
)

// FailureText is the error text of a failed attempt.
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

// Header is a set of named values. It converts to http.Header for free and
// keeps canonical names. Headers that have entered the engine are never
// changed again, so they may be shared.
type Header = textproto.MIMEHeader

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

	Answer Answer `journal:"-" saved:"no"` // what Wire reads in Status and Header; a snapshot leaves it out
}

// OK reports whether the destination accepted the message.
func (o Outcome) OK() bool { return o.Status >= 200 && o.Status < 300 }
