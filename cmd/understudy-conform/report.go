package main

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/client"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/internal/command"
)

// Merge prints the merged report; the exit code is that of the merged verdict.
func (s suite) Merge(c *command.Merge) error {
	if err := checkReports(c.Report); err != nil {
		return err
	}
	reports := make([]*report.Report, len(c.Files))
	for i, file := range c.Files {
		read, err := readReport(file)
		if err != nil {
			return err
		}
		reports[i] = read
	}
	merged, err := report.Merge(reports...)
	if err != nil {
		return usageError("report %w", err)
	}
	all := conformance.Config{Profiles: merged.Claimed}
	if merged.OfClient() {
		all.Client = &client.Config{}
	}
	scenarios, err := conformance.List(all)
	if err != nil {
		return err
	}
	names := make([]string, len(scenarios))
	for i := range scenarios {
		names[i] = scenarios[i].Name
	}
	merged.Complete(names)
	return publishReport(s.out, merged, c.Report)
}

// Diff prints the differences between two reports. It fails when the later one is worse.
func (s suite) Diff(c *command.Diff) error {
	before, err := readReport(c.Before)
	if err != nil {
		return err
	}
	after, err := readReport(c.After)
	if err != nil {
		return err
	}
	d := report.Diff(before, after)
	if c.Output == "json" {
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(d)
	} else {
		err = d.Write(s.out)
	}
	if err == nil && d.Worse() {
		err = command.Fail(command.ExitFailed, errors.New(""))
	}
	return err
}

// readReport reads a JSON report from a file.
func readReport(file string) (*report.Report, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, usageError("report: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	read, err := report.Read(f)
	if err != nil {
		return nil, usageError("report %s: %w", file, err)
	}
	return read, nil
}

// checkReports checks the values of --report before anything runs.
func checkReports(reports []string) error {
	for _, one := range reports {
		if format, file, ok := strings.Cut(one, "="); !ok || file == "" || !slices.Contains(report.Formats(), format) {
			return usageError("--report: invalid value %q: must be FORMAT=FILE, where FORMAT is one of %s", one, strings.Join(report.Formats(), ", "))
		}
	}
	return nil
}
