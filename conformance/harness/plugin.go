package harness

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
)

// StartPlugin starts a host application until the end of the scenario. refused is the error with which
// the plugin refused its configuration; err is a failure of the driver.
func (s *Scenario) StartPlugin(config []byte, upstream string) (url string, refused, err error) {
	url, stop, refused, err := s.host(config, upstream)
	if stop != nil {
		s.Cleanup = append(s.Cleanup, stop)
	}
	return url, refused, err
}

// host starts the host application by the function in the configuration, otherwise by the driver
// "plugin".
func (s *Scenario) host(config []byte, upstream string) (url string, stop func(), refused, err error) {
	if f := s.Suite.Plugin; f != nil {
		url, stop, refused = f(s.Context, config, upstream)
		return url, stop, refused, nil
	}
	d, err := s.Driver("plugin")
	if err != nil {
		return "", nil, nil, err
	}
	vars := map[string]string{"config": string(config), "upstream": upstream}
	if d.Kind == "exec" {
		return s.hostCommand(d, vars)
	}
	a, err := s.Run("plugin", d, vars, nil)
	if a != nil && a.Status >= 400 && a.Status < 500 {
		return "", nil, fmt.Errorf("%d %s", a.Status, Clip(string(a.Body))), nil
	}
	if err != nil {
		return "", nil, nil, err
	}
	url, err = a.Result("plugin", d)
	return strings.TrimRight(url, "/"), nil, nil, err
}

// hostCommand starts a command that prints the URL of the host on one line and serves
// until it is killed. If it refuses the configuration, it exits with a status other than 0.
func (s *Scenario) hostCommand(d target.Driver, vars map[string]string) (url string, stop func(), refused, err error) {
	args, err := s.Arguments("plugin", d, vars)
	if err != nil {
		return "", nil, nil, err
	}
	ctx, cancel := context.WithCancel(s.Context) // the timeout of the scenario limits the wait
	var errs bytes.Buffer
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Stderr, c.WaitDelay = &errs, time.Second
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		cancel()
		return "", nil, nil, Fault(report.DriverFailed, "driver plugin: %s: %v", args[0], err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n') // an end without a line is handled below
	if url = strings.TrimSpace(line); strings.HasPrefix(url, "http") {
		return strings.TrimRight(url, "/"), func() { cancel(); _ = c.Wait() }, nil, nil // it was killed
	}
	err = c.Wait()
	cancel()
	said := s.Masked(Clip(strings.TrimSpace(errs.String())))
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return "", nil, fmt.Errorf("exit status %d: %s", exit.ExitCode(), said), nil
	}
	return "", nil, nil, Fault(report.DriverFailed, "driver plugin: %s printed %q in place of an address: %s", args[0], line, said)
}

// The headers of requests to a host application: the client, unless another one identifies it, and
// what the application knows the request by.
const (
	UserHeader = "X-User"
	MarkHeader = "X-Mark"
)

// AskHost sends a request to a host application as a client that source, of the configuration,
// identifies. A denial is no error.
func (s *Scenario) AskHost(method, url, source, client, mark string) (*Response, error) {
	r, err := http.NewRequestWithContext(s.Context, method, url, http.NoBody)
	if err != nil {
		return nil, Fault("", "%v", err)
	}
	name, ok := strings.CutPrefix(source, "header.")
	if !ok {
		name = UserHeader // which is not the address
	}
	r.Header.Set(UserHeader, "everybody")
	r.Header.Set(name, client)
	r.Header.Set(MarkHeader, mark)
	a, err := s.Exchange(r, nil, nil)
	if err == nil {
		s.Looked(a.Exchange)
	}
	return a, err
}

// Storage is an endpoint that records the requests of the plugin to its storage, and forwards them
// to the key-value store of the target.
type Storage struct {
	*receiver.Endpoint
	lost atomic.Pointer[error]
}

// Storage makes an endpoint of this name.
func (s *Scenario) Storage(name string) (*Storage, error) {
	if _, err := s.Driver("plugin"); err != nil && s.Suite.Plugin == nil {
		return nil, err
	}
	if s.URLs.KV == "" {
		return nil, Inconclusive(report.FixtureUnsatisfied, "target.urls.kv: where the plugin keeps its counters")
	}
	t := &Storage{Endpoint: s.Endpoint(name)}
	t.Aside = true
	t.Respond = func(got *receiver.Received) receiver.Reply {
		reply, err := s.stored(got)
		if err == nil && reply.Status >= http.StatusInternalServerError {
			err = fmt.Errorf("%s %s answered %d", got.Method, got.Path, reply.Status)
		}
		if err != nil {
			t.lost.CompareAndSwap(nil, &err)
			return receiver.Reply{Status: http.StatusBadGateway, Body: err.Error()}
		}
		return reply
	}
	return t, nil
}

// Err is the first failure of the storage: the plugin may admit what it cannot count.
func (t *Storage) Err() error {
	if lost := t.lost.Load(); lost != nil {
		return Inconclusive(report.TransportFailed, "the storage of the plugin failed: %v", *lost)
	}
	return nil
}

func (s *Scenario) stored(got *receiver.Received) (reply receiver.Reply, err error) {
	r, err := http.NewRequestWithContext(s.Context, got.Method, s.URLs.KV+got.Path, bytes.NewReader(got.Body))
	if err != nil {
		return reply, err
	}
	for name, values := range s.Suite.Dialect.BrandHeader(got.Header.Clone()) {
		if name != "Host" && name != "Accept-Encoding" {
			r.Header[name] = values
		}
	}
	response, err := s.Suite.Client.Do(r)
	if err != nil {
		return reply, err
	}
	defer response.Body.Close()
	body, err := ReadAll(response.Body)
	return receiver.Reply{Status: response.StatusCode, Header: http.Header{"Content-Type": response.Header["Content-Type"]}, Body: string(body)}, err
}
