package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// printHelp prints the help of a command with its examples. Flags with the tag global are on a
// page of their own.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	node := ctx.Selected()
	if node == nil {
		node = ctx.Model.Node
	}
	for at := node; at != nil; at = at.Parent {
		for _, f := range at.Flags {
			f.Hidden = f.Hidden || IsGlobal(f)
		}
	}
	options.NoExpandSubcommands = true
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	var b strings.Builder
	if lines := Examples(node); len(lines) > 0 {
		b.WriteString("\nExamples:\n  " + strings.Join(lines, "\n  ") + "\n")
	}
	if slices.ContainsFunc(ctx.Model.Children, func(n *kong.Node) bool { return n.Name == "help" }) || len(ctx.Model.Children) == 1 {
		fmt.Fprintf(&b, "\nFlags of every command: %s help flags\n", ctx.Model.Name)
	}
	_, err := io.WriteString(ctx.Stdout, b.String())
	return err
}

// Examples are the command lines in the tag example of a command; those of a group are the first
// ones of its commands.
func Examples(node *kong.Node) (lines []string) {
	if node.Tag != nil && node.Tag.Has("example") {
		return strings.Split(node.Tag.Get("example"), "\n")
	}
	for _, child := range node.Children {
		if all := Examples(child); !child.Hidden && len(all) > 0 && (node.Parent == nil || child.Parent == node) {
			lines = append(lines, all[0])
		}
	}
	return lines[:min(len(lines), mostExamples)]
}

// mostExamples is the largest number of examples of a group of commands.
const mostExamples = 5

// IsGlobal reports whether a flag is one of many commands.
func IsGlobal(f *kong.Flag) bool { return f.Name == "help" || f.Tag.Has("global") }

// GlobalFlags are the flags of many commands below a node, each once.
func GlobalFlags(root *kong.Node) (list []*kong.Flag) {
	_ = kong.Visit(root, func(node kong.Visitable, next kong.Next) error { // never fails
		if f, ok := node.(*kong.Flag); ok && IsGlobal(f) && !slices.ContainsFunc(list, func(known *kong.Flag) bool { return known.Name == f.Name }) {
			list = append(list, f)
		}
		return next(nil)
	})
	return list
}

// PrintGlobalFlags prints the page about the flags of every command.
func PrintGlobalFlags(w io.Writer, root *kong.Node) error {
	var b strings.Builder
	b.WriteString("Flags of every command, or of all commands that talk to a server:\n\n")
	for _, f := range GlobalFlags(root) {
		name := "--" + f.Name
		if !f.IsBool() {
			name = f.Summary()
		}
		if f.Short != 0 {
			name = "-" + string(f.Short) + ", " + name
		}
		fmt.Fprintf(&b, "  %s\n      %s", name, f.Help)
		if len(f.Envs) > 0 {
			fmt.Fprintf(&b, " ($%s)", strings.Join(f.Envs, ", $"))
		}
		b.WriteString("\n")
	}
	b.WriteString("\nMost flags of a command are also environment variables (UNDERSTUDY_...) and keys of the file of --config.\n")
	_, err := io.WriteString(w, b.String())
	return err
}
