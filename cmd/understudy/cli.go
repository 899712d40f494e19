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
	Ctl CtlCmd `cmd:"" set:"count=20" help:"Control a running stand-in: clock, journals, stubs and more."`
	runCommand
	Env       EnvCmd       `cmd:"" help:"Print the environment variables that clients of a running stand-in need." example:"eval \"$(understudy env)\"\nunderstudy env --dotenv > .env"`
	Spec      SpecCmd      `cmd:"" help:"Print the OpenAPI document." example:"understudy spec --format json\nunderstudy spec --schema stubs"`
	Health    HealthCmd    `cmd:"" name:"healthcheck" help:"Exit 0 if the stand-in is ready." example:"understudy healthcheck --url http://127.0.0.1:8080"`
	Replay    ReplayCmd    `cmd:"" help:"Replay a journal: print its log, or serve the state at one point in time." example:"understudy replay bug.journal --until 120\nunderstudy replay bug.journal --serve"`
	Explore   ExploreCmd   `cmd:"" help:"Try an application against everything that an at-least-once service may do." example:"understudy explore --config explore.yaml -- npm start"`
	Why       WhyCmd       `cmd:"" help:"Explain what a message or a run is waiting for." example:"understudy why msg_01J8Z\nunderstudy why wfr_01J8Z -o json"`
	Report    BugReportCmd `cmd:"" name:"bug-report" help:"Write what an issue needs to one file: versions, platform, flags, and what happened, without what you sent." example:"understudy bug-report report.json"`
	MCP       McpCmd       `cmd:"" name:"mcp" help:"Serve the tools for coding agents (Model Context Protocol) on standard input and output." example:"understudy mcp\nunderstudy mcp --read-only --url http://127.0.0.1:8080"`
	Proxy     ProxyCmd     `cmd:"" help:"Pass traffic through, and report what violates the OpenAPI document." example:"understudy proxy --upstream https://api.example.com --report report.jsonl"`
	Import    ImportCmd    `cmd:"" help:"Turn an HTTP archive, a recording, or the DLQ or the log of the hosted service into a fixture." example:"understudy import dlq.json --out failure.yaml\nunderstudy import upstream.har --out stubs.yaml"`
	Relay     RelayCmd     `cmd:"" help:"On a public host: forward the calls of a target to a suite that is not reachable from there." example:"understudy relay --addr 127.0.0.1:8085 --relay-token SECRET"`
	Ratelimit RatelimitCmd `cmd:"" name:"ratelimit" help:"Check a rate-limit plugin configuration, or try it out."`
	Version   VersionCmd   `cmd:"" help:"Print the version." example:"understudy version"`

	command.SuiteCommands

	Completion CompletionCmd `cmd:"" help:"Print the completion script of a shell." example:"source <(understudy completion bash)\nunderstudy completion fish > ~/.config/fish/completions/understudy.fish"`
	Help       HelpCmd       `cmd:"" help:"Print the help of a command." example:"understudy help ctl publish\nunderstudy help flags"`
	Complete   CompleteCmd   `cmd:"" hidden:"" help:"Print what may follow words of a command line."`
	Man        ManCmd        `cmd:"" hidden:"" help:"Print the manual page."`
}

// globalFlags are the flags of every command.
type globalFlags struct {
	Config string `global:"" placeholder:"FILE" help:"YAML file whose keys are the flags of the command; the command line and the environment take precedence."` // configFile removes it before parsing

	Color string `global:"" default:"auto" enum:"auto,always,never" help:"Colours: auto (on a terminal without NO_COLOR), always or never."`

	ShowVersion kong.VersionFlag `global:"" name:"version" env:"-" help:"Print the version."`
}

// The commands that start a server have separate models: the model of all commands takes
// longer to build than the server.
type (
	serveCommand struct {
		Serve ServeCmd `cmd:"" set:"addr=127.0.0.1:8080" set:"loglevel=info" help:"Run the stand-in server." example:"understudy serve\nunderstudy serve --clock manual --stub \"https://app.example.com/*=200\"\nunderstudy serve --data ./data"`
	}
	runCommand struct {
		Run RunCmd `cmd:"" set:"addr=127.0.0.1:0" set:"loglevel=warn" help:"Start a stand-in on a free port, run a command with its environment variables, and stop. Takes the flags of serve." example:"understudy run -- npm test\nunderstudy run --clock manual -- go test ./..."`
	}
)

// cliOf is the smallest model that has the command of the arguments, and its global flags.
func cliOf(args []string) (any, *globalFlags) {
	switch {
	case len(args) > 0 && args[0] == "serve":
		c := &struct {
			globalFlags
			serveCommand
		}{}
		return c, &c.globalFlags
	case len(args) > 0 && args[0] == "run":
		c := &struct {
			globalFlags
			runCommand
		}{}
		return c, &c.globalFlags
	}
	c := &cli{}
	return c, &c.globalFlags
}

// usageError is an error of the caller: wrong usage or configuration.
func usageError(format string, args ...any) error { return command.Usage(format, args...) }

// env is what commands use of their process.
type env struct {
	ctx      context.Context
	out, err io.Writer
	flags    *globalFlags // nil: none were given
	atEnd    []func()     // called before the process ends, in order
}

// warn prints a warning at every log level.
func (e *env) warn(text string) { _, _ = fmt.Fprintln(e.err, "understudy: WARNING: "+text) }

// All parts report the version of the build. It is set once, before anything runs.
func init() { mockserver.Version = command.Version(version) }

// runProgram runs the program and returns its exit code. Tests call it with their own
// streams.
func runProgram(ctx context.Context, args []string, out, errs io.Writer) int {
	delayCollection(args)
	model, flags := cliOf(args)
	e := &env{ctx: ctx, out: out, err: errs, flags: flags}
	program := command.Program{
		Name:        "understudy",
		Description: "A local server for QStash and Workflow applications, and a contract test suite for that interface.",
		Version:     mockserver.Version,
		CLI:         model,
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
