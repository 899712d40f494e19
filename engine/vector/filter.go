package vector

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// Filter is a condition on the metadata of a vector. The zero value matches all vectors. In
// JSON, a filter is its text.
type Filter struct {
	text  string
	holds condition
}

// MarshalText returns the text of the filter.
func (f Filter) MarshalText() ([]byte, error) { return []byte(f.text), nil }

// UnmarshalText parses a filter as ParseFilter does.
func (f *Filter) UnmarshalText(text []byte) (err error) {
	*f, err = ParseFilter(string(text))
	return err
}

// Holds reports whether the metadata of a vector fulfil the condition. For a missing field,
// only HAS NOT FIELD is true; missing metadata fulfil no condition.
func (f Filter) Holds(metadata json.RawMessage) bool {
	if f.holds == nil {
		return true
	}
	var value any
	return json.Unmarshal(metadata, &value) == nil && f.holds(value)
}

// maxFilter is the largest length of a filter in bytes. It limits the depth of nesting.
const maxFilter = 8 << 10

// filterSyntax describes the whole language, for errors.
const filterSyntax = "FIELD = != < <= > >= VALUE, FIELD [NOT] GLOB 'a*', FIELD [NOT] IN (VALUE, ...), FIELD [NOT] CONTAINS VALUE, HAS [NOT] FIELD NAME, joined by AND, OR and parentheses"

// ParseFilter parses a filter. The empty text matches all vectors. An example:
//
//	population >= 1000 AND (geography.continent = 'Asia' OR tags CONTAINS 'x')
func ParseFilter(text string) (Filter, error) {
	if text == "" {
		return Filter{}, nil
	}
	if len(text) > maxFilter {
		return Filter{}, refusal.OfValue("filter", text, fmt.Sprintf("%d bytes", len(text)), fmt.Sprintf("at most %d bytes", maxFilter))
	}
	p := filterParser{rest: filterToken.FindAllString(text, -1)}
	if strings.Join(strings.Fields(strings.Join(p.rest, "")), "") != strings.Join(strings.Fields(text), "") {
		return Filter{}, refusal.OfValue("filter", text, "", filterSyntax)
	}
	holds, err := p.either()
	if err == nil && len(p.rest) > 0 {
		err = fmt.Errorf("unexpected %q", p.rest[0])
	}
	if err != nil {
		return Filter{}, refusal.OfValue("filter", text, err.Error(), filterSyntax)
	}
	return Filter{text, holds}, nil
}

// filterToken matches a string, a number, a field or keyword, or an operator sign.
var filterToken = regexp.MustCompile(`'[^']*'|"[^"]*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[\pL_][\pL\d_]*(?:\.[\pL\d_]+|\[#?-?\d+\])*|<=|>=|!=|[=<>(),]`)

type condition = func(metadata any) bool

// filterParser is a recursive-descent parser: either parses OR, all parses AND, one parses
// one condition.
type filterParser struct{ rest []string }

func (p *filterParser) next() string {
	if len(p.rest) == 0 {
		return ""
	}
	token := p.rest[0]
	p.rest = p.rest[1:]
	return token
}

// word removes the next token if it is this word in any case.
func (p *filterParser) word(word string) bool {
	if len(p.rest) > 0 && strings.EqualFold(p.rest[0], word) {
		p.rest = p.rest[1:]
		return true
	}
	return false
}

func (p *filterParser) either() (condition, error) {
	left, err := p.all()
	for err == nil && p.word("OR") {
		first := left
		var second condition
		second, err = p.all()
		left = func(m any) bool { return first(m) || second(m) }
	}
	return left, err
}

func (p *filterParser) all() (condition, error) {
	left, err := p.one()
	for err == nil && p.word("AND") {
		first := left
		var second condition
		second, err = p.one()
		left = func(m any) bool { return first(m) && second(m) }
	}
	return left, err
}

func (p *filterParser) one() (condition, error) {
	if p.word("(") {
		inner, err := p.either()
		if err == nil && !p.word(")") {
			err = errors.New("a parenthesis is not closed")
		}
		return inner, err
	}
	if p.word("HAS") {
		want := !p.word("NOT")
		if !p.word("FIELD") {
			return nil, errors.New("HAS without FIELD")
		}
		field, err := p.field()
		return func(m any) bool { return (lookup(m, field) != nil) == want }, err
	}
	field, err := p.field()
	if err != nil {
		return nil, err
	}
	negated := p.word("NOT")
	operator := strings.ToUpper(p.next())
	test := filterTests[operator]
	if test == nil || negated && !slices.Contains([]string{"GLOB", "IN", "CONTAINS"}, operator) {
		return nil, fmt.Errorf("%q is not an operator", operator)
	}
	values, err := p.values(operator == "IN")
	return func(m any) bool {
		found := lookup(m, field)
		return found != nil && slices.ContainsFunc(values, func(v any) bool { return test(found, v) }) != negated
	}, err
}

// fieldStep matches a name, or an index of a list; #- counts from the end.
var fieldStep = regexp.MustCompile(`[\pL\d_]+|\[#?-?\d+\]`)

var fieldName = regexp.MustCompile(`^[\pL_]`)

func (p *filterParser) field() ([]string, error) {
	token := p.next()
	if !fieldName.MatchString(token) {
		return nil, fmt.Errorf("%q is not a field", token)
	}
	return fieldStep.FindAllString(token, -1), nil
}

// values parses one value, or a list of values in parentheses.
func (p *filterParser) values(many bool) (list []any, err error) {
	if many && !p.word("(") {
		return nil, errors.New("IN without parenthesis")
	}
	for {
		token := p.next()
		n, notNumber := strconv.ParseFloat(token, 64)
		switch {
		case strings.HasPrefix(token, "'") || strings.HasPrefix(token, `"`):
			list = append(list, token[1:len(token)-1])
		case strings.EqualFold(token, "true"), strings.EqualFold(token, "false"):
			list = append(list, strings.EqualFold(token, "true"))
		case notNumber == nil:
			list = append(list, n)
		default:
			return nil, fmt.Errorf("%q is not a value: put text in quotes", token)
		}
		if !many || p.word(")") {
			return list, nil
		}
		if !p.word(",") {
			return nil, errors.New("a list is not closed")
		}
	}
}

// lookup returns the value of a field in metadata; nil if it is missing.
func lookup(value any, field []string) any {
	for _, step := range field {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			place := strings.Trim(step, "[]")
			i, err := strconv.Atoi(strings.TrimPrefix(place, "#"))
			if strings.HasPrefix(place, "#") {
				i += len(v)
			}
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// filterTests compare a value of the metadata with a value of the filter.
var filterTests = map[string]func(found, value any) bool{
	"=":  func(a, b any) bool { return a == b },
	"!=": func(a, b any) bool { return a != b },
	"<":  func(a, b any) bool { n, ok := order(a, b); return ok && n < 0 },
	"<=": func(a, b any) bool { n, ok := order(a, b); return ok && n <= 0 },
	">":  func(a, b any) bool { n, ok := order(a, b); return ok && n > 0 },
	">=": func(a, b any) bool { n, ok := order(a, b); return ok && n >= 0 },
	"IN": func(a, b any) bool { return a == b },
	"CONTAINS": func(a, b any) bool {
		list, ok := a.([]any)
		return ok && slices.ContainsFunc(list, func(x any) bool { return x == b })
	},
	"GLOB": func(a, b any) bool {
		text, ok1 := a.(string)
		pattern, ok2 := b.(string)
		return ok1 && ok2 && globbed(pattern, text)
	},
}

// order compares numbers; other values have no order.
func order(a, b any) (int, bool) {
	x, ok1 := a.(float64)
	y, ok2 := b.(float64)
	return cmp.Compare(x, y), ok1 && ok2
}

// globbed matches *, ? and [classes]; unlike in path.Match, * and ? also match a slash.
func globbed(pattern, text string) bool {
	const plain = "\x00"
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", plain), strings.ReplaceAll(text, "/", plain))
	return err == nil && ok
}
