package command

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/understudy-mock/understudy/internal/similar"
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

// elsewhere are the words of other programs, and what to type in their place.
var elsewhere = map[string]string{
	"understudy serve --port":          "use --addr 127.0.0.1:PORT",
	"understudy run --port":            "use --addr 127.0.0.1:PORT",
	"understudy env --format":          "use --output json, or --dotenv for a file",
	"understudy logs":                  "use `understudy ctl tail`",
	"understudy ctl logs":              "use `understudy ctl tail`",
	"understudy ctl why":               "use `understudy why ID`",
	"understudy ctl dlq delete --all":  "give the ids of the entries, which `understudy ctl dlq` lists",
	"understudy-conform conform --url": "use --target FILE, which --init URL writes",
	"understudy conform --url":         "use --target FILE, which --init URL writes",
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
		text = fmt.Sprintf("%s: invalid value %s: must be one of %s", m[1]+m[2], m[4], strings.Join(values, ", "))
		if parse, ok := errors.AsType[*kong.ParseError](err); ok && m[1] != "" {
			text += example(parse.Context.Selected())
		}
		return errors.New(text)
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
	return errors.New(unknownOrMissing(cmp.Or(parse.Context.Selected(), parse.Context.Model.Node), text))
}

// missing matches the error for arguments that are not there.
var missing = regexp.MustCompile(`^expected "(<[^"]+>)(?: \.\.\.)?"$`)

// example is the first example of a command, for the end of an error.
func example(at *kong.Node) string {
	if lines := Examples(at); len(lines) > 0 {
		return ", such as `" + lines[0] + "`"
	}
	return ""
}

// unknown matches the error for a flag or a command that does not exist, without the parser's suggestion.
var unknown = regexp.MustCompile(`^(unknown flag|unexpected argument) (-*)([^,]+)`)

// unknownOrMissing is the error for a word that the command at does not know, or needs.
func unknownOrMissing(at *kong.Node, text string) string {
	if m := missing.FindStringSubmatch(text); m != nil {
		what := "missing argument "
		if strings.Contains(m[1], " ") {
			what = "missing arguments "
		}
		return what + m[1] + example(at)
	}
	m := unknown.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	what, lists, known := m[1], "flags", []string(nil)
	for _, group := range at.AllFlags(true) {
		for _, flag := range group {
			known = append(known, flag.Name)
		}
	}
	if m[2] == "" {
		if len(at.Children) == 0 {
			return text
		}
		what, lists, known = "unknown command", "commands", nil
		for _, child := range at.Children {
			known = append(append(known, child.Name), child.Aliases...)
		}
	}
	if instead, ok := removed[m[3]]; ok {
		return fmt.Sprintf("--%s: removed: %s", m[3], instead)
	}
	text = what + " " + m[2] + m[3]
	if instead, ok := elsewhere[at.FullPath()+" "+m[2]+m[3]]; ok {
		return text + "; " + instead
	}
	if _, near, ok := strings.Cut(similar.DidYouMean(m[3], known), `"`); ok {
		return text + `, did you mean "` + m[2] + near
	}
	return fmt.Sprintf("%s; `%s --help` lists the %s", text, at.FullPath(), lists)
}
