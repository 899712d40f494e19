package main

import (
	"context"
	"io"

	"github.com/alecthomas/kong"

	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/mockserver"
)

// cli is the whole command line. Every flag is also an environment variable
// UNDERSTUDY_<FLAG> and a key of the file given with --config.
type cli struct {
	globalFlags

	serveCommand
	Ctl CtlCmd `cmd:"" help:"Talk to a running stand-in: time, journals, stubs."`
	runCommand
	Env       EnvCmd       `cmd:"" help:"Print the environment of a running stand-in, for its clients."`
	Spec      SpecCmd      `cmd:"" help:"Print the OpenAPI document."`
	Fixtures  FixturesCmd  `cmd:"" help:"Make fixture files from a seed."`
	Health    HealthCmd    `cmd:"" name:"healthcheck" help:"Exit 0 when the stand-in is ready."`
	Why       WhyCmd       `cmd:"" help:"Explain why a message or a run has not gone on yet."`
	Proxy     ProxyCmd     `cmd:"" help:"Pass traffic through and report what breaks the document."`
	Relay     RelayCmd     `cmd:"" help:"On a public host: hand the calls of a target to a suite that nobody can reach."`
	Ratelimit RatelimitCmd `cmd:"" name:"ratelimit" help:"Check a rate-limit plugin configuration, or try it on."`
	Version   VersionCmd   `cmd:"" help:"Print the version."`

	command.SuiteCommands

	Completion CompletionCmd `cmd:"" help:"Print completions for a shell."`
	Help       HelpCmd       `cmd:"" help:"Print the help of a command."`
	Man        ManCmd        `cmd:"" hidden:"" help:"Print the manual page."`
}

// globalFlags are those of every command.
type globalFlags struct {
	Config string `placeholder:"FILE" help:"YAML file whose keys are the flags of the command; the command line and the environment win over it."` // taken out before parsing, see configFile

	ShowVersion kong.VersionFlag `name:"version" env:"-" help:"Print the version."`
}

// The commands that start a server have a model of their own: that of all commands
// takes longer to build than the server.
type (
	serveCommand struct {
		Serve ServeCmd `cmd:"" set:"addr=127.0.0.1:8080" set:"loglevel=info" help:"Run the stand-in server."`
	}
	runCommand struct {
		Run RunCmd `cmd:"" set:"addr=127.0.0.1:0" set:"loglevel=warn" help:"Start a stand-in on a free port, run a command with its environment, stop. It takes the flags of serve."`
	}
)

// cliOf is the model for the arguments: the smallest that has the command.
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

// usageError is an error of the caller.
func usageError(format string, args ...any) error { return command.Usage(format, args...) }

// env is what commands get of the process that they run in.
type env struct {
	ctx      context.Context
	out, err io.Writer
	atEnd    []func() // before the process ends, in order
}

// All parts say the version of the build. It is set once, before anything runs.
func init() { mockserver.Version = command.Version(version) }

// runProgram is the whole program; tests call it with their own streams.
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
