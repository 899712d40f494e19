package engine

import (
	"context"
	"reflect"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// record leaves a command to the journal.
func (a *Account) record(at time.Time, c any) {
	k := kindsByType[reflect.TypeOf(c)]
	a.lsn++
	a.cfg.Journal.Append(journal.Record{LSN: a.lsn, At: at, Kind: k.name, Body: k.encode(c)})
}

// caughtUp refuses a command while records of earlier ones are not durable: so at
// most the commands that were under way when the journal failed are applied
// without being durable.
func (a *Account) caughtUp() error {
	if lsn := a.behind.Load(); lsn > 0 {
		return a.commit(lsn)
	}
	return nil
}

// commit waits until everything up to a record is durable. A command whose record
// is not stays applied: taking it back would contradict what has followed from it.
// Its caller learns that it is not known to be accepted; no attempt is made for
// it; it becomes durable with the next commit that succeeds, or is gone with the
// process, as a whole in any case.
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

// journalPause is how long an attempt waits before it asks a journal that has
// failed again.
const journalPause = time.Second

// durable waits until a record is durable, however long that takes.
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
