package main

import (
	"context"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/mockserver"
)

// cli is the model of all commands. Most flags are also environment variables
// UNDERSTUDY_<FLAG> and keys of the file given with --config.
type cli struct {
	globalFlags

	serveCommand
	Ctl CtlCmd `cmd:"" help:"Control a running stand-in: clock, journals, stubs and more."`
	runCommand
	Env       EnvCmd       `cmd:"" help:"Print the environment variables that clients of a running stand-in need."`
	Spec      SpecCmd      `cmd:"" help:"Print the OpenAPI document."`
	Fixtures  FixturesCmd  `cmd:"" help:"Generate fixture files from a seed."`
	Health    HealthCmd    `cmd:"" name:"healthcheck" help:"Exit 0 if the stand-in is ready."`
	Replay    ReplayCmd    `cmd:"" help:"Replay a journal: print its log, or serve the state at one point in time."`
	Why       WhyCmd       `cmd:"" help:"Explain what a message or a run is waiting for."`
	Proxy     ProxyCmd     `cmd:"" help:"Pass traffic through, and report what violates the OpenAPI document."`
	Relay     RelayCmd     `cmd:"" help:"On a public host: forward the calls of a target to a suite that is not reachable from there."`
	Ratelimit RatelimitCmd `cmd:"" name:"ratelimit" help:"Check a rate-limit plugin configuration, or try it out."`
	Version   VersionCmd   `cmd:"" help:"Print the version."`

	command.SuiteCommands

	Completion CompletionCmd `cmd:"" help:"Print the completion script of a shell."`
	Help       HelpCmd       `cmd:"" help:"Print the help of a command."`
	Man        ManCmd        `cmd:"" hidden:"" help:"Print the manual page."`
}

// globalFlags are the flags of every command.
type globalFlags struct {
	Config string `placeholder:"FILE" help:"YAML file whose keys are the flags of the command; the command line and the environment take precedence."` // configFile removes it before parsing

	ShowVersion kong.VersionFlag `name:"version" env:"-" help:"Print the version."`
}

// The commands that start a server have separate models: the model of all commands takes
// longer to build than the server.
type (
	serveCommand struct {
		Serve ServeCmd `cmd:"" set:"addr=127.0.0.1:8080" set:"loglevel=info" help:"Run the stand-in server."`
	}
	runCommand struct {
		Run RunCmd `cmd:"" set:"addr=127.0.0.1:0" set:"loglevel=warn" help:"Start a stand-in on a free port, run a command with its environment variables, and stop. Takes the flags of serve."`
	}
)

// cliOf is the smallest model that has the command of the arguments.
func cliOf(args []string) any {
	switch {
	case len(args) > 0 && args[0] == "serve":
		return &struct {
			globalFlags
			serveCommand
		}{}
	case len(args) > 0 && args[0] == "run":
		return &struct {
			globalFlags
			runCommand
		}{}
	}
	return &cli{}
}

// usageError is an error of the caller: wrong usage or configuration.
func usageError(format string, args ...any) error { return command.Usage(format, args...) }

// env is what commands use of their process.
type env struct {
	ctx      context.Context
	out, err io.Writer
	atEnd    []func() // called before the process ends, in order
}

// warn prints a warning at every log level.
func (e *env) warn(text string) { _, _ = fmt.Fprintln(e.err, "understudy: WARNING: "+text) }

// All parts report the version of the build. It is set once, before anything runs.
func init() { mockserver.Version = command.Version(version) }

// runProgram runs the program and returns its exit code. Tests call it with their own
// streams.
func runProgram(ctx context.Context, args []string, out, errs io.Writer) int {
	delayCollection(args)
	e := &env{ctx: ctx, out: out, err: errs}
	program := command.Program{
		Name:        "understudy",
		Description: "A stand-in server for an HTTP messaging and workflow service, and its contract test suite.",
		Version:     mockserver.Version,
		CLI:         cliOf(args),
		Env:         e,
		Suite:       suite{args},
		End: func() {
			for _, end := range e.atEnd {
				end()
			}
		},
	}
	return program.Run(args, out, errs)
}
