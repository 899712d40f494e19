package yamlfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/internal/jsonsyntax"
)

// syntaxTexts rewrite the errors of the YAML parser in plain words. The first match applies;
// syntax_test.go has a file for each.
var syntaxTexts = []struct {
	of      *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`^found character that cannot start any token$`), "unexpected character: a value that starts with @, % or ` must be in quotes"},
	{regexp.MustCompile(`^mapping values are not allowed in this context$`), `unexpected colon: each key must be on a line of its own, and a value with a colon and a space must be in quotes`},
	{regexp.MustCompile(`^did not find expected key$`), `unexpected text: must be a key, indented like the keys before it`},
	{regexp.MustCompile(`^did not find expected '-' indicator$`), `unexpected text: must be the next item of the list, which starts with a hyphen and a space`},
	{regexp.MustCompile(`^did not find expected ',' or '(.)'$`), `list or mapping is not closed: must end with $1`},
	{regexp.MustCompile(`^did not find expected node content$`), `missing value, or a comma too many`},
	{regexp.MustCompile(`^did not find expected <document start>$`), `unexpected text after the end of the document`},
	{regexp.MustCompile(`^found unexpected end of stream$`), `string is not closed: must end with its quotation mark`},
	{regexp.MustCompile(`^could not find expected ':'$`), `missing colon: a key must be followed by a colon and a space`},
	{regexp.MustCompile(`^block sequence entries are not allowed in this context$`), `unexpected hyphen: a list must begin on the line after its key`},
	{regexp.MustCompile(`^control characters are not allowed$`), `control character: must be written as an escape such as "\x07" in quotes`},
	{regexp.MustCompile(`(?i)utf-?(8|16)|surrogate`), `invalid encoding: must be UTF-8`},
	{regexp.MustCompile(`^unknown anchor '(.*)' referenced$`), `unknown anchor *$1: must be defined before, as &$1`},
}

// looksLikeJSON matches the start of a list or an object of JSON, which is also YAML: the errors
// of the JSON parser are about commas and quotation marks.
var looksLikeJSON = regexp.MustCompile(`^\s*[\[{]\s*["{\[]`)

var atLine = regexp.MustCompile(`(?s)^(?:unmarshal errors:\s*)?line (\d+): (.*)$`)

// syntax returns an error of the parser with the file and the line, in plain words.
func (f *File) syntax(text []byte, err error) error {
	if looksLikeJSON.Match(text) {
		if wrong := json.Unmarshal(text, new(any)); wrong != nil {
			return fmt.Errorf("%s: %s", f.Name, jsonsyntax.Explain(text, wrong))
		}
	}
	said, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := atLine.FindStringSubmatch(said); m != nil {
		line, _ = strconv.Atoi(m[1])
		said = m[2]
		if strings.HasPrefix(said, "did not find") { // the parser counts these lines from 0
			line = min(line+1, 1+bytes.Count(bytes.TrimRight(text, "\n"), []byte("\n")))
		}
	}
	said = clip.Line(said)
	if n := tabLine(text, line); n > 0 && (strings.Contains(said, "tab character") || strings.Contains(said, "cannot start any token")) {
		return fmt.Errorf("%s:%d: tab in the indentation: must be spaces", f.Name, n)
	}
	for _, row := range syntaxTexts {
		if m := row.of.FindStringSubmatchIndex(said); m != nil {
			said = string(row.of.ExpandString(nil, row.instead, said, m))
			break
		}
	}
	return fmt.Errorf("%s:%d: %s", f.Name, line, said)
}

// tabLine returns the first line from the one that the parser names whose indentation has a
// tab; 0 for none within two lines. The parser counts lines in several ways.
func tabLine(text []byte, line int) int {
	lines := bytes.Split(text, []byte("\n"))
	for n := max(line-1, 1); n <= min(line+2, len(lines)); n++ {
		one := lines[n-1]
		if indent := one[:len(one)-len(bytes.TrimLeft(one, " \t-"))]; bytes.ContainsRune(indent, '\t') {
			return n
		}
	}
	return 0
}
