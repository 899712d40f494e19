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
	{regexp.MustCompile(`^(\S+): missing value, expecting .*$`), `$1: missing value`},
	{regexp.MustCompile(`^missing flags: (\S+?)=\S+$`), `$1: missing: must have a value`},
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

// noServer says what became of the flags for another key-value store.
const noServer = "removed: the key-value store is always in the process; a REST proxy, such as serverless-redis-http, serves the same interface for a Redis server"

// elsewhere are the words of other programs and of earlier builds, at a command and all below
// it, and what to type in their place. Sorted.
var elsewhere = map[string]string{
	" --kv-server":           noServer,
	" --kv-url":              noServer,
	" --port":                "use `understudy serve --addr 127.0.0.1:PORT`",
	" logs":                  "use `understudy ctl tail`",
	" start":                 "use `understudy serve`",
	"conform --client-call":  "removed: a call is a line of JSON for the adapter; conform --client prints the requests of each case that fails",
	"conform --client-cases": "removed: the cases are the files of conformance/client/cases in the repository",
	"conform --client-check": "removed: conform --client COMMAND --requirement REQ-CLI-001 makes the first calls",
	"conform --json":         "use --report json=FILE",
	"conform --url":          "use --target FILE, which --init URL writes",
	"ctl --format":           "use --output json",
	"ctl --json":             "use --output json",
	"ctl --port":             "use --url http://127.0.0.1:PORT",
	"ctl delete":             "use `understudy ctl dlq delete ID`",
	"ctl dlq --all":          "give the ids of the entries, which `understudy ctl dlq` lists",
	"ctl retry":              "use `understudy ctl dlq retry ID`",
	"ctl send":               "use `understudy ctl publish URL`",
	"ctl why":                "use `understudy why ID`",
	"env --format":           "use --output json, or --dotenv for a file",
	"proxy --enforce":        "removed: the exit code, the findings and --report name the same answers",
	"run --port":             "use --addr 127.0.0.1:PORT",
	"serve --port":           "use --addr 127.0.0.1:PORT",
	"why --json":             "use --output json",
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
	at := cmp.Or(parse.Context.Selected(), parse.Context.Model.Node)
	if m := missing.FindStringSubmatch(text); m != nil {
		what := "missing argument "
		if strings.Contains(m[1], " ") {
			what = "missing arguments "
		}
		text = what + m[1] + example(at)
	} else if m := unknown.FindStringSubmatch(text); m != nil {
		text = Unknown(at, m[1])
	}
	return errors.New(text)
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

// unknown matches the error for a word that does not exist, without the parser's suggestion.
var unknown = regexp.MustCompile(`^(?:unknown flag|unexpected argument) ([^,]+)`)

// aliases matches the aliases in the path of a command, which a shell would refuse.
var aliases = regexp.MustCompile(` \([^)]*\)`)

// Unknown is the error for a word that the command at does not know: a flag, a command or an argument.
func Unknown(at *kong.Node, word string) string {
	name := strings.TrimLeft(word, "-")
	dashes := strings.TrimSuffix(word, name)
	what, lists, known := "unexpected argument ", "flags", []string(nil)
	switch {
	case dashes != "":
		what = "unknown flag "
		for _, group := range at.AllFlags(true) {
			for _, flag := range group {
				known = append(known, flag.Name)
			}
		}
	case len(at.Children) > 0:
		what, lists = "unknown command ", "commands"
		for _, child := range at.Children {
			known = append(append(known, child.Name), child.Aliases...)
		}
	}
	what += word
	for above := at; above != nil; above = above.Parent {
		if instead, ok := elsewhere[above.Path()+" "+word]; ok {
			return what + "; " + instead
		}
	}
	if _, near, ok := strings.Cut(similar.DidYouMean(name, known), `"`); ok {
		return what + `, did you mean "` + dashes + near
	}
	return fmt.Sprintf("%s; `%s --help` lists the %s", what, aliases.ReplaceAllString(at.FullPath(), ""), lists)
}
