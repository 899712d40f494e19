// Package check contains the requirements of the interface document that one exchange
// can violate. The suite applies them to all of its exchanges, the proxy to all
// traffic that passes.
//
//	for _, b := range check.Breaches(&check.Exchange{Operation: "listWorkflowDLQ", Status: 200, Body: v}, bindings) {
//		fmt.Println(b.Requirement, b.Pointer, b.Message)
//	}
//
// What the document leaves open is not a breach: additional properties and states,
// undocumented statuses, bodies of errors, other operations. The package keeps no
// state: scenarios test requirements that need several exchanges.
package check

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/conformance/target"
)

// Exchange is a request and its response, in neutral names.
type Exchange struct {
	Operation string // operationId
	Header    http.Header
	Query     url.Values
	Status    int
	MediaType string // of the response, unchanged; "": none
	Body      any    // JSON of the response, with json.Number; nil: none
}

// ok reports whether the response is a success.
func (x *Exchange) ok() bool { return x.Status >= 200 && x.Status < 300 }

// Breach is a violated requirement.
type Breach struct {
	Requirement string // REQ-...
	Pointer     string // JSON pointer into the response
	Message     string
	Want, Got   string
}

// looking is an exchange that is being checked, with the breaches found so far.
type looking struct {
	*Exchange
	bindings target.Bindings
	found    []Breach
}

// breaks records a breach, unless there is one of the same kind.
func (l *looking) breaks(id, pointer, message, want, got string) {
	b := Breach{"REQ-" + id, pointer, message, want, got}
	for i := range l.found {
		if l.found[i].Kind() == b.Kind() {
			return
		}
	}
	l.found = append(l.found, b)
}

// Messages of breaches that are of one kind at any pointer.
const (
	wrongDistance = "the distance of the points"
	wrongNumber   = "the number of points"
	unfitting     = "the item does not fit the filter"
)

// Kind is equal for breaches with the same requirement, message and field name, in
// any item of a list.
func (b *Breach) Kind() string {
	name := b.Pointer[strings.LastIndex(b.Pointer, "/")+1:]
	if strings.Trim(name, "0123456789") == "" || slices.Contains([]string{wrongDistance, wrongNumber, unfitting}, b.Message) {
		name = ""
	}
	return b.Requirement + " " + name + " " + b.Message
}

// operations are the checks of the responses of each operation that the document describes.
var operations = map[string]func(*looking){
	"deleteSearchIndex":       deletion,
	"getUsageStatistics":      statistics,
	"getVectorInfo":           information,
	"listWorkflowDLQ":         deadLetters,
	"listWorkflowMessageLogs": logs,
	"restartWorkflowRun":      restart,
	"resumeFlowControlKey":    resume,
}

// Breaches returns the breaches of an exchange, one of each kind. Bindings contain
// names that the document leaves open; what needs a missing binding is not checked.
func Breaches(x *Exchange, bindings target.Bindings) []Breach {
	look := operations[x.Operation]
	if look == nil {
		return nil
	}
	l := &looking{Exchange: x, bindings: bindings}
	look(l)
	return l.found
}

// Field is a row of a table in the document.
type Field struct {
	Name, Kind string
	Required   bool // it exists always
}

// has checks that there is a value at a pointer and that it has this kind.
func (l *looking) has(id, pointer, kind string) (any, bool) {
	v, there := At(l.Body, pointer)
	switch {
	case !there:
		l.breaks(id, pointer, "the field is missing", Article(kind), "nothing")
	case !Fits(v, kind):
		l.breaks(id, pointer, "the field has another type", Article(kind), KindOf(v))
	default:
		return v, true
	}
	return nil, false
}

// may checks the value at a pointer, if there is one; null counts as none.
func (l *looking) may(id, pointer, kind string) {
	if v, there := At(l.Body, pointer); there && v != nil {
		l.has(id, pointer, kind)
	}
}

// fields checks an object by its table.
func (l *looking) fields(id, pointer string, table []Field) {
	for _, f := range table {
		if f.Required {
			l.has(id, pointer+"/"+f.Name, f.Kind)
		} else {
			l.may(id, pointer+"/"+f.Name, f.Kind)
		}
	}
}

// millis checks that a number is a time in milliseconds. In this century and the next
// these have 13 digits.
func (l *looking) millis(id, pointer string) {
	n, ok := Integer(l.Body, pointer)
	if ok && (n < 1e12 || n >= 1e13) {
		l.breaks(id, pointer, "the time is not in milliseconds", "Unix time in milliseconds", Shown(n))
	}
}

// json checks that the media type is JSON, ignoring case and parameters.
func (l *looking) json(id string) {
	if l.MediaType == "" {
		return
	}
	if kind, _, err := mime.ParseMediaType(l.MediaType); err == nil && kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		l.breaks(id, "", "the media type of the answer", "application/json", l.MediaType)
	}
}

// answers200 checks the status of an operation that documents only 200.
func (l *looking) answers200(id string) bool {
	if l.ok() && l.Status != http.StatusOK {
		l.breaks(id, "", "the status", "200", Shown(l.Status))
	}
	return l.Status == http.StatusOK
}
