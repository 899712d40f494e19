package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/engine/store/sqlite"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/saved"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// ReplayCmd replays a journal.
type ReplayCmd struct {
	Journal string `arg:"" type:"path" help:"A file from ctl journal export, or a data folder (serve --data DIR) whose server is stopped."`
	Until   string `placeholder:"TIME|LSN" env:"-" help:"Stop after this record, or after the last record up to this time of the account's clock: 2026-01-31T14:03:00Z, or Unix ms. Default: the end."`
	Account string `placeholder:"ID" env:"-" help:"The account. Default: the only one."`
	Records bool   `env:"-" help:"Print the records instead of the log: number, time, command, arguments."`
	JSON    bool   `name:"json" env:"-" help:"Print JSON, one object per line."`
	Serve   bool   `env:"-" help:"Serve that state read-only, including the page, until interrupted."`
	Addr    string `default:"127.0.0.1:0" env:"-" help:"Address for --serve to listen on; port 0 takes a free port."`
}

// Help is the long help of the command.
func (*ReplayCmd) Help() string {
	return `Prints the log of events as the account had it, or serves its state at that instant. It makes no delivery attempts, stops the clock and does not change the journal.

A folder that a running server uses cannot be replayed: export its journal (understudy ctl journal export FILE) and replay the file.`
}

// Run prints the log or the records, or serves the state.
func (k *ReplayCmd) Run(e *env) error {
	if k.Serve && (k.JSON || k.Records) {
		return usageError("--serve: prints no log: leave out --json and --records")
	}
	until := tenant.Until{}
	if k.Until != "" {
		var err error
		if until, err = tenant.ParseUntil(k.Until); err != nil {
			return usageError("replay: --%w", err)
		}
	}
	until.Read = new(atomic.Int64)
	from, err := k.open(e.ctx)
	if err != nil {
		return usageError("replay: %w", err)
	}
	defer from.Close() //nolint:errcheck // only read
	account, err := k.choose(e.ctx, from)
	if err != nil {
		return usageError("replay: %w", err)
	}
	if k.Records {
		return k.records(e, from, account, until)
	}
	log, err := e.logger("warn", "text")
	if err != nil {
		return err
	}
	cfg := mockserver.Config{Addr: k.Addr, Store: from, Replay: &until, Accounts: []mockserver.Account{{ID: account}}, Log: log, Outbound: "stub-only"}
	stop := e.progress(nil, func(context.Context) string { return countOf(float64(until.Read.Load()), "record") + " replayed" })
	s, err := k.start(cfg)
	stop()
	if err != nil {
		return usageError("replay: %w", err)
	}
	defer s.Close() //nolint:errcheck // a replay writes nothing
	position, _ := s.Position(account)
	k.say(e, account, &position)
	if k.Serve {
		_, _ = fmt.Fprintf(e.out, "Replay of %s is running at %s, read-only\n\nWatch it: %s/_understudy/\n", k.Journal, s.URL(), s.URL())
		<-e.ctx.Done()
		return nil
	}
	out := bufio.NewWriter(e.out)
	err = s.LogOf(account, func(l mockserver.LogLine) error { return k.print(out, l.Text, l.JSON) })
	return errors.Join(err, out.Flush())
}

// start starts a server. It listens only with --serve.
func (k *ReplayCmd) start(cfg mockserver.Config) (*mockserver.Server, error) {
	if k.Serve {
		return mockserver.Run(cfg)
	}
	return mockserver.New(cfg)
}

// say prints to stderr at which record the replay has ended.
func (k *ReplayCmd) say(e *env, account string, p *tenant.Position) {
	if p.LSN == 0 && p.Snapshot {
		_, _ = fmt.Fprintf(e.err, "understudy: account %s as it was at %s; the file has no records before that: its server kept none\n", account, utcTime(p.At))
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "understudy: account %s after record %d, of %s", account, p.LSN, utcTime(p.At))
	if p.Kind != "" {
		fmt.Fprintf(&b, " (%s)", p.Kind)
	}
	if p.Next != nil {
		fmt.Fprintf(&b, "; next: record of %s (%s)", utcTime(p.Next.At), p.Next.Kind)
	} else {
		b.WriteString(", the last one")
	}
	if p.Snapshot {
		fmt.Fprintf(&b, "; the journal was compacted: it begins with the state after record %d, and earlier states are gone", p.First)
	}
	_, _ = fmt.Fprintln(e.err, b.String())
}

func (k *ReplayCmd) print(out io.Writer, text string, v any) error {
	if !k.JSON {
		_, err := fmt.Fprintln(out, text)
		return err
	}
	line, err := json.Marshal(v)
	if err == nil {
		_, err = out.Write(append(line, '\n'))
	}
	return err
}

// records prints the commands without a replay.
func (k *ReplayCmd) records(e *env, from store.Store, account string, until tenant.Until) error {
	log, err := from.Open(e.ctx, account)
	if err != nil {
		return usageError("replay: %w", err)
	}
	out := bufio.NewWriter(e.out)
	position, err := tenant.List(e.ctx, log, until, func(r tenant.Listed) error {
		return k.print(out, strings.TrimRight(fmt.Sprintf("%8d  %s  %-16s %s", r.LSN, utcTime(r.Time()), r.Kind, r.Arguments), " "), r)
	})
	if err = errors.Join(err, out.Flush()); err != nil {
		return usageError("replay: %w", err)
	}
	k.say(e, account, &position)
	return nil
}

// open opens a data folder or an exported file.
func (k *ReplayCmd) open(ctx context.Context) (store.Store, error) {
	info, err := os.Stat(k.Journal)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return saved.OpenFile(k.Journal)
	}
	if _, err := os.Stat(filepath.Join(k.Journal, sqlite.DatabaseFile)); err != nil {
		return nil, fmt.Errorf("%s: must be a data folder of this program, which has a file %s", k.Journal, sqlite.DatabaseFile)
	}
	st, err := sqlite.Open(ctx, sqlite.Config{Dir: k.Journal, Log: slog.New(slog.DiscardHandler)})
	if errors.Is(err, store.ErrInUse) {
		return nil, fmt.Errorf("data folder %s: in use by a running server: export its journal with `understudy ctl journal export FILE` and replay the file, or stop the server", k.Journal)
	}
	if err != nil {
		return nil, err
	}
	return st, nil
}

// choose is the account of --account, or the only one.
func (k *ReplayCmd) choose(ctx context.Context, from store.Store) (string, error) {
	ids, err := from.Accounts(ctx)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", fmt.Errorf("%s: has no account: nothing has been written to it", k.Journal)
	case k.Account == "" && len(ids) == 1:
		return ids[0], nil
	case k.Account == "":
		return "", fmt.Errorf("%s: has %d accounts: choose one with --account: %s", k.Journal, len(ids), firstNames(ids))
	case !slices.Contains(ids, k.Account):
		return "", fmt.Errorf("--account %q: not found in %s, which has %s", k.Account, k.Journal, firstNames(ids))
	}
	return k.Account, nil
}

// firstNames lists up to 10 names.
func firstNames(names []string) string {
	const most = 10
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

type (
	ctlKept struct {
		Export ctlExport `cmd:"" help:"Write the journal to a file for understudy replay." example:"understudy ctl journal export bug.journal"`
	}
	ctlExport struct {
		File          string `arg:"" optional:"" help:"Output file. Default: standard output."`
		WithoutBodies bool   `env:"-" help:"Replace bodies with placeholders of the same length."`
	}
)

// Help is the long help of the command.
func (*ctlExport) Help() string {
	return `Writes the journal of all accounts, or of --account: the last snapshot and the commands since, as one file that can be sent with a bug report. Without --data, a server keeps no commands: the file has a snapshot of the present state.

Replaced by dummies of the same length: the tokens, passwords and signing keys of the account; header values that hold credentials, such as Authorization, Cookie, X-Api-Key and those whose name ends with token, secret or password, of messages, forwarded headers, callbacks, answers, steps and stubs; user and password in URLs, and query parameters with such names. The same secret has the same dummy throughout the file.

Not replaced: other headers, URLs, labels, ids, queue, group and schedule names, errors, vectors with their metadata, and the bodies of messages, answers and steps, whatever they hold. --without-bodies replaces these bodies too; vectors and their metadata stay.`
}

// Run exports the journal.
func (k *ctlExport) Run(e *env, c *CtlCmd) error {
	query := url.Values{"bodies": {fmt.Sprint(!k.WithoutBodies)}}
	if k.File == "" {
		return c.call(e, http.MethodGet, "journal/export", query, nil, e.out)
	}
	size, err := c.download(e, k.File, "journal/export", query)
	if err != nil {
		return failedAs("journal export", err)
	}
	return c.done(e, map[string]any{"file": k.File, "bytes": size}, "{{plain .bytes}} bytes written to {{.file}}; replay them with: understudy replay {{sh .file}}")
}

// utcTime is a time with its milliseconds, in UTC.
func utcTime(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05.000") }
