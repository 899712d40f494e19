// Package journal defines the records of an account's commands and the interface for
// keeping them.
//
//	err := journal.Write(file, record)
//	acct, err := engine.Open(cfg, nil, journal.Read(file))
//
// A record has the name and the encoded body of a command; the package does not depend on
// the commands.
package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/go-faster/jx"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// Record is one command in a journal. As a line of text it is JSON:
//
//	{"lsn":1,"at":1800000000000,"kind":"publish","body":{...}}
type Record struct {
	LSN  uint64          // sequence number, from 1, without gaps
	At   time.Time       // time of the account's clock, in whole milliseconds
	Kind string          // of the command
	Body json.RawMessage // the command: its fields by name, see package codec
}

// Journal keeps the records of an account in their order.
type Journal interface {
	// Append adds a record. The account calls it under its lock, so it must not wait. The
	// record must become durable soon even if Commit is not called.
	Append(r Record)
	// Commit returns when all records up to lsn are durable, within bounded time. An error
	// means that they are not durable yet. It may be called again for the same records,
	// also concurrently, and then tries again.
	Commit(ctx context.Context, lsn uint64) error
}

// Write writes a record as one line of JSON.
func Write(w io.Writer, r Record) error {
	var e jx.Writer
	r.write(&e)
	_, err := w.Write(append(e.Buf, '\n'))
	return err
}

// Read reads the lines that Write writes. It ends after the first error.
func Read(r io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for in := bufio.NewReader(r); ; {
			text, err := in.ReadBytes('\n')
			if text = bytes.TrimSpace(text); len(text) > 0 {
				var r Record
				d := jx.DecodeBytes(text)
				bad := r.read(d)
				if bad == nil && d.Skip() != io.EOF { //nolint:errorlint // a wrapped io.EOF is that of a second value
					bad = errors.New("more than one value in a line")
				}
				if bad != nil {
					yield(Record{}, refusal.OfValue("journal", string(text), bad.Error(), "a record"))
					return
				}
				if !yield(r, nil) {
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

// AppendTo appends a record to a JSON array of records; list is nil for an empty one.
func (r *Record) AppendTo(list []byte) []byte {
	if n := len(list); n > 0 {
		list[n-1] = ','
	} else {
		list = append(list, '[')
	}
	e := jx.Writer{Buf: list}
	r.write(&e)
	return append(e.Buf, ']')
}

// DecodeList reads an array of AppendTo. The bodies refer to the memory of text.
func DecodeList(text []byte) (list []Record, err error) {
	d := jx.DecodeBytes(text)
	err = eachElement(d, func() error {
		var r Record
		err := r.read(d)
		list = append(list, r)
		return err
	})
	return list, err
}

func (r *Record) write(e *jx.Writer) {
	e.RawStr(`{"lsn":`)
	e.UInt64(r.LSN)
	e.RawStr(`,"at":`)
	e.Int64(r.At.UnixMilli())
	e.RawStr(`,"kind":`)
	e.Str(r.Kind)
	e.RawStr(`,"body":`)
	e.Raw(r.Body)
	e.ObjEnd()
}

func (r *Record) read(d *jx.Decoder) error {
	return eachMember(d, func(key []byte) (err error) {
		switch string(key) {
		case "lsn":
			r.LSN, err = d.UInt64()
		case "at":
			var at int64
			at, err = d.Int64()
			r.At = time.UnixMilli(at)
		case "kind":
			r.Kind, err = d.Str()
		case "body":
			var body jx.Raw
			body, err = d.Raw()
			r.Body = json.RawMessage(body)
		default:
			err = fmt.Errorf("unknown member %.80q", key)
		}
		return err
	})
}

// eachMember reads an object; read must read the value of each member.
func eachMember(d *jx.Decoder, read func(key []byte) error) error {
	all, err := d.ObjIter()
	for err == nil && all.Next() {
		err = read(all.Key())
	}
	return cmp.Or(err, all.Err())
}

// eachElement reads a list; read must read each element.
func eachElement(d *jx.Decoder, read func() error) error {
	all, err := d.ArrIter()
	for err == nil && all.Next() {
		err = read()
	}
	return cmp.Or(err, all.Err())
}
