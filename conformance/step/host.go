package step

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
)

// hostPlugin starts the host application by the function in the configuration,
// otherwise by the driver "plugin". refused is the error with which the plugin
// refused its configuration; err is a failure of the driver.
func (s *Scenario) hostPlugin(config []byte, upstream string) (url string, stop func(), refused, err error) {
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
		return "", nil, fmt.Errorf("%d %s", a.Status, harness.Clip(string(a.Body))), nil
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
		return "", nil, nil, harness.Fault(report.DriverFailed, "driver plugin: %s: %v", args[0], err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n') // an end without a line is handled below
	if url = strings.TrimSpace(line); strings.HasPrefix(url, "http") {
		return strings.TrimRight(url, "/"), func() { cancel(); _ = c.Wait() }, nil, nil // it was killed
	}
	err = c.Wait()
	cancel()
	said := s.Masked(harness.Clip(strings.TrimSpace(errs.String())))
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return "", nil, fmt.Errorf("exit status %d: %s", exit.ExitCode(), said), nil
	}
	return "", nil, nil, harness.Fault(report.DriverFailed, "driver plugin: %s printed %q in place of an address: %s", args[0], line, said)
}
