package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func TestAnInvalidEnvironmentVariableIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`--seed: expected a valid 64 bit uint but got "abc" (from envar UNDERSTUDY_SEED="abc")`:  `environment variable UNDERSTUDY_SEED: invalid value "abc": must be an integer of 0 or more`,
		`--lag: expected duration but got "x": time: bad (from envar UNDERSTUDY_LAG="x")`:        `environment variable UNDERSTUDY_LAG: invalid value "x": must be a duration such as 500ms, 30s or 1h30m`,
		`--max-body: invalid value "x": must be a size (from envar UNDERSTUDY_MAX_BODY="x (y)")`: `environment variable UNDERSTUDY_MAX_BODY: invalid value "x": must be a size`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			expect.Equal(t, "error", plainError(errors.New(text)).Error(), want)
		})
	}
}

func TestAMisspeltEnvironmentVariableIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ variable, near string }{
		{"UNDERSTUDY_CLOK=auto", "UNDERSTUDY_CLOCK"},
		{"UNDERSTUDY_CLCOK=auto", ""}, // two changes of five letters may be another word
		{"UNDERSTUDY_CONTROLTOKEN=x", "UNDERSTUDY_CONTROL_TOKEN"},
		{"UNDERSTUDY_CONTROL_TOEKN=x", "UNDERSTUDY_CONTROL_TOKEN"},
		{"UNDERSTUDY_CLOK=", ""},
		{"UNDERSTUDY_CLOCK=auto", ""},
		{"UNDERSTUDY_LOCK=auto", ""},
		{"UNDERSTUDY_URL=http://127.0.0.1:8080", ""},
		{"UNDERSTUDY_SERVICE_HOST=10.0.0.1", ""},
		{"UNDERSTUDY_PORT_8080_TCP=tcp://10.0.0.1:8080", ""},
		{"CLOK=auto", ""},
	} {
		t.Run(c.variable, func(t *testing.T) {
			t.Parallel()
			var model struct {
				Serve struct{ Clock, ControlToken string } `cmd:""`
				Other struct{ Lock string }                `cmd:""`
			}
			parser, err := kong.New(&model, kong.DefaultEnvars("UNDERSTUDY"))
			expect.NoError(t, err)
			parsed, err := parser.Parse([]string{"serve"})
			expect.NoError(t, err)
			got, want := "", ""
			if err := misspeltVariable([]string{"HOME=/", c.variable}, parsed); err != nil {
				got = err.Error()
			}
			if c.near != "" {
				name, _, _ := strings.Cut(c.variable, "=")
				want = "environment variable " + name + ": unknown; did you mean " + c.near + "?"
			}
			expect.Equal(t, "error", got, want)
		})
	}
}

func TestAnEmptyValueIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"an argument", []string{"get", ""}, "understudy: argument id: empty: must have a value\n"},
		{"a flag that must have one", []string{"get", "a", "--account", ""}, "understudy: --account: empty: must have a value\n"},
		{"a flag that may be empty", []string{"get", "a", "--note", ""}, ""},
		{"a body", []string{"get", "a", ""}, ""},
		{"none", []string{"get", "a"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var model struct {
				Get emptyTest `cmd:""`
			}
			var out, errs strings.Builder
			code := (&Program{Name: "understudy", CLI: &model, Env: struct{}{}}).Run(c.args, &out, &errs)
			expect.Equal(t, "error", errs.String(), c.want)
			expect.Equal(t, "is refused", code == ExitUsage, c.want != "")
		})
	}
}

// emptyTest is a command that does nothing.
type emptyTest struct {
	Account string `nonempty:""`
	Note    string
	ID      string `arg:""`
	Body    string `arg:"" optional:"" mayempty:""`
}

func (emptyTest) Run() error { return nil }
