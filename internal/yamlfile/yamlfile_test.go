package yamlfile_test

import (
	"errors"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/yamlfile"
)

const testSchema = `{
  "type": "object", "additionalProperties": false, "required": ["name"],
  "properties": {
    "name": {"type": "string", "minLength": 1},
    "clock": {"enum": ["real", "manual"]},
    "count": {"type": "integer", "minimum": 1, "maximum": 9},
    "share": {"type": "number", "minimum": 0},
    "list": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    "on": {"type": "boolean"},
    "when": {"type": "string", "format": "moment", "x-accepted": "a moment such as now"},
    "deep": {"$ref": "#/$defs/deep"},
    "any": {"anyOf": [{"type": "integer"}, {"type": "boolean"}], "x-accepted": "a number or a switch"},
    "map": {"type": "object", "propertyNames": {"enum": ["left", "right"]}}
  },
  "$defs": {"deep": {"type": "object", "additionalProperties": false, "required": ["url"], "x-accepted": "an object with url", "properties": {
    "url": {"type": "string", "x-accepted": "a URL"}, "flowKeys": {"type": ["string", "number"]}}}}
}`

func check(t *testing.T, text string) error {
	t.Helper()
	schema, err := yamlfile.NewSchema("test.json", []byte(testSchema), map[string]func(string) error{
		"moment": func(s string) error {
			if s != "now" {
				return errors.New("not now")
			}
			return nil
		},
	})
	expect.NoError(t, err)
	file, err := yamlfile.Parse("f.yaml", []byte(text))
	if err != nil {
		return err
	}
	if file.Root == nil {
		return file.Empty()
	}
	return file.Check(schema)
}

// TestValues checks the whole text of the error for each kind of wrong value.
func TestValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"a value that is not in a list", "name: a\nclock: manul\n", `f.yaml:2: clock: invalid value "manul": must be one of real, manual`},
		{"a text in place of a number", "name: a\ncount: many\n", `f.yaml:2: count: invalid value "many": must be an integer from 1 to 9`},
		{"a number in quotes", "name: a\ncount: \"8\"\n", `f.yaml:2: count: invalid value "8": must be an integer from 1 to 9`},
		{"a number out of range", "name: a\ncount: 10\n", `f.yaml:2: count: invalid value 10: must be an integer from 1 to 9`},
		{"a fraction", "name: a\ncount: 1.5\n", `f.yaml:2: count: invalid value 1.5: must be an integer from 1 to 9`},
		{"a negative number", "name: a\nshare: -1\n", `f.yaml:2: share: invalid value -1: must be a number of 0 or more`},
		{"a number in place of a text", "name: 0123\n", `f.yaml:1: name: invalid value 0123: must be a non-empty string`},
		{"an empty text", "name: ''\n", `f.yaml:1: name: invalid value "": must be a non-empty string`},
		{"no value", "name:\n", `f.yaml:1: name: invalid value null: must be a non-empty string`},
		{"a mapping in place of a text", "name: {a: b}\n", `f.yaml:1: name: invalid value {a: b}: must be a non-empty string`},
		{"a list in place of a text", "name:\n- a\n- b\n", `f.yaml:2: name: invalid value [a, b]: must be a non-empty string`},
		{"a text in place of a list", "name: a\nlist: b\n", `f.yaml:2: list: invalid value "b": must be a non-empty list`},
		{"an empty list", "name: a\nlist: []\n", `f.yaml:2: list: invalid value []: must be a non-empty list`},
		{"a wrong element", "name: a\nlist:\n- b\n- 3\n", `f.yaml:4: list[1]: invalid value 3: must be a string`},
		{"a word in place of a switch", "name: a\non: maybe\n", `f.yaml:2: on: invalid value "maybe": must be true or false`},
		{"a format", "name: a\nwhen: later\n", `f.yaml:2: when: invalid value "later": must be a moment such as now`},
		{"none of several schemas", "name: a\nany: x\n", `f.yaml:2: any: invalid value "x": must be a number or a switch`},
		{"one of two types", "name: a\ndeep: {url: x, flowKeys: [1]}\n", `f.yaml:2: deep.flowKeys: invalid value [1]: must be a string or a number`},
		{"a text in place of a mapping", "name: a\ndeep: x\n", `f.yaml:2: deep: invalid value "x": must be an object with url`},
		{"a list in place of the document", "- a\n", `f.yaml:1: invalid value [a]: must be a mapping of keys to values`},
		{"a long value", "name: a\nclock: " + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", `f.yaml:2: clock: invalid value "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...": must be one of real, manual`},
		{"a missing key", "clock: real\n", `f.yaml:1: name: missing: must be a non-empty string`},
		{"a missing key with its own words", "name: a\ndeep:\n  flowKeys: 1\n", `f.yaml:3: deep.url: missing: must be a URL`},
		{"an unknown key", "name: a\nfoo: b\n", `f.yaml:2: foo: unknown key: must be one of any, clock, count, deep, list, map, name, on, share, when`},
		{"a misspelt key explains a missing one", "\nnmae: a\n", `f.yaml:2: nmae: unknown key: must be one of any, clock, count, deep, list, map, name, on, share, when; did you mean "name"?`},
		{"a key in another case", "name: a\ndeep:\n  url: x\n  flow_keys: 1\n", `f.yaml:4: deep.flow_keys: unknown key: must be one of flowKeys, url; did you mean "flowKeys"?`},
		{"a key that a list of names does not have", "name: a\nmap: {lft: 1}\n", `f.yaml:2: map.lft: unknown key: must be one of left, right; did you mean "left"?`},
		{"the first of two", "clock: x\nname: 3\n", `f.yaml:1: clock: invalid value "x": must be one of real, manual`},
		{"a value behind an alias", "name: a\nlist: &n [b]\nclock: *n\n", `f.yaml:3: clock: invalid value [b]: must be one of real, manual`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := check(t, c.text)
			expect.True(expect.Now(t), "an error", err != nil)
			expect.Equal(t, "error", err.Error(), c.want)
		})
	}
}

// TestSyntax checks the whole text of the error for a file that is not YAML, or not one
// document with unique keys.
func TestSyntax(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"an empty file", "", `f.yaml: the file is empty`},
		{"a comment only", "# nothing\n", `f.yaml: the file is empty`},
		{"a separator only", "---\n", `f.yaml: the file is empty`},
		{"a byte order mark only", "\ufeff", `f.yaml: the file is empty`},
		{"two documents", "name: a\n---\nname: b\n", `f.yaml:2: second document: the file must have one`},
		{"a key twice", "name: a\nclock: real\nname: b\n", `f.yaml:3: name: duplicate key: the first is on line 1`},
		{"a key twice within", "name: a\ndeep: {url: x, url: y}\n", `f.yaml:2: deep.url: duplicate key: the first is on line 2`},
		{"a number as a key", "name: a\n404: b\n", `f.yaml:2: key 404 is not a string: must be "404", in quotes`},
		{"a switch as a key", "name: a\ntrue: b\n", `f.yaml:2: key true is not a string: must be "true", in quotes`},
		{"a template in place of a text", "name: {{ name }}\n", `f.yaml:1: name: key in braces or brackets: must be in quotes`},
		{"a tab", "name: a\ndeep:\n\turl: x\n", `f.yaml:3: tab in the indentation: must be spaces`},
		{"a tab before the first key", "\tname: a\n", `f.yaml:1: tab in the indentation: must be spaces`},
		{"a tab in a list", "name: a\nlist:\n\t- b\n", `f.yaml:3: tab in the indentation: must be spaces`},
		{"a list that does not end", "name: a\nlist: [b, c\n", `f.yaml:2: list or mapping is not closed: must end with ]`},
		{"a mapping that does not end", "name: a\ndeep: {url: x\n", `f.yaml:2: list or mapping is not closed: must end with }`},
		{"JSON without a comma", "{\"name\": \"a\"\n \"on\": true}", `f.yaml: line 2, column 2: unexpected '"': must be a comma or }`},
		{"JSON that is cut off", `[{"name": "a"`, `f.yaml: line 1, column 14: the text ends too early`},
		{"a text that does not end", "name: \"a\n", `f.yaml:2: string is not closed: must end with its quotation mark`},
		{"two keys on a line", "name: a: b\n", `f.yaml:1: unexpected colon: each key must be on a line of its own, and a value with a colon and a space must be in quotes`},
		{"a key with too much indentation", "name: a\n  clock: real\n", `f.yaml:2: unexpected colon: each key must be on a line of its own, and a value with a colon and a space must be in quotes`},
		{"a key without a colon", "name: a\nclock\n", `f.yaml:2: missing colon: a key must be followed by a colon and a space`},
		{"an at sign", "name: @a\n", "f.yaml:1: unexpected character: a value that starts with @, % or ` must be in quotes"},
		{"an unknown alias", "name: *a\n", `f.yaml:1: unknown anchor *a: must be defined before, as &a`},
		{"another encoding", "name: \xff\xfe\xfd\n", `f.yaml:1: invalid encoding: must be UTF-8`},
		{"a number that is too large", "name: a\ncount: 99999999999999999999\n", `f.yaml:2: count: invalid value 99999999999999999999: must be less than 2^63, or in quotes if it is a string`},
		{"infinity", "name: a\nshare: .inf\n", `f.yaml:2: share: invalid value .inf: must be less than 2^63, or in quotes if it is a string`},
		{"not a number", "name: a\nlist: [.nan]\n", `f.yaml:2: list[0]: invalid value .nan: must be less than 2^63, or in quotes if it is a string`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := check(t, c.text)
			expect.True(expect.Now(t), "an error", err != nil)
			expect.Equal(t, "error", err.Error(), c.want)
		})
	}
}

// TestValid checks files that are less common and valid.
func TestValid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text string }{
		{"a byte order mark", "\ufeffname: a\n"},
		{"UTF-16", "\xff\xfen\x00a\x00m\x00e\x00:\x00 \x00a\x00\n\x00"},
		{"line ends of Windows", "name: a\r\nclock: real\r\n"},
		{"JSON", `{"name": "a", "list": ["b"]}`},
		{"a merged mapping", "deep: &d {url: x}\nname: a\nmap: {}\n"},
		{"an alias", "name: &n a\nlist: [*n]\n"},
		{"an end marker", "name: a\n...\n"},
		{"tabs behind values", "name: a\t\nclock: real\t# a comment\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			expect.Nil(t, "error", check(t, c.text))
		})
	}
}

// TestAt checks that a place in the file is found by its JSON pointer.
func TestAt(t *testing.T) {
	t.Parallel()
	file, err := yamlfile.Parse("f.yaml", []byte("a/b:\n  c~d: [1, &x {e: 2}]\ng: *x\n"))
	expect.NoError(t, err)
	for pointer, want := range map[string]string{"": "", "/a~1b/c~0d/0": "1", "/a~1b/c~0d/1/e": "2", "/g/e": "2", "/a~1b/c~0d/9": "", "/none": ""} {
		t.Run("pointer "+pointer, func(t *testing.T) {
			t.Parallel()
			expect.Equal(t, "value", file.At(pointer).Value, want)
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"a: 1", "- [", "a: &x [*x]", "{{a}}: b", "\t", "? [a]: b", "<<: 1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := yamlfile.Parse("f.yaml", []byte(text))
		if err != nil || file.Root == nil {
			return
		}
		_, _ = file.JSON()
	})
}
