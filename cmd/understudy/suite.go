package main

import (
	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/mockserver"
)

// suiteProgram has the contract test suite. It is a program of its own, so that
// the judge shares nothing with the server, nor the server's start with the judge.
const suiteProgram = "understudy-conform"

// suite starts that program in place of this one, with the same arguments.
type suite struct{ args []string }

// Conform starts it.
func (s suite) Conform(*command.Conform) error { return s.start() }

// Merge starts it.
func (s suite) Merge(*command.Merge) error { return s.start() }

// Diff starts it.
func (s suite) Diff(*command.Diff) error { return s.start() }

func (s suite) start() error { return command.HandOver(suiteProgram, mockserver.Version, s.args) }
