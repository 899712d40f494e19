package engine

import (
	"context"
	"reflect"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// record passes the command that c points to to the journal.
func (a *Account) record(at time.Time, c any) {
	k := kindsByType[reflect.TypeOf(c).Elem()]
	a.lsn++
	a.cfg.Journal.Append(journal.Record{LSN: a.lsn, At: at, Kind: k.name, Body: k.encode(c)})
}

// caughtUp refuses a command while earlier records are not durable. Only commands that were in
// progress when the journal failed can therefore be applied without being durable.
func (a *Account) caughtUp() error {
	if lsn := a.behind.Load(); lsn > 0 {
		return a.commit(lsn)
	}
	return nil
}

// commit waits until everything up to a record is durable. When that fails, the command stays
// applied: undoing it would contradict its consequences. The caller receives ErrNotDurable, and
// no attempt is made for the command. It becomes durable with the next commit that succeeds, or
// is lost with the process, never in part.
func (a *Account) commit(lsn uint64) error {
	err := a.cfg.Journal.Commit(a.ctx, lsn)
	if err == nil {
		for was := a.behind.Load(); was > 0 && was <= lsn && !a.behind.CompareAndSwap(was, 0); was = a.behind.Load() {
		}
		return nil
	}
	for was := a.behind.Load(); was < lsn && !a.behind.CompareAndSwap(was, lsn); was = a.behind.Load() {
	}
	return refusal.Of(ErrNotDurable, "journal", "", "cannot be written: "+err.Error()+"; whether the request takes effect is not known, repeat it later")
}

// journalPause is how long an attempt waits before it tries a failed journal again.
const journalPause = time.Second

// durable waits until a record is durable, without a time limit, or until ctx ends.
func (a *Account) durable(ctx context.Context, lsn uint64) error {
	if a.cfg.Journal == nil {
		return nil
	}
	for a.commit(lsn) != nil {
		if err := clock.Pause(ctx, journalPause); err != nil {
			return err
		}
	}
	return ctx.Err()
}
