package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/mockserver"
)

// cli is the whole command line. Every flag is also an environment variable
// UNDERSTUDY_<FLAG> and a key of the file given with --config.
type cli struct {
	Config string `placeholder:"FILE" help:"YAML file whose keys are the flags of the command; the command line and the environment win over it."` // taken out before parsing, see configFile

	ShowVersion kong.VersionFlag `name:"version" env:"-" help:"Print the version."`

	Serve     ServeCmd     `cmd:"" set:"addr=127.0.0.1:8080" set:"loglevel=info" help:"Run the stand-in server."`
	Ctl       CtlCmd       `cmd:"" help:"Talk to a running stand-in: time, journals, stubs."`
	Run       RunCmd       `cmd:"" set:"addr=127.0.0.1:0" set:"loglevel=warn" help:"Start a stand-in on a free port, run a command with its environment, stop. It takes the flags of serve."`
	Env       EnvCmd       `cmd:"" help:"Print the environment of a running stand-in, for its clients."`
	Spec      SpecCmd      `cmd:"" help:"Print the OpenAPI document."`
	Fixtures  FixturesCmd  `cmd:"" help:"Make fixture files from a seed."`
	Health    HealthCmd    `cmd:"" name:"healthcheck" help:"Exit 0 when the stand-in is ready."`
	Why       WhyCmd       `cmd:"" help:"Explain why a message or a run has not gone on yet."`
	Proxy     ProxyCmd     `cmd:"" help:"Pass traffic through and report what breaks the document."`
	Relay     RelayCmd     `cmd:"" help:"On a public host: hand the calls of a target to a suite that nobody can reach."`
	Ratelimit RatelimitCmd `cmd:"" name:"ratelimit" help:"Check a rate-limit plugin configuration, or try it on."`
	Version   VersionCmd   `cmd:"" help:"Print the version."`

	Conform ConformCmd `cmd:"" help:"Run the contract test suite against a target, or against a stand-in of its own."`
	Report  ReportCmd  `cmd:"" help:"Merge JSON reports of the suite, or compare two."`

	Completion CompletionCmd `cmd:"" help:"Print completions for a shell."`
	Help       HelpCmd       `cmd:"" help:"Print the help of a command."`
}

// Exit codes of every command; conform has more.
const (
	exitFine        = 0
	exitFailed      = 1 // the thing asked about failed
	exitUsage       = 2 // wrong usage or configuration
	exitUnreachable = 3
)

// exit is an error that knows its exit code.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string { return e.err.Error() }
func (e *exit) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &exit{exitUsage, fmt.Errorf(format, args...)} }

// env is what commands get of the process that they run in.
type env struct {
	ctx      context.Context
	out, err io.Writer
	atEnd    []func() // before the process ends, in order
}

// All parts say the version of the build. It is set once, before anything runs.
func init() { mockserver.Version, conformance.Version = built(), built() }

// run is the whole program; tests call it with their own streams.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	args, config, err := configFile(args)
	if err != nil {
		return failWith(errs, err)
	}
	stopped := -1
	parser, err := kong.New(&cli{},
		kong.Name("understudy"),
		kong.Description("A stand-in server for an HTTP messaging and workflow service, and its contract test suite."),
		kong.Writers(out, errs),
		kong.Exit(func(code int) { stopped = code }),
		kong.DefaultEnvars("UNDERSTUDY"),
		kong.Vars{"version": "understudy " + mockserver.Version},
		kong.Resolvers(config),
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
		return failWith(errs, usage("%w", err))
	}
	e := &env{ctx: ctx, out: out, err: errs}
	err = parsed.Run(e)
	for _, end := range e.atEnd {
		end()
	}
	return failWith(errs, err)
}

// built is the version: that of the build, or of the module for `go install`.
func built() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "devel" && info.Main.Version != "" {
		return strings.Trim(info.Main.Version, "()")
	}
	return version
}

// failWith prints an error in one line and chooses the exit code.
func failWith(errs io.Writer, err error) int {
	if err == nil {
		return exitFine
	}
	var coded *exit
	if !errors.As(err, &coded) {
		coded = &exit{exitFailed, err}
	}
	if text := strings.Join(strings.Fields(coded.Error()), " "); text != "" {
		_, _ = fmt.Fprintln(errs, "understudy: "+text)
	}
	return coded.code
}

// settings is the file given with --config: flag names and values.
type settings struct {
	file   string
	values map[string]any
}

// configFile takes --config FILE out of the arguments and reads it.
func configFile(args []string) ([]string, *settings, error) {
	s := &settings{file: os.Getenv("UNDERSTUDY_CONFIG")}
	var rest []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			rest = append(rest, args[i:]...)
			break
		}
		if v, ok := strings.CutPrefix(args[i], "--config="); ok {
			s.file = v
		} else if args[i] == "--config" && i+1 < len(args) {
			i++
			s.file = args[i]
		} else {
			rest = append(rest, args[i])
		}
	}
	if s.file == "" {
		return rest, s, nil
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		return nil, nil, usage("config: %w", err)
	}
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&s.values); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, usage("config %s: %w", s.file, err)
	}
	return rest, s, nil
}

// Validate is part of kong.Resolver.
func (s *settings) Validate(*kong.Application) error { return nil }

// Resolve gives kong the value of a flag, unless the environment has one. Lists
// and maps hold texts, as on the command line.
func (s *settings) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	v, ok := s.values[flag.Name]
	if !ok || slices.ContainsFunc(flag.Envs, func(name string) bool { _, ok := os.LookupEnv(name); return ok }) {
		return nil, nil //nolint:nilnil // kong's way to say that there is none
	}
	switch v := v.(type) {
	case []any:
		parts := make([]any, len(v))
		for i, one := range v {
			parts[i] = fmt.Sprint(one)
		}
		return parts, nil
	case map[string]any:
		parts := make(map[string]any, len(v))
		for name, one := range v {
			parts[name] = fmt.Sprint(one)
		}
		return parts, nil
	default:
		return fmt.Sprint(v), nil
	}
}

// unknown refuses keys that are no flags of the command.
func (s *settings) unknown(parsed *kong.Context) error {
	known := map[string]bool{}
	for _, flag := range parsed.Flags() {
		known[flag.Name] = true
	}
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		if !known[key] || slices.Contains([]string{"config", "help", "version"}, key) {
			return fmt.Errorf("config %s: unknown key %q; accepted are the flags of `understudy %s`", s.file, key, parsed.Command())
		}
	}
	return nil
}
