package expect_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// recorded is an expect.T that records what a check reports.
type recorded struct {
	text  string
	fatal bool
}

func (o *recorded) Helper() {}

func (o *recorded) Errorf(format string, args ...any) { o.text = fmt.Sprintf(format, args...) }

func (o *recorded) Fatalf(format string, args ...any) {
	o.text, o.fatal = fmt.Sprintf(format, args...), true
}

func TestChecks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fact string
		make func(expect.T) bool
		want string // the message, "" when the check holds
	}{
		{"equal values", func(t expect.T) bool { return expect.Equal(t, "status", 200, 200) }, ""},
		{"other values", func(t expect.T) bool { return expect.Equal(t, "status", 404, 200) }, "status: got 404, want 200"},
		{"equal structures", func(t expect.T) bool { return expect.Equal(t, "list", []string{"a"}, []string{"a"}) }, ""},
		{"a statement that holds", func(t expect.T) bool { return expect.True(t, "n > 0", true) }, ""},
		{"a statement that does not hold", func(t expect.T) bool { return expect.True(t, "n > 0", false) }, "got false, want n > 0"},
		{"no error", func(t expect.T) bool { return expect.Nil(t, "err", nil) }, ""},
		{"an error", func(t expect.T) bool { return expect.Nil(t, "err", errors.New("lost")) }, "err: got lost, want none"},
		{"a part", func(t expect.T) bool { return expect.Contains(t, "body", "abc", "b") }, ""},
		{"a part that is missing", func(t expect.T) bool { return expect.Contains(t, "body", "abc", "d") }, `body: got "abc", want it to contain "d"`},
		{"no part", func(t expect.T) bool { return expect.Lacks(t, "body", "abc", "d") }, ""},
		{"a part that must not be there", func(t expect.T) bool { return expect.Lacks(t, "body", "abc", "b") }, `body: got "abc", want it without "b"`},
	} {
		t.Run(c.fact, func(t *testing.T) {
			t.Parallel()
			var o recorded
			if held := c.make(&o); held != (c.want == "") {
				t.Errorf("the check holds: %v, want %v", held, c.want == "")
			}
			if o.text != c.want {
				t.Errorf("message %q, want %q", o.text, c.want)
			}
			if c.make(expect.Now(&o)); o.fatal != (c.want != "") {
				t.Errorf("with Now the check ends the test: %v, want %v", o.fatal, c.want != "")
			}
		})
	}
}

func TestAnErrorEndsTheTest(t *testing.T) {
	t.Parallel()
	var o recorded
	expect.NoError(&o, expect.ErrorOf(1, nil))
	if o.fatal {
		t.Errorf("no error ends the test: %s", o.text)
	}
	if expect.NoError(&o, expect.ErrorOf(1, errors.New("lost"))); !o.fatal || o.text != "lost" {
		t.Errorf("got %q, %v, want an end with the error", o.text, o.fatal)
	}
}
