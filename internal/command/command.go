// Package command is what the programs of this repository share on the command line: flags,
// settings files, exit codes, and how one program starts another.
//
//	code := command.Program{Name: "understudy", CLI: &cli{}, Env: e}.Run(args, os.Stdout, os.Stderr)
//
// The commands themselves are in the folders of cmd.
package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/spec/mask"
)

// Exit codes of every command; conform has more.
const (
	ExitFine        = 0
	ExitFailed      = 1 // the operation or check failed
	ExitUsage       = 2 // wrong usage or configuration
	ExitUnreachable = 3
)

// Failure is an error with an exit code.
type Failure struct {
	Code int
	Err  error
}

// Error is the text of the error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error without the exit code.
func (f *Failure) Unwrap() error { return f.Err }

// Fail gives an error an exit code. An error with an empty text prints nothing.
func Fail(code int, err error) error { return &Failure{code, err} }

// Usage is an error of the caller: wrong usage or configuration.
func Usage(format string, args ...any) error { return Fail(ExitUsage, fmt.Errorf(format, args...)) }

// Version is the version that the build has set, or the module's version in a program from
// `go install`.
func Version(set string) string {
	if info, ok := debug.ReadBuildInfo(); ok && set == "devel" && info.Main.Version != "" {
		return strings.Trim(info.Main.Version, "()")
	}
	return set
}

// Program is a program with a command line.
type Program struct {
	Name        string // in its help
	Description string
	Version     string
	CLI         any    // the model that kong reads
	Env         any    // what the commands receive
	Suite       Suite  // runs the commands of the suite
	End         func() // called after the command, before its error is printed; nil: nothing
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
		kong.Help(printHelp),
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
	if err == nil {
		err = emptyOrTwice(parsed)
	}
	if err == nil {
		err = misspeltVariable(os.Environ(), parsed)
	}
	if err != nil {
		return failWith(errs, config.placed(Usage("%w", plainError(err))))
	}
	err = config.placed(parsed.Run(p.Env))
	if p.End != nil {
		p.End()
	}
	return failWith(errs, err)
}

// emptyOrTwice refuses an empty argument, and an empty value of a flag with the tag nonempty: it
// is usually a shell variable that is not set, and would mean something else than none. The tag
// mayempty allows it, as for a body. It also refuses a flag that is given more than once and keeps
// only one of its values, and a flag of NAME=VALUE that is given more than once for a name.
func emptyOrTwice(parsed *kong.Context) error {
	times := map[*kong.Flag]int{}
	for _, given := range parsed.Path {
		arg, flag := given.Positional, given.Flag
		if flag != nil && !given.Resolved {
			times[flag]++
		}
		switch {
		case arg != nil && arg.Target.Kind() == reflect.String && arg.Target.Len() == 0 && !arg.Tag.Has("mayempty"):
			return Usage("argument %s: empty: must have a value", arg.Name)
		case flag == nil:
		case flag.Tag.Has("nonempty") && flag.Target.Len() == 0:
			return Usage("--%s: empty: must have a value", flag.Name)
		case times[flag] > 1 && !flag.IsCumulative():
			return Usage("--%s: given more than once: must be given once", flag.Name)
		case flag.IsMap() && times[flag] > flag.Target.Len():
			return Usage("--%s: a name is given more than once: each name must have one value", flag.Name)
		}
	}
	return nil
}

// failWith prints an error in one line, without the credentials of a value that it quotes, and
// chooses the exit code.
func failWith(errs io.Writer, err error) int {
	if err == nil {
		return ExitFine
	}
	var coded *Failure
	if !errors.As(err, &coded) {
		coded = &Failure{ExitFailed, err}
	}
	text := mask.Text(clip.Line(coded.Error()))
	if errors.Is(err, syscall.EADDRINUSE) {
		text += "; --addr sets another address, with port 0 a free one"
	}
	if text != "" {
		_, _ = fmt.Fprintln(errs, "understudy: "+text)
	}
	return coded.Code
}

// Find follows the names of commands from node. It returns the last command that it finds,
// and the names after it.
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

// asksForHelp reports whether the arguments are empty or only name a group of commands
// without a default. Like common tools, the program then prints the help.
func asksForHelp(k *kong.Kong, args []string) bool {
	node, rest := Find(k.Model.Node, args)
	return len(rest) == 0 && len(node.Children) > 0 && node.DefaultCmd == nil
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
