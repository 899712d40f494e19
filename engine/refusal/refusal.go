// Package refusal is how the packages of the engine refuse: as values that say
// what is at fault, never as texts that somebody would have to take apart.
//
//	return refusal.Of(refusal.NotFound, "queue", name, "not found")
//
// Callers ask with errors.Is for the kind, with errors.AsType for the parts. The
// package chooses no status and knows no wire.
package refusal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The kinds.
var (
	NotFound = errors.New("not found")
	Exists   = errors.New("exists already")
	Invalid  = errors.New("invalid")
	Ended    = errors.New("ended")
	Full     = errors.New("no room")
	Unfit    = errors.New("does not fit the index")
	Closed   = errors.New("closed")

	NotDurable = errors.New("not durable") // the journal has failed
)

// Error is a refusal. With Want it is of a value that breaks a rule, without it
// of a thing that is in no state for the request:
//
//	header Svc-Retries: invalid value "many": must be an integer from 0 to 1000000000
//	DLQ entry "1-1": not found; it may have been retried, restarted or deleted
type Error struct {
	Place string // where in a larger request, such as "item 3"; "" for all of it
	What  string // what is at fault, such as "queue" or "header Svc-Retries"
	Value string // its name or value, as given; "" for none
	Why   string // what is wrong, "" where Want says it all
	Want  string // what the value must be
	Kind  error
}

// Of is the refusal of a thing by its name, "" for none.
func Of(kind error, what, name, why string) error {
	return &Error{What: what, Value: name, Why: why, Kind: kind}
}

// OfValue is the refusal of a value that breaks a rule; why is "" where the rule
// says it all.
func OfValue(what, value, why, want string) error {
	return &Error{What: what, Value: value, Why: why, Want: want, Kind: Invalid}
}

// maxValue is how much of a value a refusal repeats, in bytes.
const maxValue = 80

// Error is the refusal in one line.
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
	add(oneLine(e.Why))
	if e.Want != "" {
		add("must be " + e.Want)
	}
	return strings.Join(parts, ": ")
}

// Unwrap is the kind.
func (e *Error) Unwrap() error { return e.Kind }

// At is a refusal of a part of a larger request. Other errors are wrapped.
func At(place string, err error) error {
	inner, ok := errors.AsType[*Error](err)
	if !ok {
		return fmt.Errorf("%s: %w", place, err)
	}
	placed := *inner
	placed.Place = place
	if inner.Place != "" && !strings.HasPrefix(inner.Place, "/") { // else one pointer goes on with the other
		placed.Place += ": "
	}
	placed.Place += inner.Place
	return &placed
}

// Shorten is the beginning of a value: what a line has room for.
func Shorten(value string) string {
	if len(value) <= maxValue {
		return value
	}
	return strings.ToValidUTF8(value[:maxValue], "") + "..."
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
