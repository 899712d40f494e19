package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// HelpCmd prints the help of a command, as --help behind it does.
type HelpCmd struct {
	Command []string `arg:"" optional:"" help:"Such as: ctl, or ctl stub."`
}

// Run prints it.
func (c *HelpCmd) Run(k *kong.Kong) error {
	node, rest := find(k.Model.Node, c.Command)
	if len(rest) > 0 {
		return usage("help: unknown command %q; must be one of %s", rest[0], strings.Join(commands(node), ", "))
	}
	trace, err := kong.Trace(k, c.Command)
	if err != nil {
		return err
	}
	return trace.PrintUsage(false)
}

// find follows the names of commands as far as they go.
func find(node *kong.Node, names []string) (found *kong.Node, rest []string) {
	for i, name := range names {
		at := slices.IndexFunc(node.Children, func(child *kong.Node) bool {
			return child.Name == name || slices.Contains(child.Aliases, name)
		})
		if at < 0 {
			return node, names[i:]
		}
		node = node.Children[at]
	}
	return node, nil
}

// commands are the names of the commands below one.
func commands(node *kong.Node) []string {
	var names []string
	for _, child := range node.Children {
		names = append(names, child.Name)
	}
	return names
}

// asksForHelp reports whether the arguments are only the name of a group of
// commands, or nothing: like common tools, that prints the help.
func asksForHelp(k *kong.Kong, args []string) bool {
	node, rest := find(k.Model.Node, args)
	return len(rest) == 0 && len(node.Children) > 0
}
