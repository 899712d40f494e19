package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
)

// driverLimit is the time that one call of a driver may take.
const driverLimit = 30 * time.Second

// jsonValues are the placeholders whose value is JSON already.
var jsonValues = []string{"body", "config", "endpoints", "headers", "vectors"}

// expand fills the placeholders of a driver's text. Each value passes through
// escape, which makes it fit for where the text is used.
func (s *Scenario) expand(text string, vars map[string]string, escape func(name, value string) string) (string, error) {
	values := target.Placeholders(s.URLs, s.Auth)
	values["receiver"], values["account"], values["run"] = s.Suite.Receiver.Public, s.Clock.Account, s.Suite.ID
	for name, v := range vars {
		if values[name] = v; escape != nil {
			values[name] = escape(name, v)
		}
	}
	return target.Expand(text, values)
}

func (s *Scenario) expandHeader(from map[string]target.Secret, vars map[string]string) (http.Header, error) {
	h := http.Header{}
	for name, v := range from {
		text, err := s.expand(string(v), vars, nil)
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", name, err)
		}
		h.Set(name, text)
	}
	return h, nil
}

// Driver is the driver with that name; without one the scenario cannot judge.
func (s *Scenario) Driver(name string) (target.Driver, error) {
	d, ok := s.Suite.Target.Drivers[name]
	switch {
	case !ok || d.Kind == "" || d.Kind == "none":
		return d, Inconclusive(report.DriverMissing, "the target file names no driver %q", name)
	case d.Kind == "manual":
		return d, Inconclusive(report.DriverMissing, "driver %q is manual, and nobody is here to be asked", name)
	}
	return d, nil
}

// Drive makes a target do what the interface document does not show. That a
// driver fails is no verdict on the target.
func (s *Scenario) Drive(name string, vars map[string]string) (*Response, error) {
	d, err := s.Driver(name)
	if err != nil {
		return nil, err
	}
	return s.Run(name, d, vars, nil)
}

// Run carries out one driver; header is added to that of the driver.
func (s *Scenario) Run(name string, d target.Driver, vars map[string]string, header http.Header) (*Response, error) {
	if d.Kind == "exec" {
		return s.execute(name, d, vars)
	}
	if err := s.Suite.NeedsBrand(slices.Collect(maps.Keys(header))...); err != nil {
		return nil, err
	}
	method := d.Method
	if method == "" {
		method = http.MethodPost
	}
	r, body, err := s.driverRequest(method, d, vars)
	if err != nil {
		return nil, Fault(report.DriverFailed, "driver %s: %v", name, err)
	}
	maps.Copy(r.Header, s.Suite.Dialect.BrandHeader(header.Clone()))
	a, err := s.Send(r, body, nil)
	if err != nil {
		var i *NoVerdict
		if errors.As(err, &i) {
			i.Detail = "driver " + name + ": " + i.Detail
		}
		return nil, err
	}
	s.Looked(a.Exchange)
	if !a.OK() {
		return a, Inconclusive(report.DriverFailed, "driver %s: %s %s answered %d: %s", name, method, s.Masked(r.URL.String()), a.Status, s.maskedBody(a.Body))
	}
	return a, nil
}

// driverRequest is the request of a driver of the kind http.
func (s *Scenario) driverRequest(method string, d target.Driver, vars map[string]string) (*http.Request, []byte, error) {
	text, err := s.expand(d.Body, vars, inJSON(d.Body))
	if err != nil {
		return nil, nil, fmt.Errorf("body: %w", err)
	}
	if v, ok := vars["body"]; ok && d.Body == "" {
		text = v
	}
	address, err := s.expand(d.URL, vars, inURL)
	if err != nil {
		return nil, nil, fmt.Errorf("url: %w", err)
	}
	r, err := http.NewRequestWithContext(s.Context, method, address, strings.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	r.Header, err = s.expandHeader(d.Headers, vars)
	return r, []byte(text), err
}

// inURL makes a value fit for a path and for a query alike. Addresses stay as
// they are, so that one may follow a path.
func inURL(_, value string) string {
	if strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://") {
		return value
	}
	return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
}

// inJSON makes values fit for the texts of a JSON body.
func inJSON(body string) func(name, value string) string {
	if !strings.HasPrefix(body, "{") && !strings.HasPrefix(body, "[") {
		return nil
	}
	return func(name, value string) string {
		if slices.Contains(jsonValues, name) {
			return value
		}
		text, _ := json.Marshal(value) // of a text
		return string(text[1 : len(text)-1])
	}
}

// Arguments are a command with its placeholders filled.
func (s *Scenario) Arguments(name string, d target.Driver, vars map[string]string) ([]string, error) {
	if len(d.Command) == 0 {
		return nil, Fault(report.DriverFailed, "driver %s: no command", name)
	}
	args := make([]string, len(d.Command))
	for i, arg := range d.Command {
		text, err := s.expand(arg, vars, nil)
		if err != nil {
			return nil, Fault(report.DriverFailed, "driver %s: command %d: %v", name, i, err)
		}
		args[i] = text
	}
	return args, nil
}

// execute runs a command; what it prints is its answer.
func (s *Scenario) execute(name string, d target.Driver, vars map[string]string) (*Response, error) {
	if err := s.paced(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(s.Context, driverLimit)
	defer cancel()
	args, err := s.Arguments(name, d, vars)
	if err != nil {
		return nil, err
	}
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Stdout, c.Stderr = &out, &errs
	c.WaitDelay = time.Second // what it has started may hold its output open
	if err := c.Run(); err != nil {
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) { // it could not be run at all
			return nil, Fault(report.DriverFailed, "driver %s: %s: %v", name, args[0], err)
		}
		failed := Inconclusive(report.DriverFailed, "driver %s: %s: %v: %s", name, args[0], err, s.Masked(Clip(strings.TrimSpace(errs.String()))))
		if exit.ExitCode() == 1 {
			return &Response{Status: http.StatusNotFound, scenario: s, Exchange: -1}, failed
		}
		return nil, failed
	}
	a := &Response{Status: http.StatusOK, Body: bytes.TrimSpace(out.Bytes()), scenario: s, Exchange: -1}
	if json.Unmarshal(a.Body, &a.JSON) != nil {
		a.JSON = nil
	}
	return a, nil
}
