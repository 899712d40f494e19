package harness

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/spec"
)

// Response is an answer of the target, in neutral names.
type Response struct {
	Operation *spec.Operation
	Exchange  int // index in the scenario's exchanges
	Status    int
	Header    http.Header
	Body      []byte
	JSON      any // the decoded body, nil when it is not JSON
	scenario  *Scenario
}

// OK reports whether the status is 2xx.
func (a *Response) OK() bool { return a.Status >= 200 && a.Status < 300 }

// Accepted returns nil for a 2xx status, otherwise a failure.
func (a *Response) Accepted() error {
	a.scenario.Looked(a.Exchange)
	if a.OK() {
		return nil
	}
	f := &report.Failure{Message: "the request was refused", Want: "a 2xx status", Got: fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)), Exchange: a.Exchange}
	if a.Missing() {
		return &missingOperation{f}
	}
	return f
}

// Demand sends a request and requires that the target accepts it.
func (s *Scenario) Demand(q Request) (*Response, error) {
	a, err := s.Do(q)
	if err == nil {
		err = a.Accepted()
	}
	return a, err
}

// List returns the list in a field of the answer.
func (a *Response) List(field string) ([]any, error) {
	v, _ := check.At(a.JSON, "/"+field)
	list, ok := v.([]any)
	if !ok {
		return nil, a.Fails("/"+field, "the list is not an array", "an array", check.KindOf(v))
	}
	return list, nil
}

// Is200 requires the status 200.
func (a *Response) Is200() error {
	if a.Status != http.StatusOK {
		return a.Fails("", "the status", "200", strconv.Itoa(a.Status))
	}
	return nil
}

// Ask is Demand, and keeps the answer for the steps that follow.
func (s *Scenario) Ask(q Request) (err error) {
	s.Asked, err = s.Demand(q)
	return err
}

// missingOperation is the failure of an operation that the target does not have at the
// documented path. Waiting does not help.
type missingOperation struct{ *report.Failure }

// Unwrap returns the failure.
func (m *missingOperation) Unwrap() error { return m.Failure }

// Missing reports whether an answer means that the target does not have the operation. It
// is false for a path with an id, which may just not exist yet.
func (a *Response) Missing() bool {
	if a.Operation == nil || a.Operation.ID != "getUsageStatistics" && strings.Contains(a.Operation.Path, "{") {
		return false
	}
	return missingStatus(a.Status)
}

// mayLack reports whether an answer may mean that the target, which claims nothing, does not have
// the operation: also for a path with an id.
func (s *Scenario) mayLack(a *Response) bool {
	return len(s.Suite.Target.Profiles) == 0 && a.JSON == nil && missingStatus(a.Status)
}

func missingStatus(status int) bool {
	return status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
}

// Refused returns nil for any status except 2xx.
func (a *Response) Refused() error {
	a.scenario.Looked(a.Exchange)
	if !a.OK() {
		return nil
	}
	return &report.Failure{Message: "the request was accepted", Want: "a refusal: any status but 2xx", Got: fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)), Exchange: a.Exchange}
}

// Fails returns a failure at a JSON pointer of this answer.
func (a *Response) Fails(pointer, message, want, got string) error {
	a.scenario.Looked(a.Exchange)
	return &report.Failure{Message: message, Pointer: pointer, Want: want, Got: Clip(got), Exchange: a.Exchange}
}

// Result returns the result of a driver at the JSON pointer of its configuration, or the
// whole text without one. An empty result is an error.
func (a *Response) Result(name string, d target.Driver) (string, error) {
	if d.Result == "" {
		if text := strings.TrimSpace(string(a.Body)); text != "" {
			return text, nil
		}
		return "", Fault(report.DriverFailed, "driver %s: the answer is empty", name)
	}
	v, _ := check.At(a.JSON, d.Result)
	switch x := v.(type) {
	case string:
		if x != "" {
			return x, nil
		}
	case json.Number:
		return x.String(), nil
	}
	return "", Fault(report.DriverFailed, "driver %s: the answer has no text at %s: %s", name, d.Result, a.scenario.Masked(Clip(string(a.Body))))
}

// CheckField checks that an item has a field of a type.
func (s *Scenario) CheckField(item any, pointer, kind string) error {
	v, ok := check.At(item, pointer)
	if ok && check.Fits(v, kind) {
		return nil
	}
	exchange, place := s.place(item)
	f := &report.Failure{Message: "the field is missing", Pointer: place + pointer, Want: kind, Got: fieldsOf(item), Exchange: exchange}
	if ok {
		f.Message, f.Got = "the field has another type", check.KindOf(v)+": "+Shown(v)
	}
	return f
}

// Equal requires an integer or a text at a pointer of an item.
func (s *Scenario) Equal(item any, pointer, message string, want any) error {
	var got any
	switch want.(type) {
	case int:
		n, _ := check.Integer(item, pointer)
		got = int(n)
	default:
		got, _ = check.Text(item, pointer)
	}
	if got == want {
		return nil
	}
	return s.FailureAt(item, pointer, message, fmt.Sprint(want))
}

// fieldsOf names the fields that an item has.
func fieldsOf(item any) string {
	m, ok := item.(map[string]any)
	if !ok {
		return Shown(item)
	}
	return "only " + Clip(strings.Join(slices.Sorted(maps.Keys(m)), ", "))
}
