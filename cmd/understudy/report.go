package main

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/report"
)

// ReportCmd works on reports that `conform --report json=FILE` has written.
type ReportCmd struct {
	Merge ReportMergeCmd `cmd:"" help:"Put JSON reports of one target together, such as one of each profile."`
	Diff  ReportDiffCmd  `cmd:"" help:"Compare two JSON reports, regressions first; exit 1 when there are any."`
}

// ReportMergeCmd makes one report of several.
type ReportMergeCmd struct {
	Files  []string `arg:"" name:"file" help:"JSON reports."`
	Report []string `placeholder:"FORMAT=FILE" help:"Write a report; repeatable. Formats: badge, cucumber, html, json, junit, yaml."`
}

// Run prints the merged report; its exit code is that of the merged verdict.
func (c *ReportMergeCmd) Run(e *env) error {
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
		return usage("report %w", err)
	}
	scenarios, err := conformance.List(conformance.Config{Profiles: merged.Claimed})
	if err != nil {
		return err
	}
	names := make([]string, len(scenarios))
	for i := range scenarios {
		names[i] = scenarios[i].Name
	}
	merged.Complete(names)
	return publishReport(e.out, merged, c.Report)
}

// ReportDiffCmd compares two reports.
type ReportDiffCmd struct {
	Before string `arg:"" help:"The older JSON report."`
	After  string `arg:"" help:"The newer JSON report."`
	Output string `short:"o" default:"table" enum:"table,json" help:"Form of the output: table or json."`
}

// Run prints what changed.
func (c *ReportDiffCmd) Run(e *env) error {
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
		encoder := json.NewEncoder(e.out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(d)
	} else {
		err = d.Write(e.out)
	}
	if err == nil && d.Worse() {
		err = &exit{exitFailed, errors.New("")}
	}
	return err
}

// readReport reads a JSON report from a file.
func readReport(file string) (*report.Report, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, usage("report: %w", err)
	}
	defer f.Close()
	read, err := report.Read(f)
	if err != nil {
		return nil, usage("report %s: %w", file, err)
	}
	return read, nil
}

// checkReports refuses, before anything runs, what --report cannot write.
func checkReports(reports []string) error {
	for _, one := range reports {
		if format, file, ok := strings.Cut(one, "="); !ok || file == "" || !slices.Contains(report.Formats(), format) {
			return usage("--report: invalid value %q: must be FORMAT=FILE, where FORMAT is one of %s", one, strings.Join(report.Formats(), ", "))
		}
	}
	return nil
}
