// Package table judges a JSON value by the rows of a table in a feature file: a place, and what
// must be there.
//
//	| stepInfo/concurrent | between 2 and 3                 |
//	| {dlq.label?}        | {label}                         |
//	| responseHeader      | holds X-Fault: permanent, total |
//
// A place is a JSON pointer without its first slash; commas separate several. Names in braces are
// values of the scenario, or names that the target file binds; a row with a question mark in such a
// name is left out where the target file does not bind it. [Words] are what can be required.
//
// It sends nothing and waits for nothing: the steps do.
package table

import (
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
)

// Row is a place and what must be there.
type Row struct{ Place, Want string }

// Miss is a row that a value does not meet.
type Miss struct{ Pointer, Want string }

// Word is what a row can require of a value.
type Word struct {
	Begin, Meaning string
	fits           func(v any, there bool, rest string, fill func(string) string) bool // rest follows the word
}

// Words are all words. The first one that a text begins with counts; any other text is what the
// value must be: a number, true, false, or a text, which may have quotes.
var Words []Word

func init() { // some are about others
	Words = []Word{
		{"not ", "it is not as the rest says", func(v any, there bool, rest string, fill func(string) string) bool {
			return !fits(v, there, rest, fill)
		}},
		{"absent", "there is nothing, not even null", func(_ any, there bool, _ string, _ func(string) string) bool { return !there }},
		{"unset", "there is nothing, or null", plain(func(v any, _ string) bool { return v == nil })},
		{"nothing", "there is nothing, or null, or an empty text", plain(func(v any, _ string) bool { return v == nil || v == "" })},
		{"some text", "a text that is not empty", plain(func(v any, _ string) bool { t, ok := v.(string); return ok && t != "" })},
		{"an IP address", "a text that is one", plain(func(v any, _ string) bool { t, _ := v.(string); return net.ParseIP(t) != nil })},
		{"a header map", "an object of lists of texts", plain(func(v any, _ string) bool { return check.Fits(v, "header map") })},
		{"an integer", "a whole number", plain(func(v any, _ string) bool { return check.Fits(v, "integer") })},
		{"between ", "a whole number: `between 1 and 5`", plain(func(v any, rest string) bool {
			low, high, _ := strings.Cut(rest, " and ")
			from, errFrom := strconv.ParseInt(low, 10, 64)
			to, errTo := strconv.ParseInt(high, 10, 64)
			n, ok := check.Integer(v, "")
			return ok && errFrom == nil && errTo == nil && n >= from && n <= to
		})},
		{"lasts ", "a text that is this duration: `lasts 1m`", plain(func(v any, rest string) bool {
			want, errWant := time.ParseDuration(rest)
			got, err := time.ParseDuration(harness.Plain(v))
			return errWant == nil && err == nil && got == want
		})},
		{"base64 of ", "the rest in base64", plain(func(v any, rest string) bool { return v == base64.StdEncoding.EncodeToString([]byte(rest)) })},
		{"contains ", "as text, it contains the rest", plain(func(v any, rest string) bool { return strings.Contains(harness.Plain(v), rest) })},
		{"holds ", "a header with these values, which may be named: `holds X-Fault: permanent, total`", plain(Holds)},
	}
}

// plain is for words whose rest is a value.
func plain(judge func(v any, rest string) bool) func(any, bool, string, func(string) string) bool {
	return func(v any, _ bool, rest string, fill func(string) string) bool { return judge(v, fill(rest)) }
}

// Holds reports whether a header map has a header with all values, which may be joined: "X-Fault:
// permanent, total", or values that any header may have.
func Holds(v any, rest string) bool {
	name, values, named := strings.Cut(rest, ": ")
	if !named {
		values = rest
	}
	m, _ := v.(map[string]any)
	for n, of := range m {
		list, _ := of.([]any)
		var parts []string
		for _, one := range list {
			for part := range strings.SplitSeq(harness.Plain(one), ",") {
				parts = append(parts, strings.TrimSpace(part))
			}
		}
		lacks := func(v string) bool { return !slices.Contains(parts, v) }
		if (!named || http.CanonicalHeaderKey(n) == name) && !slices.ContainsFunc(strings.Split(values, ", "), lacks) {
			return true
		}
	}
	return false
}

// fits reports whether a value is as a text says, or as one of several texts. fill replaces the names in it.
func fits(v any, there bool, want string, fill func(string) string) bool {
	if first, rest, or := strings.Cut(want, " or "); or {
		return fits(v, there, first, fill) || fits(v, there, rest, fill)
	}
	for _, w := range Words {
		if rest, ok := strings.CutPrefix(want, w.Begin); ok && (rest == "" || strings.HasSuffix(w.Begin, " ")) {
			return w.fits(v, there, rest, fill)
		}
	}
	text, isText := v.(string)
	switch check.Decode([]byte(want)).(type) {
	case string: // in quotes
		return isText && text == fill(strings.Trim(want, `"`))
	case json.Number, bool:
		return !isText && harness.Plain(v) == want
	}
	return there && harness.Plain(v) == fill(want)
}

// inBraces is a name.
var inBraces = regexp.MustCompile(`\{[^{}"]+\}`)

// Judge returns the first row that a value does not meet, nil for none. value returns what a name in
// braces stands for.
func Judge(item any, rows []Row, value func(name string) (string, error)) (*Miss, error) {
	for _, row := range rows {
		var failed error
		left := false
		fill := func(text string) string {
			return inBraces.ReplaceAllStringFunc(text, func(name string) string {
				name, optional := strings.CutSuffix(name[1:len(name)-1], "?")
				v, err := value(name)
				if err != nil && optional {
					left = true
				} else if err != nil {
					failed = err
				}
				return v
			})
		}
		places, want := fill(row.Place), fill(row.Want)
		switch {
		case failed != nil:
			return nil, failed
		case left:
			continue
		}
		for place := range strings.SplitSeq(places, ", ") {
			if v, there := check.At(item, "/"+place); !fits(v, there, row.Want, fill) {
				return &Miss{"/" + place, want}, nil
			}
		}
	}
	return nil, nil
}
