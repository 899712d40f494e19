package mockserver

import (
	"bytes"
	"io"

	"github.com/understudy-mock/understudy/mockserver/saved"
)

// Fixture is a fixture file, see package saved.
type Fixture = saved.Fixture

// Restored describes a snapshot that was restored.
type Restored = saved.Restored

// ErrSnapshot is wrapped by the error of Run when Config.Snapshot cannot be
// restored.
var ErrSnapshot = saved.ErrSnapshot

// Snapshot returns the state of all accounts as one JSON document. It works at
// any time, also after Close.
func (s *Server) Snapshot() ([]byte, error) {
	var text bytes.Buffer
	err := s.WriteSnapshot(&text)
	return text.Bytes(), err
}

// WriteSnapshot writes the document of Snapshot as a stream. Accounts continue
// to work: each one is written as it is when its turn comes, so that the states
// of two accounts can be from different instants.
func (s *Server) WriteSnapshot(to io.Writer) error { return s.states.WriteSnapshot(to) }

// Restore replaces the state of each account in a snapshot, and creates the
// missing ones; other accounts stay as they are. An invalid snapshot changes
// nothing.
func (s *Server) Restore(text []byte) (Restored, error) { return s.RestoreFrom(bytes.NewReader(text)) }

// RestoreFrom is Restore for a document that is read as a stream.
func (s *Server) RestoreFrom(from io.Reader) (Restored, error) { return s.states.Restore(from, "") }

// Load adds the contents of a fixture to the server. An invalid fixture changes
// nothing; the error names the line and the key.
func (s *Server) Load(f Fixture) error { return s.states.Load(f) }
