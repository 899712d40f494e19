package saved

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/internal/jsonsyntax"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// File is a file of Export that was checked completely. It implements store.Store,
// read-only.
type File struct {
	name     string
	file     *os.File
	head     header
	accounts map[string]*kept
}

// kept is the place of an account in the file.
type kept struct {
	accountLine
	snapshot, records, end int64 // offsets of their first bytes, and after the last record
	line                   int   // number of the line of its first record
}

// OpenFile opens a file and checks all of it: format, order and checksum.
func OpenFile(name string) (*File, error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	f := &File{name: name, file: in, accounts: map[string]*kept{}}
	if err := f.read(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return f, nil
}

// anyLine has the members of all lines.
type anyLine struct {
	header
	accountLine
	End  *endLine        `json:"end"`
	LSN  uint64          `json:"lsn"`
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// reading is the state of a pass over a file.
type reading struct {
	*File
	in      *bufio.Reader
	at      int64 // offset of the line
	number  int   // of the line, from 1
	current *kept
	lsn     uint64 // of the last record of the account
	records int
}

func (f *File) read() error {
	r := &reading{File: f, in: bufio.NewReaderSize(f.file, copyBuffer)}
	sum := sha256.New()
	for {
		r.number++
		if r.current != nil && r.current.Snapshot && r.current.records == 0 {
			n, err := io.Copy(sum, &lineReader{in: r.in})
			if err != nil {
				return f.damaged(r.number, err.Error())
			}
			r.at += n
			r.current.records, r.current.line = r.at, r.number+1
			continue
		}
		text, err := r.in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if len(text) == 0 {
			return f.damaged(r.number, "it ends here, without the line that every export ends with: it was cut off")
		}
		end, err := r.line(text)
		if err != nil {
			return err
		}
		if end == nil {
			_, _ = sum.Write(text) // never fails
			r.at += int64(len(text))
			continue
		}
		return r.ended(end, hex.EncodeToString(sum.Sum(nil)))
	}
}

// line processes one line. It returns the end line, nil for all others.
func (r *reading) line(text []byte) (*endLine, error) {
	var l anyLine
	if err := json.Unmarshal(text, &l); err != nil {
		if r.number == 1 {
			return nil, fmt.Errorf("%s: must be a data folder of this program, or a file of `understudy ctl journal export`", r.name)
		}
		if text[len(text)-1] != '\n' {
			return nil, r.damaged(r.number, "it ends within the line: it was cut off")
		}
		return nil, r.damaged(r.number, "not a JSON object of a journal: "+strings.TrimPrefix(jsonsyntax.Explain(text, err), "line 1, "))
	}
	switch {
	case r.number == 1:
		return nil, r.begin(&l)
	case l.End != nil:
		return l.End, nil
	case l.Account != "":
		if r.accounts[l.Account] != nil {
			return nil, r.damaged(r.number, fmt.Sprintf("account %q for the second time", l.Account))
		}
		r.closeAccount()
		next := r.at + int64(len(text))
		r.current, r.lsn = &kept{accountLine: l.accountLine, snapshot: next}, 0
		if !l.Snapshot {
			r.current.records, r.current.line = next, r.number+1
		}
		r.accounts[l.Account] = r.current
		return nil, nil
	case r.current == nil || l.LSN == 0 || l.Kind == "":
		return nil, r.damaged(r.number, "neither an account nor a record")
	case r.lsn > 0 && l.LSN != r.lsn+1:
		return nil, r.damaged(r.number, fmt.Sprintf("record %d follows record %d", l.LSN, r.lsn))
	}
	r.lsn = l.LSN
	r.records++
	return nil, nil
}

func (r *reading) begin(l *anyLine) error {
	switch r.head = l.header; {
	case l.File != exportName:
		return fmt.Errorf("%s: must be a data folder of this program, or a file of `understudy ctl journal export`", r.name)
	case l.Version != exportVersion:
		return fmt.Errorf("%s: %w: version %d of the file, written by %s: this program reads version %d", r.name, store.ErrVersion, l.Version, cmp.Or(l.Program, "an unknown version of the program"), exportVersion)
	}
	return nil
}

func (r *reading) closeAccount() {
	if r.current != nil {
		r.current.end = r.at
	}
}

func (r *reading) ended(end *endLine, sum string) error {
	r.closeAccount()
	switch {
	case len(r.accounts) == 0:
		return r.damaged(r.number, "it has no account")
	case end.Sum != "" && (end.Sum != sum || end.Records != r.records):
		return r.damaged(r.number, "its checksum does not match; to replay a file that was edited, remove the member sum of its last line")
	}
	return nil
}

func (f *File) damaged(line int, what string) error {
	return fmt.Errorf("%s: line %d: %s: %w: export it again", f.name, line, what, store.ErrDamaged)
}

// lineReader reads one line, its end included.
type lineReader struct {
	in   *bufio.Reader
	over bool
}

// Read is part of io.Reader.
func (l *lineReader) Read(to []byte) (int, error) {
	if l.over || len(to) == 0 {
		return 0, io.EOF
	}
	if _, err := l.in.Peek(1); err != nil {
		return 0, errors.New("it ends within a snapshot: it was cut off")
	}
	part, err := l.in.Peek(min(len(to), l.in.Buffered()))
	if err != nil {
		return 0, err
	}
	if end := bytes.IndexByte(part, '\n'); end >= 0 {
		part, l.over = part[:end+1], true
	}
	n := copy(to, part)
	_, err = l.in.Discard(n)
	return n, err
}

// Accounts returns the ids of the accounts in the file, sorted.
func (f *File) Accounts(context.Context) ([]string, error) {
	ids := make([]string, 0, len(f.accounts))
	for id := range f.accounts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}

// Open opens an account of the file.
func (f *File) Open(_ context.Context, account string) (store.Log, error) {
	k := f.accounts[account]
	if k == nil {
		return nil, fmt.Errorf("%s: account %q: not found", f.name, account)
	}
	return &fileLog{readOnly{}, f, k}, nil
}

// Settings returns the settings of an account, which must be in the file.
func (f *File) Settings(account string) tenant.Settings { return f.accounts[account].Settings }

// Written returns the version of the program that wrote the file, and the time.
func (f *File) Written() (program string, at time.Time) {
	return f.head.Program, time.UnixMilli(f.head.At)
}

// Stats is part of store.Store.
func (f *File) Stats() store.Stats { return store.Stats{} }

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// fileLog is an account in a file.
type fileLog struct {
	readOnly
	file *File
	kept *kept
}

// About is part of store.Kept.
func (l *fileLog) About() []byte { return l.kept.About }

// Snapshot reads the snapshot that the journal begins with.
func (l *fileLog) Snapshot(context.Context) (io.Reader, error) {
	if !l.kept.Snapshot {
		return nil, nil
	}
	return io.NewSectionReader(l.file.file, l.kept.snapshot, l.kept.records-l.kept.snapshot), nil
}

// Records reads the records after the snapshot.
func (l *fileLog) Records(ctx context.Context) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		line := l.kept.line
		for r, err := range journal.Read(io.NewSectionReader(l.file.file, l.kept.records, l.kept.end-l.kept.records)) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				err = fmt.Errorf("%s: line %d: %s: %w", l.file.name, line, strings.TrimSpace(err.Error()), store.ErrDamaged)
			}
			if !yield(r, err) || err != nil {
				return
			}
			line++
		}
	}
}

// errReadOnly is the error for changes of a journal that is only read.
var errReadOnly = errors.New("a journal that is replayed is read-only")

// readOnly is the part of a store.Log that changes it.
type readOnly struct{}

// Append ignores the record: a replay must not change the journal.
func (readOnly) Append(journal.Record) {}

// Commit returns at once.
func (readOnly) Commit(context.Context, uint64) error { return nil }

// SetAbout fails.
func (readOnly) SetAbout(context.Context, []byte) error { return errReadOnly }

// Save fails.
func (readOnly) Save(context.Context, func(io.Writer) (uint64, error)) error { return errReadOnly }

// Lost returns nil: no other process can take the account.
func (readOnly) Lost() <-chan struct{} { return nil }

// Close does nothing: File.Close closes the file.
func (readOnly) Close() error { return nil }
