package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/route"
)

// ServeCmd runs the stand-in.
type ServeCmd struct {
	Addr              string            `default:"${addr}" help:"Where to listen; port 0 takes a free one."`
	Dialect           string            `default:"auto" help:"Naming of the interface: auto (each request by its own names), svc, upstash, or a YAML file."`
	Clock             string            `help:"real (default), manual (moves by ctl advance), auto (skips to the next timer)."`
	Seed              uint64            `default:"0" help:"Repeat ids, signatures and logs; 0 for random."`
	Account           []string          `placeholder:"ID:TOKEN" help:"An account; repeatable. Default: the dialect's development account."`
	Accounts          string            `default:"fixed" enum:"fixed,any" help:"any gives every unknown token an account of its own."`
	Rewrite           map[string]string `placeholder:"FROM=TO" help:"Deliver to TO what is meant for FROM; repeatable."`
	Stub              []string          `sep:"none" placeholder:"URL=STATUS[:BODY]" help:"Answer deliveries to URL (with *) without network; repeatable."`
	StubPreset        []string          `enum:"echo-hosts" placeholder:"NAME" help:"Ready-made stubs: echo-hosts."`
	MaxBody           string            `default:"1MiB" help:"Largest request body, such as 512KiB or 4MiB."`
	MaxMessages       int               `default:"10000" placeholder:"N" help:"Most messages that one request may create: a batch counts each endpoint of its URL groups."`
	Memory            string            `default:"512MiB" help:"Bytes of journals, log and answers to keep; the oldest bodies go first."`
	MaxBacklog        string            `default:"2GiB" placeholder:"N|SIZE" help:"Refuse publishes with 429 when N messages, or SIZE bytes of messages, DLQ entries and runs, are not done: 100000 or 2GiB."`
	ValidateResponses bool              `default:"true" negatable:"" help:"Hold our own answers to the document."`
	ControlToken      string            `placeholder:"T" help:"Token of the control API; without one it is open on loopback only."`
	Outbound          string            `default:"allow" enum:"allow,loopback-only,stub-only" help:"What deliveries that no stub answers may reach: allow, loopback-only, stub-only."`
	StrictOptions     bool              `help:"Refuse unknown configuration names."`
	PricePerMessage   float64           `default:"0.00001" help:"For the billing figures of the statistics."`
	VectorLag         time.Duration     `default:"0s" help:"How long a vector change stays pending."`
	KVURL             string            `name:"kv-url" aliases:"kv-server" env:"UNDERSTUDY_KV_SERVER" placeholder:"redis://..." help:"A real server behind the key-value store; embedded without."` // UNDERSTUDY_KV_URL is what the banner gives to clients
	VectorIndex       []string          `sep:"none" placeholder:"NAME=TYPE:DIM:FUNCTION" help:"A vector index, such as docs=DENSE:1536:COSINE; repeatable. Default: one whose first vector decides."`
	Embed             string            `placeholder:"hash" help:"hash: make vectors of texts by hashing their words, for tests; without it, texts are refused."`
	ListenRegion      string            `placeholder:"ADDR" help:"Own address of the region host."`
	ListenManagement  string            `placeholder:"ADDR" help:"Own address of the management host."`
	ListenVector      string            `placeholder:"ADDR" help:"Own address of the vector host."`
	Advertise         string            `placeholder:"URL" help:"How clients reach this server, such as http://understudy:8080: what the banner, the ready file, env and the page print. Default: the address it listens at."`
	ReadyFile         string            `placeholder:"FILE" help:"Write one JSON line with addresses, credentials and environment when ready."`
	Snapshot          string            `placeholder:"FILE" help:"Begin with the state in FILE, if it is there, and save it there at a clean stop."`
	Fixture           []string          `placeholder:"FILE" help:"Load a fixture file when beginning without a snapshot; repeatable."`
	SnapshotEvery     time.Duration     `placeholder:"DURATION" help:"Save it so often as well."`
	UntilEOF          bool              `name:"until-eof" help:"Stop, as by SIGTERM, when standard input ends: a server whose parent process is killed ends as well."`
	UntilEOFOf        int               `name:"until-eof-of" env:"-" placeholder:"FD" help:"As --until-eof, but of the file descriptor FD: standard input stays that of the command of run."`
	Quiet             bool              `help:"Log only errors of the stand-in itself, as with --log-level error."`
	LogLevel          string            `default:"${loglevel}" help:"debug, info (attempts that are retried), warn (failed messages and runs, refused requests), error."`
	LogFormat         string            `default:"text" enum:"text,json" help:"text or json."`

	lock *flock.Flock // on the snapshot file; nil: none
}

// Run serves until it receives a signal to stop, or its standard input ends.
func (c *ServeCmd) Run(e *env) error {
	s, cfg, err := c.start(e, "serve")
	if err != nil {
		return err
	}
	printBanner(e.out, s, c.Embed) // last: who sees it finds the ready file written
	c.saveUntil(e.ctx, s, cfg.Log)
	return c.stop(s)
}

// start starts the stand-in that the flags describe, for a command.
func (c *ServeCmd) start(e *env, command string) (s *mockserver.Server, cfg mockserver.Config, err error) {
	defer func() {
		if err != nil {
			_ = c.release() // the first error counts
		}
	}()
	var running atomic.Pointer[mockserver.Server]
	keepLean(&running)
	if cfg, err = c.config(e); err != nil {
		return nil, cfg, err
	}
	if c.UntilEOF {
		if err := e.untilEOF(cfg.Log); err != nil {
			return nil, cfg, err
		}
	}
	if c.UntilEOFOf != 0 {
		if err := e.untilEOFOf(c.UntilEOFOf, cfg.Log); err != nil {
			return nil, cfg, err
		}
	}
	saved, err := c.state(cfg.Log)
	if err != nil {
		return nil, cfg, err
	}
	if saved != nil {
		defer saved.Close()
		cfg.Snapshot = saved
	}
	for _, name := range c.Fixture {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, cfg, usageError("--fixture: %w", err)
		}
		cfg.Fixtures = append(cfg.Fixtures, mockserver.Fixture{Name: name, Text: text})
	}
	if c.ReadyFile != "" {
		_ = os.Remove(c.ReadyFile) // one from before says nothing about this server; writing it tells of errors
	}
	switch s, err = mockserver.Run(cfg); {
	case errors.Is(err, mockserver.ErrSnapshot):
		return nil, cfg, usageError("--snapshot %s: %w", c.Snapshot, err)
	case err != nil:
		return nil, cfg, usageError("%s: %w", command, err)
	}
	running.Store(s)
	for _, text := range s.Warnings() {
		_, _ = fmt.Fprintln(e.err, "understudy: WARNING: "+text) // whatever the level of the log
	}
	if err := c.ready(s); err != nil {
		_ = s.Close() // the first error counts
		return nil, cfg, usageError("--ready-file: %w", err)
	}
	return s, cfg, nil
}

// stop ends the stand-in and saves its state.
func (c *ServeCmd) stop(s *mockserver.Server) error {
	return errors.Join(s.Close(), c.save(s), c.release())
}

func (c *ServeCmd) config(e *env) (mockserver.Config, error) {
	level := c.LogLevel
	if c.Quiet {
		level = "error"
	}
	log, err := e.logger(level, c.LogFormat)
	if err != nil {
		return mockserver.Config{}, err
	}
	dialect, err := dialectNamed(c.Dialect)
	if err != nil {
		return mockserver.Config{}, usageError("--dialect: %w", err)
	}
	if clocks := []string{"", "real", "manual", "auto"}; !slices.Contains(clocks, c.Clock) {
		return mockserver.Config{}, usageError("--clock must be one of %q, %q, %q but got %q", clocks[1], clocks[2], clocks[3], c.Clock)
	}
	cfg := mockserver.Config{
		Addr: c.Addr, RegionAddr: c.ListenRegion, ManagementAddr: c.ListenManagement, VectorAddr: c.ListenVector,
		Dialect: dialect, Clock: c.Clock, Seed: c.Seed, AnyAccount: c.Accounts == "any", Rewrites: c.Rewrite,
		SkipResponseCheck: !c.ValidateResponses, StrictOptions: c.StrictOptions, ControlToken: c.ControlToken,
		PricePerMessage: c.PricePerMessage, Outbound: c.Outbound, KVURL: c.KVURL, Embed: c.Embed, VectorLag: c.VectorLag, Log: log,
	}
	if c.Advertise != "" {
		if cfg.Advertise, err = mockserver.ParseAdvertise(c.Advertise); err != nil {
			return cfg, usageError("--advertise: %w", err)
		}
	}
	if cfg.MaxMessages = c.MaxMessages; c.MaxMessages < 1 {
		return cfg, usageError("--max-messages %d: must be an integer from 1 up", c.MaxMessages)
	}
	if cfg.MaxBody, err = byteCount(c.MaxBody); err != nil {
		return cfg, usageError("--max-body: %w", err)
	}
	if cfg.Memory, err = byteCount(c.Memory); err != nil {
		return cfg, usageError("--memory: %w", err)
	}
	if cfg.MaxBacklog, cfg.MaxBacklogBytes, err = parseBacklog(c.MaxBacklog); err != nil {
		return cfg, usageError("--max-backlog: %w", err)
	}
	for _, text := range c.Account {
		id, token, ok := strings.Cut(text, ":")
		if !ok || id == "" || token == "" {
			return cfg, usageError("--account %q: accepted is ID:TOKEN", id)
		}
		cfg.Accounts = append(cfg.Accounts, mockserver.Account{ID: id, Token: token})
	}
	for _, text := range c.Stub {
		stub, err := mockserver.ParseStub(text)
		if err != nil {
			return cfg, usageError("--stub: %w", err)
		}
		cfg.Stubs = append(cfg.Stubs, stub)
	}
	for _, text := range c.VectorIndex {
		index, err := mockserver.ParseVectorIndex(text)
		if err != nil {
			return cfg, usageError("--vector-index: %w", err)
		}
		cfg.VectorIndexes = append(cfg.VectorIndexes, index)
	}
	if len(c.StubPreset) > 0 {
		cfg.Stubs = append(cfg.Stubs, mockserver.EchoHosts...)
	}
	return cfg, nil
}

// dialectNamed is the dialect that a flag names, nil for auto.
func dialectNamed(name string) (*spec.Dialect, error) {
	if name == spec.Auto {
		return nil, nil
	}
	return spec.LoadDialect(name)
}

// parseBacklog reads a number of messages, or a size.
func parseBacklog(text string) (messages, bytes int64, err error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		return n, 0, nil
	}
	if bytes, err = byteCount(text); err != nil {
		return 0, 0, fmt.Errorf("invalid value %q: must be a number of messages, such as 100000, or a size, such as 2GiB", text)
	}
	return 0, bytes, nil
}

// byteCount reads a size such as 512KiB.
func byteCount(text string) (int64, error) {
	factor := int64(1)
	number := text
	for _, unit := range []struct {
		suffix string
		factor int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}} {
		if rest, ok := strings.CutSuffix(text, unit.suffix); ok {
			number, factor = rest, unit.factor
			break
		}
	}
	var n int64
	if _, err := fmt.Sscanf(number, "%d", &n); err != nil || n <= 0 || fmt.Sprint(n) != number || n > 1<<40/factor {
		return 0, fmt.Errorf("%q: accepted is a size such as 65536, 512KiB or 4MiB", text)
	}
	return n * factor, nil
}

// printBanner says once how to use the server.
func printBanner(w io.Writer, s *mockserver.Server, embedding string) {
	var b strings.Builder
	fmt.Fprintf(&b, "Understudy %s is running at %s\n\n", mockserver.Version, s.URL())
	fmt.Fprintf(&b, "  messaging   %s\n  region      %s\n  management  %s\n  vector      %s\n  key-value   %s\n", s.URL(), s.RegionURL(), s.ManagementURL(), s.VectorURL(), s.KVURL())
	if embedding != "" {
		fmt.Fprintf(&b, "  embedding   %s: vectors for tests, which know words and no meaning\n", embedding)
	}
	b.WriteString("\n")
	switch at := s.ListensAt(); {
	case at != s.URL():
		fmt.Fprintf(&b, "It listens at %s, and these are the addresses of --advertise.\n\n", at)
	case s.EveryInterface():
		b.WriteString("It listens on every interface: other machines use an address of this one in place of 127.0.0.1; --advertise URL prints it.\n\n")
	}
	for _, v := range s.Env() {
		fmt.Fprintf(&b, "export %s=%s\n", v.Name, shellQuoted(v.Value))
	}
	fmt.Fprintf(&b, "\nTry it:\n  curl -X POST '%s' -H 'Authorization: Bearer %s' -H '%sRetries: 1' -d '{\"hello\":\"world\"}'\n",
		s.URL()+route.PublishMessage.Path(s.URL()+"/_understudy/sink/status/200"), s.Token(), s.HeaderPrefix())
	fmt.Fprintf(&b, "  curl '%s/_understudy/deliveries'\n", s.URL())
	fmt.Fprintf(&b, "\nWatch it: %s/_understudy/\n", s.URL())
	_, _ = io.WriteString(w, b.String()) // nobody may be reading
}

// plainWord needs no quotes in a shell.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]*$`)

// shellQuoted is a text as a shell reads it.
func shellQuoted(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ready writes the one line that scripts wait for. It appears whole or not at
// all.
func (c *ServeCmd) ready(s *mockserver.Server) error {
	if c.ReadyFile == "" {
		return nil
	}
	vars := map[string]string{}
	for _, v := range s.Env() {
		vars[v.Name] = v.Value
	}
	line, err := json.Marshal(map[string]any{
		"pid": os.Getpid(), "url": s.URL(), "regionUrl": s.RegionURL(), "managementUrl": s.ManagementURL(), "vectorUrl": s.VectorURL(), "kvUrl": s.KVURL(),
		"controlUrl": s.URL() + "/_understudy", "listensAt": s.ListensAt(), "token": s.Token(), "env": vars,
	})
	if err != nil {
		return err
	}
	part := c.ReadyFile + ".part"
	if err := os.WriteFile(part, append(line, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(part, c.ReadyFile)
}
