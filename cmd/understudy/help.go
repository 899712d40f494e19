package main

import (
	"strings"

	"github.com/alecthomas/kong"

	"github.com/understudy-mock/understudy/internal/command"
)

// HelpCmd prints the help of a command, as the flag --help does.
type HelpCmd struct {
	Command []string `arg:"" optional:"" help:"A command, such as ctl or ctl stub, or flags for the flags of every command."`
}

// Run prints the help.
func (c *HelpCmd) Run(e *env, k *kong.Kong) error {
	if strings.Join(c.Command, " ") == "flags" {
		return command.PrintGlobalFlags(e.out, k.Model.Node)
	}
	node, rest := command.Find(k.Model.Node, c.Command)
	if len(rest) > 0 {
		return usageError("help: %s", command.Unknown(node, rest[0]))
	}
	trace, err := kong.Trace(k, c.Command)
	if err != nil {
		return err
	}
	return trace.PrintUsage(false)
}
