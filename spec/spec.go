package spec

import (
	"cmp"
	"context"
	_ "embed" // the documents
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

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
	whole      func() (*openapi3.T, error)
	operations []*Operation
	byID       map[string]*Operation
}

// Load is the document of the interface, prepared once per process.
func Load() (*Document, error) { return loadOpenAPI(), nil }

// LoadControl is the document of the control API, prepared once per process.
func LoadControl() (*Document, error) { return loadControl(), nil }

var (
	loadOpenAPI = sync.OnceValue(func() *Document { return prepared(&openapiSource, openapiOperations[:], openapiYAML) })
	loadControl = sync.OnceValue(func() *Document { return prepared(&controlSource, controlOperations[:], controlYAML) })
)

// prepared is a document from the generated table of its operations: nothing of
// it is parsed before the first request that needs it.
func prepared(from *source, operations []Operation, yaml []byte) *Document {
	d := &Document{yaml: yaml, byID: make(map[string]*Operation, len(operations)), operations: make([]*Operation, len(operations))}
	d.whole = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(*from.text) })
	for i := range operations {
		o := &operations[i]
		o.from = from
		d.operations[i], d.byID[o.ID] = o, o
	}
	return d
}

// Parse prepares a document. It does not validate it against OpenAPI itself:
// Validate does, for documents that are not ours.
func Parse(yaml []byte) (*Document, error) { return parse(yaml, yaml) }

func parse(text, yaml []byte) (*Document, error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	d := &Document{yaml: yaml, whole: func() (*openapi3.T, error) { return doc, nil }, byID: map[string]*Operation{}}
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
	doc, err := d.whole()
	if err != nil {
		return err
	}
	return doc.Validate(context.Background())
}

// Operations are in the order in which routes are to be registered: hot ones
// first, then literal before variable before greedy.
func (d *Document) Operations() []*Operation { return d.operations }

// Operation is the operation with that id, nil for none.
func (d *Document) Operation(id string) *Operation { return d.byID[id] }

// YAML is the document as it stands in the repository.
func (d *Document) YAML() []byte { return d.yaml }

// JSON is the document as JSON.
func (d *Document) JSON() ([]byte, error) {
	doc, err := d.whole()
	if err != nil {
		return nil, err
	}
	return doc.MarshalJSON()
}

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

	parameters []parameter
	greedy     []string // the variables of the path that take slashes
	vars       []string // the variables of the path, in order
	needsBody  bool
	statuses   []int // that the document declares
	open       bool  // the default response takes any body

	from   *source // where its rules are
	at     place
	ruled  sync.Once
	loaded *rules // see rules

	routed sync.Once
	path   *regexp.Regexp // see Match
}

func newOperation(doc *openapi3.T, path string, item *openapi3.PathItem, method string, op *openapi3.Operation) (*Operation, error) {
	o := &Operation{ID: op.OperationID, Method: method, Path: path, Summary: op.Summary}
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
		if p.greedy {
			o.greedy = append(o.greedy, p.name)
		}
	}
	o.List = o.isList()
	o.vars = o.variables()
	if media := jsonBody(op); media != nil {
		o.BodyJSON, o.needsBody = true, op.RequestBody.Value.Required
	}
	r, err := newRules(item, op)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.ID, err)
	}
	o.ruled.Do(func() { o.loaded = r })
	o.statuses, o.open = slices.Sorted(maps.Keys(r.responses)), r.open
	for _, code := range o.statuses {
		if code < 300 && o.Success == 0 {
			o.Success = code
		}
	}
	return o, nil
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
	switch {
	case o.Hot:
		return 0
	case len(o.greedy) > 0:
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
		if o.Greedy(name) {
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
	if fixed, _, _ := strings.Cut(o.Path, "{"); !foldPrefix(path, fixed) && isASCII(path) {
		return nil, false // most operations: their expressions are never needed
	}
	o.routed.Do(func() { o.path = o.pattern() })
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

// isASCII reports whether cases fold byte by byte.
func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// URL is the path with its variables filled in, greedy ones as they are, the
// others escaped, and the query behind it.
func (o *Operation) URL(vars map[string]string, query url.Values) string {
	path := o.eachVariable(func(name string) string {
		if o.Greedy(name) {
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
func (o *Operation) Greedy(name string) bool { return slices.Contains(o.greedy, name) }

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
