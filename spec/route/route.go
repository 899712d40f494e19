// Package route contains the routes of the interface and of the control API as
// constants, generated from their documents:
//
//	path := route.GetDLQMessage.Path(id) // "/v2/dlq/" and the escaped id
//
// Clients of the server, such as the page and the suite, use them instead of literal
// paths. The package does no routing and imports nothing of this repository.
package route

import (
	"net/url"
	"regexp"
	"strings"
)

// Route is the method and the path template of an operation, such as
// "GET /v2/dlq/{dlqId}".
type Route string

// Lookup returns the route of an operation.
func Lookup(operationID string) (r Route, ok bool) {
	r, ok = byOperation[operationID]
	return r, ok
}

// Method is the HTTP method.
func (r Route) Method() string {
	method, _, _ := strings.Cut(string(r), " ")
	return method
}

// Template is the path, with variables in braces.
func (r Route) Template() string {
	_, path, _ := strings.Cut(string(r), " ")
	return path
}

// variables are in braces.
var variables = regexp.MustCompile(`\{(\w+)\}`)

// Variables returns the names of the variables, in order.
func (r Route) Variables() []string {
	var names []string
	for _, found := range variables.FindAllStringSubmatch(r.Template(), -1) {
		names = append(names, found[1])
	}
	return names
}

// Path returns the path with values for the variables in order, escaped. The value of
// a variable that may contain slashes, such as a destination, is inserted as it is. A
// variable without a value is empty.
func (r Route) Path(values ...string) string {
	return variables.ReplaceAllStringFunc(r.Template(), func(name string) string {
		if len(values) == 0 {
			return ""
		}
		value := values[0]
		values = values[1:]
		if greedy[name[1:len(name)-1]] {
			return value
		}
		return url.PathEscape(value)
	})
}

// Pattern is a regular expression that matches the paths.
func (r Route) Pattern() string {
	return variables.ReplaceAllStringFunc(r.Template(), func(name string) string {
		if greedy[name[1:len(name)-1]] {
			return ".*"
		}
		return "[^/]+"
	})
}
