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
// checking. It is immutable, so all servers of a process share it.
type Document struct {
	yaml       []byte
	whole      func() (*openapi3.T, error)
	operations []*Operation
	byID       map[string]*Operation
}

// Load returns the document of the interface, which is prepared once per process.
func Load() (*Document, error) { return loadOpenAPI(), nil }

// LoadControl returns the document of the control API, which is prepared once per process.
func LoadControl() (*Document, error) { return loadControl(), nil }

var (
	loadOpenAPI = sync.OnceValue(func() *Document { return prepared(&openapiSource, openapiOperations[:], openapiYAML) })
	loadControl = sync.OnceValue(func() *Document { return prepared(&controlSource, controlOperations[:], controlYAML) })
)

// prepared builds a document from the generated table of its operations. It parses
// nothing: that happens on the first request that needs it.
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

// Parse prepares a document. It does not validate it against OpenAPI: call Validate
// for documents from outside.
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
				return nil, fmt.Errorf("operationId %q is used twice in the document", o.ID)
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

// Operations returns the operations in the order for registering routes: hot ones
// first, then those with literal paths, variables and greedy variables.
func (d *Document) Operations() []*Operation { return d.operations }

// Operation returns the operation with that id, nil for none.
func (d *Document) Operation(id string) *Operation { return d.byID[id] }

// YAML is the document as it is in the repository.
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
	Area     string // host that serves it: base_url, region_base_url, dev_api_url, vector_url, kv_url, control_url
	Origin   string // documented or extension
	Tag      string // area of the feature files
	Summary  string
	Success  int      // first documented status below 300, 0 for none
	Security []string // security schemes; one is enough; empty for none
	BodyJSON bool     // the request body is declared as JSON
	Hot      bool
	Large    bool // accepts a body above the limit for messages
	Bulk     bool // acts on everything that its filters match, so it refuses unknown ones

	List bool // returns a list

	parameters []parameter
	greedy     []string // path variables whose values may contain slashes
	vars       []string // names of the path variables, in order
	queries    []string // names of the query parameters
	needsBody  bool
	statuses   []int // declared by the document
	open       bool  // the default response accepts any body

	from   *source // document that contains its rules
	at     place
	ruled  sync.Once
	loaded *rules // see rules
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
		if p.in == "query" {
			o.queries = append(o.queries, p.name)
		}
		if p.greedy {
			o.greedy = append(o.greedy, p.name)
		}
	}
	o.List = o.isList()
	o.vars = o.variables()
	if err := o.checkVariables(); err != nil {
		return nil, err
	}
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

// area is the name of the server variable. Servers of the operation override those of
// the path, which override those of the document.
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

// variables are the names of the path variables, in order.
func (o *Operation) variables() []string {
	var names []string
	for _, m := range variable.FindAllStringSubmatch(o.Path, -1) {
		names = append(names, m[1])
	}
	return names
}

// Match reports whether an escaped path belongs to the operation, and returns its
// variables without unescaping them. Fixed text ignores case, because clients differ,
// except in the control API, which is not part of the service. A slash at the end is
// ignored, because clients differ there too. A greedy variable takes the rest of the path,
// slashes included.
func (o *Operation) Match(path string) (vars map[string]string, ok bool) {
	return o.MatchInto(nil, path)
}

// MatchInto is Match, and reuses a map if it is not nil.
func (o *Operation) MatchInto(vars map[string]string, path string) (found map[string]string, ok bool) {
	var values [maxVariables]string
	template, rest := o.Path, path
	for i, name := range o.vars {
		var fixed string
		fixed, template, _ = strings.Cut(template, "{")
		template = template[len(name)+len("}"):]
		if rest, ok = o.cutFixed(rest, fixed); !ok {
			return nil, false
		}
		value := rest
		if !o.Greedy(name) {
			value, _, _ = strings.Cut(rest, "/")
		}
		if value == "" {
			return nil, false
		}
		values[i], rest = value, rest[len(value):]
	}
	if rest, ok = o.cutFixed(rest, template); !ok || rest != "" && rest != "/" {
		return nil, false
	}
	if vars == nil {
		vars = make(map[string]string, len(o.vars))
	}
	clear(vars)
	for i, name := range o.vars {
		vars[name] = values[i]
	}
	return vars, true
}

// cutFixed cuts fixed text of the template from the start of a path.
func (o *Operation) cutFixed(path, fixed string) (rest string, ok bool) {
	if len(path) < len(fixed) {
		return "", false
	}
	head := path[:len(fixed)]
	return path[len(fixed):], head == fixed || o.Area != "control_url" && foldEqual(head, fixed)
}

// maxVariables is the largest number of variables in a path.
const maxVariables = 8

// checkVariables refuses a path template that Match does not support.
func (o *Operation) checkVariables() error {
	if len(o.vars) > maxVariables {
		return fmt.Errorf("path %s: %d variables: must be at most %d", o.Path, len(o.vars), maxVariables)
	}
	segments := strings.Split(o.Path, "/")
	for i, segment := range segments {
		plain := strings.Trim(segment, "{}")
		switch {
		case !strings.Contains(segment, "{"):
		case segment != "{"+plain+"}" || strings.Contains(plain, "{"):
			return fmt.Errorf("path %s: segment %s: a variable must be a whole segment", o.Path, segment)
		case o.Greedy(plain) && i != len(segments)-1:
			return fmt.Errorf("path %s: variable %s: what takes slashes must come last", o.Path, plain)
		}
	}
	return nil
}

// URL returns the path with its variables filled in, followed by the query. Greedy
// variables are inserted as they are, the others escaped.
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

// Greedy reports whether a path variable may contain slashes, so that its value is
// taken from the path unchanged.
func (o *Operation) Greedy(name string) bool { return slices.Contains(o.greedy, name) }

// ConfigParameters returns the names of the configuration headers of the operation.
func (o *Operation) ConfigParameters() []string {
	var names []string
	for _, p := range o.parameters {
		if p.in == "header" && strings.HasPrefix(p.name, "Svc-") {
			names = append(names, p.name)
		}
	}
	return names
}

// QueryParameters returns the names of the query parameters of the operation.
func (o *Operation) QueryParameters() []string { return slices.Clone(o.queries) }
