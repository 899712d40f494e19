// Package refusal has the errors by which the packages of the engine refuse a request. They
// are structured values, so that no caller has to parse a text.
//
//	return refusal.Of(refusal.NotFound, "queue", name, "not found")
//
// Callers use errors.Is for the kind and errors.AsType for the parts. Package refusal is
// independent of HTTP: callers map kinds to statuses.
package refusal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/internal/clip"
)

// The kinds of errors.
var (
	NotFound = errors.New("not found")
	Exists   = errors.New("exists already")
	Invalid  = errors.New("invalid")
	Ended    = errors.New("ended")
	Full     = errors.New("no room")
	Loop     = errors.New("loop")
	Unfit    = errors.New("does not fit the index")
	Closed   = errors.New("closed")

	NotDurable = errors.New("not durable") // the journal has failed
)

// Error is a refusal. With Want, a value breaks a rule; without it, a thing is not in the
// right state for the request:
//
//	header Svc-Retries: invalid value "many": must be an integer from 0 to 1000000000
//	DLQ entry "1-1": not found; it may have been retried, restarted or deleted
type Error struct {
	Place string // location in a larger request, such as "item 3"; "" for the whole request
	What  string // kind of thing or name of the field, such as "queue" or "header Svc-Retries"
	Value string // its name or value, as given; "" for none
	Why   string // what is wrong, "" if Want is enough
	Want  string // what the value must be
	Kind  error
}

// Of returns the refusal of a thing by its name, "" for none.
func Of(kind error, what, name, why string) error {
	return &Error{What: what, Value: name, Why: why, Kind: kind}
}

// OfValue returns an Invalid error for a value that breaks a rule; why is "" if the rule is
// enough.
func OfValue(what, value, why, want string) error {
	return &Error{What: what, Value: value, Why: why, Want: want, Kind: Invalid}
}

// maxValue is the largest part of a value in an error, in bytes.
const maxValue = 80

// Error returns the refusal as one line.
func (e *Error) Error() string {
	parts := make([]string, 0, 5)
	add := func(part string) {
		if part != "" {
			parts = append(parts, part)
		}
	}
	add(e.Place)
	switch value := Shorten(e.Value); {
	case value == "":
		add(e.What)
	case e.Want == "":
		add(strings.TrimSpace(e.What + " " + strconv.Quote(value)))
	default:
		add(e.What)
		add("invalid value " + strconv.Quote(value))
	}
	add(clip.Line(e.Why))
	if e.Want != "" {
		add("must be " + e.Want)
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// At adds the place in a larger request to a refusal. Other errors are wrapped.
func At(place string, err error) error {
	inner, ok := errors.AsType[*Error](err)
	if !ok {
		return fmt.Errorf("%s: %w", place, err)
	}
	placed := *inner
	placed.Place = place
	if inner.Place != "" && !strings.HasPrefix(inner.Place, "/") { // a JSON pointer continues the place without a separator
		placed.Place += ": "
	}
	placed.Place += inner.Place
	return &placed
}

// Shorten returns a value, cut to at most maxValue bytes with "..." after them.
func Shorten(value string) string {
	return clip.Marked(value, maxValue, "...")
}
