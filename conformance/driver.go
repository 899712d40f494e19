package conformance

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
)

// driverLimit is the time that one call of a driver may take.
const driverLimit = 30 * time.Second

var placeholder = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

// expand fills {{name}} into a driver's text.
func (s *scenario) expand(text string, vars map[string]string) string {
	known := map[string]string{
		"base": s.urls.Base, "region": s.urls.Region, "dev": s.urls.Dev, "vector": s.urls.Vector, "kv": s.urls.KV,
		"token": string(s.auth.Bearer), "vectorToken": string(s.auth.VectorBearer), "username": string(s.auth.Basic.Username),
		"password": string(s.auth.Basic.Password), "receiver": s.suite.receiver.Public, "account": s.clock.account, "run": s.suite.id,
		"basic": base64.StdEncoding.EncodeToString([]byte(string(s.auth.Basic.Username) + ":" + string(s.auth.Basic.Password))),
	}
	return placeholder.ReplaceAllStringFunc(text, func(match string) string {
		name := placeholder.FindStringSubmatch(match)[1]
		if v, ok := vars[name]; ok {
			return v
		}
		return known[name]
	})
}

func (s *scenario) expandHeader(from map[string]target.Secret) http.Header {
	h := http.Header{}
	for name, v := range from {
		h.Set(name, s.expand(string(v), nil))
	}
	return h
}

// driver is the driver with that name; without one the scenario cannot judge.
func (s *scenario) driver(name string) (target.Driver, error) {
	d, ok := s.suite.cfg.Target.Drivers[name]
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
func (s *scenario) drive(name string, vars map[string]string) (*answer, error) {
	d, err := s.driver(name)
	if err != nil {
		return nil, err
	}
	return s.run(name, d, vars, nil)
}

// run carries out one driver; header is added to that of the driver.
func (s *scenario) run(name string, d target.Driver, vars map[string]string, header http.Header) (*answer, error) {
	if d.Kind == "exec" {
		return s.execute(name, d, vars)
	}
	method := d.Method
	if method == "" {
		method = http.MethodPost
	}
	body := []byte(s.expand(d.Body, vars))
	if v, ok := vars["body"]; ok && d.Body == "" {
		body = []byte(v)
	}
	r, err := http.NewRequestWithContext(s.ctx, method, s.expand(d.URL, escaped(vars)), bytes.NewReader(body))
	if err != nil {
		return nil, harness(report.DriverFailed, "driver %s: %v", name, err)
	}
	for field, v := range d.Headers {
		r.Header.Set(field, s.expand(string(v), vars))
	}
	maps.Copy(r.Header, s.suite.dialect.BrandHeader(header.Clone()))
	a, err := s.send(r, body, nil)
	if err != nil {
		return nil, harness(report.DriverFailed, "driver %s: %v", name, err)
	}
	s.looked(a.exchange)
	if !a.ok() {
		return a, harness(report.DriverFailed, "driver %s: %s %s answered %d: %s", name, method, s.masked(r.URL.String()), a.status, s.maskedBody(a.body))
	}
	return a, nil
}

// escaped makes values fit for a path or a query. Addresses stay as they are.
func escaped(vars map[string]string) map[string]string {
	out := make(map[string]string, len(vars))
	for name, v := range vars {
		if !strings.Contains(v, "://") {
			v = url.PathEscape(v)
		}
		out[name] = v
	}
	return out
}

// execute runs a command; what it prints is its answer.
func (s *scenario) execute(name string, d target.Driver, vars map[string]string) (*answer, error) {
	if len(d.Command) == 0 {
		return nil, harness(report.DriverFailed, "driver %s: no command", name)
	}
	ctx, cancel := context.WithTimeout(s.ctx, driverLimit)
	defer cancel()
	args := make([]string, len(d.Command))
	for i, arg := range d.Command {
		args[i] = s.expand(arg, vars)
	}
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return nil, harness(report.DriverFailed, "driver %s: %s: %v: %s", name, args[0], err, s.masked(clip(strings.TrimSpace(errs.String()))))
	}
	a := &answer{status: http.StatusOK, body: bytes.TrimSpace(out.Bytes()), scenario: s, exchange: -1}
	if json.Unmarshal(a.body, &a.json) != nil {
		a.json = nil
	}
	return a, nil
}

// result is what a driver says, by its JSON pointer; without one its whole text.
func (a *answer) result(d target.Driver) (string, error) {
	if d.Result == "" {
		return strings.TrimSpace(string(a.body)), nil
	}
	v, ok := at(a.json, d.Result)
	if !ok {
		return "", harness(report.DriverFailed, "the driver's answer has nothing at %s: %s", d.Result, clip(string(a.body)))
	}
	return fmt.Sprint(v), nil
}
