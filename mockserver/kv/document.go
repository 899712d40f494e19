package kv

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ohler55/ojg/jp"

	"github.com/understudy-mock/understudy/internal/jsonsyntax"
)

// Limits of documents. One path may match every value of a document, so these
// also limit what one command needs.
const (
	maxDocument = 1 << 20 // bytes
	maxDepth    = 128     // levels, as in the original server
	maxMatches  = 100_000 // of one path
	maxPath     = 1 << 10 // bytes
)

// A document is a JSON value that is stored as a string.
type document struct {
	e    *embedded
	c    *connection
	key  string
	root any
	is   bool // the key exists
}

// open reads the document of a key.
func (e *embedded) open(c *connection, key string) (*document, any) {
	d := &document{e: e, c: c, key: key}
	switch text := c.look("GET", key).(type) {
	case nil:
		return d, nil
	case string:
		root, err := readDocument(text)
		if err != nil {
			return nil, failure("WRONGTYPE Operation against a key holding the wrong kind of value")
		}
		d.root, d.is = root, true
		return d, nil
	default:
		return nil, text
	}
}

// save writes the document; the key keeps its time to live.
func (d *document) save() any {
	text := writeDocument(d.root)
	if len(text) > maxDocument {
		return failure(fmt.Sprintf("ERR document too large: %d bytes; the embedded store takes at most %d", len(text), maxDocument))
	}
	if deeperThan(d.root, maxDepth) {
		return failure(errDepth.Error())
	}
	return d.e.do(d.c, []string{"SET", d.key, text, "KEEPTTL"})
}

var errDepth = fmt.Errorf("ERR document too deep: at most %d levels", maxDepth)

// readDocument reads one JSON value; integers stay integers.
func readDocument(text string) (any, error) {
	if len(text) > maxDocument {
		return nil, fmt.Errorf("ERR document too large: %d bytes; the embedded store takes at most %d", len(text), maxDocument)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, errors.New("ERR invalid JSON: " + jsonsyntax.Explain([]byte(text), err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("ERR invalid JSON: something follows the value")
	}
	if deeperThan(v, maxDepth) {
		return nil, errDepth
	}
	return comparableNumbers(v), nil
}

// comparableNumbers converts numbers to the types that paths compare: int64, float64.
func comparableNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			v[name] = comparableNumbers(item)
		}
	case []any:
		for i, item := range v {
			v[i] = comparableNumbers(item)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return f
		}
	}
	return v
}

// deeperThan reports whether a value has more than the given number of levels.
func deeperThan(v any, levels int) bool {
	if levels < 0 {
		return true
	}
	below := func(item any) bool { return deeperThan(item, levels-1) }
	switch v := v.(type) {
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), below)
	case []any:
		return slices.ContainsFunc(v, below)
	}
	return false
}

// writeDocument does not escape <, > and &, because clients compare the text.
func writeDocument(v any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // it was read from JSON
	return strings.TrimSuffix(out.String(), "\n")
}

// A path is a JSONPath, or a path of the older form: .a.b, a.b or just a dot. The
// older form means one value, which replies contain without a list.
type path struct {
	jp.Expr
	older bool
}

// readDocumentPath reads both forms of paths; a JSONPath starts with $. It limits the
// cost of a path: each further descent multiplies the number of places to visit.
func readDocumentPath(text string) (path, any) {
	older := !strings.HasPrefix(text, "$")
	switch {
	case text == ".":
		text = "$"
	case older && strings.HasPrefix(text, "."), older && strings.HasPrefix(text, "["):
		text = "$" + text
	case older:
		text = "$." + text
	}
	// A union, a descent or a reference to the root repeats what follows it.
	if many := strings.Count(text, "..") > 1 || strings.Count(text, "$") > 1 || strings.Contains(text, ",") && strings.ContainsAny(text, "*?:"); many || len(text) > maxPath {
		return path{}, failure(fmt.Sprintf("ERR path %.100q: the embedded store takes at most %d bytes with one '..', and a union without wildcards, slices and filters", text, maxPath))
	}
	expression, err := jp.ParseString(text)
	if err != nil || len(expression) == 0 {
		return path{}, failure(fmt.Sprintf("ERR path %.100q: invalid JSONPath", text))
	}
	return path{expression, older}, nil
}

// matches returns the places of a path, inner before outer ones, in the order of the
// service.
func (d *document) matches(p path) ([]jp.Expr, any) {
	found := d.locate(p.Expr)
	if len(found) > maxMatches {
		return nil, failure(fmt.Sprintf("ERR path matches over %d values", maxMatches))
	}
	slices.SortStableFunc(found, innerFirst)
	return found, nil
}

// locate returns the places of a path, at most maxMatches+1.
func (d *document) locate(p jp.Expr) []jp.Expr {
	if len(p) < 2 {
		return []jp.Expr{p} // the root, which the library does not find
	}
	return p.Locate(d.root, maxMatches+1)
}

// innerFirst orders places by their containers: those inside a value before that
// value and its siblings; otherwise by name and index.
func innerFirst(a, b jp.Expr) int {
	upA, upB := a[:max(len(a)-1, 0)], b[:max(len(b)-1, 0)]
	for i := 0; i < len(upA) && i < len(upB); i++ {
		if order := comparePlace(upA[i], upB[i]); order != 0 {
			return order
		}
	}
	if len(upA) != len(upB) || len(a) == 0 || len(b) == 0 {
		return len(upB) - len(upA)
	}
	return comparePlace(a[len(a)-1], b[len(b)-1])
}

// comparePlace orders places by their index or name, because the matches in an object
// have no order.
func comparePlace(a, b jp.Frag) int {
	n, isIndex := a.(jp.Nth)
	m, isIndex2 := b.(jp.Nth)
	if isIndex && isIndex2 {
		return int(n) - int(m)
	}
	name, _ := a.(jp.Child)
	name2, _ := b.(jp.Child)
	return strings.Compare(string(name), string(name2))
}

// lastFirst orders places so that removing one does not move those that follow: inner
// before outer ones, and the items of a list from the end.
func lastFirst(a, b jp.Expr) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if order := comparePlace(b[i], a[i]); order != 0 {
			return order
		}
	}
	return len(b) - len(a)
}

// at returns the value at a place.
func (d *document) at(place jp.Expr) any {
	value := d.root
	for _, step := range place {
		switch s := step.(type) {
		case jp.Child:
			object, _ := value.(map[string]any)
			value = object[string(s)]
		case jp.Nth:
			if list, ok := value.([]any); ok && int(s) < len(list) {
				value = list[s]
			}
		}
	}
	return value
}

// put replaces the value at a place.
func (d *document) put(place jp.Expr, value any) {
	if len(place) < 2 {
		d.root = value
		return
	}
	switch container := d.at(place[:len(place)-1]).(type) {
	case map[string]any:
		if name, ok := place[len(place)-1].(jp.Child); ok {
			container[string(name)] = value
		}
	case []any:
		if i, ok := place[len(place)-1].(jp.Nth); ok && int(i) < len(container) {
			container[i] = value
		}
	}
}

// remove removes the value at a place.
func (d *document) remove(place jp.Expr) {
	if len(place) < 2 {
		d.root, d.is = nil, false
		return
	}
	up := place[:len(place)-1]
	switch container := d.at(up).(type) {
	case map[string]any:
		if name, ok := place[len(place)-1].(jp.Child); ok {
			delete(container, string(name))
		}
	case []any:
		if i, ok := place[len(place)-1].(jp.Nth); ok && int(i) < len(container) {
			d.put(up, slices.Delete(slices.Clone(container), int(i), int(i)+1))
		}
	}
}

// create adds a member if a path ends in a name that its objects lack; false if not.
func (d *document) create(p path, value any) bool {
	name, ok := p.Expr[len(p.Expr)-1].(jp.Child)
	if !ok {
		return false
	}
	created := false
	for _, place := range d.locate(p.Expr[:len(p.Expr)-1]) {
		if object, ok := d.at(place).(map[string]any); ok {
			object[string(name)] = copyValue(value)
			created = true
		}
	}
	return created
}

// copyValue returns a deep copy.
func copyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[name] = copyValue(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = copyValue(item)
		}
		return out
	}
	return v
}

// kindOfValue returns a value's type as JSON.TYPE names it.
func kindOfValue(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case int64:
		return "integer"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	}
	return "number"
}

// respOf converts a value to nested replies: a list begins with [, an object with {.
func respOf(v any) any {
	switch v := v.(type) {
	case nil, string, int64:
		return v
	case bool:
		return status(strconv.FormatBool(v))
	case []any:
		out := []any{status("[")}
		for _, item := range v {
			out = append(out, respOf(item))
		}
		return out
	case map[string]any:
		out := []any{status("{")}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, name, respOf(v[name]))
		}
		return out
	}
	return writeDocument(v)
}
