package target

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-openapi/jsonpointer"
	"github.com/santhosh-tekuri/jsonschema/v5"
	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/spec"
)

// Load reads a target file. Every error names the file, the line and the
// key; none shows a secret. Paths in the file are relative to it.
func Load(path string) (*Target, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("target file: %w", err)
	}
	t, err := parseTarget(path, text, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	for _, file := range []*string{&t.ExpectedFailures, &t.KnownFlaky} {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(filepath.Dir(path), *file)
		}
	}
	return t, nil
}

// fault is an error at a line of a file.
func fault(file string, node *yaml.Node, key, format string, args ...any) error {
	where := file
	if node != nil {
		where += ":" + strconv.Itoa(node.Line)
	}
	if key != "" {
		where += ": " + key
	}
	return fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...))
}

var yamlLine = regexp.MustCompile(`(?s)^yaml: (?:unmarshal errors:\s*)?line (\d+): (.*)$`)

// parseTarget holds a text to the schema, and to what a schema cannot say.
func parseTarget(file string, text []byte, env func(string) (string, bool)) (*Target, error) {
	root, value, err := readYAML(file, text)
	if err != nil {
		return nil, err
	}
	schema, err := targetSchema()
	if err != nil {
		return nil, err
	}
	if err := schema.check(file, root, value); err != nil {
		return nil, err
	}
	if err := secrets(file, root, "", env); err != nil {
		return nil, err
	}
	var t Target
	if err := root.Decode(&t); err != nil {
		return nil, atLine(file, err)
	}
	return &t, t.consistent(file, root)
}

// readYAML reads one document whose keys are texts, each once.
func readYAML(file string, text []byte) (*yaml.Node, any, error) {
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); err != nil {
		if len(bytes.TrimSpace(text)) == 0 {
			return nil, nil, fault(file, nil, "", "the file is empty")
		}
		return nil, nil, atLine(file, err)
	}
	root := document.Content[0]
	if err := decoder.Decode(new(yaml.Node)); err == nil {
		return nil, nil, fault(file, root, "", "the file holds a second document; accepted is one")
	}
	var value any
	if err := root.Decode(&value); err != nil {
		return nil, nil, atLine(file, err)
	}
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, nil, fault(file, root, "", "a key is no text")
	}
	decoded := json.NewDecoder(bytes.NewReader(plain))
	decoded.UseNumber()
	if err := decoded.Decode(&value); err != nil {
		return nil, nil, fault(file, root, "", "%v", err)
	}
	return root, value, nil
}

// atLine puts the file before an error of the YAML reader.
func atLine(file string, err error) error {
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("%s:%s: %s", file, m[1], strings.Join(strings.Fields(m[2]), " "))
	}
	return fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
}

// fileSchema is a schema, compiled for the verdict and plain for the words.
type fileSchema struct {
	compiled *jsonschema.Schema
	plain    any
}

var targetSchema = sync.OnceValues(func() (fileSchema, error) { return newSchema("target.schema.json", spec.TargetSchema) })

func newSchema(name string, text []byte) (s fileSchema, err error) {
	if err = json.Unmarshal(text, &s.plain); err != nil {
		return s, err
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat = true
	if err = c.AddResource("mem://"+name, bytes.NewReader(text)); err == nil {
		s.compiled, err = c.Compile("mem://" + name)
	}
	return s, err
}

// check says what the first breach is: its line, its key, what is accepted.
func (s fileSchema) check(file string, root *yaml.Node, value any) error {
	err := s.compiled.Validate(value)
	var breach *jsonschema.ValidationError
	if !errors.As(err, &breach) {
		return err
	}
	breach = telling(breach)
	pointer := breach.InstanceLocation
	if strings.HasSuffix(breach.KeywordLocation, "/propertyNames/enum") { // it points at the name, which is no value
		pointer, _, _ = cutLast(pointer, "/")
	}
	node := nodeAt(root, pointer)
	key := dotted(pointer)
	_, keyword, _ := cutLast(breach.AbsoluteKeywordLocation, "/")
	_, location, _ := strings.Cut(breach.AbsoluteKeywordLocation, "#")
	parent, _, _ := cutLast(location, "/")
	object := s.at(parent)
	switch keyword {
	case "additionalProperties":
		known, _ := object["properties"].(map[string]any)
		return s.unknown(file, node, key, slices.Sorted(maps.Keys(known)))
	case "required":
		list, _ := object["required"].([]any)
		for _, name := range list {
			if child(node, fmt.Sprint(name)) == nil {
				return fault(file, node, join(key, fmt.Sprint(name)), "the key is missing")
			}
		}
	case "enum":
		if strings.HasSuffix(parent, "/propertyNames") {
			var known []string
			list, _ := object["enum"].([]any)
			for _, name := range list {
				known = append(known, fmt.Sprint(name))
			}
			return s.unknown(file, node, key, known)
		}
	}
	accepted, _ := object["x-accepted"].(string)
	if accepted == "" {
		accepted = strings.TrimPrefix(breach.Message, "value must be ")
		if list, ok := object["enum"].([]any); ok {
			var words []string
			for _, v := range list {
				words = append(words, fmt.Sprint(v))
			}
			accepted = "one of " + strings.Join(words, ", ")
		}
	}
	got := ""
	if node != nil && node.Kind == yaml.ScalarNode && !strings.Contains(key, "auth") {
		got = quotable(node.Value) + ": "
	}
	return fault(file, node, key, "%saccepted is %s", got, accepted)
}

// at is the object of the schema at a JSON pointer.
func (s fileSchema) at(location string) map[string]any {
	pointer, err := jsonpointer.New(location)
	if err != nil {
		return nil
	}
	rules, _, err := pointer.Get(s.plain)
	if err != nil {
		return nil
	}
	object, _ := rules.(map[string]any)
	return object
}

// quotable is a value as an error may show it: somebody may have pasted a secret
// into any place, so of a URL only the host is shown, and of a long text its length.
func quotable(value string) string {
	if u, err := url.Parse(value); err == nil && u.Host != "" {
		return strconv.Quote(u.Scheme + "://" + u.Host)
	}
	if n := utf8.RuneCountInString(value); n > mostQuoted || strings.Contains(value, "@") {
		return fmt.Sprintf("a text of %d characters", n)
	}
	return strconv.Quote(value)
}

// mostQuoted is how long a value may be that an error quotes, in characters.
const mostQuoted = 24

// telling is the breach that says most: an unknown key explains a missing one.
func telling(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	if len(e.Causes) == 0 || strings.HasSuffix(e.KeywordLocation, "/anyOf") {
		return e
	}
	var best *jsonschema.ValidationError
	unknownKey := func(leaf *jsonschema.ValidationError) bool {
		return strings.HasSuffix(leaf.KeywordLocation, "/additionalProperties") || strings.HasSuffix(leaf.KeywordLocation, "/propertyNames/enum")
	}
	for _, cause := range e.Causes {
		leaf := telling(cause)
		switch {
		case best == nil, unknownKey(leaf) && !unknownKey(best):
			best = leaf
		case unknownKey(leaf) == unknownKey(best) && leaf.InstanceLocation < best.InstanceLocation: // the order of causes is random
			best = leaf
		}
	}
	return best
}

// unknown names the key that nobody knows, with the one that is probably meant.
func (s fileSchema) unknown(file string, node *yaml.Node, key string, known []string) error {
	for i := 0; node != nil && i+1 < len(node.Content); i += 2 {
		if name := node.Content[i]; !slices.Contains(known, name.Value) {
			hint := ""
			if near, distance := spec.Nearest(name.Value, known); distance < 3 {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
			return fault(file, name, join(key, name.Value), "unknown key%s accepted are %s", hint+";", strings.Join(known, ", "))
		}
	}
	return fault(file, node, key, "unknown key; accepted are %s", strings.Join(known, ", "))
}

// child is the value of a key of a mapping.
func child(node *yaml.Node, name string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1]
		}
	}
	return nil
}

// nodeAt follows a JSON pointer; where it ends early, the last node counts.
func nodeAt(node *yaml.Node, pointer string) *yaml.Node {
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if part == "" {
			continue
		}
		next := child(node, part)
		if i, err := strconv.Atoi(part); err == nil && node.Kind == yaml.SequenceNode && i < len(node.Content) {
			next = node.Content[i]
		}
		if next == nil {
			return node
		}
		node = next
	}
	return node
}

// dotted writes a pointer as one says it: target.urls.base.
func dotted(pointer string) string {
	return strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// secrets replaces {env: NAME} by the variable's text.
func secrets(file string, node *yaml.Node, key string, env func(string) (string, bool)) error {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		variable := child(value, "env")
		if variable == nil || len(value.Content) != 2 || variable.Kind != yaml.ScalarNode {
			if err := secrets(file, value, join(key, name.Value), env); err != nil {
				return err
			}
			continue
		}
		text, ok := env(variable.Value)
		if !ok || text == "" {
			return fault(file, variable, join(key, name.Value), "the environment variable %s is not set, or empty", variable.Value)
		}
		*value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: variable.Line}
	}
	return nil
}

// consistent refuses what fits the schema and means nothing.
func (t *Target) consistent(file string, root *yaml.Node) error {
	receiver := child(root, "receiver")
	needs := map[string]bool{
		"advertised": t.Receiver.PublicURL != "", "tunnel": t.Receiver.Tunnel.Command != "", "relay": t.Receiver.Relay.URL != "",
	}
	if ok, known := needs[t.Receiver.Mode]; known && !ok {
		key := map[string]string{"advertised": "public_url", "tunnel": "tunnel", "relay": "relay"}[t.Receiver.Mode]
		return fault(file, receiver, "receiver."+key, "the key is missing; the mode %s needs it", t.Receiver.Mode)
	}
	if (t.Receiver.TLS.Cert == "") != (t.Receiver.TLS.Key == "") {
		return fault(file, child(receiver, "tls"), "receiver.tls", "cert and key belong together")
	}
	drivers := child(root, "drivers")
	for _, name := range slices.Sorted(maps.Keys(t.Drivers)) {
		d := t.Drivers[name]
		where := child(drivers, name)
		switch {
		case d.Kind == "control" && name != "clock":
			return fault(file, where, "drivers."+name+".kind", "control is for the clock only; accepted are http, exec, manual and none")
		case name == "clock" && d.Kind != "control" && d.Kind != "none":
			return fault(file, where, "drivers.clock.kind", "accepted are control and none")
		case d.Kind == "http" && d.URL == "" && d.Trigger == nil:
			return fault(file, where, "drivers."+name+".url", "the key is missing; the kind http needs it")
		case name == "run" && d.Kind == "http" && d.Trigger == nil:
			return fault(file, where, "drivers.run.trigger", "the key is missing: how a run of {{workflow}} is triggered")
		case name == "run" && d.Trigger != nil && d.Trigger.Result == "" && !d.Trigger.names("runId"):
			return fault(file, child(where, "trigger"), "drivers.run.trigger", "the run has no known id: send {{runId}}, or set result to the JSON pointer of the id in the answer")
		}
	}
	return t.checkPlaceholders(file, drivers)
}
