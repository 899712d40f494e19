package jsonsyntax_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/jsonsyntax"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func TestASyntaxErrorSaysWhereAndWhatItMustBe(t *testing.T) {
	t.Parallel()
	const value = "must be a value: an object, a list, a string in double quotes, a number, true, false or null"
	for _, c := range []struct{ name, text, want string }{
		{"a word without quotes", `xyz`, `line 1, column 1: unexpected 'x': ` + value},
		{"a number that is none", `{"a": NaN}`, `line 1, column 7: unexpected 'N': ` + value},
		{"a comma before the end of an object", `{"by":"1h",}`, `line 1, column 12: unexpected '}': must be a name in double quotes`},
		{"a comma before the end of a list", `[1,]`, `line 1, column 4: unexpected ']': ` + value},
		{"a name without quotes", `{a:1}`, `line 1, column 2: unexpected 'a': must be a name in double quotes`},
		{"a name in typographic quotes", `{“a”:1}`, `line 1, column 2: unexpected '“': must be a name in double quotes`},
		{"no colon", `{"a" 1}`, `line 1, column 6: unexpected '1': must be a colon`},
		{"no comma in an object", "{\"a\":1\n \"b\":2}", `line 2, column 2: unexpected '"': must be a comma or }`},
		{"no comma in a list", `[1 2]`, `line 1, column 4: unexpected '2': must be a comma or ]`},
		{"after the value", `{} {}`, `line 1, column 4: unexpected '{': must be the end of the text: one JSON value`},
		{"a line break in a string", "\"a\nb\"", `line 1, column 3: unexpected '\n': must be an escape such as \n: a string has no control characters`},
		{"an unknown escape", `"\x"`, `line 1, column 3: unexpected 'x': must be one of " \ / b f n r t u after a backslash`},
		{"an escape that is not hexadecimal", `"\u12G4"`, `line 1, column 6: unexpected 'G': must be four hexadecimal digits after \u`},
		{"a sign alone", `[-]`, `line 1, column 3: unexpected ']': must be a digit`},
		{"a point alone", `[1.]`, `line 1, column 4: unexpected ']': must be a digit`},
		{"an exponent alone", `[1e]`, `line 1, column 4: unexpected ']': must be a digit`},
		{"nearly true", `[trUe]`, `line 1, column 2: unexpected "trUe": ` + value},
		{"nearly false", `[fals]`, `line 1, column 2: unexpected "fals": ` + value},
		{"nearly null", `[nil]`, `line 1, column 2: unexpected "nil": ` + value},
		{"a sentence", `not json`, `line 1, column 1: unexpected "not": ` + value},
		{"cut off", `{"a":`, `line 1, column 6: the text ends too early`},
		{"empty", ``, `line 1, column 1: the text ends too early`},
		{"the column counts characters", `{"größe": x}`, `line 1, column 11: unexpected 'x': ` + value},
		{"a byte order mark", "\ufeff{}", `line 1, column 1: unexpected '\ufeff': ` + value},
		{"bytes that are not UTF-8", "\xff", `line 1, column 1: unexpected a byte that is not UTF-8: ` + value},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var v any
			if got := jsonsyntax.Explain([]byte(c.text), json.Unmarshal([]byte(c.text), &v)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if err := json.NewDecoder(strings.NewReader(c.text)).Decode(&v); err != nil {
				expect.Equal(t, "from a decoder", jsonsyntax.Explain([]byte(c.text), err), c.want)
			}
		})
	}
}

func TestAnotherKindOfValueIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"count":"3"}`:       "count: received a string",
		`{"count":1.5}`:       "line 1, column 10: number 1.5 is not an integer in range",
		`{"deep":{"on":[1]}}`: "deep.on: received an array",
		`{"rate":1e400}`:      "line 1, column 9: number 1e400 is out of range",
		`true`:                "received a boolean",
		`[1]`:                 "received an array",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			var v struct {
				Count int     `json:"count"`
				Rate  float64 `json:"rate"`
				Deep  struct {
					On bool `json:"on"`
				} `json:"deep"`
			}
			if got := jsonsyntax.Explain([]byte(text), json.Unmarshal([]byte(text), &v)); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// Every message of the scanner has words of its own: a new version of Go may change them.
func FuzzExplain(f *testing.F) {
	for _, text := range []string{`{"a":1,}`, `[1,`, `"\u00`, `-`, "\x00", `tru`, `{"a":[{}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		err := json.Unmarshal(text, &v)
		if err == nil {
			return
		}
		said := jsonsyntax.Explain(text, err)
		if strings.Contains(said, "invalid character") || strings.Contains(said, "looking for") {
			t.Errorf("%q: %s", text, said)
		}
	})
}
