package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/mockserver"
)

// ManCmd prints the manual page, which release archives contain.
type ManCmd struct{}

// Run prints the page. It has no date, so that the same source gives the same page.
func (*ManCmd) Run(e *env, k *kong.Kong) error {
	var b strings.Builder
	app := k.Model
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"%s %s\" \"User commands\"\n", strings.ToUpper(app.Name), app.Name, manText(mockserver.Version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n.I COMMAND\n[\\fIFLAGS\\fR]\n", app.Name, manText(app.Help), app.Name)
	b.WriteString(".SH DESCRIPTION\nEach flag is also the environment variable that is named with it, and a key of the YAML file of\n.BR \\-\\-config .\n" +
		"The command line takes precedence over the environment, and the environment over the file.\n.SH FLAGS OF EVERY COMMAND\n")
	for _, flag := range command.GlobalFlags(app.Node) {
		manFlag(&b, flag)
	}
	b.WriteString(".SH COMMANDS\n")
	manCommands(&b, app.Node)
	b.WriteString(".SH EXIT STATUS\n.TP\n0\nNo problem.\n.TP\n1\nThe requested operation or check failed.\n.TP\n2\nWrong usage or configuration.\n.TP\n3\nServer unreachable.\n")
	_, err := fmt.Fprint(e.out, b.String())
	return err
}

// manCommands describes the commands without subcommands, each by its full path.
func manCommands(b *strings.Builder, node *kong.Node) {
	for _, child := range visibleCommands(node) {
		if child.Leaf() {
			fmt.Fprintf(b, ".SS %s\n%s\n", manText(child.Summary()), manText(child.Help))
			for _, argument := range child.Positional {
				fmt.Fprintf(b, ".TP\n.I %s\n%s\n", manText(argument.Summary()), manText(argument.Help))
			}
			for parent := child; parent.Parent != nil; parent = parent.Parent {
				manFlags(b, parent)
			}
		}
		manCommands(b, child)
	}
}

// manFlags describes the flags of one level.
func manFlags(b *strings.Builder, node *kong.Node) {
	for _, flag := range node.Flags {
		if !flag.Hidden && !command.IsGlobal(flag) {
			manFlag(b, flag)
		}
	}
}

func manFlag(b *strings.Builder, flag *kong.Flag) {
	name := "\\fB" + manText(flag.Summary()) + "\\fR"
	if flag.Short != 0 {
		name = "\\fB\\-" + string(flag.Short) + "\\fR, " + name
	}
	fmt.Fprintf(b, ".TP\n%s\n%s", name, manText(flag.Help))
	if len(flag.Envs) > 0 {
		fmt.Fprintf(b, " [%s]", manText(strings.Join(flag.Envs, ", ")))
	}
	b.WriteString("\n")
}

// manText escapes a line of text for troff.
func manText(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}
