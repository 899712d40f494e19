package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/spec"
)

// run judges the target; the verdict is the exit code.
func (c conformRun) run(e *env) error {
	if c.Explain != "" {
		return explainRequirement(e.out, c.Explain)
	}
	if done, err := c.clientTools(e); done {
		return err
	}
	if c.Init != "" {
		return surveyTarget(e, c.Init, c.Target)
	}
	if c.ListSteps {
		return listSteps(e.out)
	}
	if c.Coverage && c.Target == "" && c.Client == "" {
		return c.writeCoverage(e.out, nil)
	}
	if err := checkReports(c.Report); err != nil {
		return err
	}
	cfg, stop, err := c.config(e)
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
	cfg.Progress = progressPrinter(e.err)
	judged, err := conformance.Run(e.ctx, cfg)
	if err != nil {
		return noVerdict(err)
	}
	if c.UpdateBaseline {
		if err := c.updateBaseline(&cfg, judged); err != nil {
			return err
		}
	}
	if c.Coverage {
		if err := c.writeCoverage(e.out, judged); err != nil {
			return err
		}
	}
	return publishReport(e.out, judged, c.Report)
}

// noVerdict adds the exit code to an error of the suite.
func noVerdict(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, conformance.ErrUsage):
		return command.Fail(report.ExitUsage, err)
	case errors.Is(err, conformance.ErrPreflight):
		return command.Fail(report.ExitPreflight, err)
	}
	return command.Fail(report.ExitHarness, err)
}

// writeCoverage prints the requirements, with the verdicts of a run unless judged is nil.
func (c conformRun) writeCoverage(w io.Writer, judged *report.Report) error {
	rows, err := coverageRows()
	if err != nil {
		return err
	}
	if judged != nil {
		applyVerdicts(rows, judged)
	}
	rows, bases := sideOf(rows, c.Client != "")
	return writeCoverage(w, rows, bases)
}

// config reads the target file, or starts a stand-in to be judged. The function that it
// returns stops the stand-in.
func (c conformRun) config(e *env) (conformance.Config, func(), error) {
	if c.Concurrency < 0 {
		return conformance.Config{}, nil, usageError("--concurrency: invalid value %d: must be an integer of 0 or more", c.Concurrency)
	}
	if c.Repeat < 0 {
		return conformance.Config{}, nil, usageError("--repeat: invalid value %d: must be an integer of 0 or more", c.Repeat)
	}
	for name, n := range map[string]int{"worlds": c.Worlds, "world-size": c.WorldSize} {
		if n < 0 {
			return conformance.Config{}, nil, usageError("--%s: invalid value %d: must be an integer of 0 or more", name, n)
		}
	}
	cfg := conformance.Config{
		Worlds:   harness.Worlds{Count: c.Worlds, Size: c.WorldSize, Seed: c.Seed},
		Profiles: c.Profile, Basis: c.Basis, Repeat: c.Repeat, Strict: c.Strict, Accept: c.AcceptPartial, Tags: c.Tags,
		Areas: c.Area, Requirements: c.Requirement, Names: c.Scenario, Concurrency: c.Concurrency,
	}
	nothing := func() {}
	if c.Client != "" {
		cfg.Client = c.clientConfig()
		if _, err := os.Stat(c.ExpectedFailures); err == nil || !c.UpdateBaseline {
			cfg.Target.ExpectedFailures = c.ExpectedFailures
		}
		for i, p := range cfg.Profiles {
			cfg.Profiles[i] = "CLI-" + strings.TrimPrefix(p, "CLI-")
		}
		return cfg, nothing, nil
	}
	if c.Target != "" {
		loaded, err := target.Load(c.Target)
		if err != nil {
			return cfg, nothing, command.Fail(report.ExitUsage, err)
		}
		cfg.Target = *loaded
		return cfg, nothing, nil
	}
	cfg.Target, cfg.SelfTest, cfg.Plugin = ownTarget(nil, c.Clock == "manual"), true, hostPlugin
	if len(c.Basis) == 0 {
		cfg.Basis = []spec.Basis{spec.Stated, spec.Implied, spec.Open, spec.Extension}
	}
	if _, err := conformance.List(cfg); err != nil || c.List || c.DryRun { // checks the selection before anything starts
		return cfg, nothing, noVerdict(err)
	}
	started, stop, err := startOwn(e, c.Clock)
	if err != nil {
		return cfg, nothing, err
	}
	cfg.Target = started
	return cfg, stop, nil
}

// list prints the scenarios that would run.
func (c conformRun) list(w io.Writer, cfg conformance.Config) error {
	list, err := conformance.List(cfg)
	if err != nil {
		return command.Fail(report.ExitUsage, err)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range list {
		l := &list[i]
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", l.Location, l.Basis, strings.Join(l.Requirements, ","), l.Name)
	}
	_, _ = fmt.Fprintf(t, "%d scenarios\n", len(list))
	return t.Flush() // reports all errors
}

// listSteps prints every step that a scenario can use.
func listSteps(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, st := range conformance.Steps() {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\n", st.Area, st.Keyword, st.Pattern)
	}
	return t.Flush() // reports the errors of all lines
}

// addReports adds the reports that the target file requests: files in a folder, of all
// formats when it names none.
func (c conformRun) addReports(t target.Target) error {
	dir := t.Report.Dir
	if dir == "" || c.List || c.DryRun {
		return nil
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return usageError("report.dir of the target file: %w", err)
	}
	formats := t.Report.Formats
	if len(formats) == 0 {
		formats = report.Formats()
	}
	for _, format := range formats {
		if name := report.FileName(format); name != "" {
			c.Report = append(c.Report, format+"="+filepath.Join(dir, name))
		}
	}
	return nil
}

// publishReport prints a report to w and writes the files of FORMAT=FILE. Its error has the
// exit code of the verdict; nil for a conformant target. The file - is w, in place of the report for a terminal.
func publishReport(w io.Writer, r *report.Report, files []string) error {
	shown := "terminal"
	for _, one := range files {
		if format, ok := strings.CutSuffix(one, "=-"); ok {
			shown = format
		}
	}
	if err := report.Write(shown, w, r); err != nil {
		return err
	}
	for _, one := range files {
		format, file, _ := strings.Cut(one, "=")
		if file == "-" {
			continue
		}
		f, err := os.Create(file)
		if err != nil {
			return usageError("--report: %w", err)
		}
		err = report.Write(format, f, r)
		if err = errors.Join(err, f.Close()); err != nil {
			return usageError("--report %s: %w", one, err)
		}
	}
	if code := r.ExitCode(); code != report.ExitConformant {
		return command.Fail(code, errors.New(""))
	}
	return nil
}
