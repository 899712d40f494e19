package tenant

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/engine/vector"
)

// Until says where a replay ends: at a record, or before the first record that is
// later than a time. The zero value is the end of the journal.
type Until struct {
	LSN  uint64
	Time time.Time
	Read *atomic.Int64 // counts the records that were read; nil: nobody asks
}

// firstMillis is the smallest integer that is read as Unix ms, a time in 2001, and not
// as the number of a record.
const firstMillis = 1_000_000_000_000

// lastMillis is after the year 9999, in Unix ms.
const lastMillis = 253_402_300_800_000

// timeForms are the layouts of times in --until.
var timeForms = []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", time.DateOnly}

// ParseUntil reads the number of a record, or a time.
func ParseUntil(text string) (Until, error) {
	if n, err := strconv.ParseUint(text, 10, 63); err == nil && n > 0 && n < firstMillis {
		return Until{LSN: n}, nil
	}
	u, err := ParseTime(text)
	if err != nil {
		err = refusal.OfValue("until", text, "", "a record number of 1 or more, or "+timeForm)
	}
	return u, err
}

// ParseTime reads a time: Unix ms, or a date with an optional time, in UTC unless it
// has a zone.
func ParseTime(text string) (Until, error) {
	if n, err := strconv.ParseUint(text, 10, 63); err == nil && n >= firstMillis && n < lastMillis {
		return Until{Time: time.UnixMilli(int64(n))}, nil
	}
	for _, form := range timeForms {
		if at, err := time.Parse(form, text); err == nil {
			return Until{Time: at}, nil
		}
	}
	return Until{}, refusal.OfValue("time", text, "", timeForm)
}

// timeForm describes the accepted times, for errors.
const timeForm = "a time such as 2026-01-31T14:03:00Z or 1769868180000 (Unix ms)"

// passed reports whether a record is after the end.
func (u Until) passed(r *journal.Record) bool {
	return u.LSN > 0 && r.LSN > u.LSN || !u.Time.IsZero() && r.At.After(u.Time)
}

// Position is where a replay has ended.
type Position struct {
	LSN      uint64    // of the last record that was applied, or that is in the snapshot
	At       time.Time // of the account's clock
	Kind     string    // of that record; "" when it is in the snapshot
	First    uint64    // the earliest record that can be reached
	Snapshot bool      // the journal begins with a snapshot, taken after record First
	Next     *journal.Record
}

// Settings are the settings of the account's engine that the records after a snapshot
// depend on. Each later start of the server records its own.
type Settings struct {
	CurrentKey    string          `json:"currentKey,omitempty"` // initial signing keys
	NextKey       string          `json:"nextKey,omitempty"`
	Parallel      int             `json:"parallel,omitempty"`
	VectorLag     time.Duration   `json:"vectorLag,omitempty"` // ns
	VectorIndexes []vector.Config `json:"vectorIndexes,omitempty"`
	Price         float64         `json:"pricePerMessage,omitempty"`
}

// History is an account and its journal.
type History struct {
	ID       string
	Settings Settings
	Journal  store.Kept
}

// Apply returns cfg with the settings.
func (s Settings) Apply(cfg engine.Config) engine.Config {
	cfg.CurrentKey, cfg.NextKey = s.CurrentKey, s.NextKey
	cfg.Parallel, cfg.VectorLag, cfg.VectorIndexes, cfg.PricePerMessage = s.Parallel, s.VectorLag, s.VectorIndexes, s.Price
	return cfg
}

// still returns cfg for an account that only replays a journal: without a journal to
// write, and with a clock that does not run, because the records have the times.
func still(cfg engine.Config) engine.Config {
	cfg.Clock, cfg.Auto, cfg.Journal, cfg.Memory = clock.NewManual(time.UnixMilli(0)), false, nil, nil
	return cfg
}

// ReadHistory replays a journal up to until and returns the account, which the caller must
// close. For an end that cannot be reached, the error says which can be.
func ReadHistory(ctx context.Context, cfg engine.Config, j store.Kept, until Until) (*engine.Account, Position, error) {
	from, p, err := beginning(ctx, j, until)
	if err != nil {
		return nil, p, err
	}
	a, err := engine.Replay(still(cfg), from, until.records(j.Records(ctx), &p))
	if err == nil {
		err = until.behind(&p)
	}
	if err != nil {
		if a != nil {
			_ = a.Close() // has nothing in flight
		}
		return nil, p, err
	}
	return a, p, nil
}

// beginning returns the snapshot that the journal begins with, nil for none. It refuses
// an end before the snapshot.
func beginning(ctx context.Context, j store.Kept, until Until) (from *engine.Snapshot, p Position, err error) {
	if from, err = readSnapshot(ctx, j); err != nil || from == nil {
		return nil, p, err
	}
	p = Position{LSN: from.LSN, At: from.Now, First: from.LSN, Snapshot: true}
	return from, p, until.before(&p)
}

// readSnapshot reads the last snapshot of an account, nil for none. For a damaged one it
// returns the error of the store, which says what to do.
func readSnapshot(ctx context.Context, j store.Kept) (*engine.Snapshot, error) {
	in, err := j.Snapshot(ctx)
	if err != nil || in == nil {
		return nil, err
	}
	from, err := engine.ReadSnapshot(in)
	if err != nil {
		_, damage := io.Copy(io.Discard, in) // the store compares the checksum at the end
		return nil, cmp.Or(damage, fmt.Errorf("snapshot: %w", err))
	}
	return from, nil
}

// records yields the records up to the end, and sets p to the position.
func (u Until) records(all iter.Seq2[journal.Record, error], p *Position) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		for r, err := range all {
			if u.Read != nil {
				u.Read.Add(1)
			}
			if err == nil && p.First == 0 {
				p.First, p.At = r.LSN, r.At
				err = u.before(p)
			}
			if err == nil && u.passed(&r) {
				p.Next = &r
				return
			}
			if !yield(r, err) || err != nil {
				return
			}
			p.LSN, p.At, p.Kind = r.LSN, r.At, r.Kind
		}
	}
}

// before refuses an end before the first state that can be reached.
func (u Until) before(p *Position) error {
	if (u.LSN == 0 || u.LSN >= p.First) && (u.Time.IsZero() || !u.Time.Before(p.At)) {
		return nil
	}
	if p.Snapshot {
		return u.unreachable(fmt.Sprintf("is before the snapshot with which the journal begins: the journal was compacted, and earlier states are gone; the first state is that after record %d, of %s", p.First, stamp(p.At)))
	}
	return u.unreachable(fmt.Sprintf("is before the first record, which is %d, of %s", p.First, stamp(p.At)))
}

// behind refuses an end after the last record.
func (u Until) behind(p *Position) error {
	if p.Next != nil || u.LSN <= p.LSN && !u.Time.After(p.At) {
		return nil
	}
	return u.unreachable(fmt.Sprintf("is after the last record, which is %d, of %s", p.LSN, stamp(p.At)))
}

func (u Until) unreachable(why string) error {
	what := "time"
	if u.LSN > 0 {
		what = "record"
	}
	return refusal.Of(refusal.Invalid, what, u.String(), why)
}

// String formats the end so that ParseUntil reads it.
func (u Until) String() string {
	if u.LSN > 0 {
		return strconv.FormatUint(u.LSN, 10)
	}
	return stamp(u.Time)
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
