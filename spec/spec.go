package spec

import (
	_ "embed" // the documents
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Each document is embedded twice: as YAML for readers, and as JSON, generated
// from it, whose parts load faster.
var (
	//go:embed openapi.yaml
	openapiYAML []byte
	//go:embed openapi.json
	openapiJSON string
	//go:embed control.yaml
	controlYAML []byte
	//go:embed control.json
	controlJSON string
)

// Document is an OpenAPI document with its operations prepared for routing and
// checking. It is immutable, so all servers of a process share it.
type Document struct {
	yaml       []byte
	json       string
	operations []*Operation
	byID       map[string]*Operation
}

// Load returns the document of the interface, which is prepared once per process.
func Load() (*Document, error) { return loadOpenAPI(), nil }

// LoadControl returns the document of the control API, which is prepared once per process.
func LoadControl() (*Document, error) { return loadControl(), nil }

var (
	loadOpenAPI = sync.OnceValue(func() *Document { return prepared(openapiYAML, openapiJSON, openapiOperations[:]) })
	loadControl = sync.OnceValue(func() *Document { return prepared(controlYAML, controlJSON, controlOperations[:]) })
)

// prepared builds a document from the generated table of its operations. It parses
// nothing: that happens on the first request that needs it.
func prepared(yaml []byte, text string, operations []Operation) *Document {
	d := &Document{yaml: yaml, json: text, byID: make(map[string]*Operation, len(operations)), operations: make([]*Operation, len(operations))}
	from := sync.OnceValue(func() fragments { return fragmentsOf(text) })
	for i := range operations {
		o := &operations[i]
		o.from = from
		d.operations[i], d.byID[o.ID] = o, o
	}
	return d
}

// Operations returns the operations in the order for registering routes: hot ones
// first, then those with literal paths, variables and greedy variables.
func (d *Document) Operations() []*Operation { return d.operations }

// Operation returns the operation with that id, nil for none.
func (d *Document) Operation(id string) *Operation { return d.byID[id] }

// YAML is the document as it is in the repository.
func (d *Document) YAML() []byte { return d.yaml }

// JSON is the document as JSON.
func (d *Document) JSON() []byte { return []byte(d.json) }

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
	List     bool // returns a list

	greedy []string // path variables whose values may contain slashes

	from   func() fragments // of the document that contains its rules
	ruled  sync.Once
	loaded *rules // see rules
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
	var names, values [maxVariables]string
	rest, n := path, 0
	for template, more := o.Path, true; more; {
		var fixed string
		fixed, template, more = strings.Cut(template, "{")
		if rest, ok = o.cutFixed(rest, fixed); !ok {
			return nil, false
		}
		if !more {
			break
		}
		names[n], template, _ = strings.Cut(template, "}")
		values[n] = rest
		if !o.Greedy(names[n]) {
			values[n], _, _ = strings.Cut(rest, "/")
		}
		if values[n] == "" {
			return nil, false
		}
		rest = rest[len(values[n]):]
		n++
	}
	if rest != "" && rest != "/" {
		return nil, false
	}
	if vars == nil {
		vars = make(map[string]string, n)
	}
	clear(vars)
	for i, name := range names[:n] {
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
	for _, p := range o.rules().parameters {
		if p.in == "header" && strings.HasPrefix(p.name, "Svc-") {
			names = append(names, p.name)
		}
	}
	return names
}

// QueryParameters returns the names of the query parameters of the operation.
func (o *Operation) QueryParameters() []string { return slices.Clone(o.rules().queries) }
