package spec

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// compiled is a form of a schema that accepts most valid values without decoding or
// allocating. It never accepts an invalid value, but it may refuse a valid one. Then
// the schema itself decides and words the error. FuzzCompiled compares the two.
type compiled struct {
	kind     byte // first byte of a value: { [ or "; 0 for a number, t for a boolean, a for any value, | for anyOf
	nullable bool
	short    int              // minimum length of a string in bytes
	enum     []string         // allowed strings, nil for any
	whole    bool             // the number must be an integer
	min, max float64          // of a number
	items    *compiled        // of a list
	least    int              // minimum number of items of a list
	members  []compiledMember // of an object, sorted by name
	required uint64           // a bit for each required member, by index in members
	others   *compiled        // of additional members, nil if there must be none
	variants []*compiled      // alternatives of anyOf
}

type compiledMember struct {
	name string
	form *compiled
}

// anyValue is the form where a document has no schema for a value. An empty schema
// differs: it does not accept null.
var anyValue = &compiled{kind: 'a', nullable: true}

// maxCompiled is the maximum depth of a compiled schema: recursive schemas have no compiled form.
const maxCompiled = 12

// compile returns the compiled form of a schema, nil for none.
func compile(s *openapi3.Schema) *compiled { return compileWithin(s, maxCompiled) }

func compileWithin(s *openapi3.Schema, depth int) *compiled {
	if s == nil || depth == 0 || !onlyKnownKeywords(s) {
		return nil
	}
	c := &compiled{nullable: s.Nullable, min: math.Inf(-1), max: math.Inf(1)}
	switch {
	case len(s.AnyOf) > 0:
		c.kind = '|'
		for _, one := range s.AnyOf {
			if v := compileWithin(one.Value, depth-1); v != nil {
				c.variants = append(c.variants, v)
			}
		}
		return c
	case s.Type == nil && len(s.Enum) == 0 && len(s.Properties) == 0 && len(s.Required) == 0:
		c.kind = 'a'
		return c
	case s.Type == nil || len(*s.Type) != 1:
		return nil
	}
	switch (*s.Type)[0] {
	case "string":
		return c.ofString(s)
	case "integer", "number":
		return c.ofNumber(s)
	case "boolean":
		c.kind = 't'
	case "array":
		return c.ofList(s, depth)
	case "object":
		return c.ofObject(s, depth)
	default:
		return nil
	}
	return c
}

// onlyKnownKeywords reports whether compile supports all keywords of the schema. It
// compares the whole struct with its zero value, so that it also finds keywords that
// kin-openapi adds later.
func onlyKnownKeywords(s *openapi3.Schema) bool {
	rest := *s
	rest.Extensions, rest.Origin, rest.Title, rest.Description, rest.Default, rest.Example, rest.ExternalDocs, rest.Deprecated = nil, nil, "", "", nil, nil, nil, false
	rest.AnyOf, rest.Type, rest.Enum, rest.Nullable, rest.Min, rest.Max, rest.MinLength = nil, nil, nil, false, nil, nil, 0
	rest.MinItems, rest.Items, rest.Required, rest.Properties, rest.AdditionalProperties = 0, nil, nil, nil, openapi3.AdditionalProperties{}
	if rest.Format == "int64" {
		rest.Format = ""
	}
	return reflect.ValueOf(rest).IsZero()
}

func (c *compiled) ofString(s *openapi3.Schema) *compiled {
	c.kind, c.short = '"', int(min(s.MinLength, 1<<20))
	for _, v := range s.Enum {
		text, ok := v.(string)
		if !ok {
			return nil
		}
		c.enum = append(c.enum, text)
	}
	return c
}

func (c *compiled) ofNumber(s *openapi3.Schema) *compiled {
	c.kind, c.whole = '0', s.Type.Is("integer")
	if s.Min != nil {
		c.min = *s.Min
	}
	if s.Max != nil {
		c.max = *s.Max
	}
	if len(s.Enum) > 0 {
		return nil
	}
	return c
}

func (c *compiled) ofList(s *openapi3.Schema, depth int) *compiled {
	c.kind, c.least, c.items = '[', int(min(s.MinItems, 1<<20)), anyValue
	if s.Items != nil {
		c.items = compileWithin(s.Items.Value, depth-1)
	}
	if c.items == nil || len(s.Enum) > 0 {
		return nil
	}
	return c
}

// maxMembers is the largest number of properties that compile supports: the bits of required.
const maxMembers = 64

func (c *compiled) ofObject(s *openapi3.Schema, depth int) *compiled {
	c.kind = '{'
	if len(s.Properties) > maxMembers || len(s.Enum) > 0 {
		return nil
	}
	for name, ref := range s.Properties {
		form := compileWithin(ref.Value, depth-1)
		if form == nil {
			return nil
		}
		c.members = append(c.members, compiledMember{name, form})
	}
	slices.SortFunc(c.members, func(a, b compiledMember) int { return strings.Compare(a.name, b.name) })
	for _, name := range s.Required {
		i, known := c.member([]byte(name))
		if !known {
			return nil
		}
		c.required |= 1 << i
	}
	switch more := s.AdditionalProperties; {
	case more.Schema != nil:
		if c.others = compileWithin(more.Schema.Value, depth-1); c.others == nil {
			return nil
		}
	case more.Has == nil || *more.Has:
		c.others = anyValue
	}
	return c
}

// member finds a member by name.
func (c *compiled) member(name []byte) (int, bool) {
	return slices.BinarySearchFunc(c.members, name, func(m compiledMember, name []byte) int {
		switch text := string(name); { // compared in place
		case m.name < text:
			return -1
		case m.name > text:
			return 1
		}
		return 0
	})
}

// acceptsText reports whether the value of a parameter is certainly valid.
func (c *compiled) acceptsText(value string) bool {
	if c == nil {
		return false
	}
	switch c.kind {
	case '"':
		return c.text([]byte(value))
	case '0':
		return c.whole && len(value) <= 15 && isDigits(value) && c.within(value)
	case 't':
		return value == "true" || value == "false"
	}
	return false
}

// acceptsJSON reports whether a text is certainly JSON that the schema accepts.
func (c *compiled) acceptsJSON(text []byte) bool {
	if c == nil || !validJSON(text) {
		return false
	}
	_, ok := c.value(text, 0)
	return ok
}

// value checks the value at i, after optional blanks, and returns the position after
// it. The text must be valid JSON.
func (c *compiled) value(text []byte, i int) (end int, ok bool) {
	i = skipBlanks(text, i)
	switch {
	case text[i] == 'n':
		return i + len("null"), c.nullable
	case c.kind == 'a':
		return skipValue(text, i), true
	case c.kind == '|':
		for _, v := range c.variants {
			if end, ok = v.value(text, i); ok {
				return end, true
			}
		}
		return i, false
	}
	switch b := text[i]; {
	case b == '{' && c.kind == '{':
		return c.object(text, i+1)
	case b == '[' && c.kind == '[':
		return c.list(text, i+1)
	case b == '"' && c.kind == '"':
		end = skipString(text, i)
		return end, c.text(text[i+1 : end-1])
	case (b == 't' || b == 'f') && c.kind == 't':
		return skipWord(text, i), true
	case (b == '-' || b >= '0' && b <= '9') && c.kind == '0':
		end = skipWord(text, i)
		number := text[i:end]
		return end, len(number) <= 15 && (!c.whole || isDigits(number)) && c.within(string(number))
	}
	return i, false
}

// text checks a string without its quotes.
func (c *compiled) text(value []byte) bool {
	if c.short == 0 && c.enum == nil {
		return true
	}
	return len(value) >= c.short && isPlain(value) && (c.enum == nil || slices.ContainsFunc(c.enum, func(one string) bool { return one == string(value) }))
}

func (c *compiled) list(text []byte, i int) (end int, ok bool) {
	count := 0
	for i = skipBlanks(text, i); text[i] != ']'; i = skipBlanks(text, i) {
		if text[i] == ',' {
			i++
		}
		if i, ok = c.items.value(text, i); !ok {
			return i, false
		}
		count++
	}
	return i + 1, count >= c.least
}

func (c *compiled) object(text []byte, i int) (end int, ok bool) {
	var seen uint64
	for i = skipBlanks(text, i); text[i] != '}'; i = skipBlanks(text, i) {
		if text[i] == ',' {
			i = skipBlanks(text, i+1)
		}
		behind := skipString(text, i)
		name := text[i+1 : behind-1]
		if !isPlain(name) {
			return i, false
		}
		form := c.others
		if at, known := c.member(name); known {
			if form = c.members[at].form; seen&(1<<at) != 0 {
				return i, false // duplicate member
			}
			seen |= 1 << at
		}
		if form == nil {
			return i, false
		}
		if i, ok = form.value(text, skipBlanks(text, behind)+1); !ok {
			return i, false
		}
	}
	return i + 1, seen&c.required == c.required
}

func (c *compiled) within(number string) bool {
	if math.IsInf(c.min, -1) && math.IsInf(c.max, 1) {
		return true
	}
	n, err := strconv.ParseFloat(number, 64)
	return err == nil && c.min <= n && n <= c.max
}

// isPlain reports whether a text is ASCII without escapes.
func isPlain(text []byte) bool {
	for _, b := range text {
		if b == '\\' || b >= 0x80 {
			return false
		}
	}
	return true
}

// isDigits reports whether a text is an integer without an exponent.
func isDigits[T string | []byte](text T) bool {
	from := 0
	if len(text) > 1 && text[0] == '-' {
		from = 1
	}
	for i := from; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return len(text) > 0
}

// skipBlanks is the position of the next byte that is not white space.
func skipBlanks(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// skipString is the position after a string that begins at i.
func skipString(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// skipWord is the position after a number, true, false or null.
func skipWord(text []byte, i int) int {
	for i < len(text) && text[i] != ',' && text[i] != ']' && text[i] != '}' && text[i] > ' ' {
		i++
	}
	return i
}

// skipValue is the position after any value.
func skipValue(text []byte, i int) int {
	depth := 0
	for {
		switch text[i] {
		case '"':
			i = skipString(text, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			i++
			continue
		default:
			i = skipWord(text, i)
			if i < len(text) && text[i] == ':' {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
}
