package engine

import (
	"iter"

	"github.com/understudy-mock/understudy/engine/journal"
)

// CommandKinds are the names of all commands.
func CommandKinds() (names []string) {
	for _, k := range commandTable {
		names = append(names, k.name)
	}
	return names
}

// Document is a snapshot as a document.
func Document(s *Snapshot) []byte { return s.Document() }

// Replay is the account of a journal as it was after the last record.
func Replay(cfg Config, from *Snapshot, records iter.Seq2[journal.Record, error]) (*Account, error) {
	return replayOnly(cfg, from, records)
}
