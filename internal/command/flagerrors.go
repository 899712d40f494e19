package command

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

// parserTexts rewrite the errors of the flag parser in the form of all other errors: the
// place, the value, and what it must be. The first match applies; flagerrors_test.go has a
// command line for each.
var parserTexts = []struct {
	of      *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`^(\S+): expected .*? value but got "EOL" \(<EOL>\)$`), `$1: missing value`},
	{regexp.MustCompile(`^(\S+): (?:expected .*?|bool value must be .*?) but got "(-[^"]*)" \(.*\); perhaps try (.*)\?$`), `$1: missing value before "$2": a value that starts with - must be written as $3`},
	{regexp.MustCompile(`^(\S+): expected a valid \d+ bit uint but got ("[^"]*")$`), `$1: invalid value $2: must be an integer of 0 or more`},
	{regexp.MustCompile(`^(\S+): expected a(?:n int|(?: valid \d+ bit int)) but got ("[^"]*")(?: \(.*\))?$`), `$1: invalid value $2: must be an integer`},
	{regexp.MustCompile(`^(\S+): expected a float but got ("[^"]*")(?: \(.*\))?$`), `$1: invalid value $2: must be a number`},
	{regexp.MustCompile(`^(\S+): expected duration but got ("[^"]*")(?:: .*)?$`), `$1: invalid value $2: must be a duration such as 500ms, 30s or 1h30m`},
	{regexp.MustCompile(`^(\S+): expected "<key>=<value>" but got ("[^"]*")$`), `$1: invalid value $2: must be two values with = between them`},
	{regexp.MustCompile(`^(\S+): bool value must be true, 1, yes, false, 0 or no but got ("[^"]*")$`), `$1: invalid value $2: must be true or false`},
	{regexp.MustCompile(`^(--\S+) and (--\S+) can't be used together$`), `$1 and $2: must not be used together`},
	{regexp.MustCompile(`^expected "<([\w-]+)>(?: \.\.\.)?"$`), `missing argument <$1>`},
	{regexp.MustCompile(`^expected "(<[\w-]+> <[^"]+)"$`), `missing arguments $1`},
	{regexp.MustCompile(`^unknown flag (-\d)(?:, did you mean .*)?$`), `unknown flag $1: an argument that starts with - must come after --`},
}

// oneOfTexts matches the error for a value that is not in a list.
var oneOfTexts = regexp.MustCompile(`(?s)^\[?(?:<(\w+)>|(--\S+))\]? must be one of (.+) but got ("[^"]*")$`)

// fromVariable matches the error for the value of an environment variable: flag, error,
// variable.
var fromVariable = regexp.MustCompile(`(?s)^(--\S+): (.*) \(from envar (\w+)=".*"\)$`)

// removed are flags of earlier builds, and what to do in their place.
var removed = map[string]string{
	"client-call":  "a call is a line of JSON for the adapter; conform --client prints the requests of each case that fails",
	"client-cases": "the cases are the files of conformance/client/cases in the repository",
	"client-check": "conform --client COMMAND --requirement REQ-CLI-001 makes the first calls",
	"enforce":      "the exit code, the findings and --report name the same answers",
	"kv-server":    "the key-value store is always in the process; a REST proxy, such as serverless-redis-http, serves the same interface for a Redis server",
	"kv-url":       "the key-value store is always in the process; a REST proxy, such as serverless-redis-http, serves the same interface for a Redis server",
}

// plainError rewrites an error of the flag parser in the form of all other errors.
func plainError(err error) error {
	if refused, ok := errors.AsType[*Failure](err); ok {
		return refused // an error of the settings file, behind the name of the flag
	}
	text := err.Error()
	if m := fromVariable.FindStringSubmatch(text); m != nil { // without the value a second time: it may be a credential
		return fmt.Errorf("environment variable %s: %s", m[3], strings.TrimPrefix(plainError(errors.New(m[1]+": "+m[2])).Error(), m[1]+": "))
	}
	if m := oneOfTexts.FindStringSubmatch(text); m != nil {
		values := strings.FieldsFunc(m[3], func(r rune) bool { return strings.ContainsRune("\", \n\t", r) })
		return fmt.Errorf("%s: invalid value %s: must be one of %s", m[1]+m[2], m[4], strings.Join(values, ", "))
	}
	for _, row := range parserTexts {
		if row.of.MatchString(text) {
			return errors.New(row.of.ReplaceAllString(text, row.instead))
		}
	}
	parse, ok := errors.AsType[*kong.ParseError](err)
	if !ok {
		return err
	}
	at := cmp.Or(parse.Context.Selected(), parse.Context.Model.Node)
	lists := "flags"
	for flag, instead := range removed {
		if strings.HasPrefix(text, "unknown flag --"+flag) {
			return fmt.Errorf("--%s: removed: %s", flag, instead)
		}
	}
	if rest, ok := strings.CutPrefix(text, "unexpected argument "); ok && len(at.Children) > 0 {
		text, lists = "unknown command "+rest, "commands"
	}
	if strings.HasPrefix(text, "unknown ") && !strings.Contains(text, ", did you mean ") {
		text += fmt.Sprintf("; `%s --help` lists the %s", at.FullPath(), lists)
	}
	return errors.New(text)
}
