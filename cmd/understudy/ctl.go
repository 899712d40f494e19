package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/mockserver/gate/origin"
	"github.com/understudy-mock/understudy/mockserver/saved/fixture"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/traffic"
	"github.com/understudy-mock/understudy/spec"
)

// remote is the control API of a running stand-in.
type remote struct {
	URL     address `default:"http://127.0.0.1:8080" help:"Address of the stand-in."`
	Token   string  `name:"control-token" aliases:"token" placeholder:"T" help:"Token of the control API."`
	Account string  `placeholder:"ID" nonempty:"" help:"Account to act on. Default: the first. * means all, except for lists."`

	CAFile string `name:"ca-file" env:"UNDERSTUDY_CA_FILE" placeholder:"FILE" help:"Trust the certificates in this file (PEM) as well as those of the system; for the CA of serve --tls-self-signed."`

	header http.Header       // sent with the next calls
	flags  *strings.Replacer // the flags and arguments that places in errors of the server stand for; nil: none
	client *http.Client      // nil: the first call creates it
}

// address is the URL of a stand-in. Its scheme is http when the flag has none.
type address string

// UnmarshalText parses a flag.
func (a *address) UnmarshalText(text []byte) error {
	s := string(text)
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	if u, err := url.Parse(s); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("invalid value %q: must be the address of a server, such as http://127.0.0.1:8080", text)
	}
	*a = address(s)
	return nil
}

// base is the URL without a slash at its end.
func (a address) base() string { return strings.TrimRight(string(a), "/") }

// CtlCmd talks to the control API of a running stand-in.
type CtlCmd struct {
	remote `embed:""`

	Output string `short:"o" default:"auto" enum:"auto,table,json" help:"Format of lists: table, json, or auto (a table on a terminal, else JSON)."`

	Health     ctlGet      `cmd:"" help:"Show whether the stand-in is running, and its clock."`
	Reset      ctlReset    `cmd:"" help:"Forget everything except the configuration."`
	Clock      ctlClock    `cmd:"" help:"Show the clock, set its mode, or correct it."`
	Advance    ctlAdvance  `cmd:"" help:"Advance a manual clock, and wait for everything that becomes due."`
	Settle     ctlSettle   `cmd:"" help:"Wait until no attempt is ready or in flight."`
	Messages   ctlMessages `cmd:"" help:"List messages, or the events of one message."`
	Cancel     ctlCancel   `cmd:"" name:"cancel-family" help:"Cancel a message with all messages that follow from it by deliveries of the server to itself."`
	Runs       ctlRuns     `cmd:"" help:"List workflow runs, or the events of one run."`
	DLQ        ctlDLQ      `cmd:"" name:"dlq" help:"List the dead letter queue."`
	Search     ctlSearch   `cmd:"" help:"Find messages, runs, DLQ entries and log events by words and filters."`
	Schedules  ctlSchedule `cmd:"" help:"List schedules, or run one now."`
	Undo       ctlUndo     `cmd:"" help:"List the undo points of an account, go back to one, or create one."`
	Publish    ctlPublish  `cmd:"" help:"Publish a message."`
	Notify     ctlNotify   `cmd:"" help:"Notify the workflow runs that wait for an event."`
	Restart    ctlRestart  `cmd:"" help:"Restart failed workflow runs from their first step."`
	Resume     ctlResume   `cmd:"" help:"Resume failed workflow runs at the step that failed."`
	Requests   ctlJournal  `cmd:"" help:"List the journal of API requests."`
	Deliveries ctlJournal  `cmd:"" help:"List the journal of deliveries."`
	Stub       ctlStub     `cmd:"" help:"List stubs, add one (URL STATUS[:BODY]...), or clear them."`
	Fault      ctlFault    `cmd:"" help:"List faults, add one (api or delivery), or clear them."`
	Rewrites   ctlRewrites `cmd:"" help:"List rewrites, or set them (FROM=TO ...)."`
	Fixture    ctlFixture  `cmd:"" aliases:"seed" help:"Load a fixture file: URL groups, messages, runs, DLQ entries and history."`
	Fleet      ctlFleet    `cmd:"" help:"Show the servers of the fleet, and which server has each account."`
	Journal    ctlKept     `cmd:"" help:"Export the journal of a server with --data."`
	Snapshot   ctlSnapshot `cmd:"" help:"Save the whole state to a file, or load it."`
}

type (
	ctlGet   struct{}
	ctlReset struct{}
	ctlClock struct {
		Mode    string `arg:"" optional:"" help:"real, manual or auto."`
		Correct bool   `env:"-" help:"Set a real clock that is ahead to the clock of the machine. All times of the state move back by the same amount; nothing is lost."`
	}
	ctlCancel struct {
		ID string `arg:"" help:"Id of any message of the family."`
	}
	ctlJournal struct {
		Limit  int    `aliases:"count" help:"Show only the latest N." placeholder:"N"`
		Match  string `placeholder:"TEXT" help:"Only those with this message id (deliveries) or operation id (requests)."`
		Follow bool   `help:"Print new entries as they arrive, one per line, until interrupted."`
		HAR    string `name:"har" placeholder:"FILE" help:"Print an HTTP archive (HAR), which browser tools can open."`
	}
	ctlStub struct {
		URL     string   `arg:"" optional:"" help:"A URL with *, or /expression/."`
		Answers []string `arg:"" optional:"" help:"STATUS[@DELAY][:BODY], one after the other; the last one repeats."`
		Delay   string   `placeholder:"DURATION" help:"How long each answer without @DELAY takes on the clock of the account, such as 3s."`
		File    string   `placeholder:"FILE" help:"Replace all stubs by the list in this YAML or JSON file ('spec --schema stubs' describes it)."`
		Clear   bool     `help:"Remove all stubs."`
	}
	ctlRewrites struct {
		Pairs []string `arg:"" optional:"" help:"FROM=TO."`
		Clear bool     `help:"Remove all rewrites."`
	}
)

// Run prints the health of the stand-in.
func (*ctlGet) Run(e *env, c *cli) error { return c.Ctl.show(e, http.MethodGet, "health", nil, nil) }

// Run resets the stand-in.
func (*ctlReset) Run(e *env, c *cli) error { return c.Ctl.show(e, http.MethodPost, "reset", nil, nil) }

// Run shows or sets the clock.
func (k *ctlClock) Run(e *env, c *cli) error {
	body := map[string]any{}
	if k.Mode != "" {
		body["mode"] = k.Mode
	}
	if k.Correct {
		body["correct"] = true
	}
	if len(body) == 0 {
		return c.Ctl.show(e, http.MethodGet, "clock", nil, nil)
	}
	return c.Ctl.show(e, http.MethodPut, "clock", nil, body)
}

// Run cancels a family of messages, and prints how many.
func (k *ctlCancel) Run(e *env, c *cli) error {
	return c.Ctl.show(e, http.MethodPost, "messages/"+url.PathEscape(k.ID)+"/cancel-family", nil, nil)
}

// Run prints the journal of requests or of deliveries.
func (k *ctlJournal) Run(e *env, c *cli) error {
	q := url.Values{"limit": {fmt.Sprint(traffic.Limit)}}
	if k.Limit > 0 {
		q.Set("limit", fmt.Sprint(k.Limit))
	}
	name := "requests"
	if k == &c.Ctl.Deliveries {
		name = "deliveries"
	}
	if k.Match != "" {
		q.Set(map[string]string{"requests": "operationId", "deliveries": "messageId"}[name], k.Match)
	}
	switch {
	case k.Follow:
		return c.Ctl.follow(e, name, q)
	case k.HAR != "":
		return c.Ctl.har(e, name, q, k.HAR)
	}
	table := &requestTable
	if name == "deliveries" {
		table = &deliveryTable
	}
	return c.Ctl.table(e, name, q, table)
}

// Run lists, adds or clears stubs.
func (k *ctlStub) Run(e *env, c *cli) error {
	switch {
	case k.File != "" && (k.Clear || k.URL != "" || k.Delay != ""):
		return usageError("--file: must be used without a URL, --delay and --clear: the file has all stubs")
	case k.File != "":
		return k.load(e, c)
	case k.Clear:
		return c.Ctl.show(e, http.MethodDelete, "stubs", nil, nil)
	case k.URL == "":
		return c.Ctl.table(e, "stubs", nil, &stubTable)
	}
	if _, err := strconv.Atoi(k.URL); err == nil {
		return usageError("<url>: invalid value %q: must be a URL, and the statuses come after it", k.URL)
	}
	if len(k.Answers) == 0 {
		return usageError("<answers>: missing: must be one or more of STATUS[:BODY], such as 503 or 200:ok")
	}
	var list []any
	if err := c.Ctl.call(e, http.MethodGet, "stubs", nil, nil, &list); err != nil {
		return err
	}
	answers := []stub.Answer{}
	for _, text := range k.Answers {
		answer := stub.ParseAnswer(text)
		answer.Delay = cmp.Or(answer.Delay, k.Delay)
		answers = append(answers, answer)
	}
	added := append([]any{stub.Stub{URL: k.URL, Answers: answers}}, list...)
	return c.Ctl.show(e, http.MethodPut, "stubs", nil, added)
}

// load replaces all stubs by the stubs in a file.
func (k *ctlStub) load(e *env, c *cli) error {
	text, err := os.ReadFile(k.File)
	if err != nil {
		return usageError("--file: %w", err)
	}
	list, err := fixture.ReadStubs(k.File, text)
	if err != nil {
		return usageError("--file %w", err)
	}
	return c.Ctl.show(e, http.MethodPut, "stubs", nil, list)
}

// Run lists, sets or clears rewrites.
func (k *ctlRewrites) Run(e *env, c *cli) error {
	switch {
	case k.Clear:
		return c.Ctl.show(e, http.MethodDelete, "rewrites", nil, nil)
	case len(k.Pairs) == 0:
		return c.Ctl.show(e, http.MethodGet, "rewrites", nil, nil)
	}
	m := map[string]string{}
	for _, pair := range k.Pairs {
		from, to, ok := strings.Cut(pair, "=")
		if !ok {
			return usageError("rewrite: invalid value %q: must be FROM=TO", pair)
		}
		m[from] = to
	}
	return c.Ctl.show(e, http.MethodPut, "rewrites", nil, m)
}

// show calls the control API and prints the answer.
func (c *CtlCmd) show(e *env, method, path string, q url.Values, body any) error {
	var answer json.RawMessage
	if err := c.call(e, method, path, q, body, &answer); err != nil {
		return err
	}
	return c.print(e, answer, nil)
}

// streamedTypes are the content types of answers that call copies while they arrive.
var streamedTypes = []string{"application/json", "application/x-ndjson"}

// call sends a request and decodes the JSON answer into answer, or copies it to an io.Writer.
// An error has the server's text.
func (c *remote) call(e *env, method, path string, q url.Values, body, answer any) error {
	if q == nil {
		q = url.Values{}
	}
	if c.Account != "" {
		q.Set("account", c.Account)
	}
	var reader io.Reader = http.NoBody
	switch raw := body.(type) {
	case nil:
	case []byte:
		reader = bytes.NewReader(raw)
	case io.Reader:
		reader = raw
	default:
		b, err := json.Marshal(body)
		if err != nil {
			return usageError("%w", err)
		}
		reader = bytes.NewReader(b)
	}
	target := c.URL.base() + "/_understudy/" + path
	if len(q) > 0 {
		target += "?" + q.Encode()
	}
	r, err := http.NewRequestWithContext(e.ctx, method, target, reader)
	if err != nil {
		return usageError("--url: invalid value %q: %w", c.URL, err)
	}
	maps.Copy(r.Header, c.header)
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	response, err := c.do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if to, ok := answer.(io.Writer); ok && response.StatusCode == http.StatusOK && slices.Contains(streamedTypes, response.Header.Get("Content-Type")) {
		if _, err := io.Copy(to, response.Body); err != nil {
			return command.Fail(command.ExitUnreachable, err)
		}
		return nil
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return command.Fail(command.ExitUnreachable, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		var refused struct{ Error string }
		if why := spec.WrongScheme(target, string(text)); why != "" {
			return command.Fail(command.ExitUnreachable, fmt.Errorf("stand-in unreachable at %s: %w", c.URL, wrongScheme(why)))
		}
		if json.Unmarshal(text, &refused) != nil || refused.Error == "" {
			return command.Fail(command.ExitUnreachable, fmt.Errorf("%s is not a stand-in: it answers %s", c.URL, response.Status))
		}
		code := command.ExitFailed
		if response.StatusCode == http.StatusBadRequest || response.StatusCode == http.StatusUnauthorized {
			code = command.ExitUsage
		}
		if c.flags != nil {
			refused.Error = c.flags.Replace(refused.Error)
		}
		return command.Fail(code, errors.New(refused.Error+c.helpOn(response)))
	}
	for name, values := range response.Header {
		if strings.HasSuffix(name, "-Warning") { // with the dialect's prefix
			_, _ = fmt.Fprintln(e.err, "understudy: warning: "+strings.Join(values, "; "))
		}
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return command.Fail(command.ExitUnreachable, fmt.Errorf("%s is not a stand-in: its answer is not JSON", c.URL))
	}
	return nil
}

// helpOn is " (see URL)" with the documentation of a refusal that the response links to, ""
// without a link.
func (c *remote) helpOn(r *http.Response) string {
	section, ok := strings.CutSuffix(r.Header.Get("Link"), `>; rel="help"`)
	if !ok {
		return ""
	}
	return " (see " + c.URL.base() + strings.TrimPrefix(section, "<") + ")"
}

// do sends a request to the stand-in. Its error says what the user can do.
func (c *remote) do(r *http.Request) (*http.Response, error) {
	if c.client == nil {
		transport, err := trustingTransport(c.CAFile)
		if err != nil {
			return nil, usageError("--ca-file: %w", err)
		}
		c.client = &http.Client{Transport: transport}
	}
	if c.Token == "" && namesLoopback(r.Context(), r.URL.Hostname()) {
		r.Host = "localhost" // another name does not open the control API without a token
	}
	response, err := c.client.Do(r)
	if err == nil {
		return response, nil
	}
	hint := "`understudy serve` starts one"
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		hint = "--ca-file FILE names the CA to trust; a server with --tls-self-signed prints its own"
	}
	if why := spec.WrongSchemeOf(r.Context(), r.URL.String(), err); why != "" {
		return nil, command.Fail(command.ExitUnreachable, fmt.Errorf("stand-in unreachable at %s: %w", c.URL, wrongScheme(why)))
	}
	return nil, command.Fail(command.ExitUnreachable, fmt.Errorf("stand-in unreachable at %s: %w; %s", c.URL, urlCause(err), hint))
}

// namesLoopback reports whether a name has only addresses of loopback, for example because of
// a line in the hosts file.
func namesLoopback(ctx context.Context, name string) bool {
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	return err == nil && !slices.ContainsFunc(list, func(a netip.Addr) bool { return !a.Unmap().IsLoopback() })
}

// trustingTransport is the default transport, or one that also trusts the certificates in a
// file.
func trustingTransport(file string) (http.RoundTripper, error) {
	if file == "" {
		return http.DefaultTransport, nil
	}
	roots, err := trustedRoots(file)
	if err != nil {
		return nil, err
	}
	return &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}, nil
}

// trustedRoots are the certificates of the system and of a file.
func trustedRoots(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil { // the system has none
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate: must be PEM", file)
	}
	return roots, nil
}

// wrongScheme is the error for HTTP sent to a TLS port, or TLS sent to a port of plain HTTP.
type wrongScheme string

func (w wrongScheme) Error() string { return string(w) }

// urlCause is the error inside a *url.Error, because the text of the latter repeats the URL.
func urlCause(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// HealthCmd is for container health checks.
type HealthCmd struct {
	URL address `default:"http://127.0.0.1:8080" help:"Address of the stand-in, over http or https."`
}

// Run succeeds when the stand-in is ready. The health check of an image cannot depend on the
// flags of its server: when a port on loopback answers plain HTTP with a TLS error, Run asks
// again over TLS. It sends no secret, so it accepts any certificate.
func (h *HealthCmd) Run(e *env) error {
	anyone := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	c := remote{URL: h.URL, client: &http.Client{Transport: anyone}}
	var answer json.RawMessage
	err := c.call(e, http.MethodGet, "readyz", nil, nil, &answer)
	_, other := errors.AsType[wrongScheme](err)
	if host, plain := strings.CutPrefix(h.URL.base(), "http://"); other && plain && origin.LocalHost(host) {
		c.URL = address("https://" + host)
		return c.call(e, http.MethodGet, "readyz", nil, nil, &answer)
	}
	return err
}
