package main

import (
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/survey"
	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/spec"
)

// surveyTarget probes a target with a few harmless requests and writes a target file: to
// file, with its schema next to it, or to standard output if file is "". The credentials
// come from the variables that the target file names.
func surveyTarget(e *env, base, file string) error {
	found, err := survey.Ask(e.ctx, base, os.Getenv)
	if errors.Is(err, survey.ErrURL) {
		return usageError("--init: %w", err)
	}
	if err != nil {
		return command.Fail(report.ExitPreflight, fmt.Errorf("--init: %w", err))
	}
	if err := found.Write(e.err); err != nil {
		return err
	}
	if file == "" {
		return found.WriteTarget(e.out)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // users may add credentials
	if err != nil {
		return usageError("--init: %w", err)
	}
	err = found.WriteTarget(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return usageError("--init: %w", err)
	}
	if err := command.WriteSchema(file, "target", spec.TargetSchema); err != nil {
		return usageError("--init: %w", err)
	}
	_, err = fmt.Fprintf(e.err, "\n%s is written, and target.schema.json beside it, for editors. Next: fill in what it asks for, then `understudy conform --check-target --target %s`\n", file, file)
	return err
}

// checkTarget tries the entries of a target file and prints a line for each. The exit code
// is 1 when an entry does not work.
func checkTarget(e *env, cfg conformance.Config) error {
	list, err := conformance.CheckTarget(e.ctx, cfg)
	if err != nil {
		return noVerdict(err)
	}
	t := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	failed := 0
	for _, c := range list {
		result := "works"
		switch {
		case !c.Tried:
			result = "not known"
		case !c.Works:
			result = "FAILS"
			failed++
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\n", c.Entry, result, c.Detail)
	}
	if err := t.Flush(); err != nil { // reports the errors of all lines
		return err
	}
	if failed > 0 {
		return command.Fail(command.ExitFailed, fmt.Errorf("%d of %d entries do not work", failed, len(list)))
	}
	return nil
}
