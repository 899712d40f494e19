package main

import "github.com/understudy-mock/understudy/internal/command"

// suite runs the commands of the suite.
type suite struct{ *env }

// The commands with their run methods.
type (
	conformRun struct{ *command.Conform }
	mergeRun   struct{ *command.Merge }
	diffRun    struct{ *command.Diff }
)

// Conform runs the suite.
func (s suite) Conform(c *command.Conform) error { return conformRun{c}.run(s.env) }

// Merge merges reports.
func (s suite) Merge(c *command.Merge) error { return mergeRun{c}.run(s.env) }

// Diff compares reports.
func (s suite) Diff(c *command.Diff) error { return diffRun{c}.run(s.env) }
