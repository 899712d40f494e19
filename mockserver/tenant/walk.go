package tenant

import (
	"context"
	"iter"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/engine/store"
)

// walk returns the state of accounts at records of their journals. Each replay uses a
// temporary account. walk caches the steps around the requested one, so that small
// steps back and forth need no replay. Calls run one at a time; the others wait.
type walk struct {
	turn  *semaphore.Weighted
	steps map[stepKey]Step
	read  map[string]pass // the last reading, by account
}

// pass is a reading of a journal.
type pass struct {
	ends Ends
	at   time.Time
	took time.Duration
}

// restFactor is how long the known end of a journal is used again, as a multiple of
// the time that finding it took. It limits the CPU time for a page that follows a
// busy account.
const restFactor = 20

// wallClock measures how long a reading takes.
var wallClock = clock.NewReal()

// newWalk returns a walk with an empty cache.
func newWalk() *walk {
	return &walk{turn: semaphore.NewWeighted(1), steps: map[stepKey]Step{}, read: map[string]pass{}}
}

type stepKey struct {
	account string
	lsn     uint64
}

// Step is an account after a record.
type Step struct {
	Listed // its kind is "" for the snapshot
	State  engine.Overview
	Queues []engine.Queue // the first of them, by name
}

// Ends are the first and the last state of a journal.
type Ends struct {
	First, Last     uint64 // records
	FirstAt, LastAt time.Time
	Snapshot        bool // the first state is a snapshot: earlier ones were removed
}

// The bounds of what a walk keeps.
const (
	keptSteps  = 1000
	keptQueues = 50
	nearSteps  = 100 // before a record and after it
)

// at returns the state of an account where the replay ends, and the ends of its
// journal.
func (w *walk) at(ctx context.Context, cfg engine.Config, from History, until Until) (Step, Ends, error) {
	if err := w.turn.Acquire(ctx, 1); err != nil {
		return Step{}, Ends{}, err
	}
	defer w.turn.Release(1)
	last, began := w.read[from.ID], wallClock.Now()
	if until == (Until{}) && began.Sub(last.at) < restFactor*last.took {
		until.LSN = last.ends.Last
	}
	if s, ok := w.steps[stepKey{from.ID, until.LSN}]; ok {
		return s, last.ends, nil
	}
	ends, target, err := scan(ctx, from.Journal, until)
	if err != nil {
		return Step{}, ends, err
	}
	s, ok := w.steps[stepKey{from.ID, target}]
	if !ok {
		if len(w.steps) > keptSteps {
			clear(w.steps)
		}
		s, ends, err = w.replay(ctx, cfg, from, ends, target)
	}
	w.read[from.ID] = pass{ends, began, wallClock.Now().Sub(began)}
	return s, ends, err
}

// scan reads a journal, and returns its ends and the record at which the replay ends.
func scan(ctx context.Context, j store.Kept, until Until) (ends Ends, target uint64, err error) {
	_, p, err := beginning(ctx, j, until)
	if err != nil {
		return ends, 0, err
	}
	ends = Ends{First: p.LSN, FirstAt: p.At, Last: p.LSN, LastAt: p.At, Snapshot: p.Snapshot}
	target = p.LSN
	passed := false
	for r, err := range j.Records(ctx) {
		if err != nil {
			return ends, 0, err
		}
		if p.First == 0 {
			p.First, p.At = r.LSN, r.At
			ends.First, ends.FirstAt = r.LSN, r.At
			if err := until.before(&p); err != nil {
				return ends, 0, err
			}
		}
		ends.Last, ends.LastAt = r.LSN, r.At
		if passed = passed || until.passed(&r); !passed {
			target = r.LSN
		}
	}
	switch {
	case ends.Last == 0 && ends.Snapshot:
		return ends, 0, refusal.Of(refusal.NotFound, "journal", "", "has a snapshot of the state and no records: its server kept none")
	case ends.Last == 0:
		return ends, 0, refusal.Of(refusal.NotFound, "journal", "", "has no record yet")
	}
	if !passed && until.LSN > ends.Last {
		p.LSN, p.At = ends.Last, ends.LastAt
		return ends, 0, until.behind(&p)
	}
	return ends, target, nil
}

// replay caches the steps around the target, and returns the target.
func (w *walk) replay(ctx context.Context, cfg engine.Config, from History, ends Ends, target uint64) (Step, Ends, error) {
	at, _, err := beginning(ctx, from.Journal, Until{})
	if err != nil {
		return Step{}, ends, err
	}
	next, stop := iter.Pull2(from.Journal.Records(ctx))
	defer stop()
	a, last, err := replayBefore(still(cfg), at, next, max(target, nearSteps)-nearSteps)
	if err != nil {
		return Step{}, ends, err
	}
	defer a.Close() //nolint:errcheck // has nothing in flight
	w.keep(from.ID, a, last)
	for r, err, ok := next(); ok && r.LSN <= target+nearSteps; r, err, ok = next() {
		if err == nil {
			err = a.ReplayNext(r)
		}
		if err != nil {
			return Step{}, ends, err
		}
		w.keep(from.ID, a, r)
	}
	return w.steps[stepKey{from.ID, target}], ends, nil
}

// replayBefore replays up to a record, and returns the last one that is applied. That
// is a later one if the snapshot or the first record is later.
func replayBefore(cfg engine.Config, at *engine.Snapshot, next func() (journal.Record, error, bool), lsn uint64) (*engine.Account, journal.Record, error) {
	var last journal.Record
	if at != nil {
		last = journal.Record{LSN: at.LSN, At: at.Now}
	}
	a, err := engine.Replay(cfg, at, func(yield func(journal.Record, error) bool) {
		for last.LSN == 0 || last.LSN < lsn {
			r, err, ok := next()
			if !ok || !yield(r, err) {
				return
			}
			last = r
		}
	})
	return a, last, err
}

func (w *walk) keep(account string, a *engine.Account, r journal.Record) {
	s := Step{Listed: listed(&r), Queues: a.Queues()}
	s.State, _ = a.Overview()
	s.Queues = s.Queues[:min(len(s.Queues), keptQueues)]
	w.steps[stepKey{account, r.LSN}] = s
}
