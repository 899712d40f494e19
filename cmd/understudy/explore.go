package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/engine/store/sqlite"
	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/explore"
	"github.com/understudy-mock/understudy/mockserver/explore/program"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

// ExploreCmd runs a scenario of an application again and again, each time with one or two things
// that an at-least-once service may do.
type ExploreCmd struct {
	Budget      time.Duration     `default:"1m" help:"Time for the search."`
	Depth       int               `default:"2" help:"Largest number of faults in a case: 1 or 2."`
	Variants    bool              `help:"Also try the other forms of faults: 503 of a gateway, and 429, 500 and resets for refused calls."`
	NoReduction bool              `help:"Also try pairs that probably show what others show."`
	Workers     int               `default:"1" help:"Applications that run at the same time, each with its own server."`
	Cases       int               `help:"Largest number of cases; 0 for no bound."`
	Case        string            `placeholder:"PLAN" help:"Only this case, such as 3fa2c1=repeat."`
	CaseTimeout time.Duration     `default:"10s" help:"Real time after which a case that does not end is a finding."`
	Known       string            `placeholder:"FILE" help:"Known findings, which do not fail: a list of id (the first line of a finding, in which * matches any text), reason and issue."`
	Report      map[string]string `placeholder:"FORMAT=FILE" help:"Write a report: json, junit, markdown or html; repeatable."`
	Init        bool              `help:"Write the configuration file: start the application, and record the requests of a person."`
	Outside     map[string]string `placeholder:"NAME=VARIABLE" help:"With --init: an outside service, and the variable with its address; repeatable."`
	Driver      bool              `hidden:"" help:"The scenario is played by the process at the other end of standard input and output."`
	Out         string            `default:"explore-out" help:"Folder of the replay files of findings; empty for none."`
	Command     []string          `arg:"" optional:"" passthrough:"" help:"The command that starts the application, after --."`
}

// maxWorkers bounds the applications that run at the same time.
const maxWorkers = 64

// Exit codes of explore.
const (
	exitFindings = 1
	exitBaseline = 3
	exitStale    = 5   // a known finding was not found
	exitStopped  = 130 // by Ctrl-C, as shells report it
)

// Run explores, writes the reports, and returns whether there are findings.
func (c *ExploreCmd) Run(e *env) error {
	if c.Driver {
		return c.drive(e)
	}
	words := withoutDashes(c.Command)
	if len(words) == 0 {
		return usageError("explore: no command; usage: understudy explore --config explore.yaml -- COMMAND")
	}
	if c.Init {
		return c.init(e, words)
	}
	file, cfg, err := c.read(e)
	if err != nil {
		return err
	}
	known := target.Baseline{File: c.Known}
	if err := known.Load(); err != nil {
		return usageError("--known: %w", err)
	}
	open := func(st store.Store) (*explored, error) { return newExplored(file, words, st) }
	var workers []explore.Worker
	for range c.Workers {
		x, err := open(nil)
		if err != nil {
			return err
		}
		defer x.close()
		workers = append(workers, x.worker)
	}
	result, err := explore.Run(e.ctx, cfg, workers...)
	stale := setKnownAside(result, known.Known)
	if err := c.write(e, cfg, result, open); err != nil {
		return err
	}
	switch {
	case e.ctx.Err() != nil && result.Levels == nil:
		return command.Fail(exitStopped, errors.New("explore: interrupted"))
	case err != nil:
		return command.Fail(exitBaseline, fmt.Errorf("explore: %w", err))
	}
	if err := program.WriteText(e.out, result, "understudy explore --config "+e.flags.Config+" --case %s -- "+strings.Join(words, " ")); err != nil {
		return err
	}
	switch { // the report is printed
	case len(result.Findings) > 0:
		return command.Fail(exitFindings, errors.New(""))
	case e.ctx.Err() != nil:
		return command.Fail(exitStopped, errors.New(""))
	case len(stale) > 0 && result.Stopped == "" && cfg.Case == nil:
		return command.Fail(exitStale, fmt.Errorf("explore: %s: not found any more, remove it: %s", c.Known, strings.Join(stale, "; ")))
	}
	return nil
}

// setKnownAside moves the findings that are known out of those that count, and returns the entries that were not found.
func setKnownAside(r *explore.Result, known []target.Known) (stale []string) {
	seen := map[int]bool{}
	r.Findings = slices.DeleteFunc(r.Findings, func(f *explore.Finding) bool {
		for i := range known {
			if known[i].About(f.Breaches[0].Text, nil) {
				seen[i] = true
				r.Known = append(r.Known, explore.Known{Finding: f, Reason: known[i].Reason, Issue: known[i].Issue})
				return true
			}
		}
		return false
	})
	for i := range known {
		if !seen[i] {
			stale = append(stale, known[i].ID)
		}
	}
	return stale
}

// explored is a server and an application under it.
type explored struct {
	server *mockserver.Server
	worker explore.Worker
	app    *program.Process // nil: another process plays the scenario
}

// runExplored starts a server that plays the outside services of a file.
func runExplored(file *program.File, st store.Store) (*mockserver.Server, *explore.Service, error) {
	return mockserver.RunExplored(mockserver.Config{Stubs: outsideStubs(file), Store: st, Log: slog.New(slog.DiscardHandler)})
}

// newExplored starts a server; the first case starts the application.
func newExplored(file *program.File, words []string, st store.Store) (*explored, error) {
	s, service, err := runExplored(file, st)
	if err != nil {
		return nil, err
	}
	app := &program.Process{File: file, Command: words, Env: exploredEnv(s, file), Prepare: inOwnGroup, End: endGroup}
	service.Conductor.OnCrash(func() { _ = app.Crash(context.Background()) }) // it shows itself by the next delivery
	return &explored{s, explore.Worker{Service: service, Scenario: app}, app}, nil
}

func (x *explored) close() {
	if x.app != nil {
		x.app.Stop()
	}
	_ = x.server.Close() // nothing is kept
}

// maxReplays bounds the files that a search writes.
const maxReplays = 20

// replay plays a finding once more on a server that keeps a journal, and exports it.
func (c *ExploreCmd) replay(ctx context.Context, cfg explore.Config, r *explore.Result, f *explore.Finding, open func(store.Store) (*explored, error)) (string, error) {
	folder, err := os.MkdirTemp("", "understudy-explore-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a folder for temporary files
	st, err := sqlite.Open(ctx, sqlite.Config{Dir: folder, Log: slog.New(slog.DiscardHandler), Warn: func(string) {}})
	if err != nil {
		return "", err
	}
	defer st.Close() //nolint:errcheck // the folder is removed
	x, err := open(st)
	if err != nil {
		return "", err
	}
	defer x.close()
	if err := explore.Again(ctx, cfg, r, f.Plan, x.worker); err != nil {
		return "", err
	}
	name := filepath.Join(c.Out, strings.NewReplacer("=", "-", ",", "+").Replace(f.ID)+".jsonl")
	return name, download(ctx, x.server.ListensAt()+"/_understudy/journal/export", name)
}

// download writes what a URL answers to a file.
func download(ctx context.Context, url, name string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	f, err := create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, answer.Body)
	return errors.Join(err, f.Close())
}

// create creates a file and its folder.
func create(name string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	return os.Create(name)
}

// read reads the configuration file.
func (c *ExploreCmd) read(e *env) (file *program.File, cfg explore.Config, err error) {
	if e.flags.Config == "" {
		return nil, cfg, usageError("explore: --config is missing; usage: understudy explore --config explore.yaml -- COMMAND")
	}
	if file, err = program.ReadFile(e.flags.Config); err != nil {
		return nil, cfg, usageError("--config: %w", err)
	}
	cfg, err = c.config(e, file)
	return file, cfg, err
}

// config checks the flags, and returns what is explored.
func (c *ExploreCmd) config(e *env, file *program.File) (cfg explore.Config, err error) {
	switch {
	case c.Workers < 1 || c.Workers > maxWorkers:
		return cfg, usageError("--workers: invalid value %d: must be an integer from 1 to %d", c.Workers, maxWorkers)
	case c.Depth < 1 || c.Depth > 2:
		return cfg, usageError("--depth: invalid value %d: must be 1 or 2", c.Depth)
	}
	for _, f := range file.Faults {
		if f != "default" && f.Why() == "" {
			return cfg, usageError("faults: unknown fault %q", f)
		}
	}
	for format := range c.Report {
		if program.Reports[format] == nil {
			return cfg, usageError("--report: invalid format %q: must be one of %s", format, strings.Join(slices.Sorted(maps.Keys(program.Reports)), ", "))
		}
	}
	cfg = explore.Config{
		Keys: file.Keys, Allow: file.Allow, Order: file.Order, Faults: file.Faults, Depth: c.Depth, Variants: c.Variants, NoReduction: c.NoReduction, Cases: c.Cases, Budget: c.Budget, CaseTimeout: c.CaseTimeout,
		Progress: c.progress(e),
	}
	if c.Case != "" {
		if cfg.Case, err = explore.ParsePlan(c.Case); err != nil {
			return cfg, usageError("--case: %w", err)
		}
	}
	return cfg, nil
}

// progress prints a line that is overwritten, on a terminal only.
func (c *ExploreCmd) progress(e *env) func(explore.Progress) {
	if !command.IsTerminal(e.err) {
		return nil
	}
	return func(p explore.Progress) {
		_, _ = fmt.Fprintf(e.err, "\r\x1b[Klevel %d    %d/%d    findings %d    %.1f s", p.Level, p.Done, p.Of, p.Findings, p.Took.Seconds())
		if p.Done == p.Of {
			_, _ = fmt.Fprint(e.err, "\r\x1b[K")
		}
	}
}

// write writes the replay files and the reports. open starts a server with a journal.
func (c *ExploreCmd) write(e *env, cfg explore.Config, r *explore.Result, open func(store.Store) (*explored, error)) error {
	for _, f := range r.Findings[:min(len(r.Findings), maxReplays)] {
		var err error
		if c.Out != "" && e.ctx.Err() == nil {
			f.Replay, err = c.replay(e.ctx, cfg, r, f, open)
		}
		if err != nil {
			e.warn("no replay file of " + f.ID + ": " + err.Error())
		}
	}
	for format, name := range c.Report {
		f, err := create(name)
		if err != nil {
			return err
		}
		if err := errors.Join(program.Reports[format](f, r), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// outsideStubs are the answers of the outside services in a file.
func outsideStubs(file *program.File) (out []mockserver.Stub) {
	for _, name := range slices.Sorted(maps.Keys(file.Outside)) {
		a := file.Outside[name].Answer
		answer := mockserver.Answer{Headers: a.Headers, Body: a.Body}
		if a.Status != 0 {
			answer.Status = mockserver.StubStatus(fmt.Sprint(a.Status))
		}
		out = append(out, mockserver.Stub{URL: stub.OutsidePattern(name, "/*"), Answers: []mockserver.Answer{answer}})
	}
	return out
}

// exploredEnv is the environment of the application: that of clients, and its outside services, which may
// have a variable of clients, such as that of the key-value store.
func exploredEnv(s *mockserver.Server, file *program.File) (out []string) {
	for _, v := range s.Env() {
		out = append(out, v.Name+"="+v.Value)
	}
	for _, name := range slices.Sorted(maps.Keys(file.Outside)) {
		out = append(out, file.Outside[name].Env+"="+s.ListensAt()+stub.OutsidePath+name)
	}
	return out
}

// inOwnGroup makes a child the first of a group of processes, so that all that it starts end with it.
func inOwnGroup(c *exec.Cmd) {
	endWithParent(c)
	newGroup(c)
}
