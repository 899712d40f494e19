package spec

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// rules are what an operation declares for its requests and responses.
type rules struct {
	parameters []parameter
	queries    []string // names of the query parameters
	body       rule     // of a JSON request
	needsBody  bool
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

// fragments are the parts of a document as JSON, by their path in it, such as
// components/schemas/Message, or paths, the template and the method.
type fragments map[string]string

// fragmentsOf finds the fragments in a generated document: it has each of them on a line
// of its own, and the objects around them on several lines.
func fragmentsOf(document string) fragments {
	all := fragments{}
	var within []string // keys of the objects around the line
	for line := range strings.Lines(document) {
		key, value, named := strings.Cut(strings.TrimRight(line, ",\n"), `":`)
		switch {
		case named && value == "{":
			within = append(within, key[1:])
		case named:
			all[strings.Join(append(within, key[1:]), "/")] = value
		case key == "}" && len(within) > 0:
			within = within[:len(within)-1]
		}
	}
	return all
}

// rules parses the part of the document that the operation needs, on the first
// request for it. Parsing the whole document would take longer than everything else
// at the start of a server.
func (o *Operation) rules() *rules {
	o.ruled.Do(func() {
		r, err := o.from().rules(o)
		if err != nil {
			panic(fmt.Sprintf("operation %s: %v", o.ID, err)) // the text is generated, and a test parses all of it
		}
		o.loaded = r
	})
	return o.loaded
}

func (f fragments) rules(o *Operation) (*rules, error) {
	components, item := map[string]map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for _, key := range []string{"parameters", strings.ToLower(o.Method)} {
		if text, ok := f["paths/"+o.Path+"/"+key]; ok {
			item[key] = json.RawMessage(text)
			f.collect(text, components)
		}
	}
	text, err := json.Marshal(map[string]any{"components": components, "item": item})
	if err != nil {
		return nil, err
	}
	type ( // without the methods, which would decode everything in them twice
		parts openapi3.Components
		entry openapi3.PathItem
	)
	var parsed struct {
		Components parts
		Item       entry
	}
	if err := json.Unmarshal(text, &parsed); err != nil {
		return nil, err
	}
	path := openapi3.PathItem(parsed.Item)
	doc := &openapi3.T{Paths: openapi3.NewPaths(openapi3.WithPath(o.Path, &path)), Components: (*openapi3.Components)(&parsed.Components)}
	if err := openapi3.NewLoader().ResolveRefsIn(doc, nil); err != nil {
		return nil, err
	}
	return newRules(&path, path.GetOperation(o.Method))
}

// collect adds the components that a text needs, directly or indirectly.
func (f fragments) collect(text string, into map[string]map[string]json.RawMessage) {
	for {
		_, rest, found := strings.Cut(text, `"$ref":"#/components/`)
		if !found {
			return
		}
		var ref string
		ref, text, _ = strings.Cut(rest, `"`)
		kind, name, _ := strings.Cut(ref, "/")
		if into[kind] == nil {
			into[kind] = map[string]json.RawMessage{}
		}
		if into[kind][name] == nil {
			needed := f["components/"+ref]
			into[kind][name] = json.RawMessage(needed)
			f.collect(needed, into)
		}
	}
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
		p := newParameter(ref.Value)
		r.parameters = append(r.parameters, p)
		if p.in == "query" {
			r.queries = append(r.queries, p.name)
		}
	}
	if media := jsonBody(op); media != nil {
		r.needsBody = op.RequestBody.Value.Required
		if media.Schema != nil {
			r.body = newRule(media.Schema.Value)
		}
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
