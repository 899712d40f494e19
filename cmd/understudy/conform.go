package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/ratelimit"
	"github.com/understudy-mock/understudy/spec"
)

// ConformCmd runs the contract test suite.
type ConformCmd struct {
	Target        string       `placeholder:"FILE" help:"Target file; without one a stand-in of our own is started and judged."`
	Profile       []string     `placeholder:"P" help:"Only these profiles: MSG, GROUP, WF-READ, WF-RECOVER, FLOW, USAGE, INDEX, RATELIMIT, EXT."`
	Basis         []spec.Basis `enum:"stated,implied,open,extension" help:"Which requirements: stated, implied, open, extension. Default: stated and implied."`
	Strict        bool         `help:"An implied requirement that does not hold fails."`
	Tags          string       `placeholder:"EXPR" help:"Only scenarios whose tags fit, such as '@area-dlq and not @time-long'."`
	Area          []string     `placeholder:"AREA" help:"Only scenarios of these areas: auth, dlq, publish and so on."`
	Requirement   []string     `placeholder:"ID" help:"Only scenarios of these requirements."`
	Scenario      []string     `sep:"none" placeholder:"NAME" help:"Only the scenarios with these names."`
	AcceptPartial bool         `help:"Exit 0 although something could not be judged."`
	Report        []string     `placeholder:"FORMAT=FILE" help:"Write a report; repeatable. Formats: badge, cucumber, html, json, junit, yaml."`
	Concurrency   int          `help:"Scenarios at a time; 0: as the target file says."`
	Clock         string       `default:"manual" enum:"manual,real" help:"Clock of our own stand-in."`
	List          bool         `help:"List the scenarios that would run, and stop."`
	ListSteps     bool         `help:"List the steps that a scenario can use, and stop."`
	DryRun        bool         `help:"Read everything, select, and stop before the first request."`
	CheckTarget   bool         `help:"Try every driver and binding of the target file once, say what each did, and stop."`
	Coverage      bool         `help:"List every requirement and whether it is judged; with --target, after the run, by the run."`
	Init          string       `placeholder:"URL" help:"Ask the server at URL a few harmless questions, write a commented target file to --target or standard output, and stop. TARGET_TOKEN and the other variables of that file are sent."`
	Explain       string       `placeholder:"ID" help:"Print a requirement: the sentence of the document, its scenarios, the mutants that prove them; and stop."`
}

// Run judges the target; its exit code is the verdict.
func (c *ConformCmd) Run(e *env) error {
	if c.Explain != "" {
		return explainRequirement(e.out, c.Explain)
	}
	if c.Init != "" {
		return surveyTarget(e, c.Init, c.Target)
	}
	if c.ListSteps {
		return listSteps(e.out)
	}
	if c.Coverage && c.Target == "" {
		return c.writeCoverage(e.out, nil)
	}
	if err := checkReports(c.Report); err != nil {
		return err
	}
	cfg, stop, err := c.config()
	if err != nil {
		return err
	}
	defer stop()
	if err := c.addReports(cfg.Target); err != nil {
		return err
	}
	if c.List || c.DryRun {
		return c.list(e.out, cfg)
	}
	if c.CheckTarget {
		return checkTarget(e, cfg)
	}
	cfg.Progress = progress(e.err)
	judged, err := conformance.Run(e.ctx, cfg)
	if err != nil {
		return noVerdict(err)
	}
	if c.Coverage {
		if err := c.writeCoverage(e.out, judged); err != nil {
			return err
		}
	}
	return publishReport(e.out, judged, c.Report)
}

// noVerdict gives an error of the suite its exit code.
func noVerdict(err error) error {
	switch {
	case errors.Is(err, conformance.ErrUsage):
		return &exit{report.ExitUsage, err}
	case errors.Is(err, conformance.ErrPreflight):
		return &exit{report.ExitPreflight, err}
	}
	return &exit{report.ExitHarness, err}
}

// writeCoverage prints the requirements, and what a run has judged of them.
func (c *ConformCmd) writeCoverage(w io.Writer, judged *report.Report) error {
	rows, err := coverage()
	if err != nil {
		return err
	}
	if judged != nil {
		applyVerdicts(rows, judged)
	}
	return writeCoverage(w, rows)
}

// config reads the target file, or starts a stand-in to be judged.
func (c *ConformCmd) config() (conformance.Config, func(), error) {
	cfg := conformance.Config{
		Profiles: c.Profile, Basis: c.Basis, Strict: c.Strict, Accept: c.AcceptPartial, Tags: c.Tags,
		Areas: c.Area, Requirements: c.Requirement, Names: c.Scenario, Concurrency: c.Concurrency,
	}
	nothing := func() {}
	if c.Target != "" {
		loaded, err := target.Load(c.Target)
		if err != nil {
			return cfg, nothing, &exit{report.ExitUsage, err}
		}
		cfg.Target = *loaded
		return cfg, nothing, nil
	}
	s, err := mockserver.Run(mockserver.Config{Clock: c.Clock, Log: quietLog()})
	if err != nil {
		return cfg, nothing, usage("%w", err)
	}
	cfg.Target = ownTarget(s.Env(), c.Clock == "manual")
	cfg.SelfTest, cfg.Plugin = true, hostPlugin
	if len(c.Basis) == 0 {
		cfg.Basis = []spec.Basis{spec.Stated, spec.Implied, spec.Open, spec.Extension}
	}
	return cfg, func() { _ = s.Close() }, nil
}

//go:embed target.yaml
var ownTargetFile []byte

// ownTarget is the target file of a stand-in, with the addresses and
// credentials of its environment.
func ownTarget(vars []mockserver.EnvVar, manual bool) target.Target {
	var t target.Target
	decoder := yaml.NewDecoder(bytes.NewReader(ownTargetFile))
	decoder.KnownFields(true)
	if err := decoder.Decode(&t); err != nil {
		panic(fmt.Sprintf("target.yaml: %v", err)) // a test reads it
	}
	values := map[string]string{}
	for _, v := range vars {
		values[strings.TrimPrefix(v.Name, "UNDERSTUDY_")] = v.Value
	}
	t.Target.Version = mockserver.Version
	t.Target.URLs = target.URLs{Base: values["URL"], Region: values["REGION_URL"], Dev: values["MANAGEMENT_URL"], Vector: values["VECTOR_URL"], KV: values["KV_URL"]}
	a := &t.Target.Auth
	a.Bearer, a.VectorBearer, a.KVBearer = target.Secret(values["TOKEN"]), target.Secret(values["VECTOR_TOKEN"]), target.Secret(values["KV_TOKEN"])
	a.Basic.Username, a.Basic.Password = target.Secret(values["MANAGEMENT_USERNAME"]), target.Secret(values["MANAGEMENT_PASSWORD"])
	t.Fixtures.StatsUserID = target.Secret(values["USER_ID"])
	if manual {
		t.Drivers["clock"] = target.Driver{Kind: "control", URL: values["URL"] + "/_understudy"}
	}
	return t
}

// list prints the scenarios that would run.
func (c *ConformCmd) list(w io.Writer, cfg conformance.Config) error {
	list, err := conformance.List(cfg)
	if err != nil {
		return &exit{report.ExitUsage, err}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range list {
		l := &list[i]
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", l.Location, l.Basis, strings.Join(l.Requirements, ","), l.Name)
	}
	_, _ = fmt.Fprintf(t, "%d scenarios\n", len(list))
	return t.Flush() // tells of all
}

// listSteps prints every step that a scenario can use.
func listSteps(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, st := range conformance.Steps() {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\n", st.Area, st.Keyword, st.Pattern)
	}
	return t.Flush() // reports the errors of all lines
}

// reportFiles are the names of reports in the folder of a target file.
var reportFiles = map[string]string{
	"badge": "badge.svg", "cucumber": "cucumber.json", "html": "report.html", "json": "report.json", "junit": "junit.xml", "yaml": "report.yaml",
}

// addReports adds what the target file asks for: reports in a folder, all of
// them when it names no formats.
func (c *ConformCmd) addReports(t target.Target) error {
	dir := t.Report.Dir
	if dir == "" || c.List || c.DryRun {
		return nil
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return usage("report.dir of the target file: %w", err)
	}
	formats := t.Report.Formats
	if len(formats) == 0 {
		formats = slices.Sorted(maps.Keys(reportFiles))
	}
	for _, format := range formats {
		c.Report = append(c.Report, format+"="+filepath.Join(dir, reportFiles[format]))
	}
	return nil
}

// publishReport prints a report for people and writes those of FORMAT=FILE; the
// exit code is its verdict.
func publishReport(w io.Writer, r *report.Report, files []string) error {
	if err := report.Write("terminal", w, r); err != nil {
		return err
	}
	for _, one := range files {
		format, file, _ := strings.Cut(one, "=")
		f, err := os.Create(file)
		if err != nil {
			return usage("--report: %w", err)
		}
		err = report.Write(format, f, r)
		if err = errors.Join(err, f.Close()); err != nil {
			return usage("--report %s: %w", one, err)
		}
	}
	if code := r.ExitCode(); code != report.ExitConformant {
		return &exit{code, errors.New("")}
	}
	return nil
}

// hostPlugin runs our rate-limit plugin in front of an application.
func hostPlugin(_ context.Context, config []byte, upstream string) (string, func(), error) {
	cfg, err := ratelimit.Parse(config)
	if err != nil {
		return "", nil, err
	}
	address, err := url.Parse(upstream)
	if err != nil {
		return "", nil, err
	}
	cfg.Log = quietLog()
	limit, err := ratelimit.New(cfg)
	if err != nil {
		return "", nil, err
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address) }}
	return serveOnLoopback(limit(proxy))
}

// quietLog keeps what a judged stand-in logs out of the report.
func quietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
