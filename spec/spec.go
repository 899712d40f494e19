package spec

import (
	"cmp"
	"context"
	_ "embed" // the documents
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// Each document is embedded twice: as YAML for readers, and as JSON, generated
// from it, which loads faster.
var (
	//go:embed openapi.yaml
	openapiYAML []byte
	//go:embed openapi.json
	openapiJSON []byte
	//go:embed control.yaml
	controlYAML []byte
	//go:embed control.json
	controlJSON []byte
)

// Document is an OpenAPI document with its operations prepared for routing and
// checking. It never changes, so all servers of a process share it.
type Document struct {
	yaml       []byte
	doc        *openapi3.T
	operations []*Operation
	byID       map[string]*Operation
}

// Load is the document of the interface, parsed once per process.
func Load() (*Document, error) { return loadOpenAPI() }

// LoadControl is the document of the control API, parsed once per process.
func LoadControl() (*Document, error) { return loadControl() }

var (
	loadOpenAPI = sync.OnceValues(func() (*Document, error) { return parse(openapiJSON, openapiYAML) })
	loadControl = sync.OnceValues(func() (*Document, error) { return parse(controlJSON, controlYAML) })
)

// Parse prepares a document. It does not validate it against OpenAPI itself:
// Validate does, for documents that are not ours.
func Parse(yaml []byte) (*Document, error) { return parse(yaml, yaml) }

func parse(text, yaml []byte) (*Document, error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	d := &Document{yaml: yaml, doc: doc, byID: map[string]*Operation{}}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			o, err := newOperation(doc, path, item, method, op)
			if err != nil {
				return nil, err
			}
			if d.byID[o.ID] != nil {
				return nil, fmt.Errorf("operationId %q stands twice in the document", o.ID)
			}
			d.byID[o.ID] = o
			d.operations = append(d.operations, o)
		}
	}
	slices.SortFunc(d.operations, func(a, b *Operation) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), -cmp.Compare(strings.Count(a.Path, "/"), strings.Count(b.Path, "/")),
			strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})
	return d, nil
}

// Validate checks the document against OpenAPI.
func (d *Document) Validate() error {
	return d.doc.Validate(context.Background())
}

// Operations are in the order in which routes are to be registered: hot ones
// first, then literal before variable before greedy.
func (d *Document) Operations() []*Operation { return d.operations }

// Operation is the operation with that id, nil for none.
func (d *Document) Operation(id string) *Operation { return d.byID[id] }

// YAML is the document as it stands in the repository.
func (d *Document) YAML() []byte { return d.yaml }

// JSON is the document as JSON.
func (d *Document) JSON() ([]byte, error) { return d.doc.MarshalJSON() }

// Operation is one operation of a document.
type Operation struct {
	ID       string
	Method   string
	Path     string // the template, such as /v2/publish/{destination}
	Area     string // which host serves it: base_url, region_base_url, dev_api_url, vector_url, kv_url, control_url
	Origin   string // documented, decided or extension
	Tag      string // the area of the features
	Summary  string
	Success  int      // the documented status of success, 0 where the document names none
	Security []string // schemes, any of which will do; empty for none
	BodyJSON bool     // the request body is declared as JSON
	Hot      bool
	Large    bool // takes a body beyond the limit for messages
	Bulk     bool // does something to all that its filters match, so it takes none that it does not know

	List bool // answers with many things at once

	parameters []*parameter
	greedy     map[string]bool
	path       *regexp.Regexp   // see pattern
	vars       []string         // the variables of the path, in order
	body       *openapi3.Schema // of a JSON request
	needsBody  bool
	responses  map[int]*openapi3.Schema // nil schema: no body
	fallback   *openapi3.Schema         // of an error whose status is not declared
	open       bool                     // the default response takes any body
}

func newOperation(doc *openapi3.T, path string, item *openapi3.PathItem, method string, op *openapi3.Operation) (*Operation, error) {
	o := &Operation{ID: op.OperationID, Method: method, Path: path, Summary: op.Summary, greedy: map[string]bool{}, responses: map[int]*openapi3.Schema{}}
	if o.ID == "" {
		return nil, fmt.Errorf("%s %s has no operationId", method, path)
	}
	o.Origin, _ = op.Extensions["x-origin"].(string)
	o.Hot, _ = op.Extensions["x-hot"].(bool)
	o.Large, _ = op.Extensions["x-large"].(bool)
	o.Bulk, _ = op.Extensions["x-bulk"].(bool)
	if len(op.Tags) > 0 {
		o.Tag = op.Tags[0]
	}
	o.Area = area(doc, item, op)
	security := doc.Security
	if op.Security != nil {
		security = *op.Security
	}
	for _, requirement := range security {
		for scheme := range requirement {
			o.Security = append(o.Security, scheme)
		}
	}
	for _, ref := range slices.Concat(item.Parameters, op.Parameters) {
		p := newParameter(ref.Value)
		o.parameters = append(o.parameters, p)
		o.greedy[p.name] = p.greedy
	}
	o.List = o.isList()
	o.path, o.vars = o.pattern(), o.variables()
	if op.RequestBody != nil && op.RequestBody.Value != nil && !checkedByHandler(op.RequestBody.Value.Extensions) {
		if media := op.RequestBody.Value.Content["application/json"]; media != nil {
			o.BodyJSON, o.needsBody = true, op.RequestBody.Value.Required
			if media.Schema != nil {
				o.body = media.Schema.Value
			}
		}
	}
	return o, o.readResponses(op)
}

func (o *Operation) readResponses(op *openapi3.Operation) error {
	for status, ref := range op.Responses.Map() {
		var schema *openapi3.Schema
		media := ref.Value.Content["application/json"]
		if media != nil && media.Schema != nil {
			schema = media.Schema.Value
		}
		if status == "default" {
			o.fallback, o.open = schema, media == nil
			continue
		}
		code, err := strconv.Atoi(status)
		if err != nil {
			return fmt.Errorf("%s: response status %q is no number", o.ID, status)
		}
		o.responses[code] = schema
		if code == http.StatusBadRequest {
			o.fallback = schema
		}
		if code < 300 && (o.Success == 0 || code < o.Success) {
			o.Success = code
		}
	}
	return nil
}

var serverName = regexp.MustCompile(`^\{(\w+)\}`)

// area is the name of the server variable: operation over path over document.
func area(doc *openapi3.T, item *openapi3.PathItem, op *openapi3.Operation) string {
	servers := doc.Servers
	if len(item.Servers) > 0 {
		servers = item.Servers
	}
	if op.Servers != nil && len(*op.Servers) > 0 {
		servers = *op.Servers
	}
	if len(servers) > 0 {
		if m := serverName.FindStringSubmatch(servers[0].URL); m != nil {
			return m[1]
		}
	}
	return ""
}

// rank puts hot operations first, then literal, variable and greedy paths.
func (o *Operation) rank() int {
	greedy := slices.ContainsFunc(o.parameters, func(p *parameter) bool { return p.greedy })
	switch {
	case o.Hot:
		return 0
	case greedy:
		return 3
	case strings.Contains(o.Path, "{"):
		return 2
	}
	return 1
}

// pattern is the expression for an escaped path of the operation. The fixed
// segments match in any case, since clients differ in it; a greedy variable
// takes the rest of the path, slashes included.
func (o *Operation) pattern() *regexp.Regexp {
	fixed := variable.Split(o.Path, -1)
	expression := "^" + o.fixed(fixed[0])
	for i, name := range o.variables() {
		if o.greedy[name] {
			expression += "(.+)"
		} else {
			expression += "([^/]+)"
		}
		expression += o.fixed(fixed[i+1])
	}
	return regexp.MustCompile(expression + "$")
}

// fixed is the expression for text of the template. The control API is not the
// service's: its paths are written in one way.
func (o *Operation) fixed(text string) string {
	if o.Area == "control_url" {
		return regexp.QuoteMeta(text)
	}
	return "(?i:" + regexp.QuoteMeta(text) + ")"
}

// variables are the names of the path variables, in order.
func (o *Operation) variables() []string {
	var names []string
	for _, m := range variable.FindAllStringSubmatch(o.Path, -1) {
		names = append(names, m[1])
	}
	return names
}

// Match finds the variables of an escaped path, as they are written there, and
// reports whether the path is one of the operation.
func (o *Operation) Match(path string) (vars map[string]string, ok bool) {
	values := o.path.FindStringSubmatch(path)
	if values == nil {
		return nil, false
	}
	vars = make(map[string]string, len(values)-1)
	for i, name := range o.vars {
		vars[name] = values[i+1]
	}
	return vars, true
}

// URL is the path with its variables filled in, greedy ones as they are, the
// others escaped, and the query behind it.
func (o *Operation) URL(vars map[string]string, query url.Values) string {
	path := o.eachVariable(func(name string) string {
		if o.greedy[name] {
			return vars[name]
		}
		return url.PathEscape(vars[name])
	})
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

var variable = regexp.MustCompile(`\{(\w+)\}`)

func (o *Operation) eachVariable(fill func(name string) string) string {
	return variable.ReplaceAllStringFunc(o.Path, func(v string) string { return fill(v[1 : len(v)-1]) })
}

// Greedy reports whether the path variable takes slashes, so that its value
// comes as it stood in the path.
func (o *Operation) Greedy(name string) bool { return o.greedy[name] }

// ConfigParameters are the names of the configuration headers that the
// operation takes.
func (o *Operation) ConfigParameters() []string {
	var names []string
	for _, p := range o.parameters {
		if p.in == "header" && strings.HasPrefix(p.name, "Svc-") {
			names = append(names, p.name)
		}
	}
	return names
}

// QueryParameters are the names of the query parameters that the operation takes.
func (o *Operation) QueryParameters() []string {
	var names []string
	for _, p := range o.parameters {
		if p.in == "query" {
			names = append(names, p.name)
		}
	}
	return names
}
