package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/internal/jsonsyntax"
	"github.com/understudy-mock/understudy/internal/similar"
)

// Problem is one violation of the document.
type Problem struct {
	In       string `json:"in"`                 // path, query, header, body or response
	Name     string `json:"name"`               // of the parameter, or JSON pointer into a body
	Rule     string `json:"rule"`               // required, type, pattern, enum, maximum, json ...
	Message  string `json:"message"`            // what is wrong
	Received string `json:"received,omitempty"` // shortened
	Accepted string `json:"accepted,omitempty"` // what the value must be
}

// InvalidValue is the message of a problem when Accepted says the rest.
const InvalidValue = "invalid value"

// String is the problem in one line:
//
//	header Svc-Retries: invalid value "many": must be an integer from 0 to 1000000000
func (p Problem) String() string {
	line := strings.TrimSpace(p.In + " " + p.Name)
	if p.Received != "" {
		line += ": " + InvalidValue + " " + p.Received
	}
	if p.Received == "" || p.Message != InvalidValue {
		line += ": " + p.Message
	}
	if p.Accepted != "" {
		line += ": must be " + p.Accepted
	}
	return line
}

// parameter is a parameter of an operation, prepared for checking.
type parameter struct {
	name, in string
	key      string // canonical name of a header
	required bool
	greedy   bool
	handled  bool // the handler checks the value, with a better error; the schema is documentation
	accepted string
	anyText  bool   // its schema accepts any text
	empty    string // error text for an empty value, "" for that of the schema
	rule
}

func newParameter(p *openapi3.Parameter) parameter {
	schema := p.Schema.Value
	out := parameter{name: p.Name, in: p.In, required: p.Required, rule: newRule(schema)}
	if p.In == "header" {
		out.key = textproto.CanonicalMIMEHeaderKey(p.Name)
	}
	out.greedy, _ = p.Extensions["x-greedy"].(bool)
	out.handled = checkedByHandler(p.Extensions) || foldPrefix(p.Name, neutral.HeaderPrefix)
	out.accepted, _ = p.Extensions["x-accepted"].(string)
	out.empty, _ = p.Extensions["x-empty"].(string)
	if out.accepted == "" {
		out.accepted = accepts(schema)
	}
	out.anyText = schema.Type.Is("string") && len(schema.Enum) == 0 && schema.Pattern == "" && schema.MinLength == 0
	return out
}

// checkedByHandler reports whether x-check is handler.
func checkedByHandler(extensions map[string]any) bool { return extensions["x-check"] == "handler" }

// accepts describes the values that a schema accepts.
func accepts(s *openapi3.Schema) string {
	switch {
	case s == nil:
		return ""
	case s.Extensions["x-accepted"] != nil:
		return fmt.Sprint(s.Extensions["x-accepted"])
	case len(s.AnyOf) > 0:
		var list []string
		for _, one := range s.AnyOf {
			if text := accepts(one.Value); text != "" && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
		return strings.Join(list, " or ")
	case s.Type == nil:
		return ""
	case len(s.Enum) > 0:
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = fmt.Sprint(v)
		}
		return "one of " + strings.Join(values, ", ")
	case s.Type.Is("string") && s.MinLength > 0:
		return "a non-empty string"
	}
	kind := "a " + s.Type.Slice()[0]
	if strings.ContainsRune("aio", rune(kind[2])) {
		kind = "an" + kind[1:]
	}
	switch {
	case s.Min != nil && s.Max != nil:
		return kind + " from " + decimal(*s.Min) + " to " + decimal(*s.Max)
	case s.Min != nil:
		return kind + " of " + decimal(*s.Min) + " or more"
	}
	return kind
}

// decimal formats a number without an exponent.
func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// values returns the values of the parameter in a request.
func (p *parameter) values(r *http.Request, vars map[string]string, query url.Values) []string {
	switch p.in {
	case "path":
		if v, ok := vars[p.name]; ok {
			return []string{v}
		}
	case "query":
		return query[p.name]
	case "header":
		return r.Header[p.key]
	}
	return nil
}

// takesAll reports whether the document accepts any value of the parameter, or none.
func (p *parameter) takesAll() bool {
	return (p.handled || p.anyText) && !p.required && p.empty == ""
}

// check returns the problem with the values of the parameter, nil for none.
func (p *parameter) check(values []string) *Problem {
	if len(values) == 0 {
		if !p.required {
			return nil
		}
		return &Problem{In: p.in, Name: p.name, Rule: "required", Message: "missing", Accepted: p.accepted}
	}
	if values[0] == "" && p.empty != "" {
		return &Problem{In: p.in, Name: p.name, Rule: "minLength", Message: p.empty}
	}
	if p.handled || p.anyText {
		return nil // repeated filters are alternatives
	}
	if len(values) > 1 {
		return &Problem{In: p.in, Name: p.name, Rule: "single", Message: "given " + strconv.Itoa(len(values)) + " times", Received: quote(values[0]), Accepted: "one value, " + p.accepted}
	}
	if p.fast.acceptsText(values[0]) {
		return nil
	}
	return p.judge(values[0])
}

// judge checks a value against the schema and returns the problem, nil for none.
func (p *parameter) judge(value string) *Problem {
	v, err := parseValue(p.schema, value)
	if err == nil {
		err = p.schema.VisitJSON(v)
	}
	if err == nil {
		return nil
	}
	problem := &Problem{In: p.in, Name: p.name, Rule: "type", Message: InvalidValue, Received: quote(value), Accepted: p.accepted}
	if fault, ok := errors.AsType[*openapi3.SchemaError](err); ok {
		problem.Rule = fault.SchemaField
		if p.accepted == accepts(p.schema) { // otherwise x-accepted describes it
			problem.Message = reason(fault)
		}
	}
	return problem
}

func parseValue(schema *openapi3.Schema, s string) (any, error) {
	switch {
	case schema.Type.Is("integer"):
		n, err := strconv.ParseInt(s, 10, 64)
		return float64(n), err
	case schema.Type.Is("number"):
		return strconv.ParseFloat(s, 64)
	case schema.Type.Is("boolean"):
		if s == "" { // a name without a value in a query means true
			return true, nil
		}
		return strconv.ParseBool(s)
	}
	return s, nil
}

// reason is the message of a schema error, without its value and schema: InvalidValue
// where accepts describes the rule.
func reason(e *openapi3.SchemaError) string {
	switch {
	case e.Schema.Extensions["x-accepted"] != nil, e.SchemaField == "type", e.SchemaField == "nullable", e.SchemaField == "format" && e.Schema.Type.Is("integer"), e.SchemaField == "anyOf", e.SchemaField == "enum", e.SchemaField == "minimum",
		e.SchemaField == "maximum" && e.Schema.Min != nil, e.SchemaField == "minLength" && e.Schema.MinLength == 1:
		return InvalidValue
	case e.SchemaField == "pattern":
		return "does not match " + e.Schema.Pattern
	case e.SchemaField == "maximum" && e.Schema.Max != nil:
		return "greater than " + decimal(*e.Schema.Max)
	}
	text, _, _ := strings.Cut(e.Reason, "\n")
	return text
}

func quote(s string) string { return strconv.Quote(clip.Marked(s, 80, "...")) }

// CheckRequest lists the problems of a request to the operation, except for security.
// vars are the unescaped path variables. query is the part of the request's query
// that could be parsed, with parameters that the caller adds.
func (o *Operation) CheckRequest(r *http.Request, vars map[string]string, query url.Values, body []byte) []Problem {
	problems := o.checkQuery(r.URL.RawQuery, query)
	held := o.rules()
	for i := range held.parameters {
		p := &held.parameters[i]
		if p.takesAll() {
			continue
		}
		if values := p.values(r, vars, query); len(values) > 0 || p.required {
			if problem := p.check(values); problem != nil {
				problems = append(problems, *problem)
			}
		}
	}
	switch {
	case o.BodyJSON:
		problems = append(problems, o.checkBody(body)...)
	case o.Bulk && len(bytes.TrimSpace(body)) > 0: // a filter that would be ignored
		problems = append(problems, Problem{In: "body", Rule: "known", Message: "not read by this operation", Accepted: "empty"})
	}
	return problems
}

func (o *Operation) checkBody(body []byte) []Problem {
	if len(bytes.TrimSpace(body)) == 0 {
		if !o.rules().needsBody {
			return nil
		}
		return []Problem{{In: "body", Rule: "required", Message: "empty", Accepted: "JSON, " + accepts(o.rules().body.schema)}}
	}
	return o.rules().body.checkJSON("body", body)
}

// checkJSON lists the problems of a JSON text.
func (r rule) checkJSON(in string, text []byte) []Problem {
	if r.fast.acceptsJSON(text) {
		return nil
	}
	v, problem := decode(text)
	if problem != nil {
		problem.In = in
		return []Problem{*problem}
	}
	return visit(in, r.schema, v)
}

// decode parses JSON. The problem contains line and column.
func decode(body []byte) (any, *Problem) {
	var v any
	if json.Unmarshal(body, &v) == nil {
		return v, nil
	}
	d := json.NewDecoder(bytes.NewReader(body)) // slower, but reports the position
	err := d.Decode(&v)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return v, nil
		}
		return nil, &Problem{Rule: "json", Message: "more text after the JSON at " + jsonsyntax.At(body, int(d.InputOffset())-1), Accepted: "one JSON value"}
	}
	return nil, &Problem{Rule: "json", Message: "invalid JSON at " + jsonsyntax.Explain(body, err)}
}

// visit lists the schema errors of a value, sorted by JSON pointer.
func visit(in string, schema *openapi3.Schema, v any) []Problem {
	if schema == nil {
		return nil
	}
	err := schema.VisitJSON(v, openapi3.MultiErrors())
	if err == nil {
		return nil
	}
	var problems []Problem
	collect(err, func(e *openapi3.SchemaError) {
		p := Problem{In: in, Name: "/" + strings.Join(e.JSONPointer(), "/"), Rule: e.SchemaField, Message: reason(e), Accepted: accepts(e.Schema)}
		switch e.SchemaField {
		case "required":
			p.Message, p.Accepted = "missing", ""
			if property := e.Schema.Properties[p.Name[strings.LastIndex(p.Name, "/")+1:]]; property != nil {
				p.Accepted = accepts(property.Value)
			}
		case "properties":
			p.unknown(e)
		default:
			if received, err := json.Marshal(e.Value); err == nil && len(received) < 200 {
				p.Received = string(received)
			}
		}
		problems = append(problems, p)
	})
	if len(problems) == 0 {
		text, _, _ := strings.Cut(err.Error(), "\n")
		problems = append(problems, Problem{In: in, Rule: "schema", Message: text})
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(problems, func(a, b Problem) bool { return a.String() == b.String() }) // format and maximum
}

// unknownProperty matches the reason of a schema error for a property that its object must
// not have.
var unknownProperty = regexp.MustCompile(`^property (".*") is unsupported$`)

// unknown completes the problem with a property that its object must not have.
func (p *Problem) unknown(e *openapi3.SchemaError) {
	name := ""
	if m := unknownProperty.FindStringSubmatch(e.Reason); m != nil {
		name, _ = strconv.Unquote(m[1])
	}
	known := slices.Sorted(maps.Keys(e.Schema.Properties))
	p.Name = strings.TrimSuffix(p.Name, "/") + "/" + name
	p.Message, p.Accepted = "unknown property", "one of "+strings.Join(known, ", ")
	switch len(known) {
	case 0:
		p.Accepted = "absent"
	case 1:
		p.Accepted = known[0]
	}
	p.Accepted += similar.DidYouMean(name, known)
}

func collect(err error, found func(*openapi3.SchemaError)) {
	switch e := err.(type) { //nolint:errorlint // the tree itself is walked
	case openapi3.MultiError:
		for _, inner := range e {
			collect(inner, found)
		}
	case *openapi3.SchemaError:
		found(e)
	}
}

// Declares reports whether the document declares a status for the operation.
func (o *Operation) Declares(status int) bool {
	_, declared := o.rules().responses[status]
	return declared || o.rules().open
}

// CheckResponse lists the problems of a response. An error status may be undeclared,
// because the interface document leaves these open; stricter callers use Declares.
func (o *Operation) CheckResponse(status int, h http.Header, body []byte) []Problem {
	held, declared := o.rules().responses[status]
	if !declared {
		if status < 400 && !o.rules().open {
			return []Problem{{In: "response", Rule: "status", Message: fmt.Sprintf("status %d is not declared for %s", status, o.ID), Accepted: fmt.Sprint(o.Success)}}
		}
		held = o.rules().fallback
	}
	if held.schema == nil {
		return nil
	}
	if ct := h.Get("Content-Type"); !strings.HasPrefix(ct, "application/json") && !strings.HasPrefix(ct, "application/problem+json") {
		return []Problem{{In: "response", Name: "Content-Type", Rule: "type", Message: InvalidValue, Received: quote(ct), Accepted: "application/json"}}
	}
	return held.checkJSON("response", body)
}
