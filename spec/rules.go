package spec

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
)

// rules are the schemas that an operation holds requests and answers to.
type rules struct {
	parameters []*openapi3.Schema // in the order of the operation's
	body       *openapi3.Schema   // of a JSON request
	responses  map[int]*openapi3.Schema
	fallback   *openapi3.Schema // of an error whose status is not declared
	open       bool             // the default response takes any body
}

// source is the text of a document and where its components are in it.
type source struct {
	text       *[]byte
	components []component
}

// component is a component of a document, such as a schema.
type component struct {
	kind, name string
	at         span
}

// span is a part of a text: the bytes from and up to.
type span struct{ from, to int }

// place is where an operation is in its document, and which components it needs,
// directly or not, by their index and sorted.
type place struct {
	operation  span
	parameters span // of the path
	components []int
}

// rules reads the part of the document that the operation needs, on the first
// request for it: the whole document takes longer than all else that a server does
// until it listens.
func (o *Operation) rules() *rules {
	o.ruled.Do(func() {
		r, err := o.from.rules(o)
		if err != nil {
			panic(fmt.Sprintf("operation %s: %v", o.ID, err)) // the text is generated; a test reads all of it
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

// extract is a document with one operation and its components.
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

// jsonBody is the JSON body of a request that the document describes and the
// handler leaves to it, nil for none.
func jsonBody(op *openapi3.Operation) *openapi3.MediaType {
	if op.RequestBody == nil || op.RequestBody.Value == nil || checkedByHandler(op.RequestBody.Value.Extensions) {
		return nil
	}
	return op.RequestBody.Value.Content["application/json"]
}

func newRules(item *openapi3.PathItem, op *openapi3.Operation) (*rules, error) {
	r := &rules{responses: map[int]*openapi3.Schema{}}
	for _, ref := range slices.Concat(item.Parameters, op.Parameters) {
		r.parameters = append(r.parameters, ref.Value.Schema.Value)
	}
	if media := jsonBody(op); media != nil && media.Schema != nil {
		r.body = media.Schema.Value
	}
	for status, ref := range op.Responses.Map() {
		var schema *openapi3.Schema
		media := ref.Value.Content["application/json"]
		if media != nil && media.Schema != nil {
			schema = media.Schema.Value
		}
		if status == "default" {
			r.fallback, r.open = schema, media == nil
			continue
		}
		code, err := strconv.Atoi(status)
		if err != nil {
			return nil, fmt.Errorf("response status %q is no number", status)
		}
		r.responses[code] = schema
		if code == http.StatusBadRequest {
			r.fallback = schema
		}
	}
	return r, nil
}
