package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/vector"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// begin is the first record of a journal, and the record of each later start of
// the process. It contains what the following commands depend on, and makes
// attempts that were in flight ready again.
type begin struct {
	Rules   int
	Program string // version, for people
	Cron    string // version of the library that computes the times of schedules
	Formula string // version of the library that computed retry delays, in records of older builds
	Zones   string // fingerprint of the time-zone data
	Clock   string // real, manual or auto

	Parallel        int
	PerHost         int // 0: no limit, in journals of versions without one
	MaxCreated      int
	Seed            uint64
	Random          bool // the seed is random
	CurrentKey      string
	NextKey         string
	PricePerMessage float64
	VectorLag       time.Duration
	VectorIndexes   []vector.Config
}

// apply also replays later starts of the process: the configuration of that start applies to
// the commands after it, and interrupted attempts are ready again.
func (c begin) apply(a *Account) error {
	if err := c.readable(); err != nil {
		return err
	}
	a.configure(c)
	if a.state.IDs.Source == nil {
		a.cfg.CurrentKey, a.cfg.NextKey = c.CurrentKey, c.NextKey
		a.begun(c.Seed)
	}
	a.cfg.CurrentKey = cmp.Or(a.cfg.CurrentKey, a.state.CurrentKey) // signing keys survive a Reset
	a.cfg.NextKey = cmp.Or(a.cfg.NextKey, a.state.NextKey)
	a.follow(c.Clock, nil)
	a.putBack()
	return nil
}

// configure applies the settings that the next commands depend on.
func (a *Account) configure(c begin) {
	a.settings = c
	a.cfg.Parallel, a.cfg.MaxCreated, a.cfg.Seed, a.random = c.Parallel, c.MaxCreated, c.Seed, c.Random
	a.cfg.PricePerMessage, a.cfg.VectorLag, a.cfg.VectorIndexes = c.PricePerMessage, c.VectorLag, c.VectorIndexes
}

// begun sets the initial state of an account, except the time.
func (a *Account) begun(seed uint64) {
	now := a.state.Now
	a.replace(state.New(seed, a.cfg.CurrentKey, a.cfg.NextKey))
	a.state.Now = now
}

// putBack makes attempts that were in flight ready again, in order of creation and before
// everything else that is ready. Messages with a pending cancel request are cancelled.
func (a *Account) putBack() {
	var cut []*Message
	for _, m := range a.state.Messages {
		if m.InFlight {
			cut = append(cut, m)
		}
	}
	slices.SortFunc(cut, func(x, y *Message) int {
		return cmp.Or(cmp.Compare(x.CreatedAt, y.CreatedAt), strings.Compare(x.ID, y.ID))
	})
	var ready state.FIFO[state.ReadyTurn]
	for _, m := range cut {
		if m.InFlight = false; !m.Canceled {
			ready.Push(state.ReadyTurn{Message: m})
		}
	}
	a.state.Shares.All(ready.Push)
	a.state.Ready.All(ready.Push)
	a.state.Ready, a.state.Shares, a.state.Running = ready, state.Shares{}, 0
	for _, m := range cut {
		if m.Canceled {
			a.cutOff(m)
		}
	}
}

// cutOff cancels a message whose attempt will not end.
func (a *Account) cutOff(m *Message) {
	a.releaseFlow(m)
	a.move(m, Canceled, state.LogEntry{})
	a.end(m)
}

// Open continues the account of a journal: the state of a snapshot (nil: empty), and then the
// records after it. They are replayed with the settings in the snapshot, or with those of cfg
// if it has none. It repeats the attempts that were in flight, and appends new records to
// cfg.Journal. The configuration may differ from that of the records: it applies from now on.
func Open(cfg Config, from *Snapshot, records iter.Seq2[journal.Record, error]) (*Account, error) {
	a, err := replayedAccount(cfg, from, records, func(*Account) {})
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.unlock()
	a.replaying = false
	a.stamp()
	c := begin{Rules: journalRules, Clock: modeOf(cfg.Clock, cfg.Auto),
		Parallel: parallelOf(cfg), PerHost: cmp.Or(cfg.PerHost, maxPerHost), MaxCreated: cmp.Or(cfg.MaxCreated, DefaultMaxCreated), Seed: cfg.Seed, CurrentKey: cfg.CurrentKey, NextKey: cfg.NextKey,
		PricePerMessage: cfg.PricePerMessage, VectorLag: cfg.VectorLag, VectorIndexes: cfg.VectorIndexes}
	if c.Seed == 0 {
		c.Seed, c.Random = rand.Uint64(), true
	}
	if cfg.Journal != nil {
		c.Program, c.Cron, c.Zones = moduleVersion(programModule), moduleVersion(cronModule), zoneVersion()
	}
	err = applyDeed(a, c)
	return a, err
}

// Replay returns the account of a journal as it was after the last record. It
// is read-only: only ReplayNext changes it.
func Replay(cfg Config, from *Snapshot, records iter.Seq2[journal.Record, error]) (*Account, error) {
	a, err := replayedAccount(cfg, from, records, (*Account).rekey)
	if err == nil && a.state.IDs.Source == nil {
		return nil, refusal.Of(ErrInvalid, "journal", "", "empty: must begin with its header")
	}
	return a, err
}

// ReplayNext applies the next record to an account of Replay.
func (a *Account) ReplayNext(r journal.Record) error {
	a.lock()
	defer a.unlock()
	if !a.replaying {
		return refusal.Of(ErrInvalid, "account", a.cfg.ID, "follows no journal")
	}
	return a.replay(r)
}

// replayedAccount is the account after the last of the records.
func replayedAccount(cfg Config, from *Snapshot, records iter.Seq2[journal.Record, error], begun func(*Account)) (*Account, error) {
	a := newAccount(cfg)
	a.replaying = true
	if from != nil {
		if err := a.standAt(from); err != nil {
			return nil, err
		}
		begun(a)
	}
	if records == nil {
		return a, nil
	}
	for r, err := range records {
		if err == nil {
			err = a.replay(r)
		}
		if err != nil {
			return nil, err
		}
	}
	return a, nil
}

// standAt sets the account to the state of a snapshot. Attempts that were in
// flight are in flight again, until the record of their outcome.
func (a *Account) standAt(from *Snapshot) error {
	restored, err := from.Take()
	if err != nil {
		return err
	}
	a.cfg.Parallel = parallelOf(a.cfg)
	a.cfg.MaxCreated = cmp.Or(a.cfg.MaxCreated, DefaultMaxCreated)
	a.cfg.CurrentKey = cmp.Or(a.cfg.CurrentKey, restored.CurrentKey)
	a.cfg.NextKey = cmp.Or(a.cfg.NextKey, restored.NextKey)
	restored.ReadAnswers(a.cfg.Wire.ReadAnswer)
	a.replace(restored)
	if err := a.resumeSettings(from.Settings); err != nil {
		return err
	}
	a.mode, a.lsn, a.savedLSN = from.Clock, from.LSN, from.LSN
	for range from.InFlight {
		a.state.Ready.Pop()
	}
	for _, m := range slices.Concat(from.InFlight, from.Canceling) {
		m.InFlight = true
		a.state.Running++
		a.state.Shares.Count(a.state.Shares.Of(m.URL), 1)
	}
	a.launch()
	return nil
}

// parallelOf is the largest number of concurrent attempts.
func parallelOf(cfg Config) int {
	switch {
	case cfg.Parallel > 0:
		return cfg.Parallel
	case cfg.Seed != 0:
		return 1
	}
	return DefaultParallel
}

// replay applies one record. Attempts that it starts are in flight until the
// record of their outcome.
func (a *Account) replay(r journal.Record) error {
	k, ok := kindNamed(r.Kind)
	switch {
	case !ok:
		return refusal.Of(ErrInvalid, "journal", "", fmt.Sprintf("record %d: unknown kind %q", r.LSN, r.Kind))
	case a.lsn > 0 && r.LSN != a.lsn+1:
		return refusal.Of(ErrInvalid, "journal", "", fmt.Sprintf("record %d follows record %d", r.LSN, a.lsn))
	case a.state.IDs.Source == nil && k.body != reflect.TypeFor[begin]():
		return refusal.Of(ErrInvalid, "journal", "", fmt.Sprintf("begins with record %d, a %s: must be its header or a snapshot", r.LSN, r.Kind))
	}
	if err := a.settings.readable(); err != nil && k.body != reflect.TypeFor[begin]() {
		return err // a snapshot needs no rules, but the records after it do
	}
	a.state.Now, a.lsn = r.At, r.LSN
	if err := k.apply(a, r.Body); err != nil && !(k.brief && errors.Is(err, ErrNotFound)) {
		return refusal.At(fmt.Sprintf("journal: record %d, %s", r.LSN, r.Kind), err)
	}
	if a.unlike != nil {
		return a.unlike
	}
	a.turned = false
	a.launch()
	return nil
}

// modeOf is the name of a clock.
func modeOf(c clock.Clock, auto bool) string {
	switch _, manual := c.(*clock.Manual); {
	case !manual:
		return "real"
	case auto:
		return "auto"
	}
	return "manual"
}

// newAccount returns an account without state.
func newAccount(cfg Config) *Account {
	a := &Account{cfg: cfg, cancels: map[*Message]context.CancelFunc{}, settings: begin{Rules: journalRules}}
	a.cfg.MaxDescendants = cmp.Or(cfg.MaxDescendants, DefaultMaxDescendants)
	if cfg.Log == nil {
		a.cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Memory == nil {
		a.cfg.Memory = &Ledger{}
	}
	a.ctx, a.stop = context.WithCancel(context.Background())
	a.quiet = sync.NewCond(&a.mu)
	a.outbox.alarm.clock = cfg.Clock
	return a
}
