// Package expect has checks for tests: one condition each, with a message that shows what the
// check got and what it wanted.
//
//	expect.Equal(t, "status", response.Status, 200)
//
// A check returns whether it holds, so that other checks can depend on it. Structures are
// compared by cmp.Diff.
package expect

import (
	"strings"

	"github.com/google/go-cmp/cmp"
)

// T is the part of testing.TB that checks need.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Now returns a T whose first failing check ends the test.
func Now(t T) T { return now{t} }

type now struct{ T }

func (n now) Errorf(format string, args ...any) {
	n.Helper()
	n.Fatalf(format, args...)
}

// Equal checks that two values are equal.
func Equal[V any](t T, what string, got, want V) bool {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: got %v, want %v", what, got, want)
		return false
	}
	return true
}

// True checks a condition. It is for conditions without a value to compare, such as a bound.
func True(t T, what string, holds bool) bool {
	t.Helper()
	if !holds {
		t.Errorf("got false, want %s", what)
	}
	return holds
}

// Nil checks that err is nil.
func Nil(t T, what string, err error) bool {
	t.Helper()
	if err != nil {
		t.Errorf("%s: got %v, want none", what, err)
	}
	return err == nil
}

// NoError ends the test if err is not nil.
func NoError(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// ErrorOf returns the error of a call with another result, for NoError.
func ErrorOf[V any](_ V, err error) error { return err }

// Contains checks that text contains part.
func Contains(t T, what, text, part string) bool {
	t.Helper()
	holds := strings.Contains(text, part)
	if !holds {
		t.Errorf("%s: got %q, want it to contain %q", what, text, part)
	}
	return holds
}

// Lacks checks that text does not contain part.
func Lacks(t T, what, text, part string) bool {
	t.Helper()
	lacks := !strings.Contains(text, part)
	if !lacks {
		t.Errorf("%s: got %q, want it without %q", what, text, part)
	}
	return lacks
}
