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
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
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

// InvalidValue is the message of a problem where Accepted says the rest.
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
	required bool
	greedy   bool
	handled  bool // the handler checks the value and says more; the schema is for readers
	accepted string
	anyText  bool   // its schema takes any text
	empty    string // what to say when it is empty, "" for what its schema says
}

func newParameter(p *openapi3.Parameter) parameter {
	schema := p.Schema.Value
	out := parameter{name: p.Name, in: p.In, required: p.Required}
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

// checkedByHandler reports whether x-check names the handler.
func checkedByHandler(extensions map[string]any) bool { return extensions["x-check"] == "handler" }

// accepts describes what a schema takes.
func accepts(s *openapi3.Schema) string {
	switch {
	case s == nil || s.Type == nil:
		return ""
	case s.Extensions["x-accepted"] != nil:
		return fmt.Sprint(s.Extensions["x-accepted"])
	case len(s.Enum) > 0:
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = fmt.Sprint(v)
		}
		return "one of " + strings.Join(values, ", ")
	case s.Min != nil && s.Max != nil:
		return decimal(*s.Min) + " to " + decimal(*s.Max)
	case s.Min != nil:
		return fmt.Sprintf("a %s from %s up", s.Type.Slice()[0], decimal(*s.Min))
	case s.Type.Is("string") && s.MinLength > 0:
		return "a non-empty string"
	}
	article := "a "
	if t := s.Type.Slice()[0]; strings.ContainsRune("aio", rune(t[0])) {
		article = "an "
	}
	return article + s.Type.Slice()[0]
}

// decimal is a number without an exponent: what people write.
func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// values finds what a request says for a parameter.
func (p *parameter) values(r *http.Request, vars map[string]string, query url.Values) []string {
	switch p.in {
	case "path":
		if v, ok := vars[p.name]; ok {
			return []string{v}
		}
	case "query":
		return query[p.name]
	case "header":
		return r.Header[textproto.CanonicalMIMEHeaderKey(p.name)]
	}
	return nil
}

// check says what is wrong with the values, nil for nothing.
func (p *parameter) check(values []string, rule func() *openapi3.Schema) *Problem {
	problem := Problem{In: p.in, Name: p.name, Accepted: p.accepted}
	if len(values) == 0 {
		if !p.required {
			return nil
		}
		problem.Rule, problem.Message = "required", "missing"
		return &problem
	}
	if values[0] == "" && p.empty != "" {
		return &Problem{In: p.in, Name: p.name, Rule: "minLength", Message: p.empty}
	}
	if p.handled || p.anyText {
		return nil // any text; repeated filters mean any of them
	}
	problem.Received = quote(values[0])
	if len(values) > 1 {
		problem.Rule, problem.Message, problem.Accepted = "single", "given "+strconv.Itoa(len(values))+" times", "one value, "+problem.Accepted
		return &problem
	}
	schema := rule()
	v, err := parseValue(schema, values[0])
	if err == nil {
		err = schema.VisitJSON(v)
	}
	if err == nil {
		return nil
	}
	problem.Rule, problem.Message = "type", InvalidValue
	if fault, ok := errors.AsType[*openapi3.SchemaError](err); ok {
		problem.Rule = fault.SchemaField
		if p.accepted == accepts(schema) { // else the document says all of it
			problem.Message = reason(fault)
		}
	}
	return &problem
}

func parseValue(schema *openapi3.Schema, s string) (any, error) {
	switch {
	case schema.Type.Is("integer"):
		n, err := strconv.ParseInt(s, 10, 64)
		return float64(n), err
	case schema.Type.Is("number"):
		return strconv.ParseFloat(s, 64)
	case schema.Type.Is("boolean"):
		if s == "" { // a bare name in a query means yes
			return true, nil
		}
		return strconv.ParseBool(s)
	}
	return s, nil
}

// reason is what a schema fault says beyond what accepts does, without its value
// and schema.
func reason(e *openapi3.SchemaError) string {
	switch {
	case e.Schema.Extensions["x-accepted"] != nil, e.SchemaField == "type", e.SchemaField == "enum", e.SchemaField == "minimum",
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

func quote(s string) string {
	if len(s) > 80 {
		s = s[:80] + "..."
	}
	return strconv.Quote(s)
}

// CheckRequest says what is wrong with a request to the operation; security is
// not looked at. vars are the unescaped path variables.
func (o *Operation) CheckRequest(r *http.Request, vars map[string]string, body []byte) []Problem {
	var problems []Problem
	var query url.Values
	if r.URL.RawQuery != "" {
		query = r.URL.Query()
		problems = o.checkQuery(r.URL.RawQuery, query)
	}
	for i := range o.parameters {
		p := &o.parameters[i]
		if values := p.values(r, vars, query); len(values) > 0 || p.required {
			if problem := p.check(values, func() *openapi3.Schema { return o.rules().parameters[i] }); problem != nil {
				problems = append(problems, *problem)
			}
		}
	}
	if o.BodyJSON {
		problems = append(problems, o.checkBody(body)...)
	}
	return problems
}

func (o *Operation) checkBody(body []byte) []Problem {
	if len(bytes.TrimSpace(body)) == 0 {
		if !o.needsBody {
			return nil
		}
		return []Problem{{In: "body", Rule: "required", Message: "empty", Accepted: "JSON, " + accepts(o.rules().body)}}
	}
	v, problem := decode(body)
	if problem != nil {
		problem.In = "body"
		return []Problem{*problem}
	}
	return visit("body", o.rules().body, v)
}

// decode reads JSON and says at which position it breaks.
func decode(body []byte) (any, *Problem) {
	var v any
	if json.Unmarshal(body, &v) == nil {
		return v, nil
	}
	d := json.NewDecoder(bytes.NewReader(body)) // slower, but it knows the position
	err := d.Decode(&v)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return v, nil
		}
		line, column := position(body, d.InputOffset())
		return nil, &Problem{Rule: "json", Message: fmt.Sprintf("JSON goes on after its end at line %d, column %d", line, column), Accepted: "one JSON value"}
	}
	offset := int64(len(body))
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	}
	line, column := position(body, offset)
	what := strings.TrimPrefix(err.Error(), "json: ")
	if errors.Is(err, io.ErrUnexpectedEOF) {
		what = "the text ends too early"
	}
	return nil, &Problem{Rule: "json", Message: fmt.Sprintf("invalid JSON at line %d, column %d: %s", line, column, what)}
}

// position is the line and column, from 1, of a byte offset.
func position(body []byte, offset int64) (line, column int) {
	before := body[:min(max(offset-1, 0), int64(len(body)))]
	line = 1 + bytes.Count(before, []byte{'\n'})
	return line, len(before) - bytes.LastIndexByte(before, '\n')
}

// visit lists the faults of a value, in the order of their pointers.
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
		if e.SchemaField == "required" || e.SchemaField == "properties" {
			p.Accepted = ""
			p.Message += properties(e.Schema)
		}
		if received, err := json.Marshal(e.Value); err == nil && e.SchemaField != "required" && len(received) < 200 {
			p.Received = string(received)
		}
		problems = append(problems, p)
	})
	if len(problems) == 0 {
		text, _, _ := strings.Cut(err.Error(), "\n")
		problems = append(problems, Problem{In: in, Rule: "schema", Message: text})
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.Name, b.Name) })
	return problems
}

// properties names the properties of an object that has no others.
func properties(s *openapi3.Schema) string {
	if s == nil || s.AdditionalProperties.Has == nil || *s.AdditionalProperties.Has || len(s.Properties) == 0 {
		return ""
	}
	return "; the properties are " + strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", ")
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

// Declares reports whether the document names a status for the operation.
func (o *Operation) Declares(status int) bool {
	return slices.Contains(o.statuses, status) || o.open
}

// CheckResponse says how an answer of the operation breaks the document. An
// error may have a status that is not declared: the interface document leaves
// these open. Declares is for those who promise more.
func (o *Operation) CheckResponse(status int, h http.Header, body []byte) []Problem {
	schema, declared := o.rules().responses[status]
	if !declared {
		if status < 400 && !o.open {
			return []Problem{{In: "response", Rule: "status", Message: fmt.Sprintf("status %d is not declared for %s", status, o.ID), Accepted: fmt.Sprint(o.Success)}}
		}
		schema = o.rules().fallback
	}
	if schema == nil {
		return nil
	}
	if ct := h.Get("Content-Type"); !strings.HasPrefix(ct, "application/json") && !strings.HasPrefix(ct, "application/problem+json") {
		return []Problem{{In: "response", Name: "Content-Type", Rule: "type", Message: InvalidValue, Received: quote(ct), Accepted: "application/json"}}
	}
	v, problem := decode(body)
	if problem != nil {
		problem.In = "response"
		return []Problem{*problem}
	}
	return visit("response", schema, v)
}
