// Package command is what the programs of this repository share on the command
// line: flags, settings files, exit codes, and how one program starts the other.
//
//	code := command.Program{Name: "understudy", CLI: &cli{}, Env: e}.Run(args, os.Stdout, os.Stderr)
//
// It knows no command of its own: those are in the folders of cmd.
package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/term"
)

// Exit codes of every command; conform has more.
const (
	ExitFine        = 0
	ExitFailed      = 1 // the thing asked about failed
	ExitUsage       = 2 // wrong usage or configuration
	ExitUnreachable = 3
)

// Failure is an error that knows its exit code.
type Failure struct {
	Code int
	Err  error
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Fail gives an error an exit code. An empty error text prints nothing.
func Fail(code int, err error) error { return &Failure{code, err} }

// Usage is an error of the caller: wrong usage or configuration.
func Usage(format string, args ...any) error { return Fail(ExitUsage, fmt.Errorf(format, args...)) }

// Version is the version that the build has set, or that of the module for
// `go install`.
func Version(set string) string {
	if info, ok := debug.ReadBuildInfo(); ok && set == "devel" && info.Main.Version != "" {
		return strings.Trim(info.Main.Version, "()")
	}
	return set
}

// Program is a command line.
type Program struct {
	Name        string // in its help
	Description string
	Version     string
	CLI         any    // the model that kong reads
	Env         any    // what the commands receive
	Suite       Suite  // runs the commands of the suite
	End         func() // after the command, before its error is printed; nil: nothing
}

// Run parses the arguments and runs the command; it returns the exit code.
func (p *Program) Run(args []string, out, errs io.Writer) int {
	args, config, err := configFile(args)
	if err != nil {
		return failWith(errs, err)
	}
	stopped := -1
	parser, err := kong.New(p.CLI,
		kong.Name(p.Name),
		kong.Description(p.Description),
		kong.Writers(out, errs),
		kong.Exit(func(code int) { stopped = code }),
		kong.DefaultEnvars("UNDERSTUDY"),
		kong.Vars{"version": p.Name + " " + p.Version},
		kong.Resolvers(config),
		kong.BindTo(p.Suite, (*Suite)(nil)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return failWith(errs, err)
	}
	if asksForHelp(parser, args) {
		args = append(args, "--help")
	}
	parsed, err := parser.Parse(args)
	if stopped >= 0 {
		return stopped // --help or --version has been printed
	}
	if err == nil {
		err = config.unknown(parsed)
	}
	if err != nil {
		return failWith(errs, Usage("%w", err))
	}
	err = parsed.Run(p.Env)
	if p.End != nil {
		p.End()
	}
	return failWith(errs, err)
}

// failWith prints an error in one line and chooses the exit code.
func failWith(errs io.Writer, err error) int {
	if err == nil {
		return ExitFine
	}
	var coded *Failure
	if !errors.As(err, &coded) {
		coded = &Failure{ExitFailed, err}
	}
	if text := strings.Join(strings.Fields(coded.Error()), " "); text != "" {
		_, _ = fmt.Fprintln(errs, "understudy: "+text)
	}
	return coded.Code
}

// Find follows the names of commands as far as they go.
func Find(node *kong.Node, names []string) (found *kong.Node, rest []string) {
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

// asksForHelp reports whether the arguments are only the name of a group of
// commands, or nothing: like common tools, that prints the help.
func asksForHelp(k *kong.Kong, args []string) bool {
	node, rest := Find(k.Model.Node, args)
	return len(rest) == 0 && len(node.Children) > 0
}

// IsTerminal reports whether people watch what is written to w.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
