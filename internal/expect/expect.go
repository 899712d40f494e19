// Package expect is the checks of tests that are one condition each and say what
// they got and wanted.
//
//	expect.Equal(t, "status", response.Status, 200)
//
// A check reports whether it holds, so that those which need it can be made below
// it. Structures are compared by cmp.Diff.
package expect

import (
	"strings"

	"github.com/google/go-cmp/cmp"
)

// T is what a check needs of a test.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Now is a test that ends at the first check that does not hold.
func Now(t T) T { return now{t} }

type now struct{ T }

func (n now) Errorf(format string, args ...any) {
	n.Helper()
	n.Fatalf(format, args...)
}

// Equal demands that two values are the same.
func Equal[V any](t T, what string, got, want V) bool {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: got %v, want %v", what, got, want)
		return false
	}
	return true
}

// True demands that a statement holds. It is for what has no value to compare, such
// as a bound.
func True(t T, what string, holds bool) bool {
	t.Helper()
	if !holds {
		t.Errorf("got false, want %s", what)
	}
	return holds
}

// Nil demands that there is no error.
func Nil(t T, what string, err error) bool {
	t.Helper()
	if err != nil {
		t.Errorf("%s: got %v, want none", what, err)
	}
	return err == nil
}

// Contains demands that a text has a part.
func Contains(t T, what, text, part string) bool {
	t.Helper()
	holds := strings.Contains(text, part)
	if !holds {
		t.Errorf("%s: got %q, want it to contain %q", what, text, part)
	}
	return holds
}

// Lacks demands that a text does not have a part.
func Lacks(t T, what, text, part string) bool {
	t.Helper()
	lacks := !strings.Contains(text, part)
	if !lacks {
		t.Errorf("%s: got %q, want it without %q", what, text, part)
	}
	return lacks
}
