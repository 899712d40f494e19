package saved

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// exportVersion is the version of the file format. Files of other versions are refused.
const exportVersion = 1

// exportName identifies a file of this format, in its first line.
const exportName = "understudy journal"

// ExportConfig configures Export.
type ExportConfig struct {
	Program string    // version of the program
	At      time.Time // of the export
	Bodies  bool      // write bodies as they are; otherwise dummies of the same length
}

// The lines of a file. All others are records, or the snapshot after the line of its
// account.
type (
	header struct {
		File    string `json:"file"` // exportName
		Version int    `json:"version"`
		Program string `json:"program"`
		At      int64  `json:"at"`     // Unix ms
		Bodies  bool   `json:"bodies"` // bodies are not dummies
	}
	accountLine struct {
		Account  string          `json:"account"`
		Snapshot bool            `json:"snapshot"` // the next line is a snapshot
		Settings tenant.Settings `json:"settings"`
		About    json.RawMessage `json:"about,omitempty"` // as in store.Kept
	}
	endLine struct {
		Records int    `json:"records"`
		Sum     string `json:"sum,omitempty"` // SHA-256 of all lines before; "": not checked, for edited files
	}
)

// Export writes the journals of accounts to one file, with dummies instead of secrets. each
// must call write for one account after the other. Only one record, or a part of a
// snapshot, is in memory at a time.
func Export(ctx context.Context, to io.Writer, cfg ExportConfig, each func(write func(tenant.History) error) error) error {
	w := &exporter{sum: sha256.New(), dummies: newDummies(cfg.Bodies)}
	buffered := bufio.NewWriterSize(to, copyBuffer)
	w.to = io.MultiWriter(buffered, w.sum)
	if err := w.line(header{exportName, exportVersion, cfg.Program, cfg.At.UnixMilli(), cfg.Bodies}); err != nil {
		return err
	}
	err := each(func(a tenant.History) error {
		if err := w.account(ctx, &a); err != nil {
			return fmt.Errorf("account %q: %w", a.ID, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.line(map[string]endLine{"end": {w.records, hex.EncodeToString(w.sum.Sum(nil))}}); err != nil {
		return err
	}
	return buffered.Flush()
}

type exporter struct {
	to      io.Writer
	sum     hash.Hash
	dummies *dummies
	records int
}

func (w *exporter) line(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = w.to.Write(append(text, '\n'))
	}
	return err
}

func (w *exporter) account(ctx context.Context, a *tenant.History) error {
	about, d := a.Journal.About(), w.dummies
	if len(about) > 0 {
		var err error
		if about, err = d.text(about, ""); err != nil {
			return err
		}
	}
	settings := a.Settings
	settings.CurrentKey, settings.NextKey = d.of(settings.CurrentKey), d.of(settings.NextKey)
	snapshot, err := a.Journal.Snapshot(ctx)
	if err != nil {
		return err
	}
	if err := w.line(accountLine{a.ID, snapshot != nil, settings, about}); err != nil {
		return err
	}
	if snapshot != nil {
		if d, err = d.forSnapshot(ctx, a.Journal); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
		if err := d.document(snapshot, w.to, ""); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
		if _, err := w.to.Write([]byte{'\n'}); err != nil {
			return err
		}
	}
	for r, err := range a.Journal.Records(ctx) {
		if bytes.Contains(r.Body, []byte(`"Redact":{`)) {
			d = d.hushing() // what follows may refer to the message
		}
		if err == nil {
			r.Body, err = d.text(r.Body, r.Kind)
		}
		if err == nil {
			err = journal.Write(w.to, r)
		}
		if err != nil {
			return err
		}
		w.records++
	}
	return nil
}
