package tenant

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"os"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/engine/store"
)

// maxReaders is the largest number of concurrent readers of an account's journal. A
// snapshot replaces the journal only while there are none.
const maxReaders = 16

// ReadJournal calls do with the stored journal of an account, which continues to work
// meanwhile, here or in another server. Accounts without a store have no journal.
func (r *Registry) ReadJournal(ctx context.Context, t *Tenant, do func(History) error) error {
	if shared, ok := r.cfg.Store.(store.Shared); ok && t.Elsewhere() {
		_, cfg := r.furnished(t.Credentials)
		there, err := shared.Read(ctx, t.ID)
		if err != nil {
			return ofData(t.ID, err)
		}
		return do(History{ID: t.ID, Settings: settingsOf(cfg), Journal: there})
	}
	if t.kept == nil {
		return refusal.Of(refusal.Unfit, "account", t.ID, "has no journal: the server keeps it in memory; `understudy serve --data DIR` keeps one")
	}
	if err := t.reading.Acquire(ctx, 1); err != nil {
		return err
	}
	defer t.reading.Release(1)
	if err := t.keeping.Acquire(ctx, 1); err != nil {
		return err
	}
	about := t.about
	t.keeping.Release(1)
	return do(History{ID: t.ID, Settings: t.settings, Journal: tenantJournal{t.kept, about}})
}

// ReadState is ReadJournal for an account without a store: the journal that it calls do with has
// only a snapshot of the present state, in a temporary file.
func (r *Registry) ReadState(_ context.Context, t *Tenant, do func(History) error) error {
	file, err := os.CreateTemp("", "understudy-state-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // temporary
	defer file.Close()           //nolint:errcheck // nothing is lost
	if err := t.Account.WriteSnapshot(file); err != nil {
		return err
	}
	about, err := json.Marshal(r.surroundings(t))
	if err != nil {
		return err
	}
	_, cfg := r.furnished(t.Credentials)
	return do(History{ID: t.ID, Settings: settingsOf(cfg), Journal: presentState{file, about}})
}

// presentState is a journal without records.
type presentState struct {
	snapshot io.ReaderAt
	about    []byte
}

// About is part of store.Kept.
func (s presentState) About() []byte { return s.about }

// Snapshot is part of store.Kept.
func (s presentState) Snapshot(context.Context) (io.Reader, error) {
	return io.NewSectionReader(s.snapshot, 0, math.MaxInt64), nil
}

// Records is part of store.Kept.
func (presentState) Records(context.Context) iter.Seq2[journal.Record, error] {
	return func(func(journal.Record, error) bool) {}
}

// StateAt returns the state of an account where the replay of its journal ends, and the ends of the
// journal. It does not touch the account.
func (r *Registry) StateAt(ctx context.Context, t *Tenant, until Until) (step Step, ends Ends, err error) {
	err = r.ReadJournal(ctx, t, func(from History) error {
		step, ends, err = r.walk.at(ctx, from.Settings.Apply(r.named(t, r.cfg.Engine)), from, until)
		return err
	})
	return step, ends, err
}

// Behind returns the size of an account's journal since its snapshot.
func (r *Registry) Behind(t *Tenant) store.Behind {
	if r.cfg.Store == nil {
		return store.Behind{}
	}
	return r.cfg.Store.Stats().Behind[t.ID]
}

// tenantJournal is the journal of a tenant with a copy of its surroundings: those in
// the store may be replaced at any time.
type tenantJournal struct {
	store.Log
	about []byte
}

// About is part of store.Kept.
func (j tenantJournal) About() []byte { return j.about }

// settingsOf returns the settings of an engine that records depend on.
func settingsOf(cfg engine.Config) Settings {
	s := Settings{CurrentKey: cfg.CurrentKey, NextKey: cfg.NextKey, Parallel: cfg.Parallel, VectorLag: cfg.VectorLag, VectorIndexes: cfg.VectorIndexes, Price: cfg.PricePerMessage}
	if s.Parallel == 0 && cfg.Seed != 0 {
		s.Parallel = 1 // the default of the engine with a seed
	}
	return s
}

// replayed sets the account of a tenant by replaying its journal up to Config.Replay.
func (r *Registry) replayed(ctx context.Context, t *Tenant, cfg engine.Config) error {
	if from, ok := r.cfg.Store.(interface {
		Settings(account string) Settings
	}); ok {
		t.settings = from.Settings(t.ID)
		cfg = t.settings.Apply(cfg)
	}
	t.mode = "manual" // the clock does not move
	var err error
	t.Account, t.Position, err = ReadHistory(ctx, cfg, t.kept, *r.cfg.Replay)
	if err != nil {
		return fmt.Errorf("account %q: %w", t.ID, err)
	}
	return nil
}
