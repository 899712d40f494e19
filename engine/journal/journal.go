// Package journal is what an account leaves of its commands: records, and where they go.
//
//	err := journal.Write(file, record)
//	acct, err := engine.Open(cfg, nil, journal.Read(file))
//
// It knows no commands: a record has the name and the bytes of one.
package journal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"

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

// line is a record as text.
type line struct {
	LSN  uint64          `json:"lsn"`
	At   int64           `json:"at"` // Unix ms
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// Write writes a record as one line of JSON.
func Write(w io.Writer, r Record) error {
	text, err := json.Marshal(line{r.LSN, r.At.UnixMilli(), r.Kind, r.Body})
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

// Read reads lines of JSON.
func Read(r io.Reader) iter.Seq2[Record, error] {
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
