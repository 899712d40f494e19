package client

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec"
)

// Skeleton is a commented first adapter, in JavaScript.
//
//go:embed skeleton.mjs
var Skeleton []byte

//go:embed cases/*.yaml
var caseFiles embed.FS

// Case is one scenario: calls and what must come of them.
type Case struct {
	ID                string // connection/bearer:publish
	Title             string
	Feature, Location string
	Requirement       *spec.Requirement
	Basis             spec.Basis
	Profile           string
	Needs             []string          // operations, option:NAME, feature:NAME
	Env               map[string]string // of an adapter of its own
	Slow              bool              // only with Config.Slow, when the library has fixed waits
	Last              bool              // after all others
	Calls             []Call
}

// Call is one step of a case: a call of the library, or an action of the suite.
type Call struct {
	Op      string         `json:"call,omitempty"`
	Action  string         `json:"do,omitempty"` // deliver, trace: of the suite as the service of a workflow endpoint; noise
	Client  map[string]any `json:"client,omitempty"`
	Args    map[string]any `json:"args,omitempty"`
	Times   int            `json:"times,omitempty"`
	Replies []reply        `json:"replies,omitempty"`
	With    *reply         `json:"with,omitempty"`    // changes the usual reply
	Vary    string         `json:"vary,omitempty"`    // grow, null, drop: changes the JSON of the usual reply
	Sign    map[string]any `json:"sign,omitempty"`    // makes args.signature; see sign.go
	Deliver *delivery      `json:"deliver,omitempty"` // of the action deliver

	Expect
}

// Expect is what must come of a call. What it does not name is not judged.
type Expect struct {
	Requests *int           `json:"requests,omitempty"` // number; nil: at least one
	AtMost   *int           `json:"at_most,omitempty"`  // number of requests
	Request  any            `json:"request,omitempty"`  // of the first: a want, "documented", or a list of wants for each
	Final    any            `json:"final,omitempty"`    // want: of the last request
	Message  *want          `json:"message,omitempty"`  // of the message in the first request: the entry of a batch, or the request
	Messages []want         `json:"messages,omitempty"` // of all entries of a batch
	Check    []string       `json:"check,omitempty"`    // further checks, by name
	Result   any            `json:"result,omitempty"`   // members that it must have
	Exact    bool           `json:"exact,omitempty"`    // the result has no other members
	Error    map[string]any `json:"error"`              // the library must fail, and with what
	Invalid  bool           `json:"invalid,omitempty"`  // the library must fail, or return valid: false
	Refused  bool           `json:"refused,omitempty"`  // the library must fail and send nothing
	Or       string         `json:"or,omitempty"`       // refused, error, accepted: also right
	Answer   map[string]any `json:"answer,omitempty"`   // of the endpoint to a delivery
	Sends    []want         `json:"sends"`              // of the endpoint during a delivery
	Trace    []string       `json:"trace"`              // step functions that have run
}

// want is what a request must be.
type want struct {
	Method      string         `json:"method,omitempty"` // several: PATCH|POST
	Path        string         `json:"path,omitempty"`   // /v2/queues/{name}; several: separated by a blank
	Query       map[string]any `json:"query"`            // all of it, by decoded names; several names: callerIp|callerIP
	Destination string         `json:"destination,omitempty"`
	Headers     map[string]any `json:"headers,omitempty"` // "$absent": not sent
	Body        any            `json:"body,omitempty"`    // {text}, {base64}, {json}, {subset}; "none"
	Origin      string         `json:"origin,omitempty"`
	Reply       *reply         `json:"reply,omitempty"` // of a form of an operation
}

// Operation is what is known about an operation of the protocol.
type Operation struct {
	Name     string         `json:"-"`
	Profile  string         `json:"profile"`
	Auth     string         `json:"auth"`  // bearer, basic, none: sends no request
	Nest     string         `json:"nest"`  // where its arguments have a message: batch
	Kinds    []string       `json:"kinds"` // for `each`
	Args     map[string]any `json:"args"`  // an example
	Requests []want         `json:"requests"`
	Reply    reply          `json:"reply"`  // to the example
	Result   any            `json:"result"` // of the example
	Page     string         `json:"page"`   // member of the reply with the entries
}

// row is a row of a file of cases: one case, or several by a table and by operations.
type row struct {
	ID    string            `json:"id"`
	Req   string            `json:"req"`
	Title string            `json:"title"`
	Basis spec.Basis        `json:"basis"`
	Needs []string          `json:"needs"`
	Env   map[string]string `json:"env"`
	Slow  bool              `json:"slow"`
	Last  bool              `json:"last"`
	Calls []Call            `json:"calls"`

	Table  any      `json:"table"`  // name -> variables; taken out before
	Each   []string `json:"each"`   // operations, or kinds of them: @message
	Except []string `json:"except"` // operations
	Call
}

// library is all that is read from the files.
type library struct {
	operations map[string]*Operation
	order      []string
	cases      []Case
}

var load = sync.OnceValues(readAll)

// Cases returns all cases.
func Cases() ([]Case, error) {
	l, err := load()
	if err != nil {
		return nil, err
	}
	return l.cases, nil
}

func readAll() (*library, error) {
	l := &library{operations: map[string]*Operation{}}
	text, err := caseFiles.ReadFile("cases/operations.yaml")
	if err != nil {
		return nil, err
	}
	var names yaml.Node
	if err := yaml.Unmarshal(text, &names); err != nil {
		return nil, err
	}
	var plain map[string]any // resolves the anchors
	if err := names.Decode(&plain); err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(names.Content[0].Content); i += 2 {
		op := &Operation{}
		name := names.Content[0].Content[i].Value
		if err := strict(plain[name], op); err != nil {
			return nil, fmt.Errorf("operations.yaml: %s: %w", name, err)
		}
		op.Name = name
		l.operations[name], l.order = op, append(l.order, name)
	}
	files, err := caseFiles.ReadDir("cases")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Name() == "operations.yaml" {
			continue
		}
		if err := l.readFile(f.Name()); err != nil {
			return nil, fmt.Errorf("cases/%s: %w", f.Name(), err)
		}
	}
	return l, nil
}

// strict reads a plain value into a struct, all of whose names must be known.
func strict(v, into any) error {
	text, err := encode(v)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	return d.Decode(into)
}

// readFile reads the cases of one file.
func (l *library) readFile(name string) error {
	text, err := caseFiles.ReadFile("cases/" + name)
	if err != nil {
		return err
	}
	var file struct {
		Feature string
		Cases   []yaml.Node
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return err
	}
	for i := range file.Cases {
		n := &file.Cases[i]
		var plain map[string]any
		if err := n.Decode(&plain); err != nil {
			return err
		}
		at := fmt.Sprintf("%s:%d", name, n.Line)
		if err := l.expand(plain, file.Feature, at); err != nil {
			return fmt.Errorf("line %d: %w", n.Line, err)
		}
	}
	return nil
}

// expand adds the cases of one row: one for each operation and each line of its table.
func (l *library) expand(plain map[string]any, feature, at string) error {
	table, _ := plain["table"].(map[string]any)
	lines := slices.Sorted(maps.Keys(table))
	if len(lines) == 0 {
		lines = []string{""}
	}
	ops, err := l.each(plain)
	if err != nil {
		return err
	}
	for _, op := range ops {
		for _, line := range lines {
			vars := map[string]any{"op": op}
			if of, ok := table[line].(map[string]any); ok {
				maps.Copy(vars, of)
			} else if line != "" {
				vars["value"] = table[line]
			}
			var id strings.Builder
			_, _ = fmt.Fprint(&id, plain["id"])
			for i, part := range []string{line, op} {
				if part != "" {
					id.WriteString([]string{"/", ":"}[i] + part)
				}
			}
			filled, _ := fill(plain, vars).(map[string]any)
			if op != "" {
				filled["call"] = op
			}
			c, err := l.build(filled, id.String(), feature, at)
			if err != nil {
				return err
			}
			if known := slices.ContainsFunc(l.cases, func(other Case) bool { return other.ID == c.ID }); known {
				return fmt.Errorf("duplicate id %s", c.ID)
			}
			l.cases = append(l.cases, *c)
		}
	}
	return nil
}

// each returns the operations of a row with `each`, or one empty name.
func (l *library) each(plain map[string]any) ([]string, error) {
	wanted, _ := plain["each"].([]any)
	if wanted == nil {
		return []string{""}, nil
	}
	var list []string
	except := fmt.Sprint(plain["except"])
	for _, name := range l.order {
		op := l.operations[name]
		for _, w := range wanted {
			kind, isKind := strings.CutPrefix(fmt.Sprint(w), "@")
			if (w == name || isKind && slices.Contains(op.Kinds, kind)) && !slices.Contains(list, name) && !slices.Contains(strings.Fields(strings.Trim(except, "[]")), name) {
				list = append(list, name)
			}
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("each: no operation is %v", wanted)
	}
	return list, nil
}

// build makes a case of one row whose variables are filled in.
func (l *library) build(plain map[string]any, id, feature, at string) (*Case, error) {
	var r row
	if err := strict(plain, &r); err != nil {
		return nil, err
	}
	if len(r.Calls) == 0 {
		r.Calls = []Call{r.Call}
	}
	register, err := spec.LoadRequirements()
	if err != nil {
		return nil, err
	}
	q := register.ByID("REQ-CLI-" + r.Req)
	if q == nil {
		return nil, fmt.Errorf("%s: unknown requirement %q", id, r.Req)
	}
	c := &Case{ID: id, Title: r.Title, Feature: feature, Location: at, Requirement: q, Basis: r.Basis, Profile: q.Profile, Needs: r.Needs, Env: r.Env, Slow: r.Slow, Last: r.Last, Calls: r.Calls}
	if c.Basis == "" {
		c.Basis = q.Basis
	}
	for i := range c.Calls {
		if err := l.complete(c, &c.Calls[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
	}
	return c, nil
}

// complete fills in the example of an operation and what it needs.
func (l *library) complete(c *Case, call *Call) error {
	if call.Op == "" {
		if call.Action == "" {
			return fmt.Errorf("a case must have call or do")
		}
		return nil
	}
	op := l.operations[call.Op]
	if op == nil {
		return fmt.Errorf("unknown operation %q", call.Op)
	}
	if id, ok := call.Args["@id"]; ok {
		delete(call.Args, "@id")
		call.Args[strings.Trim(regexpParameter.FindString(op.Requests[0].Path), "{}")] = id
	}
	c.Needs = append(c.Needs, call.Op)
	if c.Profile == base || c.Profile == publishing {
		c.Profile = op.Profile
	}
	if op.Nest != "" && call.Args[op.Nest] == nil {
		inner := op.Args[op.Nest].([]any)[0].(map[string]any) //nolint:forcetypeassert // a test reads all cases
		call.Args = map[string]any{op.Nest: []any{given(inner, call.Args)}}
	}
	call.Args = given(op.Args, call.Args)
	for _, need := range optionsOf(call.Args) {
		c.Needs = append(c.Needs, need+"@"+call.Op)
	}
	for _, name := range call.Check {
		if checks[name] == nil {
			return fmt.Errorf("unknown check %q", name)
		}
	}
	return nil
}

// given is an example with the given arguments in place of its own; null removes one. Only a
// destination is changed in parts.
func given(example, args map[string]any) map[string]any {
	out := maps.Clone(example)
	if out == nil {
		out = map[string]any{}
	}
	for name, v := range args {
		switch {
		case v == nil:
			delete(out, name)
		case name == "destination":
			out[name] = merge(out[name], v)
		default:
			out[name] = v
		}
	}
	return out
}

// base and publishing are the profiles of requirements that all operations, and all that take a
// message or an id, have: their cases belong to the profile of their operation.
const (
	base       = "CLI-BASE"
	publishing = "CLI-PUB"
)

// optionsOf returns the options that arguments use, with the form of their values.
func optionsOf(args any) (needs []string) {
	switch v := args.(type) {
	case map[string]any:
		options, _ := v["options"].(map[string]any)
		if _, message := v["destination"]; message {
			for _, name := range []string{"method", "headers"} {
				if v[name] != nil {
					needs = append(needs, "option:"+name)
				}
			}
		}
		filters, _ := v["filters"].(map[string]any)
		for name := range filters {
			needs = append(needs, "option:filters:"+name)
		}
		for name, value := range options {
			form := ""
			switch value.(type) {
			case []any:
				form = ":list"
			case string:
				form = ":string"
			case json.Number, int, float64:
				form = ":number"
			}
			needs = append(needs, "option:"+name+form)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			needs = append(needs, optionsOf(v[name])...)
		}
	case []any:
		for _, item := range v {
			needs = append(needs, optionsOf(item)...)
		}
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}

// Area is the file of a case without its extension: publish, receiver ...
func (c *Case) Area() string {
	area, _, _ := strings.Cut(c.Location, ".")
	return area
}

// Known is what is known of the result of a case before it runs.
func (c *Case) Known() report.Result {
	r := report.Result{
		Feature: c.Feature, Rule: c.Title, Name: c.ID, Location: c.Location, Requirements: []string{c.Requirement.ID}, Basis: c.Basis, Profiles: []string{c.Profile},
		Tags: []string{"@" + c.Requirement.ID, "@" + string(c.Basis), "@area-" + c.Area()},
	}
	if c.Requirement.Security {
		r.Tags = append(r.Tags, "@security")
	}
	return r
}

// missing returns what the adapter does not offer and the case needs, "" for nothing.
func (c *Case) missing(h *Hello) string {
	for _, need := range c.Needs {
		if !h.has(need) {
			kind, name, found := strings.Cut(need, ":")
			if !found {
				return "operation " + need
			}
			return kind + " " + strings.ReplaceAll(name, "@", " of ")
		}
	}
	return ""
}
