package spec

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
)

// rules are the schemas of the requests and responses of an operation.
type rules struct {
	parameters []rule // in the order of Operation.parameters
	body       rule   // of a JSON request
	responses  map[int]rule
	fallback   rule // of errors with an undeclared status
	open       bool // the default response accepts any body
}

// rule is a schema, nil if the document has none, and its compiled form.
type rule struct {
	schema *openapi3.Schema
	fast   *compiled
}

func newRule(schema *openapi3.Schema) rule { return rule{schema, compile(schema)} }

// source is the text of a document and the positions of its components.
type source struct {
	text       *[]byte
	components []component
}

// component is a component of a document, such as a schema.
type component struct {
	kind, name string
	at         span
}

// span is a part of a text: from is its first byte, to the byte after it.
type span struct{ from, to int }

// place is the position of an operation in its document, and the sorted indexes of
// the components that it needs, directly or indirectly.
type place struct {
	operation  span
	parameters span // of the path
	components []int
}

// rules parses the part of the document that the operation needs, on the first
// request for it. Parsing the whole document would take longer than everything else
// at the start of a server.
func (o *Operation) rules() *rules {
	o.ruled.Do(func() {
		r, err := o.from.rules(o)
		if err != nil {
			panic(fmt.Sprintf("operation %s: %v", o.ID, err)) // the text is generated, and a test parses all of it
		}
		o.loaded = r
	})
	return o.loaded
}

func (s *source) rules(o *Operation) (*rules, error) {
	doc, err := openapi3.NewLoader().LoadFromData(s.extract(o))
	if err != nil {
		return nil, err
	}
	item := doc.Paths.Value(o.Path)
	return newRules(item, item.GetOperation(o.Method))
}

// extract builds a document with only this operation and its components.
func (s *source) extract(o *Operation) []byte {
	text := *s.text
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"openapi":"3.0.3","info":{"title":"","version":""},"paths":{%q:{%q:%s`, o.Path, bytes.ToLower([]byte(o.Method)), text[o.at.operation.from:o.at.operation.to])
	if o.at.parameters.to > 0 {
		fmt.Fprintf(&b, `,"parameters":%s`, text[o.at.parameters.from:o.at.parameters.to])
	}
	b.WriteString(`}},"components":{`)
	kind := ""
	for _, i := range o.at.components {
		c := &s.components[i]
		switch {
		case kind == "":
			fmt.Fprintf(&b, "%q:{", c.kind)
		case c.kind != kind:
			fmt.Fprintf(&b, "},%q:{", c.kind)
		default:
			b.WriteByte(',')
		}
		kind = c.kind
		fmt.Fprintf(&b, "%q:%s", c.name, text[c.at.from:c.at.to])
	}
	if kind != "" {
		b.WriteByte('}')
	}
	b.WriteString("}}")
	return b.Bytes()
}

// jsonBody is the JSON request body that is checked by the document, nil if there is
// none or the handler checks it.
func jsonBody(op *openapi3.Operation) *openapi3.MediaType {
	if op.RequestBody == nil || op.RequestBody.Value == nil || checkedByHandler(op.RequestBody.Value.Extensions) {
		return nil
	}
	return op.RequestBody.Value.Content["application/json"]
}

func newRules(item *openapi3.PathItem, op *openapi3.Operation) (*rules, error) {
	r := &rules{responses: map[int]rule{}}
	for _, ref := range slices.Concat(item.Parameters, op.Parameters) {
		r.parameters = append(r.parameters, newRule(ref.Value.Schema.Value))
	}
	if media := jsonBody(op); media != nil && media.Schema != nil {
		r.body = newRule(media.Schema.Value)
	}
	for status, ref := range op.Responses.Map() {
		var held rule
		media := ref.Value.Content["application/json"]
		if media != nil && media.Schema != nil {
			held = newRule(media.Schema.Value)
		}
		if status == "default" {
			r.fallback, r.open = held, media == nil
			continue
		}
		code, err := strconv.Atoi(status)
		if err != nil {
			return nil, fmt.Errorf("response status %q is not a number", status)
		}
		r.responses[code] = held
		if code == http.StatusBadRequest {
			r.fallback = held
		}
	}
	return r, nil
}
