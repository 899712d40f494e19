package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/internal/command"
)

// serverProgram is the program that contains the stand-in.
const serverProgram = "understudy"

// process is a running stand-in or rate-limit plugin.
type process struct {
	announced string // its first line
	stop      func()
}

// errRefused means that the process ended before its first line.
var errRefused = errors.New("refused")

// startProcess starts the server program and waits for its first line, which it prints when it is
// ready. UNDERSTUDY_ variables are not passed on: they configure this command. Without input,
// standard input is a pipe that closes when the process is stopped or this one ends.
func startProcess(ctx context.Context, input io.Reader, args ...string) (*process, error) {
	path, err := command.Sibling(serverProgram)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // after an interrupt, the server runs until the reports are written
	c := exec.CommandContext(ctx, path, args...)
	c.Stdin = input
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "UNDERSTUDY_") {
			c.Env = append(c.Env, v)
		}
	}
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	if err == nil && input == nil {
		_, err = c.StdinPipe() // Wait closes it
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		err = c.Wait()
		cancel()
		return nil, fmt.Errorf("%w: %s %s: %w: %s", errRefused, path, args[0], err, strings.TrimSpace(errs.String()))
	}
	return &process{strings.TrimSpace(line), func() {
		cancel()
		_ = c.Wait() // the error is that it was killed
	}}, nil
}

// startOwn starts a stand-in to be judged.
func startOwn(e *env, clock string) (target.Target, func(), error) {
	dir, err := os.MkdirTemp("", "understudy-conform-")
	if err != nil {
		return target.Target{}, nil, err
	}
	ready := filepath.Join(dir, "ready.json")
	p, err := startProcess(e.ctx, nil, "serve", "--addr", "127.0.0.1:0", "--dialect", "svc", "--clock", clock, "--until-eof", "--ready-file", ready, "--log-level", "error")
	if err != nil {
		return target.Target{}, nil, errors.Join(err, os.RemoveAll(dir))
	}
	var state struct{ Env map[string]string }
	text, err := os.ReadFile(ready)
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		p.stop()
		return target.Target{}, nil, err
	}
	// "Understudy 1.2.3 is running at http://127.0.0.1:43210"
	t := ownTarget(state.Env, clock == "manual")
	if words := strings.Fields(p.announced); len(words) > 1 {
		t.Target.Version = words[1]
	}
	if warning := command.OtherVersion(t.Target.Version, programName, conformance.Version); warning != "" && command.Caller() == "" {
		_, _ = fmt.Fprintln(e.err, warning)
	}
	return t, p.stop, nil
}

//go:embed target.yaml
var ownTargetFile []byte

// ownTarget is the target file of a stand-in, with the addresses and
// credentials of its environment.
func ownTarget(vars map[string]string, manual bool) target.Target {
	var t target.Target
	decoder := yaml.NewDecoder(bytes.NewReader(ownTargetFile))
	decoder.KnownFields(true)
	if err := decoder.Decode(&t); err != nil {
		panic(fmt.Sprintf("target.yaml: %v", err)) // the file is embedded, and tests read it
	}
	of := func(name string) string { return vars["UNDERSTUDY_"+name] }
	secret := func(name string) target.Secret { return target.Secret(of(name)) }
	t.Target.URLs = target.URLs{Base: of("URL"), Region: of("REGION_URL"), Dev: of("MANAGEMENT_URL"), Vector: of("VECTOR_URL"), KV: of("KV_URL")}
	a := &t.Target.Auth
	a.Bearer, a.VectorBearer, a.KVBearer = secret("TOKEN"), secret("VECTOR_TOKEN"), secret("KV_TOKEN")
	a.Basic.Username, a.Basic.Password = secret("MANAGEMENT_USERNAME"), secret("MANAGEMENT_PASSWORD")
	t.Fixtures.StatsUserID = secret("USER_ID")
	if manual {
		t.Drivers["clock"] = target.Driver{Kind: "control", URL: of("URL") + "/_understudy"}
	}
	return t
}

// hostPlugin runs the rate-limit plugin as a process in front of an application. Its
// timeout is longer than the default: the plugin admits requests that its store does not
// decide in time, which on a busy machine would look like a limit that is not enforced.
func hostPlugin(ctx context.Context, config []byte, upstream string) (string, func(), error) {
	p, err := startProcess(ctx, bytes.NewReader(config), "ratelimit", "serve", "-", "--addr", "127.0.0.1:0", "--upstream", upstream, "--timeout", "20s", "--log-level", "error")
	if err != nil {
		return "", nil, err
	}
	words := strings.Fields(p.announced)
	return words[len(words)-1], p.stop, nil
}
