package main

import "github.com/understudy-mock/understudy/internal/command"

// suite runs the commands of the suite.
type suite struct{ *env }

// conformRun is the command conform with its methods.
type conformRun struct{ *command.Conform }

// Conform runs the suite.
func (s suite) Conform(c *command.Conform) error { return conformRun{c}.run(s.env) }
