package tenant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

// surroundings are the data that a store keeps of an account in addition to its
// journal. They are written as a whole after each request that has changed them, and
// at a clean stop. After a crash, stubs and faults have the use counts of the last
// such request.
type surroundings struct {
	Token    string `json:"token"`
	Password string `json:"password"`
	Clock    string `json:"clock,omitempty"` // mode
	Dialect  string `json:"dialect,omitempty"`
	Rules
	Indexes []string `json:"indexes,omitempty"` // vector indexes
}

// Rules are the stubs, rewrites and faults of an account, with what is left of their times.
type Rules struct {
	Stubs    []stub.Saved      `json:"stubs,omitempty"`
	Rewrites map[string]string `json:"rewrites,omitempty"`
	Faults   []stub.Fault      `json:"faults,omitempty"`
}

// Rules returns the rules of an account.
func (t *Tenant) Rules() Rules { return Rules{t.Stubs.Save(), t.Rewrites.Get(), t.Faults.Get()} }

// CheckRules returns what is wrong with rules.
func (r *Registry) CheckRules(rules *Rules) error {
	for i := range rules.Stubs {
		if err := rules.Stubs[i].Check(); err != nil {
			return refusal.At(fmt.Sprint("stubs/", i), err)
		}
	}
	if _, err := stub.CompileFaults(rules.Faults, r.cfg.KnownOperation); err != nil {
		return refusal.At("faults", err)
	}
	return nil
}

// SetRules replaces the rules of an account. It changes nothing if a fault is invalid.
func (r *Registry) SetRules(t *Tenant, rules *Rules) error {
	faults, err := stub.CompileFaults(rules.Faults, r.cfg.KnownOperation)
	if err != nil {
		return err
	}
	t.Stubs.Load(rules.Stubs)
	t.Rewrites.Set(rules.Rewrites)
	t.Faults.Set(faults, r.Seed(t.ID))
	return nil
}

// loaded opens every account of the store.
func (r *Registry) loaded(ctx context.Context) error {
	if r.cfg.Store == nil || r.cfg.Replay != nil {
		return nil
	}
	ids, err := r.cfg.Store.Accounts(ctx)
	if err != nil {
		return err
	}
	other := map[string]int{}
	for _, id := range ids {
		t, err := r.Put(Credentials{ID: id})
		if err != nil {
			return err
		}
		if mode := r.Mode(t); mode != r.cfg.Clock {
			other[mode]++
		}
	}
	for mode, accounts := range other {
		r.cfg.Engine.Log.Info("accounts continue with the clock that they had; --clock gives all of them another one", "accounts", accounts, "clock", mode)
	}
	return nil
}

// keptOf opens an account of the store; the results are nil without a store, and the
// surroundings are nil for a new account. If a has no token, it gets the stored one.
func (r *Registry) keptOf(ctx context.Context, a *Credentials) (store.Log, *surroundings, error) {
	if r.cfg.Store == nil {
		return nil, nil, nil
	}
	kept, err := r.cfg.Store.Open(ctx, a.ID)
	if err != nil || kept.About() == nil {
		return kept, nil, err
	}
	r.mu.Lock()
	r.resumed = true
	r.mu.Unlock()
	s := &surroundings{}
	if err := json.Unmarshal(kept.About(), s); err != nil {
		return nil, nil, errors.Join(err, kept.Close())
	}
	if a.Token == "" {
		a.Token, a.Password = s.Token, s.Password
	}
	return kept, s, nil
}

// open sets the account of a tenant: from the store, or a new one in memory.
func (r *Registry) open(ctx context.Context, t *Tenant, cfg engine.Config, s *surroundings) error {
	if t.kept == nil {
		t.Account = engine.New(cfg)
		return nil
	}
	if s != nil {
		if err := r.surround(t, s); err != nil {
			return err
		}
		cfg.Clock, cfg.Auto = r.newClock(t.mode), t.mode == "auto"
	}
	if t.settings = settingsOf(cfg); r.cfg.Replay != nil {
		return r.replayed(ctx, t, cfg)
	}
	cfg.Journal = t.kept
	from, err := readSnapshot(ctx, t.kept)
	if err == nil {
		t.Account, err = engine.Open(cfg, from, r.counted(t.ID, t.kept.Records(ctx)))
	}
	return err
}

// readingEvery is the interval between reports of the progress.
const readingEvery = time.Second

// counted yields the records of an account, and reports the progress.
func (r *Registry) counted(account string, records iter.Seq2[journal.Record, error]) iter.Seq2[journal.Record, error] {
	if r.cfg.Reading == nil {
		return records
	}
	return func(yield func(journal.Record, error) bool) {
		n, next := 0, r.cfg.Wall.Now().Add(readingEvery)
		for record, err := range records {
			if !yield(record, err) {
				return
			}
			n++
			if now := r.cfg.Wall.Now(); now.After(next) {
				r.cfg.Reading(account, n)
				next = now.Add(readingEvery)
			}
		}
	}
}

// surround applies the stored surroundings to a tenant.
func (r *Registry) surround(t *Tenant, s *surroundings) error {
	if err := r.SetRules(t, &s.Rules); err != nil {
		return err
	}
	if s.Clock != "" && !r.cfg.ClockGiven {
		t.mode = s.Clock
	}
	t.SetSpoken(r.cfg.Dialects.Named(s.Dialect))
	for _, name := range s.Indexes {
		t.OpenIndex(name)
	}
	t.about = t.kept.About()
	return nil
}

// Keep makes the surroundings of an account durable if they have changed.
func (r *Registry) Keep(ctx context.Context, t *Tenant) error {
	if t.kept == nil || r.cfg.Replay != nil {
		return nil
	}
	if err := t.keeping.Acquire(ctx, 1); err != nil {
		return err
	}
	defer t.keeping.Release(1)
	text, err := json.Marshal(r.surroundings(t))
	if err != nil || bytes.Equal(text, t.about) {
		return err
	}
	if err := t.kept.SetAbout(ctx, text); err != nil {
		return refusal.Of(refusal.NotDurable, "store", "", "cannot be written: "+err.Error()+"; repeat the request later")
	}
	t.about = text
	return nil
}

func (r *Registry) surroundings(t *Tenant) surroundings {
	s := surroundings{Token: t.Token, Password: t.Password, Clock: r.Mode(t), Rules: t.Rules()}
	if spoken := t.Spoken(); spoken != nil {
		s.Dialect = spoken.Name
	}
	for _, x := range t.Indexes() {
		s.Indexes = append(s.Indexes, x.Name)
	}
	return s
}

// compactEvery is the interval between checks of the sizes of journals.
const compactEvery = time.Second

// smallJournal is the size of a journal, in bytes, below which a snapshot is not worth
// its cost. A larger one is replaced once it is larger than the previous snapshot. So a
// byte is written at most three times, and a start reads at most twice the state.
const smallJournal = 16 << 20

// compact replaces large journals by snapshots, until ctx ends.
func (r *Registry) compact(ctx context.Context) {
	for records := int64(0); clock.Pause(ctx, compactEvery) == nil; {
		stats := r.cfg.Store.Stats()
		if stats.Records == records {
			continue
		}
		records = stats.Records
		behind := stats.Behind
		for _, t := range r.All() {
			if b := behind[t.ID]; t.kept != nil && b.Bytes > max(smallJournal, b.Snapshot) {
				if err := t.save(ctx); err != nil && ctx.Err() == nil {
					r.cfg.Engine.Log.Warn("the journal cannot be replaced by a snapshot, it is tried again", "account", t.ID, "error", err)
				}
			}
		}
	}
}

// save replaces the journal of an account by a snapshot, once it has no readers.
func (t *Tenant) save(ctx context.Context) error {
	if err := t.reading.Acquire(ctx, maxReaders); err != nil {
		return err
	}
	defer t.reading.Release(maxReaders)
	return t.kept.Save(ctx, t.Account.SaveTo)
}
