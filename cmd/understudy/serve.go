package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	_ "github.com/understudy-mock/understudy/mockserver/complete"
	"github.com/understudy-mock/understudy/mockserver/stub"

	"github.com/alecthomas/kong"
	"github.com/gofrs/flock"

	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/fleet"
	"github.com/understudy-mock/understudy/mockserver/gate"
	"github.com/understudy-mock/understudy/mockserver/otlp"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/mask"
	"github.com/understudy-mock/understudy/spec/route"
)

// ServeCmd runs the stand-in.
type ServeCmd struct {
	Addr                  string            `default:"${addr}" help:"Address to listen on; port 0 takes a free port."`
	Dialect               string            `default:"auto" help:"Naming of the interface: auto (each request by its own names), svc, upstash, or a YAML file."`
	Clock                 string            `help:"real (default), manual (moved with ctl advance) or auto (skips to the next timer)."`
	Seed                  uint64            `default:"0" help:"The same seed repeats ids, signatures and logs; 0 for random."`
	Account               []string          `placeholder:"ID:TOKEN" help:"An account; repeatable. Default: the dialect's development account."`
	Accounts              string            `default:"fixed" enum:"fixed,any" help:"fixed, or any: every unknown token gets its own account."`
	Rewrite               map[string]string `placeholder:"FROM=TO" help:"Send deliveries for FROM to TO; repeatable."`
	Stub                  []string          `sep:"none" placeholder:"URL=STATUS[@DELAY][:BODY]" help:"Answer deliveries to URL (* matches any characters) without network access, such as https://app.test/*=200@3s; repeatable."`
	StubPreset            []string          `enum:"echo-hosts" placeholder:"NAME" help:"Predefined stubs: echo-hosts."`
	MaxBody               string            `default:"6MiB" help:"Largest request body, such as 512KiB or 16MiB."`
	MaxAnswer             string            `default:"10MiB" help:"How much of an answer of a destination is kept, such as 512KiB or 64MiB."`
	MaxDescendants        int               `default:"10000" placeholder:"N" help:"Maximum number of messages that follow from one message by deliveries of the server to itself; beyond it, these deliveries end in the DLQ as a loop."`
	MaxMessages           int               `default:"10000" placeholder:"N" help:"Maximum number of messages that one request may create; a batch counts each endpoint of its URL groups."`
	Memory                string            `default:"512MiB" help:"Memory for journals, log and answers; the oldest bodies are dropped first."`
	MaxBacklog            string            `default:"2GiB" placeholder:"N|SIZE" help:"Refuse publishes with 429 when N messages, or SIZE bytes of messages, DLQ entries and runs, are open; for example 100000 or 2GiB."`
	ValidateResponses     bool              `default:"true" negatable:"" help:"Check the server's own answers against the OpenAPI document."`
	ControlToken          string            `placeholder:"T" help:"Token of the control API and the page, needed on loopback as well. Without it, they are open on loopback only."`
	ControlOpenOnLoopback bool              `help:"Open the control API and the page on loopback without the token of --control-token; not behind a proxy."`
	Outbound              string            `default:"allow" enum:"allow,loopback-only,stub-only" help:"Where deliveries without a stub may go: allow (anywhere), loopback-only or stub-only (nowhere)."`
	StrictOptions         bool              `help:"Refuse unknown configuration names."`
	PricePerMessage       float64           `default:"0.00001" help:"Price of a message, for the cost figures of the statistics."`
	VectorLag             time.Duration     `default:"0s" help:"How long a vector change stays pending."`
	VectorIndex           []string          `sep:"none" placeholder:"NAME=TYPE:DIM:FUNCTION" help:"A vector index, such as docs=DENSE:1536:COSINE; repeatable. Default: one index, whose type and dimension come from the first vector."`
	Embed                 []string          `placeholder:"hash" help:"hash: compute vectors from texts by hashing their words, for tests; docs=hash,words=hash: only in these indexes; repeatable. Without it, texts are refused."`
	ListenRegion          string            `placeholder:"ADDR" help:"Separate address for the region host."`
	ListenManagement      string            `placeholder:"ADDR" help:"Separate address for the management host."`
	ListenVector          string            `placeholder:"ADDR" help:"Separate address for the vector host."`
	Advertise             string            `placeholder:"URL" help:"URL at which clients and the other servers of a fleet reach this server, such as http://understudy:8080. Banner, ready file, env and page print it. Default: the address it listens on."`
	ReadyFile             string            `placeholder:"FILE" help:"When ready, write a JSON line with addresses, credentials and environment variables."`
	Snapshot              string            `placeholder:"FILE" help:"Start with the state in FILE if it exists, and save the state there at a clean stop."`
	Data                  dataPlace         `placeholder:"DIR|nats://A,B,C" help:"Keep the state in this folder, or in this JetStream cluster, which several servers can share. Accepted requests survive a crash of the process or the machine."`
	DataAcceptLoss        bool              `help:"Start from a damaged folder: skip what cannot be read, and keep the damaged files."`
	DataReplicas          int               `placeholder:"N" help:"Number of copies of the data in a JetStream cluster. Default: 3, or 1 if the cluster has fewer than 3 servers."`
	FleetURL              string            `name:"fleet-url" placeholder:"URL" help:"URL at which clients reach the fleet as a whole, such as that of a load balancer. Deliveries to it count as deliveries to the fleet itself."`
	FleetSecret           string            `env:"UNDERSTUDY_FLEET_SECRET" placeholder:"TEXT" help:"Secret that all servers of a fleet share; required unless they listen on loopback only."`
	Fixture               []string          `placeholder:"FILE" help:"Load a fixture file when starting without a snapshot; repeatable."`
	SnapshotEvery         time.Duration     `placeholder:"DURATION" help:"Save the snapshot at this interval as well."`
	OTLP                  string            `name:"otlp" placeholder:"URL" help:"Send a trace of each message and run to this OpenTelemetry collector, such as http://localhost:4318. The standard variables OTEL_* also apply. Default: OTEL_EXPORTER_OTLP_ENDPOINT, if it is set."`
	TraceURL              string            `name:"trace-url" placeholder:"URL" help:"Where a trace is shown, for links of the page, such as http://localhost:16686/trace/{traceId}."`
	TraceContext          bool              `default:"true" negatable:"" help:"Deliveries carry traceparent and tracestate: those of the publisher, or new ones."`
	UntilEOF              bool              `name:"until-eof" help:"Stop, as with SIGTERM, when standard input ends, so that the server does not outlive a killed parent process."`
	UntilEOFOf            int               `name:"until-eof-of" env:"-" placeholder:"FD" help:"As --until-eof, for the file descriptor FD: standard input is left to the command of run."`
	Quiet                 bool              `help:"Log only errors of the stand-in itself; same as --log-level error."`
	Verbose               bool              `help:"Also print the addresses of all hosts, the credentials and a curl command at the start."`
	LogLevel              string            `default:"${loglevel}" help:"debug, info (retried attempts), warn (failed messages and runs, refused requests) or error."`
	LogFormat             string            `default:"text" enum:"text,json" help:"text or json."`

	tlsFlags `embed:""`

	store store.Store    // nil: in memory
	spans *otlp.Exporter // nil: none
	fleet *fleet.Fleet   // nil: no fleet
	lock  *flock.Flock   // on the snapshot file; nil: none
}

// Run serves until it receives a signal to stop, or its standard input ends.
func (c *ServeCmd) Run(e *env, at *kong.Context) error {
	s, cfg, err := c.start(e, "serve", at.Selected())
	if err != nil {
		return err
	}
	flags := changedFlags(at.Selected(), func(f *kong.Flag, text string) string {
		if hasSecret(f) {
			return " " + mask.Hidden
		}
		return " " + clip.Shell(mask.Text(text))
	}, "addr", "verbose", "quiet", "log-level", "log-format") // the address and the output are visible anyway
	c.printBanner(e.out, s, strings.Join(flags, " ")) // last, so that programs that wait for it find the ready file
	c.saveUntil(e.ctx, s, cfg.Log)
	return c.stop(s)
}

// start starts the stand-in that the flags of a command describe. command is the name in
// errors. After an error, it releases what it has opened.
func (c *ServeCmd) start(e *env, command string, node *kong.Node) (s *mockserver.Server, cfg mockserver.Config, err error) {
	defer func() {
		if err != nil {
			mockserver.CloseListeners(cfg.Listeners)
			_ = c.closeTLS() // the first error is reported
			c.closeTraces()
			_ = c.closeData()
			_ = c.release()
		}
	}()
	var running atomic.Pointer[mockserver.Server]
	keepLean(&running)
	if cfg, err = c.config(e); err != nil {
		return nil, cfg, err
	}
	cfg.Flags = reportedFlags(node)
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
	if err := c.dataFlags(); err != nil {
		return nil, cfg, err
	}
	if cfg.Listeners, err = mockserver.Listen(cfg); err != nil {
		return nil, cfg, startError(command, err)
	}
	saved, err := c.state(cfg.Log)
	if err != nil {
		return nil, cfg, err
	}
	if saved != nil {
		defer saved.Close() //nolint:errcheck // only read
		cfg.Snapshot = saved
	}
	if c.store, err = c.openData(e.ctx, cfg.Log, e.warn); err != nil {
		return nil, cfg, err
	}
	cfg.Store = c.store
	if c.fleet != nil { // a nil pointer in an interface is not nil
		cfg.Fleet = c.fleet
	}
	if err = c.openTraces(e.ctx, &cfg); err != nil {
		return nil, cfg, err
	}
	if err = c.openTLS(&cfg); err != nil {
		return nil, cfg, err
	}
	for _, name := range c.Fixture {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, cfg, usageError("--fixture: %w", err)
		}
		cfg.Fixtures = append(cfg.Fixtures, mockserver.Fixture{Name: name, Text: text})
	}
	if c.ReadyFile != "" {
		_ = os.Remove(c.ReadyFile) // a file of an earlier server is wrong for this one; writing it reports errors
	}
	switch s, err = mockserver.Run(cfg); {
	case errors.Is(err, mockserver.ErrSnapshot):
		return nil, cfg, usageError("--snapshot %s: %w", c.Snapshot, err)
	case err != nil:
		return nil, cfg, startError(command, err)
	}
	running.Store(s)
	for _, text := range s.Warnings() {
		e.warn(text)
	}
	c.warnOfName(e.err, s)
	if err := c.ready(s); err != nil {
		_ = s.Close() // the first error is reported
		return nil, cfg, usageError("--ready-file: %w", err)
	}
	return s, cfg, nil
}

// startError is an error of the server as one of the command.
func startError(command string, err error) error {
	if configError.MatchString(err.Error()) {
		return usageError("--%w", err)
	}
	return usageError("%s: %w", command, err)
}

// configError matches errors of the server about a value of its configuration, which they
// name like the flag.
var configError = regexp.MustCompile(`^[a-z]+(-[a-z]+)*: invalid value `)

// stop closes the stand-in, saves its state, and releases what start has opened, also after
// an error.
func (c *ServeCmd) stop(s *mockserver.Server) error {
	closed := s.Close()
	c.closeTraces()
	return errors.Join(closed, c.save(s), c.closeTLS(), c.closeData(), c.release())
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
		return mockserver.Config{}, usageError("--clock: invalid value %q: must be one of %s, %s, %s", c.Clock, clocks[1], clocks[2], clocks[3])
	}
	cfg := mockserver.Config{
		Addr: c.Addr, RegionAddr: c.ListenRegion, ManagementAddr: c.ListenManagement, VectorAddr: c.ListenVector,
		Dialect: dialect, Clock: c.Clock, Seed: c.Seed, AnyAccount: c.Accounts == "any", Rewrites: c.Rewrite,
		SkipResponseCheck: !c.ValidateResponses, StrictOptions: c.StrictOptions, ControlToken: c.ControlToken, ControlOpenOnLoopback: c.ControlOpenOnLoopback, TraceContext: c.TraceContext, TraceURL: c.TraceURL,
		PricePerMessage: c.PricePerMessage, Outbound: c.Outbound, Embed: strings.Join(c.Embed, ","), VectorLag: c.VectorLag, Log: log,
	}
	if c.Advertise != "" {
		if cfg.Advertise, err = mockserver.ParseAdvertise(c.Advertise); err != nil {
			return cfg, usageError("--advertise: %w", err)
		}
	}
	if cfg.MaxDescendants = c.MaxDescendants; c.MaxDescendants < 1 {
		return cfg, usageError("--max-descendants: invalid value %d: must be an integer of 1 or more", c.MaxDescendants)
	}
	if cfg.MaxMessages = c.MaxMessages; c.MaxMessages < 1 {
		return cfg, usageError("--max-messages: invalid value %d: must be an integer of 1 or more", c.MaxMessages)
	}
	for _, size := range []struct {
		name, text string
		bytes      *int64
	}{{"max-answer", c.MaxAnswer, &cfg.MaxAnswer}, {"max-body", c.MaxBody, &cfg.MaxBody}, {"memory", c.Memory, &cfg.Memory}} {
		if *size.bytes, err = byteCount(size.text); err != nil {
			return cfg, usageError("--%s: %w", size.name, err)
		}
	}
	if cfg.MaxBacklog, cfg.MaxBacklogBytes, err = parseBacklog(c.MaxBacklog); err != nil {
		return cfg, usageError("--max-backlog: %w", err)
	}
	for _, text := range c.Account {
		id, token, ok := strings.Cut(text, ":")
		if !ok || id == "" || token == "" {
			return cfg, usageError("--account: invalid value %q: must be ID:TOKEN", id)
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
		cfg.Stubs = append(cfg.Stubs, stub.EchoHosts...)
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

// parseBacklog reads a number of messages or a size. The other result is 0.
func parseBacklog(text string) (messages, bytes int64, err error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		return n, 0, nil
	}
	if bytes, err = byteCount(text); err != nil {
		return 0, 0, fmt.Errorf("invalid value %q: must be a number of messages, such as 100000, or a size, such as 2GiB", text)
	}
	return 0, bytes, nil
}

// byteCount reads a size such as 512KiB, from 1 byte to 1 TiB.
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
		return 0, fmt.Errorf("invalid value %q: must be a size of at least 1 byte, such as 65536, 512KiB or 4MiB", text)
	}
	return n * factor, nil
}

// controlCredential is the option of curl with the control token, "" when calls on loopback
// need none. The banner does not show the token, because logs keep banners.
func (c *ServeCmd) controlCredential() string {
	if c.ControlToken == "" || c.ControlOpenOnLoopback {
		return ""
	}
	return ` -H "Authorization: Bearer $UNDERSTUDY_CONTROL_TOKEN"`
}

// printBanner prints how to use the server, in one write. changed are the flags without their
// defaults.
func (c *ServeCmd) printBanner(w io.Writer, s *mockserver.Server, changed string) {
	var b strings.Builder
	fmt.Fprintf(&b, "Understudy %s is running at %s\n\n  Page     %s/_understudy/\n", mockserver.Version, s.URL(), s.URL())
	ask := "understudy env"
	if s.URL() != defaultURL {
		ask += " --url " + clip.Shell(s.URL())
	}
	if c.ca != "" {
		ask += " --ca-file " + clip.Shell(c.ca)
	}
	vars := credentials(s.Env())
	rows := [][2]string{{`eval "$(` + ask + `)"`, fmt.Sprintf("sets %s, %s and %d more for every client", vars[0].Name, vars[1].Name, len(vars)-2)}}
	if vars := s.DevelopmentEnv(); len(vars) > 0 {
		words := make([]string, len(vars))
		for i, v := range vars {
			words[i] = v.Name + "=" + v.Value
		}
		rows = append(rows, [2]string{strings.Join(words, " "), "JavaScript clients need nothing else"})
	}
	for i, r := range rows {
		fmt.Fprintf(&b, "  %-7s  %-*s  %s\n", map[int]string{0: "Clients"}[i], len(rows[0][0]), r[0], r[1])
	}
	if changed != "" {
		fmt.Fprintf(&b, "  Flags    %s\n", changed)
	}
	b.WriteString("  More     understudy serve --verbose, understudy --help\n\n")
	switch at := s.ListensAt(); {
	case at != s.URL():
		fmt.Fprintf(&b, "It listens at %s, and these are the addresses of --advertise.%s\n\n", at, hostsHint(s.URL(), at))
	case s.EveryInterface():
		b.WriteString("It listens on every interface: other machines use an address of this one in place of 127.0.0.1; --advertise URL prints it.\n\n")
	}
	if c.ca != "" {
		fmt.Fprintf(&b, "It serves TLS with a generated certificate. Clients must trust its CA, %s: NODE_EXTRA_CA_CERTS (Node.js), SSL_CERT_FILE (Python, Go), --cacert (curl), --ca-file (understudy ctl).\n\n", c.ca)
	}
	if c.Verbose {
		c.describe(&b, s)
	}
	_, _ = io.WriteString(w, b.String()) // there may be no reader
}

// defaultURL is where the commands look for a server.
const defaultURL = "http://127.0.0.1:8080"

// credentials are the variables that published clients and the commands of Understudy read;
// all, if no published client reads one.
func credentials(all []mockserver.EnvVar) []mockserver.EnvVar {
	if strings.HasPrefix(all[0].Name, "UNDERSTUDY_") {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(v mockserver.EnvVar) bool {
		return strings.HasPrefix(v.Name, "UNDERSTUDY_") && !slices.Contains([]string{"UNDERSTUDY_URL", "UNDERSTUDY_TOKEN", "UNDERSTUDY_CA_FILE"}, v.Name)
	})
}

// describe prints the hosts, the credentials and a command that publishes.
func (c *ServeCmd) describe(b *strings.Builder, s *mockserver.Server) {
	fmt.Fprintf(b, "  messaging   %s\n  region      %s\n  management  %s\n  vector      %s\n  key-value   %s\n", s.URL(), s.RegionURL(), s.ManagementURL(), s.VectorURL(), s.KVURL())
	if len(c.Embed) > 0 {
		fmt.Fprintf(b, "  embedding   %s: vectors for tests, based on words and not on meaning\n", strings.Join(c.Embed, ","))
	}
	b.WriteString("\n")
	vars, token := credentials(s.Env()), ""
	for _, v := range vars {
		fmt.Fprintf(b, "export %s=%s\n", v.Name, clip.Shell(v.Value))
		if token == "" && strings.HasSuffix(v.Name, "_TOKEN") {
			token = v.Value
		}
	}
	curl := "curl"
	if c.ca != "" {
		curl += " --cacert " + clip.Shell(c.ca)
	}
	fmt.Fprintf(b, "\nTry it:\n  %s -X POST '%s' -H 'Authorization: Bearer %s' -d '{\"hello\":\"world\"}'\n",
		curl, s.URL()+route.PublishMessage.Path(s.URL()+"/_understudy/sink/status/200"), token)
	fmt.Fprintf(b, "  %s%s '%s/_understudy/deliveries'\n\n", curl, c.controlCredential(), s.URL())
}

// changedFlags are the flags of a command that have other values than their defaults. How those
// with a value show it, with what is before it, is up to shown.
func changedFlags(node *kong.Node, shown func(f *kong.Flag, text string) string, without ...string) (flags []string) {
	for _, f := range node.Flags {
		text := textOfFlag(f.Target)
		switch {
		case text == f.Default || f.Target.IsZero() && f.Default == "" || f.Name == "help" || slices.Contains(without, f.Name):
		case f.IsBool():
			flags = append(flags, map[bool]string{true: "--", false: "--no-"}[f.Target.Bool()]+f.Name)
		default:
			flags = append(flags, "--"+f.Name+shown(f, text))
		}
	}
	return flags
}

// hasSecret reports whether the value of a flag may be a secret.
func hasSecret(f *kong.Flag) bool { return mask.Secret(f.Name) || f.Name == "account" }

// textOfFlag is the value of a flag as on the command line.
func textOfFlag(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case []string:
		return strings.Join(value, ",")
	case map[string]string:
		var pairs []string
		for _, name := range sortedNames(value) {
			pairs = append(pairs, name+"="+value[name])
		}
		return strings.Join(pairs, ";")
	default:
		return textOf(value)
	}
}

// hostsHint has the line of the hosts file with which programs on this machine reach a server
// at its advertised name, "" if that is not what they need.
func hostsHint(advertised, listens string) string {
	name, port := hostPort(advertised)
	address, at := hostPort(listens)
	if _, err := netip.ParseAddr(name); err == nil || port != at || gate.LocalHost(name) || !gate.LocalHost(address) {
		return ""
	}
	return fmt.Sprintf(" For programs on this machine, add this line to /etc/hosts:\n\n%s %s", address, name)
}

// hostPort splits the URL of a listener, whose port may be that of its scheme.
func hostPort(address string) (host, port string) {
	u, _ := url.Parse(address) // the server has built it
	return u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// ready writes the file that scripts wait for. It renames a complete file, so that no script
// reads a part.
func (c *ServeCmd) ready(s *mockserver.Server) error {
	if c.ReadyFile == "" {
		return nil
	}
	state := map[string]any{
		"pid": os.Getpid(), "url": s.URL(), "regionUrl": s.RegionURL(), "managementUrl": s.ManagementURL(), "vectorUrl": s.VectorURL(), "kvUrl": s.KVURL(),
		"controlUrl": s.URL() + "/_understudy", "listensAt": s.ListensAt(), "token": s.Token(), "env": byName(s.Env()),
	}
	if c.ControlToken != "" {
		state["controlToken"] = c.ControlToken
	}
	if c.ca != "" {
		state["caFile"] = c.ca
	}
	line, err := json.Marshal(state)
	if err != nil {
		return err
	}
	part := c.ReadyFile + ".part"
	if err := os.WriteFile(part, append(line, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(part, c.ReadyFile)
}
