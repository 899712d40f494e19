package conformance

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
func (s *toolkit) expand(text string, vars map[string]string, escape func(name, value string) string) (string, error) {
	values := target.Placeholders(s.urls, s.auth)
	values["receiver"], values["account"], values["run"] = s.suite.receiver.Public, s.clock.account, s.suite.id
	for name, v := range vars {
		if values[name] = v; escape != nil {
			values[name] = escape(name, v)
		}
	}
	return target.Expand(text, values)
}

func (s *toolkit) expandHeader(from map[string]target.Secret, vars map[string]string) (http.Header, error) {
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

// driver is the driver with that name; without one the scenario cannot judge.
func (s *toolkit) driver(name string) (target.Driver, error) {
	d, ok := s.suite.target.Drivers[name]
	switch {
	case !ok || d.Kind == "" || d.Kind == "none":
		return d, skip(report.DriverMissing, "the target file names no driver %q", name)
	case d.Kind == "manual":
		return d, skip(report.DriverMissing, "driver %q is manual, and nobody is here to be asked", name)
	}
	return d, nil
}

// drive makes a target do what the interface document does not show. That a
// driver fails is no verdict on the target.
func (s *toolkit) drive(name string, vars map[string]string) (*answer, error) {
	d, err := s.driver(name)
	if err != nil {
		return nil, err
	}
	return s.run(name, d, vars, nil)
}

// run carries out one driver; header is added to that of the driver.
func (s *toolkit) run(name string, d target.Driver, vars map[string]string, header http.Header) (*answer, error) {
	if d.Kind == "exec" {
		return s.execute(name, d, vars)
	}
	if err := s.suite.needsBrand(slices.Collect(maps.Keys(header))...); err != nil {
		return nil, err
	}
	method := d.Method
	if method == "" {
		method = http.MethodPost
	}
	r, body, err := s.driverRequest(method, d, vars)
	if err != nil {
		return nil, harness(report.DriverFailed, "driver %s: %v", name, err)
	}
	maps.Copy(r.Header, s.suite.dialect.BrandHeader(header.Clone()))
	a, err := s.send(r, body, nil)
	if err != nil {
		var i *inconclusive
		if errors.As(err, &i) {
			i.detail = "driver " + name + ": " + i.detail
		}
		return nil, err
	}
	s.looked(a.exchange)
	if !a.ok() {
		return a, skip(report.DriverFailed, "driver %s: %s %s answered %d: %s", name, method, s.masked(r.URL.String()), a.status, s.maskedBody(a.body))
	}
	return a, nil
}

// driverRequest is the request of a driver of the kind http.
func (s *toolkit) driverRequest(method string, d target.Driver, vars map[string]string) (*http.Request, []byte, error) {
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
	r, err := http.NewRequestWithContext(s.ctx, method, address, strings.NewReader(text))
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

// arguments are a command with its placeholders filled.
func (s *toolkit) arguments(name string, d target.Driver, vars map[string]string) ([]string, error) {
	if len(d.Command) == 0 {
		return nil, harness(report.DriverFailed, "driver %s: no command", name)
	}
	args := make([]string, len(d.Command))
	for i, arg := range d.Command {
		text, err := s.expand(arg, vars, nil)
		if err != nil {
			return nil, harness(report.DriverFailed, "driver %s: command %d: %v", name, i, err)
		}
		args[i] = text
	}
	return args, nil
}

// execute runs a command; what it prints is its answer.
func (s *toolkit) execute(name string, d target.Driver, vars map[string]string) (*answer, error) {
	if err := s.paced(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, driverLimit)
	defer cancel()
	args, err := s.arguments(name, d, vars)
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
			return nil, harness(report.DriverFailed, "driver %s: %s: %v", name, args[0], err)
		}
		failed := skip(report.DriverFailed, "driver %s: %s: %v: %s", name, args[0], err, s.masked(clip(strings.TrimSpace(errs.String()))))
		if exit.ExitCode() == 1 {
			return &answer{status: http.StatusNotFound, scenario: s, exchange: -1}, failed
		}
		return nil, failed
	}
	a := &answer{status: http.StatusOK, body: bytes.TrimSpace(out.Bytes()), scenario: s, exchange: -1}
	if json.Unmarshal(a.body, &a.json) != nil {
		a.json = nil
	}
	return a, nil
}
