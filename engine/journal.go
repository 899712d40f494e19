package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"reflect"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// Record is one command as a journal keeps it. As a line of text it is JSON:
// {"lsn":1,"at":1800000000000,"kind":"publish","body":{...}}.
type Record struct {
	LSN  uint64          // from 1 on, without gaps
	At   time.Time       // of the account's clock, whole milliseconds
	Kind string          // of the command
	Body json.RawMessage // the command: its fields by name, as in a snapshot
}

// Journal keeps the records of an account in their order.
type Journal interface {
	// Append takes a record. It is called under the lock of the account, so it
	// never waits.
	Append(r Record)
	// Commit returns when all records up to lsn are durable, within bounded time: an
	// error says that they are not yet. It may be called again for the same records,
	// by several callers at once, and then tries again.
	Commit(ctx context.Context, lsn uint64) error
}

// record leaves a command to the journal.
func (a *Account) record(at time.Time, c any) {
	k := kindsByType[reflect.TypeOf(c)]
	a.lsn++
	a.cfg.Journal.Append(Record{a.lsn, at, k.name, k.encode(c)})
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

// line is a record as text.
type line struct {
	LSN  uint64          `json:"lsn"`
	At   int64           `json:"at"` // Unix ms
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// WriteRecord writes a record as one line of JSON.
func WriteRecord(w io.Writer, r Record) error {
	text, err := json.Marshal(line{r.LSN, r.At.UnixMilli(), r.Kind, r.Body})
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

// ReadRecords reads lines of JSON.
func ReadRecords(r io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for in := bufio.NewReader(r); ; {
			text, err := in.ReadBytes('\n')
			if text = bytes.TrimSpace(text); len(text) > 0 {
				var l line
				if bad := json.Unmarshal(text, &l); bad != nil {
					yield(Record{}, refusal.OfValue("journal", string(text), bad.Error(), "a record"))
					return
				}
				if !yield(Record{l.LSN, time.UnixMilli(l.At), l.Kind, l.Body}, nil) {
					return
				}
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(Record{}, fmt.Errorf("journal: %w", err))
				return
			}
		}
	}
}
