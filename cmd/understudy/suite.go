package main

import (
	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/mockserver"
)

// suiteProgram is the program with the contract test suite. It is separate, so that the suite
// does not contain the server that it judges, and does not slow down the server's start.
const suiteProgram = "understudy-conform"

// suite hands over to that program, with the same arguments.
type suite struct{ args []string }

// Conform hands over to the suite.
func (s suite) Conform(*command.Conform) error { return s.start() }

// Merge hands over to the suite.
func (s suite) Merge(*command.Merge) error { return s.start() }

// Diff hands over to the suite.
func (s suite) Diff(*command.Diff) error { return s.start() }

// Generate hands over to the suite, which has the generator.
func (s suite) Generate(*command.Generate) error { return s.start() }

func (s suite) start() error { return command.HandOver(suiteProgram, mockserver.Version, s.args) }
