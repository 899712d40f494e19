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

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
)

// driverLimit is the time limit of one run of a driver command.
const driverLimit = 30 * time.Second

// jsonValues are the placeholders whose values are JSON.
var jsonValues = []string{"body", "config", "endpoints", "headers", "vectors"}

// expand replaces the placeholders in a text of a driver. escape, if not nil, encodes each
// value of vars for its place in the text.
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

// Driver returns the named driver. Without one the error makes the scenario inconclusive.
func (s *Scenario) Driver(name string) (target.Driver, error) {
	d, ok := s.Suite.Target.Drivers[name]
	switch {
	case !ok || d.Kind == "" || d.Kind == "none":
		return d, Inconclusive(report.DriverMissing, "the target file names no driver %q", name)
	case d.Kind == "manual":
		return d, Inconclusive(report.DriverMissing, "driver %q is manual, and there is no terminal to ask on", name)
	}
	return d, nil
}

// Drive runs the named driver, for actions without an operation in the interface document.
// A failing driver is not a verdict on the target.
func (s *Scenario) Drive(name string, vars map[string]string) (*Response, error) {
	d, err := s.Driver(name)
	if err != nil {
		return nil, err
	}
	return s.Run(name, d, vars, nil)
}

// Run runs a driver; header is added to the headers of an HTTP driver.
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
		if i, ok := errors.AsType[*NoVerdict](err); ok {
			i.Detail = "driver " + name + ": " + i.Detail
		}
		return nil, err
	}
	s.Looked(a.Exchange)
	s.latest.Store(int64(a.Exchange))
	if !a.OK() {
		return a, Inconclusive(report.DriverFailed, "driver %s: %s %s answered %d: %s", name, method, s.Masked(r.URL.String()), a.Status, s.maskedBody(a.Body))
	}
	return a, nil
}

// Trigger starts a run of a workflow by the driver `run`, and returns its id: that of the answer,
// where the driver names its place.
func (s *Scenario) Trigger(workflow, id, body string, header http.Header) (string, error) {
	d, err := s.Driver("run")
	if err != nil {
		return "", err
	}
	if d.Kind != "exec" {
		if d.Trigger == nil {
			return "", Inconclusive(report.DriverMissing, "drivers.run has no trigger")
		}
		d = *d.Trigger
		d.Kind = "http"
	}
	plain := map[string]string{} // for a driver that is a command
	for name, values := range s.Suite.Dialect.BrandHeader(header) {
		plain[name] = strings.Join(values, ", ")
	}
	text, _ := json.Marshal(plain) // texts always encode
	a, err := s.Run("run", d, map[string]string{"workflow": workflow, "runId": id, "body": body, "headers": string(text)}, header)
	if err != nil || d.Result == "" {
		return id, err
	}
	return a.Result("run", d)
}

// driverRequest builds the request of an HTTP driver.
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

// inURL encodes a value for a path or a query. URLs are not encoded, so that they can
// follow a path.
func inURL(_, value string) string {
	if strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://") {
		return value
	}
	return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
}

// inJSON returns the function that encodes values for strings of a JSON body; nil when the
// body is not JSON.
func inJSON(body string) func(name, value string) string {
	if !strings.HasPrefix(body, "{") && !strings.HasPrefix(body, "[") {
		return nil
	}
	return func(name, value string) string {
		if slices.Contains(jsonValues, name) {
			return value
		}
		text, _ := json.Marshal(value) // a string always encodes
		return string(text[1 : len(text)-1])
	}
}

// Arguments returns the command of a driver with its placeholders replaced.
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

// execute runs a command; its output is the answer. Exit code 1 means "not found", as status 404.
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
	c.WaitDelay = time.Second // child processes may keep the output open
	if err := c.Run(); err != nil {
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) { // the command did not start
			return nil, Fault(report.DriverFailed, "driver %s: %s: %v", name, args[0], err)
		}
		failed := Inconclusive(report.DriverFailed, "driver %s: %s: %v: %s", name, args[0], err, s.Masked(Clip(strings.TrimSpace(errs.String()))))
		if exit.ExitCode() == 1 {
			return &Response{Status: http.StatusNotFound, scenario: s, Exchange: -1}, failed
		}
		return nil, failed
	}
	body := bytes.TrimSpace(out.Bytes())
	return &Response{Status: http.StatusOK, Body: body, JSON: check.Decode(body), scenario: s, Exchange: -1}, nil
}
