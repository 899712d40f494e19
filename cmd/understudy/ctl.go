package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/spec"
)

// remote is a running stand-in, as its control API sees it.
type remote struct {
	URL     address `default:"http://127.0.0.1:8080" help:"Address of the stand-in."`
	Token   string  `name:"control-token" aliases:"token" placeholder:"T" help:"Token of the control API."`
	Account string  `placeholder:"ID" help:"Account to act on; * for all, which lists do not take. Default: the first."`

	header http.Header // of the next calls
}

// address is that of a stand-in, also without its scheme.
type address string

// UnmarshalText reads a flag.
func (a *address) UnmarshalText(text []byte) error {
	s := string(text)
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	if u, err := url.Parse(s); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q: must be the address of a server, such as http://127.0.0.1:8080", text)
	}
	*a = address(s)
	return nil
}

// base is what paths follow.
func (a address) base() string { return strings.TrimRight(string(a), "/") }

// CtlCmd talks to the control API of a running stand-in.
type CtlCmd struct {
	remote `embed:""`

	Output string `short:"o" default:"auto" enum:"auto,table,json" help:"Form of lists: table, json, or auto: a table on a terminal and JSON elsewhere."`

	Health     ctlGet      `cmd:"" help:"Is it running, and on which clock?"`
	Reset      ctlReset    `cmd:"" help:"Forget everything but configuration."`
	Clock      ctlClock    `cmd:"" help:"Show the clock, or set its mode."`
	Advance    ctlAdvance  `cmd:"" help:"Move a manual clock, and wait for all that this causes."`
	Settle     ctlSettle   `cmd:"" help:"Wait until nothing is ready or in flight."`
	Messages   ctlMessages `cmd:"" help:"List messages, or the events of one."`
	Runs       ctlRuns     `cmd:"" help:"List workflow runs, or the events of one."`
	DLQ        ctlDLQ      `cmd:"" name:"dlq" help:"List the dead letter queue."`
	Publish    ctlPublish  `cmd:"" help:"Publish a message."`
	Notify     ctlNotify   `cmd:"" help:"Notify the workflow runs that wait for an event."`
	Restart    ctlRestart  `cmd:"" help:"Restart failed workflow runs from their first step."`
	Resume     ctlResume   `cmd:"" help:"Resume failed workflow runs at the step that failed."`
	Requests   ctlJournal  `cmd:"" help:"The journal of API requests."`
	Deliveries ctlJournal  `cmd:"" help:"The journal of deliveries."`
	Stub       ctlStub     `cmd:"" help:"List stubs, add one (URL STATUS[:BODY]...), or clear them."`
	Fault      ctlFault    `cmd:"" help:"List faults, add one (api or delivery), or clear them."`
	Rewrites   ctlRewrites `cmd:"" help:"List rewrites, or set them (FROM=TO ...)."`
	Fixture    ctlFixture  `cmd:"" aliases:"seed" help:"Load a fixture file: groups, messages, runs, DLQ entries, history."`
	Snapshot   ctlSnapshot `cmd:"" help:"Save the whole state to a file, or load it."`
}

type (
	ctlGet   struct{}
	ctlReset struct{}
	ctlClock struct {
		Mode string `arg:"" optional:"" help:"real, manual or auto."`
	}
	ctlAdvance struct {
		By      string `arg:"" help:"A duration such as 90s, 24h or 7d; 'to:UNIX_MS'; 'next' for the next timer; 'idle' until none is left but those of schedules."`
		Timeout string `default:"60s" help:"Real time that it may take."`
	}
	ctlSettle struct {
		Timeout string `default:"5s" help:"Real time that it may take."`
	}
	ctlJournal struct {
		Limit  int    `aliases:"count" help:"Only the latest N." placeholder:"N"`
		Match  string `placeholder:"TEXT" help:"Only those whose message id (deliveries) or operation id (requests) is this."`
		Follow bool   `help:"Print new entries as they come, a line each, until interrupted."`
		HAR    string `name:"har" placeholder:"FILE" help:"Write them as an HTTP archive, which browsers' tools read."`
	}
	ctlStub struct {
		URL     string   `arg:"" optional:"" help:"A URL with *, or /expression/."`
		Answers []string `arg:"" optional:"" help:"STATUS[:BODY], in turn; the last repeats."`
		Delay   string   `placeholder:"DURATION" help:"Time that each answer takes, on the clock of the account, such as 3s."`
		Clear   bool     `help:"Remove all stubs."`
	}
	ctlRewrites struct {
		Pairs []string `arg:"" optional:"" help:"FROM=TO."`
		Clear bool     `help:"Remove all rewrites."`
	}
)

// Run asks for health.
func (*ctlGet) Run(e *env, c *cli) error { return c.Ctl.show(e, http.MethodGet, "health", nil, nil) }

// Run resets.
func (*ctlReset) Run(e *env, c *cli) error { return c.Ctl.show(e, http.MethodPost, "reset", nil, nil) }

// Run shows or sets the clock.
func (k *ctlClock) Run(e *env, c *cli) error {
	if k.Mode == "" {
		return c.Ctl.show(e, http.MethodGet, "clock", nil, nil)
	}
	return c.Ctl.show(e, http.MethodPut, "clock", nil, map[string]string{"mode": k.Mode})
}

// Run advances.
func (k *ctlAdvance) Run(e *env, c *cli) error {
	body := map[string]any{"by": k.By, "timeout": k.Timeout}
	if at, ok := strings.CutPrefix(k.By, "to:"); ok {
		body = map[string]any{"to": json.Number(at), "timeout": k.Timeout}
	} else if k.By == "next" || k.By == "idle" {
		body = map[string]any{"until": k.By, "timeout": k.Timeout}
	}
	return c.Ctl.show(e, http.MethodPost, "clock/advance", nil, body)
}

// Run settles.
func (k *ctlSettle) Run(e *env, c *cli) error {
	return c.Ctl.show(e, http.MethodPost, "settle", nil, map[string]string{"timeout": k.Timeout})
}

// Run prints a journal: its command's name is the path.
func (k *ctlJournal) Run(e *env, c *cli) error {
	q := url.Values{}
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
	case k.Clear:
		return c.Ctl.show(e, http.MethodDelete, "stubs", nil, nil)
	case k.URL == "":
		return c.Ctl.table(e, "stubs", nil, &stubTable)
	}
	var list []any
	if err := c.Ctl.call(e, http.MethodGet, "stubs", nil, nil, &list); err != nil {
		return err
	}
	answers := []map[string]any{}
	for _, text := range k.Answers {
		status, body, _ := strings.Cut(text, ":")
		answers = append(answers, map[string]any{"status": status, "body": body, "delay": k.Delay})
	}
	if len(answers) == 0 && k.Delay != "" {
		answers = append(answers, map[string]any{"delay": k.Delay})
	}
	added := append([]any{map[string]any{"url": k.URL, "answers": answers}}, list...)
	return c.Ctl.show(e, http.MethodPut, "stubs", nil, added)
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
			return usageError("rewrite %q: accepted is FROM=TO", pair)
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

// call makes one call; the server's error text becomes ours.
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
		return usageError("--url %q: %w", c.URL, err)
	}
	maps.Copy(r.Header, c.header)
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		if why := spec.WrongSchemeOf(e.ctx, target, err); why != "" {
			return command.Fail(command.ExitUnreachable, fmt.Errorf("no stand-in at %s: %s", c.URL, why))
		}
		return command.Fail(command.ExitUnreachable, fmt.Errorf("no stand-in at %s: %w; `understudy serve` starts one", c.URL, urlCause(err)))
	}
	defer response.Body.Close()
	if to, ok := answer.(io.Writer); ok && response.StatusCode == http.StatusOK && response.Header.Get("Content-Type") == "application/json" {
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
			return command.Fail(command.ExitUnreachable, fmt.Errorf("no stand-in at %s: %s", c.URL, why))
		}
		if json.Unmarshal(text, &refused) != nil || refused.Error == "" {
			return command.Fail(command.ExitUnreachable, fmt.Errorf("%s is no stand-in: it answers %s", c.URL, response.Status))
		}
		code := command.ExitFailed
		if response.StatusCode == http.StatusBadRequest || response.StatusCode == http.StatusUnauthorized {
			code = command.ExitUsage
		}
		return command.Fail(code, errors.New(refused.Error))
	}
	for name, values := range response.Header {
		if strings.HasSuffix(name, "-Warning") { // with the dialect's prefix
			_, _ = fmt.Fprintln(e.err, "understudy: warning: "+strings.Join(values, "; "))
		}
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return command.Fail(command.ExitUnreachable, fmt.Errorf("%s is no stand-in: its answer is not JSON", c.URL))
	}
	return nil
}

// urlCause is what lies under a *url.Error, whose text repeats the URL.
func urlCause(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// HealthCmd is for container health checks.
type HealthCmd struct {
	URL address `default:"http://127.0.0.1:8080" help:"Address of the stand-in."`
}

// Run exits 0 when the stand-in is ready.
func (h *HealthCmd) Run(e *env) error {
	c := remote{URL: h.URL}
	var answer json.RawMessage
	return c.call(e, http.MethodGet, "readyz", nil, nil, &answer)
}
