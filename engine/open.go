package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/memory"
	"github.com/understudy-mock/understudy/engine/vector"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// journalRules counts the changes of what commands do to the state: a journal of
// other rules would be replayed to another state.
const journalRules = 1

// begin is the header of a journal, and the record of each later start: what the
// commands that follow depend on. What was in flight is ready again.
type begin struct {
	Rules   int
	Program string // version, for people
	Cron    string // versions of what computes the times of schedules
	Formula string // and the waits before retries
	Zones   string // fingerprint of the time-zone data
	Clock   string // real, manual or auto

	Parallel        int
	MaxCreated      int
	Seed            uint64
	Random          bool // the seed was drawn
	CurrentKey      string
	NextKey         string
	PricePerMessage float64
	VectorLag       time.Duration
	VectorIndexes   []vector.Config
}

// apply is also the record of a later start of the process: the configuration that it had
// holds for the commands that follow, and attempts that were cut off are ready again.
func (c begin) apply(a *Account) (nothing, error) {
	if err := c.readable(); err != nil {
		return nothing{}, err
	}
	a.otherZones = a.otherZones || c.Zones != "" && c.Zones != zoneVersion()
	a.cfg.Parallel, a.cfg.MaxCreated, a.cfg.Seed, a.random = c.Parallel, c.MaxCreated, c.Seed, c.Random
	a.cfg.PricePerMessage, a.cfg.VectorLag, a.cfg.VectorIndexes = c.PricePerMessage, c.VectorLag, c.VectorIndexes
	if a.state.IDs.Source == nil {
		a.cfg.CurrentKey, a.cfg.NextKey = c.CurrentKey, c.NextKey
		a.begun(c.Seed)
	}
	a.cfg.CurrentKey = cmp.Or(a.cfg.CurrentKey, a.state.CurrentKey) // these outlive a Reset
	a.cfg.NextKey = cmp.Or(a.cfg.NextKey, a.state.NextKey)
	a.follow(c.Clock, nil)
	a.putBack()
	return nothing{}, nil
}

// readable refuses what was written by other rules.
func (c *begin) readable() error {
	if c.Rules != journalRules {
		return refusal.Of(ErrInvalid, "journal", "", fmt.Sprintf("written by version %q of the program with rules %d; this version has rules %d: start that version and save a snapshot", c.Program, c.Rules, journalRules))
	}
	for _, l := range []struct{ what, theirs, ours string }{{"cron expressions", c.Cron, moduleVersion(cronModule)}, {"formulas", c.Formula, moduleVersion(formulaModule)}} {
		if c.Cron != "" && l.theirs != l.ours {
			return refusal.Of(ErrInvalid, "journal", "", fmt.Sprintf("written by version %q of the program, which computes %s by %s; this version does by %s: start that version and save a snapshot", c.Program, l.what, l.theirs, l.ours))
		}
	}
	return nil
}

// The modules whose versions a journal depends on.
const (
	cronModule    = "github.com/adhocore/gronx"
	formulaModule = "github.com/expr-lang/expr"
	programModule = "github.com/understudy-mock/understudy"
)

// moduleVersion is a module and its version in this program.
func moduleVersion(path string) string { return path + " " + cmp.Or(moduleVersions()[path], "(devel)") }

var moduleVersions = sync.OnceValue(func() map[string]string {
	versions := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			versions[m.Path] = m.Version
		}
	}
	return versions
})

// zoneVersion is a fingerprint of the time-zone data: the offsets of zones whose rules
// have often changed, each quarter from 1970 to 2040.
var zoneVersion = sync.OnceValue(func() string {
	h := fnv.New64a()
	for _, name := range strings.Fields("Africa/Cairo Africa/Casablanca America/Mexico_City America/New_York America/Sao_Paulo Asia/Amman Asia/Gaza Asia/Tehran Europe/Berlin Europe/Istanbul Europe/Moscow Pacific/Apia") {
		zone, err := time.LoadLocation(name)
		if err != nil {
			continue
		}
		for at := time.Unix(0, 0).In(zone); at.Year() < 2040; at = at.AddDate(0, 3, 0) {
			_, offset := at.Zone()
			_, _ = fmt.Fprintln(h, name, at.Unix(), offset) // never fails
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
})

// begun puts in place what an account begins with; time stays.
func (a *Account) begun(seed uint64) {
	now := a.state.Now
	a.replace(state.New(seed, a.cfg.CurrentKey, a.cfg.NextKey))
	a.state.Now = now
}

// putBack makes ready again what was in flight, in the order of creation and
// before all else that is ready. What was being cancelled is cancelled.
func (a *Account) putBack() {
	var cut []*Message
	for _, m := range a.state.Messages {
		if m.Cancel != nil {
			cut = append(cut, m)
		}
	}
	slices.SortFunc(cut, func(x, y *Message) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), strings.Compare(x.ID, y.ID))
	})
	var ready state.FIFO[state.ReadyTurn]
	for _, m := range cut {
		if m.Cancel = nil; !m.Canceled {
			ready.Push(state.ReadyTurn{Message: m})
		}
	}
	a.state.Shares.All(ready.Push)
	a.state.Ready.All(ready.Push)
	a.state.Ready, a.state.Shares, a.state.Running = ready, state.HostShares{}, 0
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

// Open continues the account of a journal: the state of a snapshot, nil for none,
// then that of the records which follow it. Records behind a snapshot that begin
// without a header are replayed with what cfg says. It makes the attempts again that were
// in flight, and appends further records to cfg.Journal. The configuration may be
// another one than that of the records: it holds from now on.
func Open(cfg Config, from *Snapshot, records iter.Seq2[journal.Record, error]) (*Account, error) {
	a, err := replayedAccount(cfg, from, records)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.unlock()
	a.replaying = false
	a.stamp()
	c := begin{Rules: journalRules, Clock: modeOf(cfg.Clock, cfg.Auto),
		Parallel: parallelOf(cfg), MaxCreated: cmp.Or(cfg.MaxCreated, DefaultMaxCreated), Seed: cfg.Seed, CurrentKey: cfg.CurrentKey, NextKey: cfg.NextKey,
		PricePerMessage: cfg.PricePerMessage, VectorLag: cfg.VectorLag, VectorIndexes: cfg.VectorIndexes}
	if c.Seed == 0 {
		c.Seed, c.Random = rand.Uint64(), true
	}
	if cfg.Journal != nil {
		c.Program, c.Cron, c.Formula, c.Zones = moduleVersion(programModule), moduleVersion(cronModule), moduleVersion(formulaModule), zoneVersion()
	}
	_, err = applyCommand(a, c)
	return a, err
}

// replayOnly is the account of a journal as it was after the last record. It stands
// still: it can be read and closed, and no command changes it.
func replayOnly(cfg Config, from *Snapshot, records iter.Seq2[journal.Record, error]) (*Account, error) {
	a, err := replayedAccount(cfg, from, records)
	if err == nil && a.state.IDs.Source == nil {
		return nil, refusal.Of(ErrInvalid, "journal", "", "empty: must begin with its header")
	}
	return a, err
}

// replayedAccount refuses schedules with time zones where the zones may differ from those
// of the writer: their next times would, and with them every later state.
func replayedAccount(cfg Config, from *Snapshot, records iter.Seq2[journal.Record, error]) (*Account, error) {
	a := newAccount(cfg)
	a.replaying = true
	if from != nil {
		if err := a.standAt(from); err != nil {
			return nil, err
		}
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
	if a.otherZones && a.zoned {
		return nil, refusal.Of(ErrInvalid, "journal", "", "its schedules have time zones, and it was written with other time-zone data: start it where that is, and save a snapshot")
	}
	return a, nil
}

// standAt puts the account where it was when a snapshot was written: what was in
// flight then is so again, until the record of its outcome.
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
	a.mode, a.lsn = from.Clock, from.LSN
	for range from.InFlight {
		a.state.Ready.Pop()
	}
	for _, m := range slices.Concat(from.InFlight, from.Canceling) {
		m.Cancel = func() {}
		a.state.Running++
		a.state.Shares.Count(a.state.Shares.Of(m), 1)
	}
	a.launch()
	return nil
}

// parallelOf is how many attempts are made at once.
func parallelOf(cfg Config) int {
	switch {
	case cfg.Parallel > 0:
		return cfg.Parallel
	case cfg.Seed != 0:
		return 1
	}
	return DefaultParallel
}

// replay applies one record. What it starts is in flight until the record of its
// outcome.
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
	a.state.Now, a.lsn = r.At, r.LSN
	if err := k.apply(a, r.Body); err != nil && !(k.brief && errors.Is(err, ErrNotFound)) {
		return refusal.At(fmt.Sprintf("journal: record %d, %s", r.LSN, r.Kind), err)
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

// newAccount has no state yet.
func newAccount(cfg Config) *Account {
	a := &Account{cfg: cfg}
	if cfg.Log == nil {
		a.cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Memory == nil {
		a.cfg.Memory = &memory.Ledger{}
	}
	a.ctx, a.stop = context.WithCancel(context.Background())
	a.quiet = sync.NewCond(&a.mu)
	a.outbox.alarm.clock = cfg.Clock
	return a
}
