package conformance

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

// answer is what came back, in neutral names.
type answer struct {
	op       *spec.Operation
	exchange int // index in the scenario's exchanges
	status   int
	header   http.Header
	body     []byte
	json     any // the decoded body, nil when it is no JSON
	scenario *toolkit
}

// ok reports whether the target accepted.
func (a *answer) ok() bool { return a.status >= 200 && a.status < 300 }

// accepted is nil for a 2xx, and a failure otherwise.
func (a *answer) accepted() error {
	a.scenario.looked(a.exchange)
	if a.ok() {
		return nil
	}
	f := &report.Failure{Message: "the request was refused", Want: "a 2xx status", Got: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), Exchange: a.exchange}
	if a.missing() {
		return &missingOperation{f}
	}
	return f
}

// missingOperation is the failure of an operation that is not where the document
// has it. Waiting changes nothing about it.
type missingOperation struct{ *report.Failure }

// Unwrap gives the failure.
func (m *missingOperation) Unwrap() error { return m.Failure }

// missing reports whether an answer says that the operation is not there: its
// path names nothing that might come later.
func (a *answer) missing() bool {
	if a.op == nil || a.op.ID != "getUsageStatistics" && strings.Contains(a.op.Path, "{") {
		return false
	}
	return a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed || a.status == http.StatusNotImplemented
}

// refused is nil for anything but a 2xx.
func (a *answer) refused() error {
	a.scenario.looked(a.exchange)
	if !a.ok() {
		return nil
	}
	return &report.Failure{Message: "the request was accepted", Want: "a refusal: any status but 2xx", Got: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), Exchange: a.exchange}
}

// fails is a failure of this answer at a JSON pointer.
func (a *answer) fails(pointer, message, want, got string) error {
	a.scenario.looked(a.exchange)
	return &report.Failure{Message: message, Pointer: pointer, Want: want, Got: clip(got), Exchange: a.exchange}
}

// result is what a driver answers, by its JSON pointer; without one its whole
// text. It names something, so it is never empty.
func (a *answer) result(name string, d target.Driver) (string, error) {
	if d.Result == "" {
		if text := strings.TrimSpace(string(a.body)); text != "" {
			return text, nil
		}
		return "", harness(report.DriverFailed, "driver %s: the answer is empty", name)
	}
	v, _ := check.At(a.json, d.Result)
	switch x := v.(type) {
	case string:
		if x != "" {
			return x, nil
		}
	case json.Number:
		return x.String(), nil
	}
	return "", harness(report.DriverFailed, "driver %s: the answer has no text at %s: %s", name, d.Result, a.scenario.masked(clip(string(a.body))))
}

// has judges a field of an item.
func (s *toolkit) has(item any, pointer, kind string) error {
	v, ok := check.At(item, pointer)
	switch {
	case !ok:
		return &report.Failure{Message: "the field is missing", Pointer: pointer, Want: kind, Got: shown(item), Exchange: s.last()}
	case !check.Fits(v, kind):
		return &report.Failure{Message: "the field has another type", Pointer: pointer, Want: kind, Got: check.KindOf(v) + ": " + shown(v), Exchange: s.last()}
	}
	return nil
}
