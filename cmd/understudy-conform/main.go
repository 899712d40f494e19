// Command understudy-conform is the contract test suite. `understudy conform` and
// `understudy report` start it, and it takes the same arguments:
//
//	understudy-conform conform --target target.yaml
//
// It shares no state with the server that it judges: without a target it starts the command
// understudy as a process.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/internal/command"
)

// version and commit are set by the build of a release.
var version, commit = "devel", ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := runProgram(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// cli is the whole command line.
type cli struct {
	Config string `placeholder:"FILE" help:"YAML file whose keys are the flags of the command; the command line and the environment take precedence."` // taken out before parsing

	ShowVersion kong.VersionFlag `name:"version" env:"-" help:"Print the version."`

	command.SuiteCommands
}

// env is the context and the output streams of a command.
type env struct {
	ctx      context.Context
	out, err io.Writer
}

// programName is the name of this program.
const programName = "understudy-conform"

// All packages report the version of the build. init sets it before anything runs.
func init() { conformance.Version, conformance.Commit = command.Version(version), commit }

// runProgram is the whole program; tests call it with their own streams.
func runProgram(ctx context.Context, args []string, out, errs io.Writer) int {
	name := programName
	if caller := command.Caller(); caller != "" {
		name = "understudy" // started by understudy, which has the same commands
		if warning := command.OtherVersion(caller, programName, conformance.Version); warning != "" {
			_, _ = fmt.Fprintln(errs, warning)
		}
	}
	e := &env{ctx: ctx, out: out, err: errs}
	program := command.Program{
		Name:        name,
		Description: "The contract test suite of understudy: `understudy conform` and `understudy report` start it.",
		Version:     conformance.Version,
		CLI:         &cli{},
		Env:         e,
		Suite:       suite{e},
	}
	return program.Run(args, out, errs)
}

// usageError returns an error in the arguments, which has its own exit code.
func usageError(format string, args ...any) error { return command.Usage(format, args...) }
