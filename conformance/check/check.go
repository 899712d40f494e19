// Package check holds the sentences of the interface document that one exchange
// can break, whoever made it: the suite looks at all of its exchanges with them,
// and the proxy at all traffic that passes.
//
//	for _, b := range check.Breaches(&check.Exchange{Operation: "listWorkflowDLQ", Status: 200, Body: v}, bindings) {
//		fmt.Println(b.Requirement, b.Pointer, b.Message)
//	}
//
// What the document leaves open breaks nothing: further properties and states,
// statuses that it does not name, the bodies of errors, other operations. It has
// no memory: what takes several exchanges to see is for the scenarios.
package check

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/conformance/target"
)

// Exchange is a request and the answer to it, in neutral names.
type Exchange struct {
	Operation string // operationId
	Header    http.Header
	Query     url.Values
	Status    int
	MediaType string // of the answer, as it came; "": none
	Body      any    // the JSON of the answer, with json.Number; nil: none
}

// ok reports whether the answer is a success.
func (x *Exchange) ok() bool { return x.Status >= 200 && x.Status < 300 }

// Breach is a sentence that an exchange breaks.
type Breach struct {
	Requirement string // REQ-...
	Pointer     string // JSON pointer into the answer
	Message     string
	Want, Got   string
}

// looking is an exchange that is looked at, and what was found in it.
type looking struct {
	*Exchange
	bindings target.Bindings
	found    []Breach
}

// breaks records a breach. Of one kind the first is enough.
func (l *looking) breaks(id, pointer, message, want, got string) {
	b := Breach{"REQ-" + id, pointer, message, want, got}
	for i := range l.found {
		if l.found[i].Kind() == b.Kind() {
			return
		}
	}
	l.found = append(l.found, b)
}

// Messages of breaches that are of one kind wherever they are.
const (
	wrongDistance = "the distance of the points"
	wrongNumber   = "the number of points"
	unfitting     = "the item does not fit the filter"
)

// Kind tells breaches apart that are not of one kind: a sentence, what is wrong, and
// the name of the field, in whatever item of a list it is.
func (b *Breach) Kind() string {
	name := b.Pointer[strings.LastIndex(b.Pointer, "/")+1:]
	if strings.Trim(name, "0123456789") == "" || slices.Contains([]string{wrongDistance, wrongNumber, unfitting}, b.Message) {
		name = ""
	}
	return b.Requirement + " " + name + " " + b.Message
}

// operations are the looks at the answers of each operation that the document
// describes.
var operations = map[string]func(*looking){
	"deleteSearchIndex":       deletion,
	"getUsageStatistics":      statistics,
	"getVectorInfo":           information,
	"listWorkflowDLQ":         deadLetters,
	"listWorkflowMessageLogs": logs,
	"restartWorkflowRun":      restart,
	"resumeFlowControlKey":    resume,
}

// Breaches are the sentences that an exchange breaks, each kind once. Bindings name
// what the document does not; without one, nothing is said about it.
func Breaches(x *Exchange, bindings target.Bindings) []Breach {
	look := operations[x.Operation]
	if look == nil {
		return nil
	}
	l := &looking{Exchange: x, bindings: bindings}
	look(l)
	return l.found
}

// field is a row of a table of the document.
type field struct {
	name, kind string
	required   bool
}

// has checks the value at a pointer: it is there, and of that kind.
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

// may checks the value at a pointer where there is one; null is none.
func (l *looking) may(id, pointer, kind string) {
	if v, there := At(l.Body, pointer); there && v != nil {
		l.has(id, pointer, kind)
	}
}

// fields checks an object by its table.
func (l *looking) fields(id, pointer string, table []field) {
	for _, f := range table {
		if f.required {
			l.has(id, pointer+"/"+f.name, f.kind)
		} else {
			l.may(id, pointer+"/"+f.name, f.kind)
		}
	}
}

// millis checks that a number is a time in milliseconds: those of this century and
// of the next are of 13 digits.
func (l *looking) millis(id, pointer string) {
	n, ok := Integer(l.Body, pointer)
	if ok && (n < 1e12 || n >= 1e13) {
		l.breaks(id, pointer, "the time is not in milliseconds", "Unix time in milliseconds", Shown(n))
	}
}

// json checks the media type that the document names, without regard to case and
// parameters.
func (l *looking) json(id string) {
	if l.MediaType == "" {
		return
	}
	if kind, _, err := mime.ParseMediaType(l.MediaType); err == nil && kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		l.breaks(id, "", "the media type of the answer", "application/json", l.MediaType)
	}
}

// answers200 checks the one status that the document names for an operation.
func (l *looking) answers200(id string) bool {
	if l.ok() && l.Status != http.StatusOK {
		l.breaks(id, "", "the status", "200", Shown(l.Status))
	}
	return l.Status == http.StatusOK
}
