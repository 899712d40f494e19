// Package yamlfile reads the YAML files that people write, and checks them against a JSON
// Schema. Each error has the file, the line, the key, the value as written, and what it
// must be:
//
//	understudy.yaml:3: clock: invalid value "manul": must be one of real, manual, auto
//
// JSON is YAML, so that the files may be JSON. Package yamlfile decodes nothing into types:
// callers do that with File.Decode or File.JSON.
package yamlfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-openapi/jsonpointer"
	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/clip"
)

// File is a parsed file.
type File struct {
	Name string
	Root *yaml.Node // nil for an empty file

	// Show returns the value at a key for an error text, "" to leave it out. nil: Written.
	Show func(key string, node *yaml.Node) string
}

// Parse reads a file with one document. The keys of its mappings are unique strings.
func Parse(name string, text []byte) (*File, error) {
	f := &File{Name: name}
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return f, nil
	}
	if err != nil {
		return nil, f.syntax(text, err)
	}
	root := document.Content[0]
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		return nil, f.Fault(&second, "", "second document: the file must have one")
	} else if !errors.Is(err, io.EOF) {
		return nil, f.syntax(text, err)
	}
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return f, nil
	}
	f.Root = root
	return f, f.checkNodes(root, "")
}

// Empty is the error for a file without content.
func (f *File) Empty() error { return fmt.Errorf("%s: the file is empty", f.Name) }

// Fault returns an error at a node of the file, nil for the file as a whole. key is its place
// in the file, "" for the whole document.
func (f *File) Fault(node *yaml.Node, key, text string) error {
	where := f.Name
	if node != nil {
		where += ":" + strconv.Itoa(node.Line)
	}
	if key != "" {
		where += ": " + key
	}
	return fmt.Errorf("%s: %s", where, text)
}

// checkNodes refuses keys that are not strings, duplicate keys and numbers without a value in
// JSON. The parser would report them without their place.
func (f *File) checkNodes(node *yaml.Node, pointer string) error {
	if node.Kind == yaml.MappingNode {
		return f.checkMapping(node, pointer)
	}
	var number float64
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!float" && node.Decode(&number) == nil && !(math.Abs(number) < 1<<63) { // or not a number
		return f.Fault(node, Dotted(pointer), "invalid value "+node.Value+": must be less than 2^63, or in quotes if it is a string")
	}
	for i, item := range node.Content { // an alias has none
		if err := f.checkNodes(item, pointer+"/"+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) checkMapping(node *yaml.Node, pointer string) error {
	lines := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, at := node.Content[i], pointer+"/"+jsonpointer.Escape(node.Content[i].Value)
		switch {
		case key.Kind != yaml.ScalarNode:
			return f.Fault(key, Dotted(pointer), "key in braces or brackets: must be in quotes")
		case key.ShortTag() != "!!str" && key.ShortTag() != "!!merge":
			return f.Fault(key, Dotted(pointer), fmt.Sprintf("key %s is not a string: must be %q, in quotes", key.Value, key.Value))
		case lines[key.Value] > 0:
			return f.Fault(key, Dotted(at), fmt.Sprintf("duplicate key: the first is on line %d", lines[key.Value]))
		}
		lines[key.Value] = key.Line
		if err := f.checkNodes(node.Content[i+1], at); err != nil {
			return err
		}
	}
	return nil
}

// JSON returns the document as JSON.
func (f *File) JSON() ([]byte, error) {
	var value any
	if err := f.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// Decode decodes the document into a value.
func (f *File) Decode(into any) error {
	if err := f.Root.Decode(into); err != nil {
		return f.syntax(nil, err)
	}
	return nil
}

// At returns the node at a JSON pointer, or its last ancestor that exists.
func (f *File) At(pointer string) *yaml.Node {
	node := f.Root
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = jsonpointer.Unescape(part)
		if part == "" && pointer == "" {
			break
		}
		next := Child(node, part)
		if i, err := strconv.Atoi(part); err == nil && node.Kind == yaml.SequenceNode && i >= 0 && i < len(node.Content) {
			next = node.Content[i]
		}
		if next == nil {
			return node
		}
		node = next
		if node.Kind == yaml.AliasNode {
			line := node.Line
			copied := *node.Alias
			node, copied.Line = &copied, line
		}
	}
	return node
}

// Child returns the value of a key of a mapping, nil for none.
func Child(node *yaml.Node, name string) *yaml.Node {
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

// Dotted writes a JSON pointer in the form drivers.pause.command[1].
func Dotted(pointer string) string {
	var path strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if _, err := strconv.ParseUint(part, 10, 31); err == nil {
			path.WriteString("[" + part + "]")
		} else {
			path.WriteString("." + jsonpointer.Unescape(part))
		}
	}
	return strings.TrimPrefix(path.String(), ".")
}

// maxShown is the length of the longest value in an error, in characters.
const maxShown = 60

// Written returns a value as the user wrote it, on one line and shortened. Texts are in
// quotes, so that 8080 and "8080" differ.
func Written(_ string, node *yaml.Node) string {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	text := node.Value
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		return "null"
	case node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str":
		return strconv.Quote(shorten(text))
	case node.Kind != yaml.ScalarNode:
		flow := *node
		flow.Style, flow.Anchor, flow.HeadComment, flow.LineComment, flow.FootComment = yaml.FlowStyle, "", "", "", ""
		b, err := yaml.Marshal(&flow)
		if err != nil {
			return ""
		}
		text = clip.Line(string(b))
	}
	return shorten(text)
}

func shorten(text string) string {
	if utf8.RuneCountInString(text) <= maxShown {
		return text
	}
	return string([]rune(text)[:maxShown]) + "..."
}
