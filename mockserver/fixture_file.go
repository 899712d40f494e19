package mockserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
)

// fixtureFile is a fixture as text: its places have lines.
type fixtureFile struct {
	name string
	root *yaml.Node
}

// fault is an error at a place of the file: file:line: /path/to/key: text.
func (f *fixtureFile) fault(pointer, text string) error {
	line := 1
	if f.root != nil {
		line = nodeAt(f.root, pointer).Line
	}
	where := f.name + ":" + strconv.Itoa(line) + ": "
	if pointer != "" {
		where += pointer + ": "
	}
	return response.Invalid(where + text)
}

// at makes an error one at a place of the file. Refusals of the engine know the
// rest of the place.
func (f *fixtureFile) at(pointer string, err error) error {
	if r, ok := errors.AsType[*refusal.Error](err); ok && r.Place != "" {
		inner := *r
		pointer, inner.Place = pointer+inner.Place, ""
		err = &inner
	}
	return f.fault(pointer, response.OneLine(err.Error()))
}

var atLine = regexp.MustCompile(`(?s)line (\d+): (.*)$`)

// readFixture reads one YAML document, or JSON, and holds it to the schema. The
// value is that of its JSON.
func readFixture(name string, text []byte) (*fixtureFile, []byte, error) {
	f := &fixtureFile{name: name}
	var document yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	err := d.Decode(&document)
	if err == nil && d.Decode(new(yaml.Node)) == nil {
		return nil, nil, f.fault("", "the file holds a second document: must be one")
	}
	var value any
	if err == nil {
		f.root = document.Content[0]
		err = f.root.Decode(&value)
	}
	if err != nil {
		where, said := name+": ", strings.TrimPrefix(err.Error(), "yaml: ")
		if len(bytes.TrimSpace(text)) == 0 {
			said = "the file is empty"
		}
		if m := atLine.FindStringSubmatch(said); m != nil {
			where, said = name+":"+m[1]+": ", m[2]
		}
		return nil, nil, response.Invalid(where + strings.Join(strings.Fields(said), " "))
	}
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, nil, f.fault("", "a key is no text")
	}
	return f, plain, f.check(plain)
}

// check names the first breach of the schema in the order of the file.
func (f *fixtureFile) check(plain []byte) error {
	schema, err := fixtureSchema()
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return err
	}
	var breach *jsonschema.ValidationError
	if err := schema.Validate(value); !errors.As(err, &breach) {
		return err
	}
	breach = f.first(breach)
	pointer, text := breach.InstanceLocation, breach.Message
	if node := nodeAt(f.root, pointer); node.Kind == yaml.ScalarNode {
		text = strconv.Quote(response.Shorten(node.Value)) + ": " + text
	}
	return f.fault(pointer, withAcceptedWords(text, breach.AbsoluteKeywordLocation))
}

// first is the breach that stands first in the file; of those at one place, the
// one that lies deepest in the schema. Choices tell as a whole.
func (f *fixtureFile) first(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	if len(e.Causes) == 0 || strings.HasSuffix(e.KeywordLocation, "/anyOf") {
		return e
	}
	leaves := make([]*jsonschema.ValidationError, len(e.Causes))
	for i, cause := range e.Causes {
		leaves[i] = f.first(cause)
	}
	slices.SortStableFunc(leaves, func(x, y *jsonschema.ValidationError) int {
		return nodeAt(f.root, x.InstanceLocation).Line - nodeAt(f.root, y.InstanceLocation).Line
	})
	return leaves[0]
}

// withAcceptedWords adds the words of the schema for what is accepted, where it has some.
func withAcceptedWords(text, location string) string {
	var node any
	_ = json.Unmarshal(spec.FixtureSchema, &node) // it compiled
	_, pointer, _ := strings.Cut(location, "#")
	said := ""
	for part := range strings.SplitSeq(strings.Trim(pointer, "/"), "/") {
		object, _ := node.(map[string]any)
		if words, ok := object["x-accepted"].(string); ok {
			said = words
		}
		node = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		if list, ok := node.([]any); ok && len(list) > 0 {
			node = nil
		}
	}
	if said == "" {
		return text
	}
	return text + ": must be " + said
}

var fixtureSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat, c.AssertContent = true, true
	c.Formats["moment"] = textFormat(func(s string) error { _, err := parseMoment(s, time.Time{}); return err })
	c.Formats["span"] = textFormat(func(s string) error { _, err := response.Duration(s); return err })
	if err := c.AddResource("mem://fixture.schema.json", bytes.NewReader(spec.FixtureSchema)); err != nil {
		return nil, err
	}
	return c.Compile("mem://fixture.schema.json")
})

// textFormat is a format of texts.
func textFormat(fault func(string) error) func(any) bool {
	return func(v any) bool {
		s, ok := v.(string)
		return !ok || fault(s) == nil
	}
}

// parseMoment reads a time: RFC 3339, or a distance from now.
func parseMoment(s string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	back := strings.HasPrefix(s, "-")
	d, err := response.Duration(strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+"))
	if err != nil || d < 0 {
		return time.Time{}, fmt.Errorf("time %q: must be Unix ms, a time such as 2026-01-01T00:00:00Z, or a distance from now such as -2h", response.Shorten(s))
	}
	if back {
		d = -d
	}
	return now.Add(d), nil
}

// nodeAt follows a JSON pointer; where it ends early, the last node counts.
func nodeAt(node *yaml.Node, pointer string) *yaml.Node {
	for part := range strings.SplitSeq(strings.Trim(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		next := (*yaml.Node)(nil)
		if i, err := strconv.Atoi(part); err == nil && node.Kind == yaml.SequenceNode && i >= 0 && i < len(node.Content) {
			next = node.Content[i]
		}
		for i := 0; i+1 < len(node.Content) && node.Kind == yaml.MappingNode; i += 2 {
			if node.Content[i].Value == part {
				next = node.Content[i+1]
			}
		}
		if next == nil {
			return node
		}
		node = next
	}
	return node
}
