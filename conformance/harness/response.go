package harness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/spec"
)

// Response is what came back, in neutral names.
type Response struct {
	Operation *spec.Operation
	Exchange  int // index in the scenario's exchanges
	Status    int
	Header    http.Header
	Body      []byte
	JSON      any // the decoded body, nil when it is no JSON
	scenario  *Scenario
}

// OK reports whether the target accepted.
func (a *Response) OK() bool { return a.Status >= 200 && a.Status < 300 }

// Accepted is nil for a 2xx, and a failure otherwise.
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

// missingOperation is the failure of an operation that is not where the document
// has it. Waiting changes nothing about it.
type missingOperation struct{ *report.Failure }

// Unwrap gives the failure.
func (m *missingOperation) Unwrap() error { return m.Failure }

// Missing reports whether an answer says that the operation is not there: its
// path names nothing that might come later.
func (a *Response) Missing() bool {
	if a.Operation == nil || a.Operation.ID != "getUsageStatistics" && strings.Contains(a.Operation.Path, "{") {
		return false
	}
	return a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed || a.Status == http.StatusNotImplemented
}

// Refused is nil for anything but a 2xx.
func (a *Response) Refused() error {
	a.scenario.Looked(a.Exchange)
	if !a.OK() {
		return nil
	}
	return &report.Failure{Message: "the request was accepted", Want: "a refusal: any status but 2xx", Got: fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)), Exchange: a.Exchange}
}

// Fails is a failure of this answer at a JSON pointer.
func (a *Response) Fails(pointer, message, want, got string) error {
	a.scenario.Looked(a.Exchange)
	return &report.Failure{Message: message, Pointer: pointer, Want: want, Got: Clip(got), Exchange: a.Exchange}
}

// Result is what a driver answers, by its JSON pointer; without one its whole
// text. It names something, so it is never empty.
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

// CheckField judges a field of an item.
func (s *Scenario) CheckField(item any, pointer, kind string) error {
	v, ok := check.At(item, pointer)
	switch {
	case !ok:
		return &report.Failure{Message: "the field is missing", Pointer: pointer, Want: kind, Got: Shown(item), Exchange: s.Last()}
	case !check.Fits(v, kind):
		return &report.Failure{Message: "the field has another type", Pointer: pointer, Want: kind, Got: check.KindOf(v) + ": " + Shown(v), Exchange: s.Last()}
	}
	return nil
}
